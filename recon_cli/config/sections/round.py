"""``round:`` counts of records, rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import ConfigPath, CsvPath, Names, TableChoice, check_levels
from recon_cli.config.protecting_by_chance import ProtectingByChance
from recon_cli.config.protecting_counts import ProtectingCounts
from recon_cli.schema import Release


class Round(ProtectingByChance, ProtectingCounts):
    """The section ``round``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        counts: In place of records: a work folder in which `recon ingest` read exact counts.
        geounits: File or folder with the geoids of all units, inhabited or not; the list is
            published beside the counts. Without it they do not say which units there are.
        base: Every count becomes a multiple of it.
        how: To the nearest multiple; to one of the two neighbours at random without bias; or
            controlled, to one of the two so that the tables of a geounit stay additive.
        keys: ``records``: equal sets of records are rounded alike everywhere; ``cells``: each cell
            by itself, so that copies of a count can be averaged.
        levels: Names of the levels to round, counts of others are exact; default all.
        tables: Of records, as in ``reconstruct``; default every table.
        study_seed: Repeats what chance does, for study: not for publication. Without it chance is
            secret.
        to: A ``.csv`` file that gets the counts as they can be published; default none.
    """

    geounits: ConfigPath | None = None
    base: Annotated[int, Field(ge=2)] = 3
    how: Literal["nearest", "random", "controlled"] = "random"
    keys: Literal["records", "cells"] = "records"
    levels: Names | None = None
    tables: TableChoice | None = None
    to: CsvPath | None = None

    def inputs(self, work: Path) -> tuple[Path, ...]:
        """The records or counts, and the list of units, where the section names any."""
        listed = () if self.geounits is None else (self.geounits,)
        return (*super().inputs(work), *listed)

    def check(self, release: Release) -> None:
        """Refuse unknown tables and levels."""
        release.select_tables(self.tables)
        check_levels(self.levels, release)
