"""``noise:`` noisy counts of records, by a strategy.

The strategy lists the queries of each level, each with its share of the budget, and the noise:
exact discrete Gaussian or geometric. Writes noisy/ for publication: a tidy publication, its
protection.yaml and, if the queries are not tables of the release, release.yaml, the schema to read
it with. private/noise/ has its accuracy and the full manifest. Random numbers are secret, except in
runs for study.

Example:
  recon protect noise --strategy pl94_2020
  recon protect noise -c nation.yaml
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, model_validator

from recon_cli.capabilities.protect.sections import MeasuringRecords
from recon_cli.config.model import AnyNames, Names, place_release


class Noise(MeasuringRecords):
    """The section ``noise``.

    Attributes:
        strategy: Queries, levels and budgets: ``pl94_2020``, ``dhc_2020``, or the path of a YAML
            file.
        geounits: File or folder with the geoids of all units, inhabited or not.
        units: ``exact`` in place of a list of geounits: only units with records are measured, which
            reveals exactly which they are. Either geounits or units is needed, except for study.
        scale: Multiplies every budget of the strategy, as in ``1/8``.
        levels: Levels of the strategy; default all that the release has from its partition level
            (such as county) down.
        without: Features that the strategy measures and the release lacks.
        source: ``keyed``: from a secret key, or a study_seed; ``opendp``: from OpenDP.
    """

    strategy: Annotated[str, BeforeValidator(place_release)]
    levels: Names | None = None
    without: AnyNames = ()
    source: Literal["keyed", "opendp"] = "keyed"

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.study_seed is not None and self.source == "opendp":
            raise ValueError("study_seed and source: opendp exclude each other")
        return self
