"""``prove:`` what of a run's findings is proven for anyone to check.

Writes proofs/: for each region the published counts and a proof as two texts, a copy of
reconcheck.py, which reads them, and a row for each statement with what came of it: certified
(the checker accepts a derivation), shown (solutions show it), confirmed (the run proves it, and
no derivation was found), open. The checker is run on all of it before it is published.

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
        what: What is proven, as far as the run has it: that blocks have one solution (`unique`),
            records in every solution (`certain`), that solutions agree or differ (`solvar`),
            `claims`, and the ends of protected counts (`audit`).
        seconds: Budget of each region, in deterministic seconds.
        seed: For other solutions that are shown; default the run's seed.
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
