"""Swap households between places."""

from recon_cli.protections import ProtectionMethod

SWAP = ProtectionMethod(
    "swap",
    "records",
    ("hdf", "hdf_households"),
    "Swap households: the CEF becomes an HDF.",
    kept=("swaps",),
    reads=("persons", "households"),
)
