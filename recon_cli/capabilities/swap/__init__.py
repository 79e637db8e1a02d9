"""Swap households between places."""

from recon_cli.protections import ProtectionMethod

SWAP = ProtectionMethod(
    "swap",
    "records",
    ("hdf", "hdf_households"),
    "Swap households of the confidential records between places.",
    kept=("swaps",),
    reads=("persons", "households"),
)
