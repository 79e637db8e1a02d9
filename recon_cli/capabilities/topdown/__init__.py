"""Make records from noisy measurements, level by level, as in the 2020 census."""

from recon_cli.protections import ProtectionMethod

TOPDOWN = ProtectionMethod(
    "topdown", "records", ("mdf",), "Make records from noisy measurements, level by level."
)
