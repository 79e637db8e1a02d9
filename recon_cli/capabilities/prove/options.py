"""``prove:`` which findings of a run to prove for anybody to check.

Writes proofs/: for each region the published counts and a proof as two text files, a copy of
reconcheck.py, which checks them, and a row for each statement with its outcome: certified (the
checker accepts a derivation), shown (by example solutions), confirmed (the run proved it, but no
derivation was found), open. The checker is run on all proofs before they are stored.

Example:
  recon prove -c al.yaml
  python3 -I -S reconcheck.py 01073005103.tables 01073005103.proof
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import Section

Kind = Literal["unique", "certain", "solvar", "claims", "audit"]


class Prove(Section):
    """The section ``prove``.

    Attributes:
        what: Findings to prove, if the run has them: that blocks have one solution (`unique`),
            records in every solution (`certain`), that solutions agree or differ (`solvar`),
            `claims`, and the bounds of protected counts (`audit`).
        seconds: Budget of each region, in seconds of solver work, not of clock time.
        seed: Seed of the solutions that proofs show as examples; default the run's seed.
    """

    what: Annotated[tuple[Kind, ...], Field(strict=False, min_length=1)] = (
        "unique",
        "certain",
        "solvar",
        "claims",
        "audit",
    )
    seconds: Annotated[float, Field(gt=0)] = 10.0
    seed: Annotated[int, Field(ge=0)] | None = None
