"""``tabulate:`` records to published tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from recon_cli.capabilities.records.records_file import Records
from recon_cli.config.model import ConfigPath, Names, Section, TableChoice, check_levels
from recon_cli.schema import Release


class Tabulate(Section):
    """The section ``tabulate``.

    Attributes:
        records: Parquet or CSV file of records, with ``layout``, or ``columns`` and ``values``, if
            it has other headers and codes; default the run's ``microdata/``.
        to: The file to write: ``.csv`` or ``.parquet`` is tidy, ``.zip`` is legacy: the
            release's own layout of state files.
        format: Format of the file, if its name does not show it.
        tables: As in ``reconstruct``; default every table.
        levels: Names of levels; default all that a table has.
        decimals: Decimals of percentages, means, medians and other rounded statistics, which are
            printed only if ``tables`` is not given.
    """

    records: Records | None = None
    to: ConfigPath | None = None
    format: Literal["tidy", "legacy"] | None = None
    tables: TableChoice | None = None
    levels: Names | None = None
    decimals: Annotated[int, Field(ge=0, le=12)] = 1

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
        check_levels(self.levels, release)

    def inputs(self, work: Path) -> tuple[Path, ...]:
        """Return the records: the run's own microdata, unless the section names others."""
        if self.records is None:
            return work / "microdata", work / "geounits"
        return (self.records.path,)

    def outputs(self) -> tuple[Path, ...]:
        return () if self.to is None else (self.to,)
