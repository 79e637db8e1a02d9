"""Suppress counts by the rules of the 1980 census."""

from recon_cli.protections import ProtectionMethod

CENSUS1980 = ProtectionMethod(
    "census1980",
    "counts",
    ("census1980",),
    "Suppress counts by the rules of the 1980 census.",
    kept=("rates", "groups"),
)
