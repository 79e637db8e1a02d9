"""Suppress small counts, and further ones that would reveal them."""

from recon_cli.protections import ProtectionMethod

SUPPRESS = ProtectionMethod(
    "suppress",
    "counts",
    ("suppressed",),
    "Suppress small counts, and those that would give them away.",
    uses_statistics=True,
)
