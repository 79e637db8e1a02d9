"""Add the noise of differential privacy to the counts of records."""

from recon_cli.protections import ProtectionMethod

NOISE = ProtectionMethod(
    "noise",
    "measurements",
    ("noisy",),
    "Add noise to the counts of records, with differential privacy.",
)
