"""Comparison of records with published counts, cell by cell.

The verdict must be exact, so nothing that could hide a difference is skipped: records outside the
published geounits are differences, and published counts that contradict their own coverage are
refused before anything is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import SourceError, VerificationError
from recon_cli.frames import OPEN
from recon_cli.publication import Publication
from recon_cli.schema import Level, Release, Table
from recon_cli.statement.stored_counts import CountIntervals, StoredCounts, count_intervals
from recon_cli.verification.evaluation import EvaluatedRecords, Matrix
from recon_cli.verification.printed import OtherStatistic, compare_statistics

#: One row per published cell that the records do not reproduce; ``table``, ``cell`` and ``code``
#: are null for records outside the geounits that no cell of the verified tables counts.
MISMATCHES = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "code": pl.String,
        "expected": pl.Int32,
        "found": pl.Int32,
    }
)

#: Differences by number: of the geounit, and of the cell among those of the requested tables.
_DIFFERENCES = pl.Schema(
    {"row": pl.Int64, "column": pl.Int64, "expected": pl.Int64, "found": pl.Int64}
)

#: Geounits compared in one go; bounds memory, not the result.
_SLAB = 1024
#: Mismatches that an error message spells out.
_NAMED = 5
#: Stands for a published number where the count is withheld.
_MARK = -(2**62)


@dataclass(frozen=True)
class Verification:
    """The result of comparing records with published counts.

    Attributes:
        cells_compared: Number of published cells, zeros included.
        mismatches: Columns of `MISMATCHES`, sorted by level (finest first), geoid, table, cell.
        cells_within: Number of these in whose place another number, or a mark, is published, and
            whose law allows the records' count.
        cells_unbounded: Number of these whose law allows any count, so that nothing can be
            compared: marks that bound nothing, and noise.
        statistics_compared: Number of printed statistics.
        other_statistics: Statistics that differ when printed from the records.
    """

    cells_compared: int
    mismatches: pl.DataFrame
    cells_within: int = 0
    cells_unbounded: int = 0
    statistics_compared: int = 0
    other_statistics: tuple[OtherStatistic, ...] = ()

    @property
    def ok(self) -> bool:
        """Report whether every compared cell and statistic agrees."""
        return self.mismatches.is_empty() and not self.other_statistics

    def require(self) -> None:
        """Raise an error unless `ok`.

        Raises:
            VerificationError: The message has the first mismatches, and their number.
        """
        if self.ok:
            return
        if self.mismatches.is_empty():
            listed = "; ".join(map(str, self.other_statistics[:_NAMED]))
            raise VerificationError(
                f"records do not print the same statistics: {len(self.other_statistics)} of "
                f"{self.statistics_compared}: {listed}"
            )
        named = [_sentence(row) for row in self.mismatches.head(_NAMED).iter_rows(named=True)]
        more = self.mismatches.height - len(named)
        raise VerificationError(
            f"records do not reproduce the published counts: {self.mismatches.height} mismatches "
            f"({self.cells_compared} cells compared): {'; '.join(named)}"
            + (f"; and {more} more" if more else "")
        )


def _sentence(row: dict[str, object]) -> str:
    cell = "" if row["table"] is None else f" {row['table']} {row['code']}"
    what = cell or " records outside the published geounits"
    return f"{row['level']} {row['geoid']}{what}: expected {row['expected']}, found {row['found']}"


def verify(
    release: Release, published: Publication, records: pl.DataFrame, tables: Sequence[Table]
) -> Verification:
    """Tabulate ``records`` again and compare every published cell of ``tables`` at every level.

    A published cell that is absent from the counts is zero; a cell that the coverage pattern of its
    geounit does not name is not compared. Records in a unit that is not among the geounits are
    mismatches with every cell that counts them. (If no geounit of the unit level is listed, the
    finest level listed takes its place.) A protected count agrees with every number in its
    interval; ``expected`` is the bound that is missed.

    Args:
        records: As `recon.tabulate` takes them, of the same partition.
        tables: Tables to compare; at least one.

    Raises:
        VerificationError: ``tables`` is empty, or the records do not fit the schema.
        SourceError: The published counts contradict their own geounits or coverage.
    """
    if not tables:
        raise VerificationError("verify: no tables were given, so nothing would be compared")
    _check_geounits(release, published)
    evaluated = EvaluatedRecords.of(
        release, _fill_unseen(release, published, records, tables), tables
    )
    covered = _covered(evaluated, published)
    expected = _expected(evaluated, published, covered)
    frames = [MISMATCHES.to_frame()]
    within = unbounded = 0
    for sides in _by_level(evaluated, published, expected):
        frames.append(_mismatches(evaluated, sides, covered))
        for allowed, is_open in _not_equal(evaluated, sides, covered):
            within += allowed
            unbounded += is_open
    patterns = published.geounits["pattern"].to_numpy()
    compared = int(covered.sum(axis=1)[patterns].sum())
    printed = compare_statistics(release, published, records)
    return Verification(compared, pl.concat(frames), within, unbounded, *printed)


def _fill_unseen(
    release: Release, published: Publication, records: pl.DataFrame, tables: Sequence[Table]
) -> pl.DataFrame:
    """Put any value for nulls of features that no published cell around the unit distinguishes.

    Other nulls are kept, and refused later.
    """
    distinguished = [
        release.distinguished_by(cell for _, cell in pattern.published_cells(tables))
        for pattern in published.coverage
    ]
    for index, feature in enumerate(release.features):
        if feature.name not in records.columns or not records[feature.name].null_count():
            continue
        seeing = [at for at, features in enumerate(distinguished) if index in features]
        seen = published.geounits.filter(pl.col("pattern").is_in(seeing))["geoid"].implode()
        fill = records[feature.name].is_null()
        for level in release.geography.levels:
            places = level.enclosing(records[release.geoid_column])  # null: outside all of them
            fill &= ~places.is_in(seen).fill_null(value=False)
        value = pl.lit(feature.values[0], dtype=records.schema[feature.name])
        if records.schema[feature.name] == pl.Null:
            value = pl.lit(feature.values[0], dtype=feature.dtype)
        records = records.with_columns(
            pl.when(fill).then(value).otherwise(pl.col(feature.name)).alias(feature.name)
        )
    return records


@dataclass(frozen=True)
class _Statements:
    """Statements of protected counts.

    Attributes:
        numbers: Geounits x cells: the published numbers, `_MARK` where there is none.
    """

    intervals: CountIntervals
    numbers: Matrix


@dataclass(frozen=True)
class _Sides:
    """Both sides of the comparison at one level, on the same rows.

    Attributes:
        geoids: The geoid of each row: listed geounits, then others that records are in.
        pattern: Row of the coverage for each geounit.
        listed: Number of listed ``geoids``.
        expected: Published counts, or lower ends of intervals, listed geounits x cells.
        people: Records, geounits x class combinations.
        rows: Numbers of the listed geounits among all.
        statements: Statements of protected counts; None if all are exact.
    """

    level: Level
    geoids: pl.Series
    pattern: IntArray
    listed: int
    expected: Matrix
    people: Matrix
    rows: IntArray
    statements: _Statements | None

    def beyond(self, counts: Matrix, start: int) -> Matrix:
        """Return how far counts of geounits from ``start`` on leave their published intervals."""
        stop = start + counts.shape[0]
        nothing = sparse.csr_array(
            (max(stop - max(start, self.listed), 0), counts.shape[1]), dtype=np.int64
        )
        if self.statements is None:
            listed = self.expected[start : min(stop, self.listed)]
            return sparse.csr_array(counts - sparse.vstack([listed, nothing], format="csr"))
        low, high = self.statements.intervals.of(self.rows[start:stop])
        ends = np.zeros((2, *counts.shape), dtype=np.int64)
        ends[:, : len(low)] = low, high
        found = counts.toarray()
        return sparse.csr_array(found - np.clip(found, ends[0], ends[1]))


def _by_level(
    evaluated: EvaluatedRecords, published: Publication, expected: Matrix
) -> Iterator[_Sides]:
    release, geounits = evaluated.release, published.geounits
    finest = _finest_listed_level(release, geounits)
    statements = _statements(evaluated, published)
    for level in release.geography.levels:
        inhabited, people = evaluated.at(level)
        rows = (geounits["level"] == level.name).arg_true().to_numpy()
        here = geounits[rows]
        unlisted = inhabited.filter(~inhabited.is_in(here["geoid"].implode()))
        if level != finest:
            unlisted = unlisted.clear()
        geoids = pl.concat([here["geoid"], unlisted.alias("geoid")])
        outside = np.full(len(unlisted), len(published.coverage))
        yield _Sides(
            level=level,
            geoids=geoids,
            pattern=np.append(here["pattern"].to_numpy(), outside).astype(np.int64),
            listed=here.height,
            expected=expected[rows],
            people=_select(geoids, inhabited) @ people,
            rows=np.asarray(rows, dtype=np.int64),
            statements=statements,
        )


def _statements(evaluated: EvaluatedRecords, published: Publication) -> _Statements | None:
    """Return the statements of protected counts, geounits x cells of the requested tables."""
    if published.is_exact:
        return None
    keys = evaluated.cells.select("table", "cell").iter_rows()
    places = {(table, cell): place for place, (table, cell) in enumerate(keys)}
    stored = StoredCounts.find(evaluated.release, published.geounits, published.counts, places)
    numbers = stored.frame["count"].cast(pl.Int64).fill_null(_MARK).to_numpy()
    return _Statements(
        count_intervals(stored, published.protection),
        sparse.csr_array((numbers, (stored.row, stored.column)), shape=stored.shape),
    )


def _not_equal(
    evaluated: EvaluatedRecords, sides: _Sides, covered: BoolArray
) -> Iterator[tuple[int, int]]:
    """Yield how many covered cells agree without being equal: within their law, or unbounded."""
    if sides.statements is None:
        return
    adds = _only(evaluated.adds, np.any(covered[np.unique(sides.pattern)], axis=0))
    for start in range(0, sides.listed, _SLAB):
        stop = min(start + _SLAB, sides.listed)
        rows = sides.rows[start:stop]
        found = (sides.people[start:stop] @ adds).toarray()
        low, high = sides.statements.intervals.of(rows)
        is_covered = covered[sides.pattern[start:stop]]
        is_open = (low == 0) & (high >= OPEN)
        numbers = sides.statements.numbers[rows].toarray()
        is_allowed = (low <= found) & (found <= high) & ((low < high) | (numbers != _MARK))
        is_other = found != numbers
        yield (
            int((is_covered & is_allowed & is_other & ~is_open).sum()),
            int((is_covered & is_open).sum()),
        )


def _select(wanted: pl.Series, there: pl.Series) -> Matrix:
    """Build the matrix that maps the rows of ``there`` to the order of ``wanted``."""
    at = wanted.to_frame("geoid").join(
        there.to_frame("geoid").with_row_index("at"), on="geoid", how="left", maintain_order="left"
    )["at"]
    rows = at.is_not_null().arg_true().to_numpy()
    entries = (np.ones(len(rows), np.int64), (rows, at.drop_nulls().to_numpy()))
    return sparse.coo_array(entries, shape=(len(wanted), len(there))).tocsr()


def _mismatches(evaluated: EvaluatedRecords, sides: _Sides, covered: BoolArray) -> pl.DataFrame:
    """Build the `MISMATCHES`, sorted by geoid, table and cell."""
    adds = _only(evaluated.adds, np.any(covered[np.unique(sides.pattern)], axis=0))
    parts = [_DIFFERENCES.to_frame()]
    for start in range(0, len(sides.geoids), _SLAB):
        stop = min(start + _SLAB, len(sides.geoids))
        counts = sides.people[start:stop] @ adds
        beyond = sides.beyond(counts, start)
        part = _differences(counts, beyond, covered, sides.pattern[start:stop])
        parts.append(part.with_columns(pl.col("row") + start))
    differences = pl.concat([*parts, _uncounted(sides, pl.concat(parts)["row"])])
    cells = evaluated.cells.with_row_index("column").cast({"column": pl.Int64})
    return (
        differences.with_columns(
            geoid=sides.geoids.gather(differences["row"]), level=pl.lit(sides.level.name)
        )
        .join(cells, on="column", how="left")
        .sort("geoid", "column")
        .select(pl.col(name).cast(kind) for name, kind in MISMATCHES.items())
    )


def _only(adds: Matrix, wanted: BoolArray) -> Matrix:
    """Clear the columns of ``adds`` that are not wanted."""
    kept = adds.copy()
    kept.data *= wanted[kept.indices]
    kept.eliminate_zeros()
    return kept


def _uncounted(sides: _Sides, named: pl.Series) -> pl.DataFrame:
    """List unlisted geounits with people whom no cell counts; columns of `_DIFFERENCES`."""
    rows = np.setdiff1d(np.arange(sides.listed, len(sides.geoids)), named.to_numpy())
    people = np.asarray(sides.people[rows].sum(axis=1), np.int64)
    return pl.DataFrame(
        {"row": rows, "column": None, "expected": np.zeros_like(people), "found": people},
        schema=_DIFFERENCES,
    )


def _differences(
    found: Matrix, beyond: Matrix, covered: BoolArray, pattern: IntArray
) -> pl.DataFrame:
    """List covered cells with counts ``beyond`` the expected; columns of `_DIFFERENCES`."""
    difference = beyond.tocoo()
    row, column = difference.row.astype(np.int64), difference.col.astype(np.int64)
    wrong = (difference.data != 0) & covered[pattern[row], column]
    row, column, excess = row[wrong], column[wrong], difference.data[wrong]
    rows, at = np.unique(row, return_inverse=True)
    counted = found[rows].toarray()[at, column]
    return pl.DataFrame(
        {"row": row, "column": column, "expected": counted - excess, "found": counted},
        schema=_DIFFERENCES,
    )


def _finest_listed_level(release: Release, geounits: pl.DataFrame) -> Level:
    """Return the finest level with listed geounits: every record must be in one of them."""
    listed = set(geounits["level"].unique())
    levels = release.geography.levels
    return next((level for level in levels if level.name in listed), release.geography.unit)


def _check_geounits(release: Release, published: Publication) -> None:
    """Refuse geounits whose level, geoid and pattern disagree, and geounits listed twice."""
    for pattern in published.coverage:
        pattern.check(release)
    geounits = published.geounits
    known = pl.DataFrame(
        [(at, pattern.level, pattern.level) for at, pattern in enumerate(published.coverage)],
        schema={"pattern": geounits["pattern"].dtype, "level": pl.String, "of_geoid": pl.String},
        orient="row",
    )
    named = geounits.with_columns(of_geoid=release.geography.level_names(pl.col("geoid")))
    wrong = named.join(known, on=known.columns, how="anti")
    if wrong.height:
        first = wrong.row(0, named=True)
        raise SourceError(
            f"published geounit {first['geoid']!r}: level {first['level']!r} and coverage pattern "
            f"{first['pattern']!r} do not fit a geoid of {len(first['geoid'])} characters"
        )
    twice = geounits.filter(pl.col("geoid").is_duplicated())
    if twice.height:
        raise SourceError(f"published geounit {twice['geoid'][0]!r} is listed twice")


def _covered(evaluated: EvaluatedRecords, published: Publication) -> BoolArray:
    """Return patterns x cells of the requested tables: which cells each pattern publishes.

    The last row is for records outside the geounits: every cell of the finest listed level.
    """
    finest = _finest_listed_level(evaluated.release, published.geounits)
    everything = CoveragePattern.complete(evaluated.release, finest.name)
    patterns = (*published.coverage, everything)
    covered = np.zeros((len(patterns), evaluated.cells.height), np.bool_)
    for row, pattern in zip(covered, patterns, strict=True):
        for name, start in evaluated.starts.items():
            row[start - 1 + np.array(pattern.cells.get(name, ()), np.int64)] = True
    return covered


def _expected(evaluated: EvaluatedRecords, published: Publication, covered: BoolArray) -> Matrix:
    """Return the published counts, or lower ends, as geounits x cells of the requested tables.

    Raises:
        SourceError: A count is not of a published cell, or a cell has two counts.
    """
    unknown = set(published.counts["table"].unique()) - set(evaluated.release.table_by_name)
    if unknown:
        raise SourceError(f"published counts: no table {min(map(str, unknown))!r} in the release")
    counts = published.counts.filter(pl.col("table").is_in(list(evaluated.starts)))
    if not published.is_exact:
        counts = counts.with_columns(count=pl.col("low"))
    rows = published.geounits.lazy().select("geoid", "pattern").with_row_index("row")
    cells = evaluated.cells.lazy().select("table", "cell").with_row_index("column")
    placed = (
        counts.lazy()
        .join(rows, on="geoid", how="left", maintain_order="left")
        .join(cells, on=["table", "cell"], how="left", maintain_order="left")
        .select("row", "pattern", "column", "count")
        .collect()
    )
    complete = placed.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
    if not complete.all():
        _refuse(counts.filter(~complete), "no such geounit or cell, or no count")
    row, column = placed["row"].to_numpy(), placed["column"].to_numpy()
    public = pl.Series(covered[placed["pattern"].to_numpy(), column])
    if not public.all():
        _refuse(counts.filter(~public), "not published there, its coverage says")
    data = placed["count"].cast(pl.Int64).to_numpy()
    shape = (published.geounits.height, evaluated.cells.height)
    matrix = sparse.coo_array((data, (row, column)), shape=shape).tocsr()
    if matrix.nnz != counts.height:
        twice = counts.select("geoid", "table", "cell").is_duplicated()
        _refuse(counts.filter(twice), "given twice")
    return matrix


def _refuse(counts: pl.DataFrame, why: str) -> NoReturn:
    first = counts.row(0, named=True)
    raise SourceError(
        f"published counts: geoid {first['geoid']!r}, table {first['table']!r}, "
        f"cell {first['cell']}, count {first['count']}: {why} ({counts.height} such counts)"
    )
