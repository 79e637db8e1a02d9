"""Statistics of records, computed again as fractions and compared with the printed texts.

Nothing here is shared with the rows by which records were found.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Final

import polars as pl

from recon_cli.publication import Publication
from recon_cli.schema import Cell, Release, Table, bits
from recon_cli.schema.statistics import Statistic
from recon_cli.statement.statistics import Printed

_HALF: Final = Fraction(1, 2)


@dataclass(frozen=True)
class OtherStatistic:
    """A statistic that records do not print as it was published.

    Attributes:
        found: The statistic of the records, as a decimal; empty where nobody is counted.
    """

    geoid: str
    level: str
    table: str
    cell: int
    text: str
    found: str

    def __str__(self) -> str:
        found = self.found or "nobody to count"
        return (
            f"{self.level} {self.geoid} {self.table} cell {self.cell}: printed {self.text}, "
            f"found {found}"
        )


def compare_statistics(
    release: Release, published: Publication, records: pl.DataFrame
) -> tuple[int, tuple[OtherStatistic, ...]]:
    """Compute every printed statistic from records; return their number, and those that differ.

    Args:
        records: Records of all published places, with a column for each feature.
    """
    geography, place = release.geography, release.geoid_column
    others = []
    levels = geography.level_names(published.statistics["geoid"])
    rows = published.statistics.with_columns(level=levels)
    for (level,), of_level in rows.group_by("level", maintain_order=True):
        where = geography.by_name[str(level)].enclosing(records[place])
        here = records.with_columns(_place=where)
        counted: dict[tuple[str, int], _Counted] = {}
        for geoid, name, number, text in of_level.drop("level").iter_rows():
            law = published.protection.printing(name, str(level), text)
            if not isinstance(law, Printed):
                continue
            if (name, number) not in counted:
                table = release.statistic_by_name[name]
                counted[name, number] = _Counted.of(release, table, table.cells[number - 1], here)
            agrees, found = counted[name, number].agrees(geoid, law, text)
            if not agrees:
                others.append(OtherStatistic(geoid, str(level), name, number, text, found))
    return published.statistics.height, tuple(others)


@dataclass(frozen=True)
class _Counted:
    """The people whom a statistic summarises, by place.

    Attributes:
        base: Number of people.
        part: Number of people whom the numerator counts.
        values: The values of the people of the base, where the statistic summarises values.
        number: The number of each value.
    """

    statistic: Statistic
    base: Mapping[str, int]
    part: Mapping[str, int]
    values: Mapping[str, pl.Series]
    number: Mapping[int | str, Fraction]

    @classmethod
    def of(cls, release: Release, table: Table, cell: Cell, records: pl.DataFrame) -> _Counted:
        """Count the records of a cell of a table by their column ``_place``."""
        of = table.statistic
        if of is None:
            raise ValueError(f"table {table.name} has counts")
        based = records.filter(_counts(release, of.based(cell.masks)))
        base, part = _numbers(based), dict[str, int]()
        if of.feature is None:
            part = _numbers(records.filter(_counts(release, of.counted(cell.masks))))
            return cls(of, base, part, {}, {})
        feature = release.features[of.feature]
        number = dict(zip(feature.values, of.values, strict=True))
        by_place = based.group_by("_place").agg(pl.col(feature.name))
        values = dict(zip(by_place["_place"], by_place[feature.name], strict=True))
        return cls(of, base, part, values, number)

    def agrees(self, place: str, law: Printed, text: str) -> tuple[bool, str]:
        """Return whether the people of a place may print a text, and their own statistic."""
        of, base = self.statistic, self.base.get(place, 0)
        if text == law.no_base:
            return base == 0, str(base)
        if base == 0:
            return False, ""
        if of.feature is None:
            return _one(Fraction(self.part.get(place, 0), base) * of.times, law, text)
        values = sorted(self.number[value] for value in self.values[place].to_list())
        if of.kind == "mean":
            return _one(sum(values, Fraction(0)) / len(values), law, text)
        possible = list(_possible(of, values, law, text))
        shown = ", ".join(f"{float(value):g}" for value in possible[:3])
        return any(prints(value, law, text) for value in possible), shown


def _numbers(records: pl.DataFrame) -> dict[str, int]:
    """Return how many records there are by place."""
    return dict(records.group_by("_place").len().iter_rows())


def _one(value: Fraction, law: Printed, text: str) -> tuple[bool, str]:
    return prints(value, law, text), f"{float(value):g}"


def _counts(release: Release, masks: Sequence[int]) -> pl.Expr:
    """Return which records a cell counts."""
    found = pl.lit(value=True)
    for feature, mask in zip(release.features, masks, strict=True):
        if mask != feature.full:
            inside = [feature.values[at] for at in bits(mask)]
            found &= pl.col(feature.name).is_in(inside)
    return found


def _possible(of: Statistic, values: list[Fraction], law: Printed, text: str) -> Iterator[Fraction]:
    """Yield the numbers that the statistic of sorted values may be, by its definition."""
    if of.kind in {"minimum", "maximum"}:
        yield values[0] if of.kind == "minimum" else values[-1]
    elif of.kind == "mode":
        yield from statistics.multimode(values)
    elif of.kind == "quantile":
        yield from _between(*_neighbours(values, of.order), law, text)
    elif of.definition == "low":
        yield statistics.median_low(values)
    elif of.definition == "high":
        yield statistics.median_high(values)
    elif of.definition == "middle":
        yield Fraction(statistics.median(values))
    else:
        low, high = statistics.median_low(values), statistics.median_high(values)
        yield from _between(low, max(high, low + 1), law, text)


def _neighbours(values: list[Fraction], order: Fraction) -> tuple[Fraction, Fraction]:
    """Return two of the sorted values between which a quantile lies by every definition."""
    at = order * len(values)
    low, high = max(floor(at) - 1, 0), min(ceil(at), len(values) - 1)
    return values[low], values[high]


def _between(low: Fraction, high: Fraction, law: Printed, text: str) -> Iterator[Fraction]:
    """Yield both ends, and the printed number if it lies between them."""
    yield low
    yield high
    spelled = Fraction(law.plain(text))
    if low <= spelled <= high:
        yield spelled


def prints(value: Fraction, law: Printed, text: str) -> bool:
    """Test whether a number may be printed as a text by a law.

    >>> prints(Fraction(1, 8), Printed(ties="half_even"), "0.12")
    True
    >>> prints(Fraction(1, 8), Printed(ties="half_up"), "0.12")
    False
    """
    plain = law.plain(text)
    decimals = len(plain.partition(".")[2]) if law.decimals is None else law.decimals
    size, digits = abs(value) * 10**decimals, abs(Fraction(plain)) * 10**decimals
    if digits and value and (value < 0) != (Fraction(plain) < 0):
        return False
    low = floor(size)
    allowed = {low if size - low < _HALF else low + 1}
    if law.ties == "down":
        allowed = {low}
    elif law.ties == "up":
        allowed = {ceil(size)}
    elif law.ties == "unknown" and size - low == _HALF:
        allowed = {low, low + 1}
    elif law.ties == "half_even" and size - low == _HALF:
        allowed = {low + low % 2}
    return int(digits) in allowed
