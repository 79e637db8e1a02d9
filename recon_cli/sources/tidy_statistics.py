"""Printed statistics among the rows of tidy files: their texts, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.frames import STATISTICS, within_partitions
from recon_cli.schema import Release, Table
from recon_cli.schema.statistics import UNROUNDED
from recon_cli.sources.tidy_file import GEOID, TidyFile
from recon_cli.statement import Protection
from recon_cli.statement.printed import Ends, printed_value
from recon_cli.statement.statistics import Withheld

#: A statistic, whether it is withheld, and its file and row.
_CHECKED: Final = pl.Schema(
    [*STATISTICS.items(), ("is_withheld", pl.Boolean()), ("file", pl.Int32()), ("row", pl.Int64())]
)


class StatisticReader:
    """Reads the rows of tables of statistics, which are no counts.

    Attributes:
        counts: The files without these rows; files without any other row are left out.
    """

    def __init__(self, release: Release, protection: Protection, files: Sequence[TidyFile]) -> None:
        """Check every printed statistic.

        Raises:
            SourceError: A text is no such statistic, or a cell occurs twice.
        """
        self._release, self._protection, self._files = release, protection, tuple(files)
        self._codes = {
            code: (table, number)
            for table in release.statistics
            for number, code in enumerate(table.codes, start=1)
        }
        without = [
            replace(file, rows=file.rows.filter(~is_statistic(self._release, file)))
            for file in files
        ]
        has_rows = [bool(len(file.collect(file.rows.limit(1)))) for file in without]
        kept = [file for file, has in zip(without, has_rows, strict=True) if has]
        self.counts = tuple(kept or without[:1])
        found = [self._checked(at, file) for at, file in enumerate(self._files)]
        nothing = pl.DataFrame(schema=_CHECKED)
        rows = pl.concat([nothing, *found]).sort("geoid", "table", "cell", "file", "row")
        same = pl.struct("geoid", "table", "cell")
        twice = rows.filter(same == same.shift(1))
        if len(twice):
            again = twice.row(0, named=True)
            raise SourceError(
                f"{self._files[again['file']].where(again['row'])}: geoid {again['geoid']}, table "
                f"{again['table']}, cell {again['cell']} occurs twice"
            )
        self._rows = rows.filter(~pl.col("is_withheld")).select(STATISTICS.names())

    def read(self, first: str, last: str) -> pl.DataFrame:
        """Return the statistics of some partitions: columns of `STATISTICS`."""
        level = self._release.geography.partition_level
        return self._rows.filter(within_partitions(level, first, last))

    def _checked(self, at: int, file: TidyFile) -> pl.DataFrame:
        """Return the statistics of a file, and whether each is withheld."""
        own = file.collect(file.rows.filter(is_statistic(self._release, file)).sort("row"))
        found = []
        for row in own.iter_rows(named=True):
            try:
                found.append((*self._read(row, file), at, row["row"]))
            except ValueError as error:
                raise SourceError(f"{file.where(row['row'])}: {error}") from error
        return pl.DataFrame(found, schema=_CHECKED, orient="row")

    def _read(self, row: dict[str, Any], file: TidyFile) -> tuple[str, str, int, str, bool]:
        """Return geoid, table, cell and text of a row, and whether it is withheld."""
        geoid, level = row["geoid"], self._release.geography.by_rank.get(row["rank"])
        if geoid is None or level is None or pl.Series([geoid]).str.contains(GEOID).not_().any():
            raise ValueError(f"expected a geoid of the release, found {geoid!r}")
        if file.by_table:
            table, number = self._release.statistic_by_name[row["table"]], row["number"]
        else:
            table, number = self._codes[row["cell"]]
        if number is None or not 1 <= number <= len(table.cells):
            raise ValueError(
                f"geoid {geoid}: table {table.name}: expected a cell from 1 to {len(table.cells)}, "
                f"found {row['cell']!r}"
            )
        what = f"{geoid} table {table.name} cell {number}"
        if level.name not in table.levels:
            raise ValueError(f"{what}: is not published at level {level.name}")
        text = _text(row["count"])
        law = self._protection.printing(table.name, level.name, text)
        if isinstance(law, Withheld):
            return geoid, table.name, number, text, True
        if isinstance(row["count"], float) and law.decimals is None:
            raise ValueError(
                f"{what}: {text} is a number, which has lost its trailing zeros; declare "
                "`law: {printed: {decimals: …}}`, or give texts"
            )
        try:
            ends = law.ends(text)
        except ValueError as error:
            raise ValueError(f"{what}: {error}{_remedy(text)}") from error
        refusal = ""
        if ends is not None:
            refusal = _refusal(self._release, table, ends, law.plain(text))
        if refusal:
            raise ValueError(f"{what}: {refusal}")
        return geoid, table.name, number, text, False


def is_statistic(release: Release, file: TidyFile) -> pl.Expr:
    """Return an expression: whether a row of a file belongs to a table of statistics."""
    if file.by_table:
        names = [table.name for table in release.statistics]
        return pl.col("table").is_in(names).fill_null(value=False)
    codes = [code for table in release.statistics for code in table.codes]
    return pl.col("cell").is_in(codes).fill_null(value=False)


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _remedy(text: str) -> str:
    return "" if any(map(str.isdigit, text)) else "; declare its marker as `law: {withheld: {}}`"


def _refusal(release: Release, table: Table, ends: Ends, text: str) -> str:
    """Return why no number of an interval can be the statistic of a table; empty if one can."""
    of = table.statistic
    if of is None:
        return f"table {table.name} has counts"
    is_rounded = of.kind not in UNROUNDED
    if is_rounded and any(limit is not None and limit in ends for limit in (of.least, of.most)):
        return ""
    return of.refusal(printed_value(text), text, release.features)
