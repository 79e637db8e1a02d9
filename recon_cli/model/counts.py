"""Published counts of one partition as arrays, with the parents of each geounit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.coverage import UNLISTED
from recon_cli.errors import SourceError
from recon_cli.model.plan import Plan
from recon_cli.plurals import plural
from recon_cli.publication import MOST_PEOPLE, Publication, require_no_statistics
from recon_cli.schema import Level
from recon_cli.statement import Protection
from recon_cli.statement.costs import CountCosts, count_costs
from recon_cli.statement.stored_counts import CountIntervals, StoredCounts, count_intervals

Names = npt.NDArray[np.str_]


Middle = Literal["all", "nearest", "few", "one"]


@dataclass(frozen=True)
class StatisticTexts:
    """Printed statistics of the geounits of a partition.

    Attributes:
        frame: Columns ``number`` (its index), ``geounit`` (row number), ``table``, ``cell``,
            ``text``.
        protection: Gives the law of each text.
        middle: Rows of a median or quantile if several pairs of middle values print its text:
            rows that ``all`` pairs meet; rows of the ``nearest`` pair, which suffice; or, if the
            definition is declared, a choice among a ``few`` near pairs, or of any ``one`` pair.
    """

    frame: pl.DataFrame
    protection: Protection
    middle: Middle = "all"

    def at(self, geounits: IntArray) -> pl.DataFrame:
        here = pl.Series(np.unique(geounits), dtype=pl.Int64)
        return self.frame.filter(pl.col("geounit").is_in(here.implode()))


@dataclass(frozen=True)
class PartitionCounts:
    """One partition's counts, indexed by the row numbers of its geounits.

    Attributes:
        geoids: The geounits' geoids, by level and geoid.
        population: Their published populations, null where unknown.
        pattern: The geounits' coverage patterns.
        is_listed: False for a unit that stands for all unlisted units of a coarser geounit.
        units: Row numbers of the units (the finest level), ordered by region.
        region: For each of `units` the number of its region, sorted.
        parent: Level name → for each of `units` the row number of the geounit it lies in, or −1.
        matrix: Sparse (geounits × the plan's `columns`) of published counts; where these are
            intervals, of their lower ends.
        intervals: The intervals of the counts by the plan's `columns`; None where all are exact.
        costs: The costs of the counts, by the same columns; None where no law has any.
        statistics: Statistics printed beside the counts; None where there are none.
    """

    geoids: pl.Series
    population: pl.Series
    pattern: IntArray
    is_listed: BoolArray
    units: IntArray
    region: IntArray
    region_geoids: pl.Series
    parent: dict[str, IntArray]
    matrix: sparse.csr_array
    intervals: CountIntervals | None = None
    costs: CountCosts | None = None
    statistics: StatisticTexts | None = None

    def attempts(self) -> Iterator[PartitionCounts]:
        """Yield copies with each choice of `Middle` whose rows suffice for the printed texts."""
        texts, middles = self.statistics, get_args(Middle)[1:]
        for middle in middles if texts is not None else ():
            yield replace(self, statistics=texts and replace(texts, middle=middle))

    @property
    def exactly(self) -> PartitionCounts:
        """Return a copy whose rows express printed texts exactly where rows can."""
        texts = self.statistics
        return self if texts is None else replace(self, statistics=replace(texts, middle="one"))

    def level_of(self, geounit: int) -> str:
        """Return the level of a geounit that contains some unit, by its row number."""
        return next(name for name, rows in self.parent.items() if (rows == geounit).any())

    def lying_in(self, batch: slice | IntArray) -> tuple[IntArray, ...]:
        """Return for each level the row of the geounit that contains each unit, or −1."""
        return tuple(parent[batch] for parent in self.parent.values())

    def geounits_of(self, level: str, pattern: int, batch: slice) -> tuple[IntArray, IntArray]:
        """Return the geounits of a level and pattern that contain units of a batch.

        Returns:
            Their row numbers, sorted; and for each unit of the batch its place among them, or −1.
        """
        of_unit = self.parent[level][batch]
        geounits = np.unique(of_unit[of_unit >= 0])
        geounits = geounits[self.pattern[geounits] == pattern]
        if not len(geounits):
            return geounits, np.full(len(of_unit), -1, dtype=np.int64)
        place = np.searchsorted(geounits, of_unit)
        is_inside = geounits[np.minimum(place, len(geounits) - 1)] == of_unit
        return geounits, np.where((of_unit >= 0) & is_inside, place, -1)


def arrange_counts(
    plan: Plan, published: Publication, *, joins_statistics: bool = False
) -> PartitionCounts:
    """Index a partition's counts.

    Args:
        joins_statistics: Whether the caller joins printed statistics to the counts. If not,
            statistics of the plan's release are refused, since nothing can be called safe without
            them; statistics that the plan's release does not have are left out.

    Raises:
        SourceError: A unit lies in no geounit of a level whose tables are in use, or a count
            belongs to no geounit.
    """
    geography = plan.release.geography
    if plan.release.statistics and not joins_statistics:
        require_no_statistics(published)
    geounits = published.geounits.sort("level", "geoid")
    names = np.array(geounits["geoid"].to_list(), dtype=str)
    at_level = {
        level.name: np.flatnonzero((geounits["level"] == level.name).to_numpy())
        for level in geography.levels
    }
    units = at_level[geography.unit.name]
    region_of = _enclosing(plan.release.region, names[units])
    order = np.argsort(region_of, kind="stable")  # as they are, where geoids begin with regions
    units, region_of = units[order], region_of[order]
    parent = {
        level.name: _find(_enclosing(level, names[units]), names, at_level[level.name])
        for level in geography.levels
    }
    entries = _entries(plan, geounits["geoid"], published.counts)
    _require_parents(plan, names[units], np.isin(units, entries.row), parent)
    matrix = _matrix(plan, geounits["geoid"], entries)
    if matrix.nnz and int(matrix.data.max()) > MOST_PEOPLE:
        people = plural(plan.release.record)
        row = int(matrix.tocoo().row[int(matrix.data.argmax())])
        raise SourceError(
            f"geoid {names[row]}: a count of {int(matrix.data.max()):,}; one "
            f"partition holds at most {MOST_PEOPLE:,} {people}, so choose a finer partition level"
        )
    pattern = geounits["pattern"].cast(pl.Int64).to_numpy()
    stored = None if published.is_exact else _stored(plan, geounits["level"], entries)
    intervals = None if stored is None else count_intervals(stored, published.protection)
    has_people = np.diff(matrix.indptr) > 0
    if intervals is not None:
        has_people |= _proves_people(plan, intervals, pattern)
    _require_units(plan, names, at_level, parent, has_people)
    regions, region = np.unique(region_of, return_inverse=True)
    return PartitionCounts(
        geoids=geounits["geoid"],
        population=geounits["population"],
        pattern=pattern,
        is_listed=np.array([each.is_listed for each in published.coverage], dtype=bool)[pattern],
        units=units,
        region=region,
        region_geoids=pl.Series("geoid", regions.tolist(), dtype=pl.String),
        parent=parent,
        matrix=matrix,
        intervals=intervals,
        costs=None if stored is None else count_costs(stored, published.protection),
        statistics=_texts(plan, geounits["geoid"], published),
    )


def _texts(plan: Plan, geoids: pl.Series, published: Publication) -> StatisticTexts | None:
    """Return the statistics by row number of their geounit; None if the plan has none."""
    if not plan.release.statistics or published.statistics.is_empty():
        return None
    rows = geoids.alias("geoid").to_frame().with_row_index("geounit")
    frame = published.statistics.join(rows, on="geoid", how="inner")
    frame = frame.select(pl.col("geounit").cast(pl.Int64), "table", "cell", "text")
    frame = frame.sort("geounit", "table", "cell").with_row_index("number")
    return StatisticTexts(frame.with_columns(pl.col("number").cast(pl.Int64)), published.protection)


def _enclosing(level: Level, names: Names) -> Names:
    geoids = level.enclosing(pl.Series(names, dtype=pl.String)).fill_null("")
    return np.array(geoids.to_list(), dtype=str)


def _find(wanted: Names, names: Names, rows: IntArray) -> IntArray:
    """Find each of ``wanted`` among ``rows``, sorted by name; −1 if absent."""
    if not len(rows):
        return np.full(len(wanted), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(names[rows], wanted), len(rows) - 1)
    return np.where(names[rows[place]] == wanted, rows[place], -1)


@dataclass(frozen=True)
class _Entries:
    """The counts, sorted by row.

    Attributes:
        frame: Columns of `COUNTS`.
        row: The geounit of each, −1 where it is not listed.
        column: The place among the plan's columns, −1 where the plan does not use the cell.
    """

    frame: pl.DataFrame
    row: IntArray
    column: IntArray


def _entries(plan: Plan, geoids: pl.Series, counts: pl.DataFrame) -> _Entries:
    widths = np.array([len(table.cells) for table in plan.tables] + [0])
    first = np.cumsum(widths) - widths
    table = _codes(counts["table"], pl.Series([table.name for table in plan.tables]))
    cell = counts["cell"].to_numpy().astype(np.int64)
    column = np.where((cell >= 1) & (cell <= widths[table]), first[table] + cell - 1, -1)
    return _Entries(counts, _codes(counts["geoid"], geoids), column)


def _codes(values: pl.Series, of: pl.Series) -> IntArray:
    """Return the index of each value in ``of``, −1 if absent."""
    codes = values.cast(pl.Enum(of), strict=False).to_physical()
    return codes.cast(pl.Int64).fill_null(-1).to_numpy()


def _stored(plan: Plan, levels: pl.Series, entries: _Entries) -> StoredCounts:
    used = np.flatnonzero(entries.column >= 0)
    at = entries.row[used], entries.column[used]
    return StoredCounts.at(plan.release, levels, entries.frame[used], at, plan.columns)


def _require_parents(
    plan: Plan, units: Names, peopled: BoolArray, parent: dict[str, IntArray]
) -> None:
    """Refuse units with people inside an unlisted geounit of a level that has rows."""
    for level in sorted({pattern.level for pattern in plan.patterns if pattern.masks}):
        orphans = units[peopled & (parent[level] == -1)]
        of_level = plan.release.geography.by_name[level]
        above = _enclosing(of_level, orphans)
        # Others lie outside all areas, or stand for units of a coarser geounit that is not listed.
        orphans = orphans[(above != "") & ~np.char.endswith(above, UNLISTED)]
        if len(orphans):
            unit = plan.release.geography.unit.name
            geoid = str(orphans[0])
            place = of_level.enclosing(geoid)
            tables = [table.name for table in plan.tables if level in table.levels]
            raise SourceError(
                f"{unit} {geoid}: its {level} {place} is not in the release, but the "
                f"tables in use are published by {level} ({', '.join(tables[:6])}"
                f"{', …' if len(tables) > 6 else ''}); {len(orphans)} such {unit}(s); give its "
                "counts; if rows of zeros were left out, list all places in ingest.geounits"
            )


def _proves_people(plan: Plan, intervals: CountIntervals, pattern: IntArray) -> BoolArray:
    """Test which geounits have a count proven positive, where even an absent count can be."""
    found = np.zeros(len(pattern), dtype=bool)
    if (intervals.absent[0] > 0).any():
        for each in plan.patterns:
            here = np.flatnonzero(pattern == each.pattern)
            columns = [plan.columns[cell] for cell in each.margins.columns]
            found[here] = (intervals.of(here)[0][:, columns] > 0).any(axis=1)
    return found


def _require_units(
    plan: Plan,
    names: Names,
    at_level: dict[str, IntArray],
    parent: dict[str, IntArray],
    has_people: BoolArray,
) -> None:
    """Refuse coarse geounits with people and no unit to place them in."""
    unit = plan.release.geography.unit.name
    for level in sorted({pattern.level for pattern in plan.patterns} - {unit}):
        empty = np.setdiff1d(at_level[level][has_people[at_level[level]]], parent[level])
        if len(empty):
            raise SourceError(
                f"{level} {names[empty[0]]}: {plural(plan.release.record)} are published, but none "
                f"of its {plural(unit)} is in the release; {len(empty)} such {level}(s)"
            )


def _matrix(plan: Plan, geoids: pl.Series, entries: _Entries) -> sparse.csr_array:
    used = np.flatnonzero(entries.column >= 0)
    row, column = entries.row[used], entries.column[used]
    if (row < 0).any():
        lost = entries.frame.row(int(used[np.argmin(row)]), named=True)
        raise SourceError(
            f"table {lost['table']} cell {lost['cell']}: "
            f"geoid {lost['geoid']} is not among the geounits of {plan.release.name}"
        )
    known = "low" if "low" in entries.frame.columns else "count"
    count = entries.frame[known].to_numpy()[used].astype(np.int64)
    matrix = sparse.csr_array((count, (row, column)), shape=(len(geoids), len(plan.columns)))
    if matrix.nnz != len(used):
        key = row * len(plan.columns) + column
        _, first, times = np.unique(key, return_index=True, return_counts=True)
        twice = entries.frame.row(int(used[first[times > 1].min()]), named=True)
        raise SourceError(
            f"geoid {twice['geoid']} table {twice['table']} cell {twice['cell']}: counted twice"
        )
    matrix.eliminate_zeros()
    return matrix
