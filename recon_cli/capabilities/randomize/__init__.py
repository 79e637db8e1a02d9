"""Replace answers in records at random, and estimate true counts from them."""

from recon_cli.protections import ProtectionMethod

RANDOMIZE = ProtectionMethod(
    "randomize",
    "answers",
    ("randomized", "randomized_counts"),
    "Replace answers in records at random.",
)
