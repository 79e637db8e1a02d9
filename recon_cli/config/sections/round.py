"""``round:`` counts of records, rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from recon_cli.config.model import ConfigPath, Section, TableChoice
from recon_cli.schema import Release


class Round(Section):
    """The section ``round``.

    Attributes:
        records: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        base: Every count becomes a multiple of it.
        how: To the nearest multiple, or to one of the two neighbours at random without bias.
        keys: ``records``: equal sets of records are rounded alike everywhere; ``cells``: each cell
            by itself, so that copies of a count can be averaged.
        tables: As in ``reconstruct``; default every table.
        seed: Of the keys; default the run's seed.
    """

    records: ConfigPath | None = None
    base: Annotated[int, Field(ge=2)] = 3
    how: Literal["nearest", "random"] = "random"
    keys: Literal["records", "cells"] = "records"
    tables: TableChoice | None = None
    seed: Annotated[int, Field(ge=0)] | None = None

    def check(self, release: Release) -> None:
        """Refuse unknown tables."""
        release.select_tables(self.tables)

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The records, where the section names any."""
        return () if self.records is None else (self.records,)
