"""``noise:`` counts of records, with the noise of a strategy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from recon_cli.config.model import AnyNames, ConfigPath, Names, Section, place_release


class Noise(Section):
    """The section ``noise``.

    Attributes:
        strategy: What is measured where, and what it spends: ``pl94_2020``, ``dhc_2020``, or the
            path of a YAML file.
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        geounits: File or folder with the geoids of all units, inhabited or not; default those
            with records.
        levels: Of the strategy; default all that the release has from its partitions down.
        without: Features that the strategy measures and the release lacks.
        source: ``seeded``: repeatable, for study; ``opendp``: from OpenDP, never the same twice.
        seed: Of the noise; default the run's seed.
    """

    strategy: Annotated[str, BeforeValidator(place_release)]
    records: ConfigPath | None = None
    geounits: ConfigPath | None = None
    levels: Names | None = None
    without: AnyNames = ()
    source: Literal["seeded", "opendp"] = "seeded"
    seed: Annotated[int, Field(ge=0)] | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records and geounits, where the section names any."""
        return tuple(path for path in (self.records, self.geounits) if path is not None)
