"""Replace answers of records by chance, and estimate true counts from them."""

from recon_cli.protections import ProtectionMethod

RANDOMIZE = ProtectionMethod(
    "randomize",
    "answers",
    ("randomized", "randomized_counts"),
    "Replace answers of records by chance.",
)
