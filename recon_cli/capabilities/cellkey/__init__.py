"""Perturb counts by cell keys."""

from recon_cli.protections import ProtectionMethod

CELLKEY = ProtectionMethod(
    "cellkey",
    "counts",
    ("perturbed",),
    "Perturb the counts of records by cell keys.",
)
