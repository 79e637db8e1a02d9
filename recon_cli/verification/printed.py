"""Statistics of records, computed again as fractions and compared with the printed texts.

Nothing here is shared with the rows that records were found by.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
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
        found: Its number of the records, as a decimal; empty where nobody is counted.
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
    """Compute every printed statistic of records, and return how many, and those that differ.

    Args:
        records: With a column for each feature, of all places that are published.
    """
    geography, place = release.geography, release.geoid_column
    others = []
    levels = geography.level_names(published.statistics["geoid"])
    rows = published.statistics.with_columns(level=levels)
    for (level,), of_level in rows.group_by("level", maintain_order=True):
        where = geography.by_name[str(level)].enclosing(records[place])
        here = records.with_columns(_place=where).partition_by("_place", as_dict=True)
        nobody = records.clear()
        for geoid, name, number, text in of_level.drop("level").iter_rows():
            table = release.statistic_by_name[name]
            law = published.protection.printing(name, str(level), text)
            if not isinstance(law, Printed):
                continue
            people = here.get((geoid,), nobody)
            at = table, table.cells[number - 1]
            agrees, found = _agrees(release, at, people, law, text)
            if not agrees:
                others.append(OtherStatistic(geoid, str(level), name, number, text, found))
    return published.statistics.height, tuple(others)


def _agrees(
    release: Release, at: tuple[Table, Cell], people: pl.DataFrame, law: Printed, text: str
) -> tuple[bool, str]:
    """Return whether people may print a text of a table's cell, and what they have."""
    table, cell = at
    of = table.statistic
    if of is None:
        raise ValueError(f"table {table.name} has counts")
    base = people.filter(_counts(release, of.based(cell.masks)))
    if text == law.no_base:
        return base.is_empty(), str(base.height)
    if base.is_empty():
        return False, ""
    if of.feature is None:
        part = people.filter(_counts(release, of.counted(cell.masks))).height
        return _one(Fraction(part, base.height) * of.times, law, text)
    feature = release.features[of.feature]
    number = dict(zip(feature.values, of.values, strict=True))
    values = sorted(number[value] for value in base[feature.name].to_list())
    if of.kind == "mean":
        return _one(sum(values, Fraction(0)) / len(values), law, text)
    possible = list(_possible(of, values, law, text))
    shown = ", ".join(f"{float(value):g}" for value in possible[:3])
    return any(prints(value, law, text) for value in possible), shown


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
    """Return the values one place below and above that of a quantile, by any definition."""
    at = order * len(values)
    low, high = max(floor(at) - 1, 0), min(ceil(at), len(values) - 1)
    return values[low], values[high]


def _between(low: Fraction, high: Fraction, law: Printed, text: str) -> Iterator[Fraction]:
    """Yield both ends, and of what lies between them the number that is printed."""
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
