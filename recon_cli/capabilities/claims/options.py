"""``claims:`` statements about people that hold in every solution, and how hard to try.

Writes claims/ (exactly, or at least, n people of a unit have these values in these columns),
claim_units/ (one row per unit) and disclosures/ (people for whom a few columns determine others).
All subsets of the published columns are examined, and every claim is proven; `recon prove` writes
the proofs.

Example:
  recon claims -c al.yaml
  recon claims --unit-seconds 10
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Claims(Section):
    """The section ``claims``.

    Attributes:
        unit_seconds: Budget of each unit, in seconds of solver work, not of clock time.
        share: A value counts as inferred if at least this share of a group provably has it.
        seed: Seed of the solver; default the run's seed.
        absent: Also claim that a unit has nobody with given values, where no single table states
            it.
        at_most: Also compute an upper bound for claims of the form "at least n people".
    """

    unit_seconds: Annotated[float, Field(gt=0)] = 2.0
    share: Annotated[float, Field(gt=0, le=1)] = 0.8
    seed: Annotated[int, Field(ge=0)] | None = None
    absent: bool = False
    at_most: bool = False
