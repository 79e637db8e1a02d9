"""Evaluation of the predicate of every published cell on every record.

Equal records are evaluated once. Nothing here is shared with `recon data tabulate`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.errors import VerificationError
from recon_cli.schema import Feature, Level, Release, Table, Value

Matrix = sparse.csr_array[np.int64, tuple[int, int]]

#: Most (cell, kind of record) pairs that are tested in one go; bounds memory, not the result.
_PAIRS = 4_000_000


@dataclass(frozen=True)
class EvaluatedRecords:
    """Records and the cells that count them. A kind is a combination of values that occurs.

    Attributes:
        tables: The requested tables, in published order.
        cells: Columns ``table, cell, code``: a row for each column of ``adds``.
        units: Geoids of the finest level with records, sorted.
        people: Number of records, units x kinds.
        adds: Contribution of a record of a kind to a cell, kinds x cells.
    """

    release: Release
    tables: tuple[Table, ...]
    cells: pl.DataFrame
    units: pl.Series
    people: Matrix
    adds: Matrix

    @classmethod
    def of(
        cls, release: Release, records: pl.DataFrame, tables: Sequence[Table]
    ) -> EvaluatedRecords:
        """Check records, and evaluate every cell of ``tables`` on them.

        Raises:
            VerificationError: A table, column, geoid or value that the schema does not know, or a
                null of a feature that some table distinguishes.
        """
        chosen = _in_order(release, tables)
        values = _positions(release, records, chosen)
        features = values.columns[1:]
        counted = values.group_by(values.columns).len("_people")
        kinds = counted.select(features).unique(maintain_order=True).with_row_index("_kind")
        units = counted["unit"].unique().sort()
        kind = counted.join(kinds, on=features, how="left", maintain_order="left")["_kind"]
        row = counted["unit"].replace_strict(units, np.arange(len(units)), return_dtype=pl.Int64)
        people = sparse.coo_array(
            (counted["_people"].cast(pl.Int64).to_numpy(), (row.to_numpy(), kind.to_numpy())),
            shape=(len(units), len(kinds)),
        ).tocsr()
        of_kind = [kinds[name].to_numpy() for name in features]
        parts = [_adds(release, table, of_kind) for table in chosen]
        adds = sparse.csr_array(sparse.hstack(parts, format="csr", dtype=np.int64))
        return cls(release, chosen, _cells(chosen), units, people, adds)

    @cached_property
    def starts(self) -> dict[str, int]:
        """Map table names to the first column of their cells."""
        ends = accumulate((len(table.cells) for table in self.tables), initial=0)
        return {table.name: start for table, start in zip(self.tables, ends, strict=False)}

    def at(self, level: Level) -> tuple[pl.Series, Matrix]:
        """Return the sorted geoids of ``level`` with records, and their people by kind."""
        geoids = level.enclosing(self.units)
        places = pl.DataFrame({"geoid": geoids}).with_row_index("unit").drop_nulls("geoid")
        if not geoids.is_sorted():
            places = places.sort("geoid", "unit")
        row = places["geoid"].rle_id().cast(pl.Int64).to_numpy()
        distinct = places["geoid"].unique(maintain_order=True)
        at = (row, places["unit"].cast(pl.Int64).to_numpy())
        sums = sparse.coo_array((np.ones(len(row), np.int64), at), (len(distinct), len(geoids)))
        return distinct, sums.tocsr() @ self.people


def _in_order(release: Release, tables: Sequence[Table]) -> tuple[Table, ...]:
    names = {table.name for table in tables}
    unknown = sorted(names - set(release.table_by_name))
    if unknown:
        raise VerificationError(f"no table {unknown[0]!r} in release {release.name!r}")
    return tuple(table for table in release.tables if table.name in names)


def _cells(tables: Sequence[Table]) -> pl.DataFrame:
    rows = [
        (table.name, cell.number, code)
        for table in tables
        for cell, code in zip(table.cells, table.codes, strict=True)
    ]
    schema = {"table": pl.String, "cell": pl.Int16, "code": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _positions(release: Release, records: pl.DataFrame, tables: Sequence[Table]) -> pl.DataFrame:
    """Return ``unit`` and, for each feature, the position of the value in ``feature.values``.

    A feature that no table distinguishes is 0 throughout.
    """
    wanted = [release.geoid_column, *(feature.name for feature in release.features)]
    missing = [name for name in wanted if name not in records.columns]
    if missing:
        raise VerificationError(
            f"records: no column {missing[0]!r} (needed: {', '.join(wanted)}; "
            f"found: {', '.join(name for name in records.columns if name in wanted)})"
        )
    units, unit = records[release.geoid_column], release.geography.unit
    if units.dtype != pl.String:
        raise VerificationError(f"records: column {units.name!r} is {units.dtype}, expected String")
    wrong = units.filter(~unit.has(units).fill_null(value=False))
    if len(wrong):
        raise VerificationError(
            f"records: column {units.name!r}: {len(wrong):,} records have what is not a geoid of "
            f"level {unit.name!r}, which {unit.form}"
        )
    distinguished = [(table.name, release.distinguished_by(table.cells)) for table in tables]
    columns = [units.alias("unit")]
    for index, feature in enumerate(release.features):
        seen_by = next((name for name, seen in distinguished if index in seen), None)
        at = _position(feature, records[feature.name], units, seen_by)
        columns.append(at if seen_by else at.clear(len(at)).fill_null(0))
    return pl.DataFrame(columns)


def _position(
    feature: Feature, column: pl.Series, units: pl.Series, seen_by: str | None
) -> pl.Series:
    """Return the position of each value of a column in ``feature.values``."""
    dtype = _family(feature.values[0])
    if column.dtype != pl.Null and _family_of(column.dtype) != dtype:
        raise VerificationError(
            f"records: column {feature.name!r} is {column.dtype}, expected {feature.dtype.__name__}"
        )
    plain = column.cast(dtype)
    known = pl.Series(feature.values, dtype=dtype)
    at = plain.replace_strict(known, np.arange(len(known)), default=None, return_dtype=pl.Int64)
    unknown = at.is_null() & plain.is_not_null()
    if unknown.any():
        raise VerificationError(
            f"records: column {feature.name!r}: {unknown.sum():,} records, the first in "
            f"{units.filter(unknown)[0]}, have what is not a value of the feature "
            f"(such as {', '.join(map(repr, feature.values[:5]))})"
        )
    if seen_by and plain.null_count():
        raise VerificationError(
            f"records: column {feature.name!r} is null (not reconstructed) in "
            f"{units.filter(plain.is_null())[0]}, but table {seen_by!r} distinguishes it "
            f"({plain.null_count()} such records)"
        )
    return at


def _family(value: Value) -> type[pl.DataType]:
    if isinstance(value, bool):
        return pl.Boolean
    return pl.Int64 if isinstance(value, int) else pl.String


def _family_of(dtype: pl.DataType) -> type[pl.DataType] | None:
    """Return the type as which ``dtype`` can be read: Boolean, Int64 or String; else None."""
    if dtype.is_integer():
        return pl.Int64
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return pl.String
    return pl.Boolean if dtype == pl.Boolean else None


def _adds(release: Release, table: Table, kinds: Sequence[IntArray]) -> Matrix:
    """Return the contribution of a record of a kind, given by value positions, to each cell."""
    cell, kind = _counted(release, table, kinds)
    added = np.ones(len(cell), np.int64)
    for number, tallied in enumerate(each.tally for each in table.cells):
        if tallied is not None:
            mine = cell == number
            added[mine] = _picked(release.features[tallied])[kinds[tallied][kind[mine]]]
    shape = (len(kinds[0]), len(table.cells))
    return sparse.csr_array(sparse.coo_array((added, (kind, cell)), shape=shape))


def _counted(
    release: Release, table: Table, kinds: Sequence[IntArray]
) -> tuple[IntArray, IntArray]:
    """Return all pairs of a cell and a kind for which the cell's predicate holds."""
    values = [
        _values_of(tuple(cell.masks[f] for cell in table.cells), len(feature.values))
        for f, feature in enumerate(release.features)
    ]
    possible = np.ones(len(kinds[0]), np.bool_)
    for truth, positions in zip(values, kinds, strict=True):
        possible &= np.any(truth, axis=0)[positions]  # else the value is in no cell of the table
    candidates = np.flatnonzero(possible)
    step = max(1, _PAIRS // len(table.cells))
    cells, counted = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, len(candidates), step):
        some = candidates[start : start + step]
        holds = np.ones((len(table.cells), len(some)), np.bool_)
        for truth, positions in zip(values, kinds, strict=True):
            if not truth.all():
                holds &= truth[:, positions[some]]
        cell, at = np.nonzero(holds)
        cells.append(cell)
        counted.append(some[at])
    return np.concatenate(cells), np.concatenate(counted)


def _picked(feature: Feature) -> IntArray:
    """Count the options of each value of a multi-select feature."""
    return np.array([int(value).bit_count() for value in feature.values], np.int64)


@lru_cache(maxsize=1024)  # a run verifies many partitions
def _values_of(masks: tuple[int, ...], size: int) -> BoolArray:
    """Return masks as rows of truth values, masks x values; read-only."""
    width = -(-size // 8)
    written = b"".join(mask.to_bytes(width, "little") for mask in masks)
    bits = np.frombuffer(written, np.uint8).reshape(len(masks), width)
    return np.unpackbits(bits, axis=1, count=size, bitorder="little").astype(np.bool_)
