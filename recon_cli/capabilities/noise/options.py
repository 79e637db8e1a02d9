"""``noise:`` counts of records, with the noise of a strategy.

The noise is discrete Gaussian or geometric, exactly, as a strategy says. It says which queries at
which level, each with its share of the budget. Given away is noisy/: a tidy publication, its
protection.yaml and, where the queries are not tables of the release, release.yaml: the schema to
read it with. Accuracy and the whole manifest are in private/noise/. Chance is secret, but for
study.

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
        strategy: What is measured where, and what it spends: ``pl94_2020``, ``dhc_2020``, or the
            path of a YAML file.
        geounits: File or folder with the geoids of all units, inhabited or not.
        units: In place of that list ``exact``: only units with records are measured, so that it is
            published, exactly, which have any. One of the two is needed, but for study.
        scale: Multiplies every budget of the strategy, as in ``1/8``.
        levels: Of the strategy; default all that the release has from its partitions down.
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
