"""Verification: compare records with every published count.

It shares only the schema and the meaning of published counts with the rest of the program: not how
records are made, and not how `recon data tabulate` counts them.
"""

from recon_cli.verification.comparison import MISMATCHES, Verification, verify

__all__ = ["MISMATCHES", "Verification", "verify"]
