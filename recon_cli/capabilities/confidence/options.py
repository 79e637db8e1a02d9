"""``confidence:`` how many solutions are sampled to see how often a record appears in them.

Writes confidence/, the rows of microdata/ with a confidence where a record is not certain. It
is a share of some solutions, not drawn uniformly from all, and never a proof; `recon score`
compares it with the truth.

Example:
  recon confidence -c al.yaml
  recon confidence --set confidence.solutions=400
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Confidence(Section):
    """The section ``confidence``.

    Attributes:
        solutions: Solutions to sample besides the reconstruction.
        seed: For the sampled solutions; default the run's seed.
    """

    solutions: Annotated[int, Field(ge=2)] = 100
    seed: Annotated[int, Field(ge=0)] | None = None
