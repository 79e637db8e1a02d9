"""Tabulation of records to published counts, from the release schema alone.

The counts of all cells in all geounits are one product of two sparse integer matrices, (geounit x
class combination) @ (class combination x cell). Two values of a feature are in the same class if no
requested cell distinguishes them, so few combinations occur, and predicates are evaluated once for
each combination instead of once for each person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.records.encoding import encode
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import VerificationError
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import Cell, Feature, Level, Release, Table

Matrix = sparse.csr_array[np.int64, tuple[int, int]]

#: Largest number of (combination, cell) pairs whose predicates are evaluated in one go.
_PAIRS = 4_000_000
#: Codes stay below this while features are combined, so that int64 cannot overflow.
_CODES = 2**62


def tabulate(
    release: Release,
    records: pl.DataFrame,
    tables: Sequence[Table] | None = None,
    levels: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Count records in every cell of every geounit that has any.

    Args:
        release: The schema; nothing else is known of the records.
        records: One row per person: ``release.geoid_column`` (String) and a column for each
            feature. Other columns, such as recodes, are ignored. A null means that the feature
            was not reconstructed, which only tables that do not distinguish it can bear.
        tables: Default all of the release.
        levels: Levels to count every table for, whether published there or not; default each
            table's own. A record may name a geounit of the finest of these in place of its unit.

    Returns:
        Columns of `recon_cli.frames.COUNTS`, counts above zero; sorted by level (finest
        first), geoid, table (as published) and cell.

    Raises:
        VerificationError: Columns, values or geoids that the schema does not know; the message
            names column, value and first geoid. Or an unknown table or level.

    >>> import recon_cli as recon
    >>> release = recon.load_release("clinic_visits")
    >>> recon.tabulate(release, recon.example_patients()).head(1).rows()
    [('D01001', 'PATIENTS', 1, 4)]
    """
    unknown = [name for name in levels or () if name not in release.geography.by_name]
    if unknown:
        known = ", ".join(release.geography.by_name)
        raise VerificationError(f"tabulate: no level {unknown[0]!r} (levels: {known})")
    chosen, place = release.tables if tables is None else tables, finest(release, levels)
    tabulation = Tabulation.of(release, records, chosen, place=place)
    alike = release.geography.alike(records[release.geoid_column].unique())
    if alike is not None:
        raise VerificationError(alike)
    return _frame(tabulation, levels).cast(COUNTS)


def publish_records(release: Release, records: pl.DataFrame, units: pl.Series) -> Publication:
    """Count records in all cells that the release publishes, exactly.

    Args:
        records: As for `tabulate`, in ``units``.
        units: Geoids of all units of some whole regions, inhabited or not, each once.

    Raises:
        VerificationError: As for `tabulate`.
    """
    region, geoid = release.region, pl.col(release.geoid_column)
    published = {name for table in release.tables for name in table.levels}
    levels = [level for level in release.geography.levels if level.name in published]
    placed = pl.concat([units.alias(release.geoid_column), records[release.geoid_column]])
    people = placed.value_counts(name="population").with_columns(
        pl.col("population").cast(pl.Int32) - 1
    )
    frames = [
        people.group_by(level.enclosing(geoid).alias("geoid"))
        .agg(pl.col("population").sum().cast(pl.Int32))
        .select(
            "geoid",
            pl.lit(level.name).alias("level"),
            region.enclosing(pl.col("geoid")).alias(region.name),
            "population",
            pl.lit(number, pl.Int16).alias("pattern"),
        )
        for number, level in enumerate(levels)
    ]
    coverage = tuple(CoveragePattern.complete(release, level.name) for level in levels)
    geounits = pl.concat(frames).sort("level", "geoid")
    return Publication(geounits, tabulate(release, records), coverage)


def finest(release: Release, levels: Sequence[str] | None) -> Level:
    """Return the level that nests in all of some levels; the unit if there is none."""
    asked = [release.geography.by_name[name] for name in levels or ()]
    inside = [each for each in asked if all(other.encloses(each) for other in asked)]
    return inside[0] if inside else release.geography.unit


def tabulate_weights(
    release: Release,
    records: pl.DataFrame,
    weights: IntArray,
    tables: Sequence[Table] | None = None,
) -> pl.DataFrame:
    """Sum a weight of the records in every cell of every geounit that has any.

    Args:
        records: As for `tabulate`.
        weights: One for each record; all together stay below 2**63.
        tables: Default all of the release.

    Returns:
        Columns ``geoid, table, cell`` as from `tabulate`, and ``count``, the sum (Int64).
    """
    chosen = release.tables if tables is None else tables
    return _frame(Tabulation.of(release, records, chosen, weights), None)


def _frame(tabulation: Tabulation, levels: Sequence[str] | None) -> pl.DataFrame:
    """Return the sums of all levels, finest first."""
    frames = [COUNTS.to_frame().cast({"count": pl.Int64})]
    for level in tabulation.release.geography.levels:
        if levels is None:
            chosen = tuple(table for table in tabulation.tables if level.name in table.levels)
        else:
            chosen = tabulation.tables if level.name in levels else ()
        if chosen:
            frames.append(_level_frame(tabulation, level, chosen))
    return pl.concat(frames)


def _level_frame(tabulation: Tabulation, level: Level, tables: Sequence[Table]) -> pl.DataFrame:
    geoids, people = tabulation.geounits(level)
    counts = people @ tabulation.membership(tables)
    counts.sort_indices()
    rows = np.repeat(np.arange(len(geoids)), np.diff(counts.indptr))
    named = tabulation.columns.select("table", "cell")[counts.indices]
    return named.select(
        geoids.gather(rows).alias("geoid"), "table", "cell", pl.Series("count", counts.data)
    )


@dataclass(frozen=True)
class Tabulation:
    """Records, reduced to the distinctions of some tables.

    Attributes:
        units: Geoids of the units with records, sorted.
        people: Number of records, or the sum of their weights, units x class combinations.
        blocks: For each of ``tables``, how much a person of a combination (row) adds to a cell
            (column).
    """

    release: Release
    tables: tuple[Table, ...]
    units: pl.Series
    people: Matrix
    blocks: tuple[Matrix, ...]

    @classmethod
    def of(
        cls,
        release: Release,
        records: pl.DataFrame,
        tables: Sequence[Table],
        weights: IntArray | None = None,
        place: Level | None = None,
    ) -> Tabulation:
        """Check and reduce ``records``; see `tabulate` for arguments and errors.

        A record counts as one, or with its weight; it names its unit, or a geounit of a level.
        """
        names = {table.name for table in tables}
        chosen = tuple(table for table in release.tables if table.name in names)
        if len(chosen) != len(names):
            unknown = sorted(names - {table.name for table in chosen})
            raise VerificationError(f"no table {unknown[0]!r} in release {release.name!r}")
        seen = {table.name: release.distinguished_by(table.cells) for table in chosen}
        seen_by = [
            next((name for name, features in seen.items() if i in features), None)
            for i in range(len(release.features))
        ]
        positions = encode(release, records, seen_by, place)
        lenses = [_Lens.over(chosen, feature, i) for i, feature in enumerate(release.features)]
        first, combination = _combine(lenses, positions, records.height)
        units = records[release.geoid_column].unique().sort()
        row = records[release.geoid_column].replace_strict(units, np.arange(len(units)))
        added = np.ones(records.height, np.int64) if weights is None else weights
        people = sparse.coo_array(
            (added, (row.cast(pl.Int64).to_numpy(), combination)), shape=(len(units), len(first))
        ).tocsr()
        found = [values if values is None else values[first] for values in positions]
        blocks = tuple(_block(release, table, found, len(first)) for table in chosen)
        return cls(release, chosen, units, people, blocks)

    @cached_property
    def columns(self) -> pl.DataFrame:
        """Return the columns of `membership`: ``table``, ``cell``, ``code``."""
        sizes = [len(table.cells) for table in self.tables]
        names = pl.Series([table.name for table in self.tables], dtype=pl.String)
        numbers = [np.arange(0), *(np.arange(1, size + 1) for size in sizes)]
        return pl.DataFrame(
            {
                "table": names.gather(np.repeat(np.arange(len(sizes)), sizes)),
                "cell": pl.Series(np.concatenate(numbers)).cast(COUNTS["cell"]),
                "code": [code for table in self.tables for code in table.codes],
            }
        )

    def geounits(self, level: Level) -> tuple[pl.Series, Matrix]:
        """Return the sorted geoids of ``level`` with records, and their people by combination."""
        if level == self.release.geography.unit:
            return self.units, self.people
        within = level.enclosing(self.units)
        column = np.flatnonzero(within.is_not_null().to_numpy())
        inside = within.gather(column)
        geoids = inside.unique().sort()
        row = geoids.search_sorted(inside).cast(pl.Int64).to_numpy()
        ones, shape = np.ones(len(row), np.int64), (len(geoids), len(self.units))
        sums = sparse.coo_array((ones, (row, column)), shape=shape).tocsr()
        return geoids, sums @ self.people

    def membership(self, tables: Sequence[Table]) -> Matrix:
        """Return class combinations x cells of all requested tables; only ``tables`` filled."""
        names = {table.name for table in tables}
        parts = [
            block if table.name in names else sparse.csr_array(block.shape, dtype=np.int64)
            for table, block in zip(self.tables, self.blocks, strict=True)
        ]
        return sparse.csr_array(sparse.hstack(parts, format="csr", dtype=np.int64))


@dataclass(frozen=True)
class _Lens:
    """The classes of one feature's values under some tables.

    Attributes:
        classes: The class of each value; values that no cell tells apart share one.
    """

    classes: IntArray
    count: int

    @classmethod
    def over(cls, tables: Sequence[Table], feature: Feature, index: int) -> _Lens:
        """Find the classes that the cells of ``tables`` distinguish."""
        masks = tuple(sorted({mask for table in tables for mask in table.masks[index]}))
        tallied = any(index in table.tallies for table in tables)
        return _lens(masks, feature, tallied=tallied)


@lru_cache(maxsize=1024)  # tables share masks, and a run tabulates many partitions
def _lens(masks: tuple[int, ...], feature: Feature, *, tallied: bool) -> _Lens:
    rows = [_spread(mask, len(feature.values)) for mask in masks]
    if tallied:
        rows.append(_picked(feature))
    if not rows:
        return _Lens(np.zeros(len(feature.values), np.int64), 1)
    distinct, classes = np.unique(np.stack(rows), axis=1, return_inverse=True)
    return _Lens(classes.astype(np.int64).ravel(), distinct.shape[1])


@lru_cache(maxsize=8192)
def _spread(mask: int, size: int) -> IntArray:
    """Return a mask as zeros and ones, in the order of the feature's ``size`` values; read-only."""
    return np.array([mask >> i & 1 for i in range(size)], np.int64)


def _picked(feature: Feature) -> IntArray:
    """Count the options of each value of a multi-select feature."""
    return np.array([int(value).bit_count() for value in feature.values], np.int64)


def _combine(
    lenses: Sequence[_Lens], positions: Sequence[IntArray | None], height: int
) -> tuple[IntArray, IntArray]:
    """Number the combinations of classes that occur.

    Returns:
        For each combination the first row that has it, and for each row its combination.
    """
    codes, size = np.zeros(height, np.int64), 1
    for lens, values in zip(lenses, positions, strict=True):
        if values is None or lens.count == 1:
            continue
        if size > _CODES // lens.count:
            distinct, codes = np.unique(codes, return_inverse=True)
            size = len(distinct)
        codes = codes * lens.count + lens.classes[values]
        size *= lens.count
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.astype(np.int64)


def _block(release: Release, table: Table, found: Sequence[IntArray | None], height: int) -> Matrix:
    """Return the contributions of kinds, given by value positions, to a table's cells."""
    lenses = [_Lens.over([table], feature, i) for i, feature in enumerate(release.features)]
    first, inverse = _combine(lenses, found, height)
    step = max(1, _PAIRS // len(table.cells))
    if not len(first):
        return sparse.csr_array((0, len(table.cells)), dtype=np.int64)
    if height <= step:
        return sparse.csr_array(_weights(release, table, found, first)[inverse])
    parts = [
        sparse.csr_array(_weights(release, table, found, first[at : at + step]))
        for at in range(0, len(first), step)
    ]
    return sparse.csr_array(sparse.vstack(parts, format="csr"))[inverse]


def _weights(
    release: Release, table: Table, found: Sequence[IntArray | None], kinds: IntArray
) -> IntArray:
    """Evaluate every cell's predicate and tally for the rows ``kinds`` of ``found``."""
    weights = np.ones((len(kinds), len(table.cells)), np.int64)
    for i, (feature, values) in enumerate(zip(release.features, found, strict=True)):
        masks = table.masks[i]
        if values is None or masks == (feature.full,):
            continue
        truth = np.stack([_spread(mask, len(feature.values)) for mask in masks])
        weights *= truth[:, values[kinds]].T[:, table.mask_places[i]]
    for at, cell in enumerate(table.cells):
        tallied = None if cell.tally is None else found[cell.tally]
        if cell.tally is not None and tallied is not None:
            weights[:, at] *= _picked(release.features[cell.tally])[tallied[kinds]]
    return weights


def count_violations(
    release: Release, records: pl.DataFrame, place: Level | None = None
) -> tuple[int, ...]:
    """Count the records that each structural zero of a release forbids.

    Args:
        records: As for `tabulate`.
        place: The level that they are placed at; default the unit.

    Raises:
        VerificationError: Columns or values that the schema does not know.
    """
    level = (place or release.geography.unit).name
    rules = [
        (at, masks) for at, zero in enumerate(release.structural_zeros) for masks in zero.impossible
    ]
    violations = [0] * len(release.structural_zeros)
    if not rules:
        return ()
    cells = tuple(Cell(number, masks) for number, (_, masks) in enumerate(rules, start=1))
    table = Table("structural_zeros", "zero_#", (level,), cells)
    counts = tabulate(replace(release, tables=(table,)), records, levels=[level])
    for number, count in counts.group_by("cell").agg(pl.col("count").sum()).iter_rows():
        violations[rules[number - 1][0]] += count
    return tuple(violations)
