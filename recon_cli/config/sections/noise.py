"""``noise:`` counts of records, with the noise of a strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, model_validator

from recon_cli.config.model import AnyNames, ConfigPath, Names, place_release
from recon_cli.config.protecting_by_chance import ProtectingByChance


class Noise(ProtectingByChance):
    """The section ``noise``.

    Attributes:
        strategy: What is measured where, and what it spends: ``pl94_2020``, ``dhc_2020``, or the
            path of a YAML file.
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        geounits: File or folder with the geoids of all units, inhabited or not.
        units: In place of that list ``exact``: only units with records are measured, so that it is
            published, exactly, which have any. One of the two is needed, but for study.
        levels: Of the strategy; default all that the release has from its partitions down.
        without: Features that the strategy measures and the release lacks.
        source: ``keyed``: from a secret key, or a study_seed; ``opendp``: from OpenDP.
        study_seed: Repeats what chance does, for study: not for publication. Without it chance is
            secret.
    """

    strategy: Annotated[str, BeforeValidator(place_release)]
    records: ConfigPath | None = None
    geounits: ConfigPath | None = None
    units: Literal["exact"] | None = None
    levels: Names | None = None
    without: AnyNames = ()
    source: Literal["keyed", "opendp"] = "keyed"

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.geounits is not None and self.units is not None:
            raise ValueError("geounits and units exclude each other")
        if self.study_seed is not None and self.source == "opendp":
            raise ValueError("study_seed and source: opendp exclude each other")
        return self

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records and geounits, where the section names any."""
        return tuple(path for path in (self.records, self.geounits) if path is not None)
