"""Measure the counts of records with the noise of differential privacy."""

from recon_cli.protections import ProtectionMethod

NOISE = ProtectionMethod(
    "noise",
    "measurements",
    ("noisy",),
    "Measure the counts of records with noise.",
)
