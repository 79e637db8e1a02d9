"""Statistics of records, printed as texts beside their counts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

import polars as pl

from recon_cli.frames import STATISTICS
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.schema import Release, Table, bits
from recon_cli.schema.statistics import UNROUNDED, Statistic
from recon_cli.statement.printed import Ties

#: Statistics of the sorted values of a feature; the least of several modes.
_OF_VALUES: Final[dict[str, Callable[[list[Fraction]], Fraction]]] = {
    "mean": lambda values: sum(values, Fraction(0)) / len(values),
    "minimum": lambda values: values[0],
    "maximum": lambda values: values[-1],
    "mode": statistics.mode,
}
_MEDIANS: Final[dict[str, Callable[[list[Fraction]], Fraction]]] = {
    "low": statistics.median_low,
    "high": statistics.median_high,
}


def print_statistics(
    release: Release, records: pl.DataFrame, levels: Sequence[str] | None, decimals: int
) -> pl.DataFrame:
    """Print every statistic of a release, where somebody is counted.

    Args:
        records: With the unit's geoid and a column for each feature.
        levels: Names of levels; None for all that a table has.
        decimals: Decimals of all but minima, maxima and modes; halves are rounded up.

    Returns:
        Columns of `recon_cli.frames.STATISTICS`.
    """
    rows = [
        (place, table.name, number, text)
        for table in release.statistics
        for level in table.levels
        if levels is None or level in levels
        for place, number, text in _texts(release, records, table, level, decimals)
    ]
    return pl.DataFrame(rows, schema=STATISTICS, orient="row")


def _texts(
    release: Release, records: pl.DataFrame, table: Table, level: str, decimals: int
) -> Iterator[tuple[str, int, str]]:
    """Yield place, number of the cell and text of each statistic of a table at a level."""
    of = statistic_of(table)
    where = release.geography.by_name[level].enclosing(pl.col(release.geoid_column))
    placed = records.with_columns(_place=where).filter(pl.col("_place").is_not_null())
    for cell in table.cells:
        base = placed.filter(_inside(release, of.based(cell.masks)))
        part = placed.filter(_inside(release, of.counted(cell.masks)))
        inside = dict(part["_place"].value_counts().iter_rows())
        for (place,), people in base.group_by("_place", maintain_order=True):
            if of.feature is None:
                number = of.times * inside.get(place, 0) / people.height
            else:
                feature = release.features[of.feature]
                value = dict(zip(feature.values, of.values, strict=True))
                number = _of_values(of, sorted(value[each] for each in people[feature.name]))
            yield str(place), cell.number, _text(of, number, decimals)


def _inside(release: Release, masks: Sequence[int]) -> pl.Expr:
    """Return which records have the values of masks."""
    found = pl.lit(value=True)
    for feature, mask in zip(release.features, masks, strict=True):
        if mask != feature.full:
            found &= pl.col(feature.name).is_in([feature.values[at] for at in bits(mask)])
    return found


def _of_values(of: Statistic, values: list[Fraction]) -> Fraction:
    """Compute a statistic of sorted values; a quantile is the least that its share is up to."""
    if of.kind == "quantile":
        return values[max(ceil(of.order * len(values)) - 1, 0)]
    if of.kind == "median":
        return Fraction(_MEDIANS.get(of.definition, statistics.median)(values))
    return _OF_VALUES[of.kind](values)


def _text(of: Statistic, number: Fraction, decimals: int) -> str:
    """Print a number; values of the feature itself as they are."""
    if of.kind not in UNROUNDED:
        return printed_text(number, decimals)
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"


def printed_text(value: Fraction, decimals: int, ties: Ties = "half_up") -> str:
    """Print a number with this many decimals; `printed_ends` of the text contains it.

    >>> printed_text(Fraction(1, 8), 2), printed_text(Fraction(1, 8), 2, "half_even")
    ('0.13', '0.12')
    """
    scaled = abs(value) * 10**decimals
    digits, rest = divmod(scaled.numerator, scaled.denominator)
    part = Fraction(rest, scaled.denominator)
    half = Fraction(1, 2)
    if ties == "up":
        digits += part > 0
    elif ties != "down":
        is_up = part == half and (ties != "half_even" or digits % 2 == 1)
        digits += part > half or is_up
    shown = str(digits).rjust(decimals + 1, "0")
    point = len(shown) - decimals
    sign = "-" if value < 0 and digits else ""
    return sign + (f"{shown[:point]}.{shown[point:]}" if decimals else shown)
