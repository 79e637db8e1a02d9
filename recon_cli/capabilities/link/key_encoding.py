"""Records as integers: a geounit number, one number for each set of columns, and a random one.

Linking compares columns for equality only, so a record is reduced to ``unit`` (the index of its
geoid among the geounits of the truth), ``exact`` and ``binned`` (unit and keys in one number) and
``gain`` (the columns that an attacker gains in one number).

Its random number belongs to the record, not to its position in a file: a hash of a seed, a purpose,
the geounit and the record's rank among those of that geounit sorted by content. Equal records are
interchangeable, so the order of rows, the split into files and the number of workers cannot change
any result.

See *blocking* and *linkage key* in docs/glossary.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import WordArray
from recon_cli.capabilities.link.passes import Pass, near_pass
from recon_cli.errors import SourceError, UnknownValueError
from recon_cli.schema import AttackKeys, Feature, Level, Release, Value, bits, column_dtype

#: Values that messages name.
_NAMED = 5
_TRUTH = {"true": True, "false": False, "1": True, "0": False}
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class EncodedRecords:
    """Records that can be linked.

    Attributes:
        records: ``unit`` (Int32), ``exact`` (Int64, null where a key is not known), ``binned``,
            ``gain`` (Int64, only if asked for), those of further passes (Int64, null where a value
            is not known), and the columns to keep.
        left_out: Number of other records by reason: ``outside`` the truth's geounits,
            ``incomplete``.
    """

    records: pl.DataFrame
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class KeyEncoder:
    """Encodes the records of one partition.

    Attributes:
        geoids: The geounits of the truth, sorted, each once (String).
        passes: Passes whose own columns are encoded, too.
    """

    release: Release
    keys: AttackKeys
    geoids: pl.Series
    passes: tuple[Pass, ...] = ()

    @cached_property
    def near(self) -> Pass | None:
        """Return the pass that counts agreement with a number off by one, if there is one."""
        return near_pass(self.release, self.keys)

    def encode(
        self, records: pl.DataFrame, *, name: str, gains: bool = True, keep: Sequence[str] = ()
    ) -> EncodedRecords:
        """Encode records, leaving out those that nothing can be linked to.

        A record is incomplete if a binned key, or with ``gains`` a gained value, is null.

        Args:
            records: The unit's geoid and the features, or recodes that stand for them.
            gains: Require and encode the columns that are gained.
            keep: Further columns to pass on.

        Raises:
            SourceError: A column is missing, or holds a value that the schema does not know.
        """
        require(records, keep, name)
        sets = {"exact": self.keys.exact, "binned": self.keys.binned}
        packed = {"unit": self.units(records, name)}
        for key, columns in sets.items():
            offset = packed["unit"].cast(pl.Int64) * self.sizes[key]
            packed[key] = self.pack(records, columns, name) + offset
        if gains:
            packed["gain"] = self.pack(records, self.keys.gains, name)
        needed = [key for key in packed if key != "exact"]
        near = [] if self.near is None or not gains else [self.near]
        for each in (*self.passes, *near):
            if each.key not in sets:
                packed |= self._encode_pass(each, records, packed["unit"], name)
        numbers = pl.DataFrame([column.alias(key) for key, column in packed.items()])
        if taken := [column for column in keep if column in packed]:
            raise SourceError(
                f"{name}: column {taken[0]!r} has a name that linking uses itself; rename it"
            )
        whole = numbers.hstack(records.select(keep)) if keep else numbers
        inside = whole.filter(pl.col("unit").is_not_null())
        known = inside.drop_nulls(needed)
        left_out = {
            "outside": whole.height - inside.height,
            "incomplete": inside.height - known.height,
        }
        return EncodedRecords(known, left_out)

    def places(self, level: Level) -> pl.Series:
        """Return for each of `geoids` the index of the enclosing geounit of ``level`` (Int64)."""
        return enclosing_places(self.geoids, level)

    def _encode_pass(
        self, each: Pass, records: pl.DataFrame, unit: pl.Series, name: str
    ) -> dict[str, pl.Series]:
        place = self.places(each.place).gather(unit)
        size = math.prod(map(self._size, each.same))
        packed = {each.key: self.pack(records, each.same, name) + place * size}
        if each.near is not None and each.number is not None:
            codes = column_codes(self.release, records, each.near, name)
            values = self.release.features[self.release.feature_index[each.near]].values
            packed[each.number] = pl.Series(list(map(int, values)), dtype=pl.Int64).gather(codes)
        return packed

    def units(self, records: pl.DataFrame, name: str) -> pl.Series:
        """Return the index of every record's geounit (Int32); null outside those of the truth.

        Raises:
            SourceError: There is no column with geoids.
        """
        place = self.release.geoid_column
        require(records, (place,), name)
        numbers = pl.Series(range(len(self.geoids)), dtype=pl.Int32)
        return (
            records[place]
            .cast(pl.String)
            .replace_strict(self.geoids, numbers, default=None, return_dtype=pl.Int32)
        )

    def pack(self, records: pl.DataFrame, columns: Sequence[str], name: str) -> pl.Series:
        """Pack several columns into one number (Int64); null if one of them is."""
        return pack_columns(self.release, records, columns, name)

    def gain_counts(
        self, records: pl.DataFrame, name: str, people: pl.Series | None = None
    ) -> dict[int, int]:
        """Count the people of each packed gained value; nulls are not counted.

        Args:
            people: Number of people of each row; default one.
        """
        values = self.pack(records, self.keys.gains, name)
        if people is None:
            people = pl.repeat(1, records.height, eager=True, dtype=pl.Int64)
        tallied = pl.DataFrame({"gain": values, "n": people}).drop_nulls()
        return dict(tallied.group_by("gain").agg(pl.col("n").sum()).iter_rows())

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Return the number of values of each packed number within a unit."""
        sets = {"exact": self.keys.exact, "binned": self.keys.binned, "gain": self.keys.gains}
        return {name: math.prod(map(self._size, columns)) for name, columns in sets.items()}

    def unpack(self, numbers: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
        """Unpack columns from ``numbers``, with the release's values.

        Args:
            numbers: Null gives nulls; of ``exact`` and ``binned`` the unit is ignored.
            columns: In the order they were packed.
        """
        series, rest = [], numbers.cast(pl.Int64)
        for column in reversed(columns):
            groups, size = self.release.column_groups(column), self._size(column)
            labels = pl.Series(column, list(groups.labels), dtype=groups.dtype)
            series.append(labels.gather(rest % size))
            rest = rest // size
        return pl.DataFrame(series[::-1])

    def _size(self, column: str) -> int:
        return len(self.release.column_groups(column).labels)


def enclosing_places(geoids: pl.Series, level: Level) -> pl.Series:
    """Return for each geoid the index of the enclosing geounit of ``level`` (Int64)."""
    enclosing = level.enclosing(geoids)
    names = enclosing.unique().sort()
    numbers = pl.Series(range(len(names)), dtype=pl.Int64)
    return enclosing.replace_strict(names, numbers, return_dtype=pl.Int64)


def pack_columns(
    release: Release, records: pl.DataFrame, columns: Sequence[str], name: str
) -> pl.Series:
    """Pack several columns into one number (Int64); null if one of them is.

    Raises:
        SourceError: See `column_codes`.
    """
    number = pl.Series([0], dtype=pl.Int64).new_from_index(0, records.height)
    for column in columns:
        size = len(release.column_groups(column).labels)
        number = number * size + column_codes(release, records, column, name)
    return number


def require(records: pl.DataFrame, columns: Sequence[str], name: str) -> None:
    """Refuse a file that lacks a column.

    Raises:
        SourceError: A column is missing; the message lists the file's columns.
    """
    for column in columns:
        if column not in records.columns:
            known = ", ".join(records.columns)
            raise SourceError(f"{name}: no column {column!r} (columns: {known})")


def column_codes(release: Release, records: pl.DataFrame, column: str, name: str) -> pl.Series:
    """Return the index of every record's value among the values of a feature or recode.

    A recode is computed from its feature; its own column is used if there is no feature. A
    multi-select feature may also be one column of 0 and 1 for each option.

    Returns:
        Int64; null where the value is null.

    Raises:
        SourceError: There is no such column, or it has a value that the schema does not know.
    """
    groups = release.column_groups(column)
    feature = release.features[release.feature_index[groups.feature]]
    values = _feature_column(records, feature)
    if values is None:
        if column == feature.name or column not in records.columns:
            require(records, (feature.name,), name)
        return _places(records[column], groups.labels, name)
    codes = _places(values, feature.values, name)
    if column == feature.name:
        return codes
    group_of = [0] * len(feature.values)
    for group, mask in enumerate(groups.masks):
        for at in bits(mask):
            group_of[at] = group
    codes = pl.Series(group_of, dtype=pl.Int64).gather(codes)
    if codes.null_count() and column in records.columns:
        own = _codes(records[column], groups.labels)
        codes = codes.fill_null(own)
    return codes


def _feature_column(records: pl.DataFrame, feature: Feature) -> pl.Series | None:
    if feature.name in records.columns:
        return records[feature.name]
    if not feature.options or any(option not in records.columns for option in feature.options):
        return None
    picked = pl.sum_horizontal(
        pl.col(option).cast(pl.Int64, strict=False) * (1 << i)
        for i, option in enumerate(feature.options)
    )
    return records.select(picked.alias(feature.name))[feature.name]


def _codes(column: pl.Series, values: tuple[Value, ...]) -> pl.Series:
    """Return the index of every record's value among ``values``; null if it is none of them."""
    dtype = column_dtype(values)
    return _plain(column, dtype).replace_strict(
        pl.Series(list(values), dtype=dtype),
        pl.Series(range(len(values)), dtype=pl.Int64),
        default=None,
        return_dtype=pl.Int64,
    )


def _places(column: pl.Series, values: tuple[Value, ...], name: str) -> pl.Series:
    """Return the index of every record's value among ``values``; refuse others."""
    codes = _codes(column, values)
    unknown = column.is_not_null() & codes.is_null()
    if unknown.any():
        wrong = column.filter(unknown)
        known = ", ".join(map(repr, values[:_NAMED]))
        raise UnknownValueError(
            f"{name}: column {column.name!r}: {len(wrong):,} records have what is not a value of "
            f"the release (such as {known})",
            column.name,
            tuple(wrong.cast(pl.String).unique(maintain_order=True)[:_NAMED]),
        )
    return codes


def _plain(column: pl.Series, dtype: type[pl.DataType]) -> pl.Series:
    """Cast the column to the schema's own type; null where that is impossible."""
    if dtype == pl.Boolean and column.dtype != pl.Boolean:
        text = column.cast(pl.String).str.to_lowercase()
        return text.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    if column.dtype.is_float() and dtype != pl.String:
        column = pl.select(pl.when(column == column.floor()).then(column)).to_series()
    return column.cast(dtype, strict=False)


def unit_salts(geoids: Sequence[str], seed: int, purpose: str) -> WordArray:
    """Return a 64-bit number for each geounit, seed and purpose.

    >>> unit_salts(["a"], 1, "x") == unit_salts(["b", "a"], 1, "x")[1:]
    array([ True])
    """
    start = hashlib.blake2b(f"{seed}\x1f{purpose}\x1f".encode(), digest_size=8)
    salts = np.empty(len(geoids), np.uint64)
    for i, geoid in enumerate(geoids):
        digest = start.copy()
        digest.update(geoid.encode())
        salts[i] = int.from_bytes(digest.digest(), "little")
    return salts


def place_in_unit(records: pl.DataFrame, unit: str, identity: Sequence[str]) -> pl.Series:
    """Return the rank of every record within its unit, sorted by ``identity``.

    Args:
        identity: Columns that tell records apart; records equal in all of them are equal.

    Returns:
        Int64, in the order of the rows.
    """
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    is_first = (place == 0) | pl.col(unit).ne_missing(pl.col(unit).shift())
    return (
        records.select(list(dict.fromkeys((unit, *identity))))
        .with_row_index("_row")
        .sort(unit, *identity)
        .select("_row", (place - pl.when(is_first).then(place).forward_fill()).alias("place"))
        .sort("_row")["place"]
    )


def record_hashes(salts: WordArray, places: npt.NDArray[np.int64]) -> WordArray:
    """Return a 64-bit number for each record: its unit's salt and its rank, mixed (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed: WordArray = salts + (places.astype(np.uint64) + np.uint64(1)) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
