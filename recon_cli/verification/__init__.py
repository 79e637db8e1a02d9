"""Do records reproduce every published count?

Shares the schema and what published counts state with the rest of the program, and nothing else:
not how records are made, and not how `recon data tabulate` counts them.
"""

from recon_cli.verification.comparison import MISMATCHES, Verification, verify

__all__ = ["MISMATCHES", "Verification", "verify"]
