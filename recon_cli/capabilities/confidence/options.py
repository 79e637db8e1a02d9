"""``confidence:`` how often each uncertain record appears among sampled solutions.

Writes confidence/, the rows of microdata/ with a confidence for each uncertain record: the share
of sampled solutions that contain the record. Sampling is not uniform over all solutions, so
confidence proves nothing; `recon score` compares it with the truth.

Example:
  recon confidence -c al.yaml
  recon confidence --solutions 400
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recon_cli.config.model import Section


class Confidence(Section):
    """The section ``confidence``.

    Attributes:
        solutions: Number of solutions to sample besides the reconstruction.
        seed: Seed of the samples; default the run's seed.
    """

    solutions: Annotated[int, Field(ge=2)] = 100
    seed: Annotated[int, Field(ge=0)] | None = None
