"""The published cells around one unit as facts, and the facts that a change of records violates.

A fact is one published cell of one geounit with its count, zeros included. Records are value
positions at the finest grain, so nothing here depends on a working grain or on candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.publication import Publication
from recon_cli.schema import Cell, Release, Table

#: Records whose cells are looked up in one go.
_CHUNK = 2_000
#: Geoid of the geounit to which structural zeros belong: it contains all others.
EVERYWHERE = ""


class Scope(IntEnum):
    """The geounits whose published cells may be facts; each scope includes those before it."""

    UNIT = 0
    ENCLOSING = 1
    REGION = 2


@dataclass(frozen=True)
class PublishedCell:
    """One published cell of one geounit.

    Attributes:
        count: Published count; for a statement the least true count.
        high: Upper bound of a statement, `OPEN` if unbounded.
    """

    level: str
    geoid: str
    table: Table
    cell: Cell
    count: int
    high: int | None = None

    def __str__(self) -> str:
        number = self.cell.number
        code = self.table.codes[number - 1]
        return f"{self.level} {self.geoid} table {self.table.name} cell {number} ({code})"

    @property
    def greatest(self) -> int:
        return self.count if self.high is None else self.high


@dataclass(frozen=True)
class RecordCounts:
    """Distinct records with their counts.

    Attributes:
        unit: Index of each kind's unit among the units.
        positions: (kinds × features) value positions.
        count: Records of each kind; in a change, how many more or fewer there are.
    """

    unit: IntArray
    positions: IntArray
    count: IntArray

    def __len__(self) -> int:
        return len(self.unit)


@dataclass(frozen=True)
class PatternCells:
    """The cells of one coverage pattern that belong to the tables in use.

    Attributes:
        cells: In published order.
        inside: For each feature (cells × values) whether the cell counts the value.
        picked: Tallied feature → for each of its values how many options it picks.
    """

    level: str
    cells: tuple[tuple[Table, Cell], ...]
    inside: tuple[BoolArray, ...]
    picked: dict[int, IntArray]

    def weights(self, positions: IntArray, columns: IntArray | None = None) -> IntArray:
        """Return (records × cells) coefficients for each cell, or for some ``columns``."""
        which = np.arange(len(self.cells)) if columns is None else columns
        holds = np.ones((len(positions), len(which)), dtype=bool)
        for f, inside in enumerate(self.inside):
            holds &= np.ascontiguousarray(inside[which].T)[positions[:, f]]
        weights = holds.astype(np.int64)
        for f, picked in self.picked.items():
            tallied = np.array([self.cells[i][1].tally == f for i in which.tolist()], dtype=bool)
            weights[:, tallied] *= picked[positions[:, f]][:, None]
        return weights

    @cached_property
    def differences(self) -> tuple[IntArray, ...]:
        """Return for each feature (values × values) how many cells distinguish two values."""
        differences = []
        for inside in self.inside:
            rows, count = np.unique(inside, axis=0, return_counts=True)  # few, of many cells
            ones = rows.astype(np.int64)
            counted = ones * count[:, None]
            both, alone = counted.T @ ones, counted.sum(axis=0)
            differences.append(alone[:, None] + alone[None, :] - 2 * both)
        return tuple(differences)


@dataclass(frozen=True)
class Facts:
    """All facts of one scope.

    Attributes:
        unit: Index of the unit in question among `units`.
        units: Geoids of the units of its region.
        low: For each geounit the least counts of its cells, in their order.
        high: For each geounit the greatest counts of its cells, `OPEN` where unbounded.
    """

    release: Release
    scope: Scope
    unit: int
    units: tuple[str, ...]
    geoids: tuple[str, ...]
    cells: tuple[PatternCells, ...]
    low: tuple[IntArray, ...]
    high: tuple[IntArray, ...]

    @cached_property
    def table_number(self) -> dict[str, int]:
        """Map table names to their indices in the schema."""
        return {name: number for number, name in enumerate(self.release.table_by_name)}

    @cached_property
    def first(self) -> IntArray:
        """Return the number of each geounit's first fact, and of the end."""
        sizes = [len(pattern.cells) for pattern in self.cells]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    @cached_property
    def covers(self) -> BoolArray:
        """Return a (geounits × units) mask: whether a unit lies in a geounit."""
        units = pl.Series(self.units, dtype=pl.String)
        inside = [self.release.geography.inside(units, geoid).to_numpy() for geoid in self.geoids]
        return np.stack(inside) if inside else np.zeros((0, len(self.units)), dtype=bool)

    def by_geounit(self, facts: Iterable[int]) -> dict[int, IntArray]:
        """Group ``facts`` by geounit, as sorted cell indices."""
        numbers = np.array(sorted(facts), dtype=np.int64)
        geounit = np.searchsorted(self.first, numbers, side="right") - 1
        return {
            int(g): numbers[geounit == g] - self.first[g] for g in dict.fromkeys(geounit.tolist())
        }

    def published_cell(self, fact: int) -> PublishedCell:
        g = int(np.searchsorted(self.first, fact, side="right")) - 1
        column = fact - int(self.first[g])
        table, cell = self.cells[g].cells[column]
        low, high = int(self.low[g][column]), int(self.high[g][column])
        most = None if low == high else high
        return PublishedCell(self.cells[g].level, self.geoids[g], table, cell, low, most)

    def room(self, people: RecordCounts) -> tuple[tuple[IntArray, IntArray], ...]:
        """Return for each geounit how far its counts may decrease, and increase, from a solution.

        Args:
            people: Records of all units; unused if all counts are exact.
        """
        found = []
        for g, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            total = low
            if (low < high).any():
                rows = np.flatnonzero(self.covers[g, people.unit])
                total = people.count[rows] @ self.cells[g].weights(people.positions[rows])
            found.append((total - low, high - total))
        return tuple(found)

    def broken_by(
        self, changes: Sequence[RecordCounts], room: Sequence[tuple[IntArray, IntArray]]
    ) -> list[frozenset[int]]:
        """Return for each change the facts that it violates by leaving their bounds.

        Args:
            room: Slack of the solution that is changed, from `room`.
        """
        broken: list[frozenset[int]] = []
        ends = np.cumsum([len(change) for change in changes])
        start = 0
        while start < len(changes):
            base = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, base + _CHUNK, side="right")), start + 1)
            broken += self._broken_by_chunk(changes[start:stop], room)
            start = stop
        return broken

    def _broken_by_chunk(
        self, changes: Sequence[RecordCounts], room: Sequence[tuple[IntArray, IntArray]]
    ) -> list[frozenset[int]]:
        unit = np.concatenate([change.unit for change in changes])
        positions = np.concatenate([change.positions for change in changes])
        step = np.concatenate([change.count for change in changes])
        owner = np.repeat(np.arange(len(changes)), [len(change) for change in changes])
        broken: list[list[int]] = [[] for _ in changes]
        for g in np.flatnonzero(self.covers[:, np.unique(unit)].any(axis=1)).tolist():
            rows = np.flatnonzero(self.covers[g, unit])
            weights = self.cells[g].weights(positions[rows]) * step[rows][:, None]
            owners, starts = np.unique(owner[rows], return_index=True)
            total = np.add.reduceat(weights, starts, axis=0)
            fall, rise = room[g]
            for at, step_of in zip(owners.tolist(), total, strict=True):
                leaves = (step_of > rise) | (-step_of > fall)
                broken[at] += (np.flatnonzero(leaves) + self.first[g]).tolist()
        return [frozenset(facts) for facts in broken]


def facts_around(
    release: Release, published: Publication, tables: Sequence[Table], unit: str, scope: Scope
) -> Facts:
    """Collect the facts of a unit, of the geounits that contain it, or of its whole region.

    Structural zeros are facts, too, as counts of zero of a geounit `EVERYWHERE`.

    Args:
        published: The unit's partition.
    """
    region = release.region.enclosing(unit)
    inside = published.geounits.filter(release.geography.inside(pl.col("geoid"), region))
    name = release.geography.unit.name
    units = tuple(inside.filter(pl.col("level") == name)["geoid"].to_list())
    if scope is Scope.UNIT:
        inside = inside.filter(pl.col("geoid") == unit)
    elif scope is Scope.ENCLOSING:
        inside = inside.filter([release.geography.inside(unit, geoid) for geoid in inside["geoid"]])
    patterns: dict[int, PatternCells] = {}
    for pattern in inside["pattern"].unique().to_list():
        covered = published.coverage[pattern]
        used_cells = _cells_of(release, covered.level, tuple(covered.published_cells(tables)))
        if used_cells.cells:
            patterns[pattern] = used_cells
    used = inside.filter(pl.col("pattern").is_in(list(patterns)))
    ends = _ends(published, used, patterns)
    geoids, cells = used["geoid"].to_list(), [patterns[pattern] for pattern in used["pattern"]]
    if release.impossible:
        geoids.append(EVERYWHERE)
        cells.append(_structural_zeros(release))
        ends.append((np.zeros(len(release.impossible), dtype=np.int64),) * 2)
    return Facts(
        release=release,
        scope=scope,
        unit=units.index(unit),
        units=units,
        geoids=tuple(geoids),
        cells=tuple(cells),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
    )


def record_counts_of(
    release: Release, microdata: pl.DataFrame, units: Sequence[str]
) -> RecordCounts:
    """Count reconstructed records of some units; a null, which no table distinguishes, is value 0.

    Args:
        microdata: Records; those of other units are ignored.
    """
    names = [feature.name for feature in release.features]
    index = pl.DataFrame({"unit": range(len(units)), release.geoid_column: list(units)})
    here = microdata.join(index, on=release.geoid_column, how="inner")
    kinds = here.group_by("unit", *names).len().sort("unit", *names)
    columns = [
        kinds[feature.name]
        .replace_strict(
            pl.Series(feature.values, dtype=feature.dtype),
            list(range(len(feature.values))),
            default=None,
            return_dtype=pl.Int64,
        )
        .fill_null(0)
        .to_numpy()
        for feature in release.features
    ]
    return RecordCounts(
        unit=kinds["unit"].cast(pl.Int64).to_numpy(),
        positions=np.stack(columns, axis=1),
        count=kinds["len"].cast(pl.Int64).to_numpy(),
    )


def _ends(
    published: Publication, geounits: pl.DataFrame, patterns: Mapping[int, PatternCells]
) -> list[tuple[IntArray, IntArray]]:
    """Return for each geounit the least and the greatest count of its cells."""
    counts = published.counts.filter(pl.col("geoid").is_in(geounits["geoid"].implode()))
    if published.is_exact:
        counts = counts.with_columns(low="count", high="count")
    rows = counts.select("geoid", "table", "cell", "low", pl.col("high").fill_null(OPEN))
    known = {(geoid, table, cell): (low, high) for geoid, table, cell, low, high in rows.rows()}
    found = []
    for geoid, pattern in geounits.select("geoid", "pattern").iter_rows():
        level, cells = patterns[pattern].level, patterns[pattern].cells
        zero = {t.name: published.protection.ends_of_zero(t.name, level) for t, _ in cells}
        ends = [known.get((geoid, t.name, c.number), zero[t.name]) for t, c in cells]
        low, high = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        found.append((low, high))
    return found


def _structural_zeros(release: Release) -> PatternCells:
    """Return structural zeros as the cells of a table."""
    cells = tuple(Cell(number, masks) for number, masks in enumerate(release.impossible, start=1))
    table = Table("structural zero", "#", (release.geography.unit.name,), cells)
    return _cells_of(release, table.name, tuple((table, cell) for cell in cells))


def _cells_of(release: Release, level: str, cells: tuple[tuple[Table, Cell], ...]) -> PatternCells:
    inside = []
    for f, feature in enumerate(release.features):
        rows = {
            mask: [bool(mask >> value & 1) for value in range(len(feature.values))]
            for mask in {cell.masks[f] for _, cell in cells}
        }
        table = [rows[cell.masks[f]] for _, cell in cells]
        inside.append(np.array(table, dtype=bool).reshape(len(cells), len(feature.values)))
    picked = {
        f: np.array([int(value).bit_count() for value in release.features[f].values])
        for f in {cell.tally for _, cell in cells if cell.tally is not None}
    }
    return PatternCells(level, cells, tuple(inside), picked)
