"""Round counts to multiples of a base."""

from recon_cli.protections import ProtectionMethod

ROUND = ProtectionMethod(
    "round",
    "counts",
    ("rounded",),
    "Round the counts of records to multiples of a base.",
)
