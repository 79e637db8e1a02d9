"""``claims:`` what every solution says about some columns, and how hard to try.

Writes claims/ (exactly, or at least, so many people of a unit have these values on these
columns), claim_units/ (one row per unit) and disclosures/ (people whose other columns are
settled by a few). All subsets of the published columns are asked, and every claim is proven;
`recon prove` writes the proofs.

Example:
  recon claims -c al.yaml
  recon claims --set claims.unit_seconds=10
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Claims(Section):
    """The section ``claims``.

    Attributes:
        unit_seconds: Budget of each unit, in deterministic seconds.
        share: From which proven share of a group on a value counts as inferred.
        seed: For the solver's own choices; default the run's seed.
        absent: Claim too that nobody of a unit has some values, where no one table says so.
        at_most: Bound from above, too, how many people a claim of at least so many may be about.
    """

    unit_seconds: Annotated[float, Field(gt=0)] = 2.0
    share: Annotated[float, Field(gt=0, le=1)] = 0.8
    seed: Annotated[int, Field(ge=0)] | None = None
    absent: bool = False
    at_most: bool = False
