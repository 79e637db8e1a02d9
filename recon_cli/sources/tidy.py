"""The ``tidy`` source: one row per published count, in CSV or Parquet files.

Counts of a geounit may be anywhere in the files, so they are read in groups of partitions: a first
pass checks every row and counts the rows of each partition, then each group is a query of its own.
Memory depends on the group, not on the files.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import polars as pl

from recon_cli.coverage import Coverage, CoveragePattern, LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import COUNTS, GEOUNITS, partition_groups, within_partitions
from recon_cli.publication import GeounitBatch
from recon_cli.schema import Release, Table
from recon_cli.schema.tables import is_sum
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.shares import NO_SHARES, Shares
from recon_cli.sources.tidy_file import TidyFile, open_file, open_frame, published_cells
from recon_cli.sources.tidy_statements import StatementReader
from recon_cli.sources.tidy_statistics import StatisticReader
from recon_cli.spreadsheet import harmless
from recon_cli.statement import EXACT, Protection

#: Meaning of a cell without a row: it is zero, or it is not published.
Absent = Literal["zero", "unpublished"]
#: One meaning for all tables, or table → meaning; tables that are not named have zeros.
AbsentCells = Absent | Mapping[str, Absent]

GROUP_ROWS: Final = 2_000_000
_MOST_PATTERNS: Final = 2**15 - 1
_SUFFIXES: Final = (".csv", ".parquet")

#: Coverage of one geounit: rank of its level, ordinals of its cells in tables that publish only
#: what has a row.
_Cells = tuple[int, tuple[int, ...]]


class TidySource:
    """Opened and checked tidy files; see `open_tidy`."""

    def __init__(
        self,
        release: Release,
        files: tuple[TidyFile, ...],
        unpublished: frozenset[str],
        protection: Protection,
        group_rows: int = GROUP_ROWS,
        *,
        left_out: tuple[LeftOut, ...] = (),
        shares: Shares = NO_SHARES,
        printed: Sequence[TidyFile] | None = None,
    ) -> None:
        self._release = release
        self.shares = shares
        self.left_out = left_out
        self.protection = protection
        files = tuple(file.placed(release) for file in files)
        self._printed: StatisticReader | None = None
        if printed is not None:
            own = tuple(file.placed(release) for file in printed)
            self._printed = StatisticReader(release, protection, own)
        elif release.statistics:
            self._printed = StatisticReader(release, protection, files)
            files = self._printed.counts
        self._files = files
        self._unpublished = unpublished
        self._cells = CellIndex.of(release)
        self._published = published_cells(release)
        self._statements = StatementReader(
            release, self._cells, protection, lambda file, row: files[file].where(row)
        )
        for file in files:
            file.check(release, self._published)
        self._groups = self._partition_groups(group_rows)
        self._zeros = self._cells_with_zeros()
        self._patterns = self._distinct_patterns()

    @property
    def coverage(self) -> Coverage:
        """Return a pattern for each level, or each distinct set of cells; finest level first."""
        return tuple(self._pattern(cells) for cells in self._patterns)

    @property
    def has_statements(self) -> bool:
        """Report whether counts have intervals: then they have the columns of `STATEMENTS`."""
        return self._files[0].has_statements

    @property
    def absent(self) -> dict[str, CoveragePattern]:
        patterns = (self._pattern((rank, ())) for rank in self._zeros)
        return {pattern.level: pattern for pattern in patterns}

    @property
    def may_lack_geounits(self) -> bool:
        return bool(self._unpublished)

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield one batch for each group of partitions.

        Raises:
            SourceError: A geounit's cell occurs twice, or a file changed or broke.
        """
        for group in self._groups:
            rows = self._group(group)
            batch = GeounitBatch(self._geounits(self._units(rows)), self._counts(rows))
            if self._printed is not None:
                batch = replace(batch, statistics=self._printed.read(*group))
            yield batch

    def _geounits(self, units: pl.DataFrame) -> pl.DataFrame:
        by_rank = self._release.geography.by_rank
        names = {rank: level.name for rank, level in by_rank.items()}
        level = pl.col("rank").replace_strict(names, return_dtype=pl.String)
        return units.with_columns(level.alias("level")).select(GEOUNITS.names()).cast(GEOUNITS)

    def _counts(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.has_statements:
            return self._statements.counts(rows.filter(~self._statements.is_implied(rows)))
        some = rows.filter(pl.col("value") > 0)
        return self._cells.counts(
            some["geoid"],
            np.arange(some.height),
            some["ordinal"].cast(pl.Int64).to_numpy(),
            some["value"].to_numpy(),
        )

    def _partition_groups(self, group_rows: int) -> list[tuple[str, str]]:
        """Return first and last partition of groups of neighbours of up to ``group_rows`` rows."""
        level = self._release.geography.partition_level
        prefix = level.enclosing(pl.col("geoid")).alias("partition")
        sizes = pl.concat([file.collect(file.rows.group_by(prefix).len()) for file in self._files])
        totals = sizes.group_by("partition").agg(pl.col("len").sum()).sort("partition")
        return partition_groups(totals.iter_rows(), group_rows)

    def _group(self, group: tuple[str, str]) -> pl.DataFrame:
        """Read ``geoid, rank, ordinal, value`` of some partitions, sorted, each cell once.

        If counts have statements, also ``low, high, law``.
        """
        columns = ["geoid", "rank", "ordinal", "value", "row"]
        columns += ["marker", "least", "most"] if self.has_statements else []
        parts = [
            file.collect(
                file.cells(self._published)
                .filter(within_partitions(self._release.geography.partition_level, *group))
                .select(*columns, pl.lit(i, pl.Int32).alias("file"))
            )
            for i, file in enumerate(self._files)
        ]
        rows = pl.concat(parts).sort("geoid", "ordinal", "file", "row")
        same = pl.struct("geoid", "ordinal")
        twice = rows.with_row_index("at").filter(same == same.shift(1))
        if len(twice):
            self._refuse_twice(rows.slice(twice["at"][0] - 1, 2))
        if not self.has_statements:
            return rows
        return self.shares.narrowed(self._statements.read(rows))

    def _refuse_twice(self, pair: pl.DataFrame) -> None:
        first, again = pair.to_dicts()
        earlier = self._files[first["file"]].where(first["row"])
        raise SourceError(
            f"{self._files[again['file']].where(again['row'])}: geoid {again['geoid']}, "
            f"{self._cells.name(again['ordinal'])} occurs twice: count {again['value']} here, "
            f"count {first['value']} at {earlier}"
        )

    def _cells_with_zeros(self) -> dict[int, tuple[int, ...]]:
        """Map the rank of each level with rows to the sorted cells that are zero without a row.

        These are the cells of the tables with rows at the level, except sums that no row mentions.
        """
        mentions = pl.concat(
            [
                file.collect(file.cells(self._published).select("rank", "ordinal").unique())
                for file in self._files
            ]
        ).unique()
        zeros: dict[int, tuple[int, ...]] = {}
        for level in self._release.geography.levels:
            mentioned = set(mentions.filter(pl.col("rank") == level.rank)["ordinal"].to_list())
            if not mentioned:
                continue
            zeros[level.rank] = tuple(
                ordinal
                for table in self._release.tables
                if table.name not in self._unpublished
                for offset in [self._cells.offsets[table.name]]
                if not mentioned.isdisjoint(range(offset, offset + len(table.cells)))
                for ordinal, cell in enumerate(table.cells, start=offset)
                if ordinal in mentioned or not is_sum(cell, table.cells)
            )
        return zeros

    def _distinct_patterns(self) -> list[_Cells]:
        """Return each distinct set of cells beyond those with zeros, finest level first."""
        if not self._unpublished:
            return [(rank, ()) for rank in self._zeros]
        patterns: set[_Cells] = set()
        for group in self._groups:
            sets = self._cell_sets(self._group(group))
            patterns.update((rank, tuple(cells)) for rank, cells, _ in sets.iter_rows())
            if len(patterns) > _MOST_PATTERNS:
                raise SourceError(
                    f"{self._files[0].path}: more than {_MOST_PATTERNS} different sets of "
                    "published cells; are zero counts left out? Then absent must be 'zero'"
                )
        return sorted(patterns, key=lambda cells: (-cells[0], cells[1]))

    def _units(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ``geoid, rank, pattern`` of the geounits in ``rows``."""
        index = {cells: i for i, cells in enumerate(self._patterns)}
        if not self._unpublished:
            units = rows.select("geoid", "rank").unique(maintain_order=True)
            by_rank = {rank: i for (rank, _), i in index.items()}
            pattern = pl.col("rank").replace_strict(by_rank, return_dtype=pl.Int16)
            return units.with_columns(pattern.alias("pattern"))
        sets = self._cell_sets(rows)
        patterns = [index[rank, tuple(cells)] for rank, cells, _ in sets.iter_rows()]
        return (
            sets.select("geoid", "rank")
            .with_columns(pl.Series("pattern", patterns, dtype=pl.Int16))
            .explode("geoid")
            .sort("geoid")
        )

    def _cell_sets(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return ``rank, ordinal, geoid``: each distinct list of cells and a geounit that has it.

        Only cells that are unpublished without a row are in the lists.
        """
        tables = pl.Series(self._cells.tables).is_in(list(self._unpublished)).to_numpy()
        own = np.flatnonzero(tables[self._cells.table_of])
        is_own = pl.col("ordinal").is_in(pl.Series(own, dtype=pl.Int32).implode())
        units = rows.group_by("geoid", "rank", maintain_order=True).agg(
            pl.col("ordinal").filter(is_own)
        )
        return units.group_by("rank", "ordinal", maintain_order=True).agg("geoid")

    def _pattern(self, cells: _Cells) -> CoveragePattern:
        rank, own = cells
        level = self._release.geography.by_rank[rank].name
        return CoveragePattern(level, self._cells.numbers({*own, *self._zeros[rank]}))


def open_tidy(
    release: Release,
    paths: Sequence[Path | str],
    *,
    absent: AbsentCells = "zero",
    protection: Protection | None = None,
    group_rows: int = GROUP_ROWS,
) -> TidySource:
    """Open and check tidy files.

    Columns are ``geoid``, ``count`` and either ``table`` and ``cell``, a number from 1, or only
    ``cell``, a published cell code. The level of a geoid follows from its length; where areas are
    looked up, a column ``level`` may name it, and must for a code that two levels share. Where
    counts are protected, a count may be empty, negative or a marker, as far as the law of its table
    allows, and columns ``low`` and ``high`` may give the interval of the true count instead.

    Args:
        paths: ``.csv`` and ``.parquet`` files, or folders of them, together one publication.
        absent: Meaning of a cell without a row. ``zero``: a table with any row at a level is
            published for every geounit of that level in the files, and a cell without a row is
            zero; but a cell that is the sum of others is unpublished unless a row of the level
            names it. ``unpublished``: only cells with a row are published, zeros too. Where a
            geounit without any row may have people, `complete_geounits` adds it.
        protection: Law of each count. Without it all counts are exact, except those whose
            ``low`` or ``high`` the files give.
        group_rows: Approximate number of rows held at once; more if one partition has more.

    Raises:
        ConfigError: No paths, or ``absent`` is neither word or names an unknown table.
        SourceError: A file is missing or malformed; the message has the row.
    """
    if not paths:
        raise ConfigError("tidy: expected the path of at least one .csv or .parquet file")
    unpublished = tables_without_zeros(release, absent)
    names = [file for path in paths for file in tidy_files(Path(path))]
    is_stated = protection is not None or bool(release.statistics)
    files = tuple(open_file(name, has_statements=is_stated) for name in names)
    if any(file.has_statements for file in files):
        files = tuple(open_file(name, has_statements=True) for name in names)
    return TidySource(release, files, unpublished, protection or EXACT, group_rows)


def tidy_files(path: Path) -> list[Path]:
    """Return a file, or the tidy files of a folder."""
    if not path.is_dir():
        return [path]
    found = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in _SUFFIXES]
    if not found:
        raise SourceError(f"{path}: no .csv or .parquet file in this folder")
    return found


def tidy_frame(
    release: Release,
    counts: pl.DataFrame,
    *,
    absent: AbsentCells = "zero",
    protection: Protection | None = None,
) -> TidySource:
    """Open a frame in memory as a tidy source; see `open_tidy`.

    Args:
        counts: Columns ``geoid, table, cell, count``, or ``geoid, cell, count`` with cell codes.
        protection: Law of each count.

    Raises:
        ConfigError: ``absent`` is neither word or names an unknown table.
        SourceError: The frame is malformed; the message has the row.
    """
    unpublished = tables_without_zeros(release, absent)
    is_stated = protection is not None or bool(release.statistics)
    file = open_frame(counts, "counts", has_statements=is_stated)
    return TidySource(release, (file,), unpublished, protection or EXACT)


def tables_without_zeros(release: Release, absent: AbsentCells) -> frozenset[str]:
    """Return the names of the tables in which only cells with a row are published.

    Raises:
        ConfigError: A word or a table is unknown.
    """
    meanings = (
        dict(absent) if isinstance(absent, Mapping) else {t.name: absent for t in release.tables}
    )
    for name, meaning in meanings.items():
        if meaning not in get_args(Absent):
            raise ConfigError(f"tidy: absent must be zero or unpublished, found {meaning!r}")
        if name not in release.table_by_name:
            raise ConfigError(f"tidy: absent: no table {name!r} in release {release.name!r}")
    return frozenset(name for name, meaning in meanings.items() if meaning == "unpublished")


def with_zeros(
    release: Release, tables: Sequence[Table], levels: Collection[str], counts: pl.DataFrame
) -> pl.DataFrame:
    """Add a zero for each cell that counts nobody at a level.

    In a tidy file, a table or a sum of other cells without any row is unpublished.

    Args:
        counts: Columns of `COUNTS`, non-zero counts.

    Returns:
        ``counts``, and rows with the count 0 for a geounit of the level.
    """
    named = counts.with_columns(level=release.geography.level_names(pl.col("geoid")))
    first = dict(named.group_by("level").agg(pl.col("geoid").min()).iter_rows())
    seen = set(named.select("level", "table", "cell").unique().iter_rows())
    zeros = [
        (first[level], table.name, cell.number, 0)
        for table in tables
        for level in table.levels
        if level in levels and level in first
        for cell in table.cells
        if (level, table.name, cell.number) not in seen
    ]
    return pl.concat([counts, pl.DataFrame(zeros, schema=counts.schema, orient="row")])


def with_statistics(counts: pl.DataFrame, statistics: pl.DataFrame) -> pl.DataFrame:
    """Merge statistics into counts, which become texts.

    Args:
        counts: Columns of `COUNTS`.
        statistics: Columns of `recon_cli.frames.STATISTICS`.
    """
    texts = statistics.rename({"text": "count"})
    return pl.concat([counts.cast(texts.schema), texts]).sort("geoid", "table", "cell")


def write_tidy(counts: pl.DataFrame, path: Path, statistics: pl.DataFrame | None = None) -> None:
    """Write counts as a tidy file with columns ``geoid, table, cell, count``, sorted.

    Args:
        counts: Columns of `COUNTS`.
        path: Ends in ``.csv`` or ``.parquet``.
        statistics: Columns of `recon_cli.frames.STATISTICS`; with any, counts become texts, too.
    """
    rows = counts.select(COUNTS.names()).cast(COUNTS)
    if statistics is not None and not statistics.is_empty():
        rows = with_statistics(rows, statistics)
    rows = rows.sort("geoid", "table", "cell")
    match path.suffix.lower():
        case ".csv":
            # Numbers stay numbers, as texts, too.
            harmless(rows.drop("count")).with_columns(rows["count"]).write_csv(path)
        case ".parquet":
            rows.write_parquet(path)
        case _:
            raise ConfigError(f"{path}: expected a file name that ends in .csv or .parquet")
