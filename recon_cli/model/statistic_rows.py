"""Rows of printed statistics over the histogram cells of a place.

Nearly all statistics have the form f · (a·x) / (b·x), with whole vectors a and b over the people x
of histogram cells. What a text proves of them are then whole-numbered rows, in which the base b·x
need not be known: Eq. (printed) of docs/statistics.md.

See *printed statistic* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.schema.statistics import Definition
from recon_cli.statement.printed import Ends

#: Greatest denominator of ends; finer ends are widened, so that products of counts fit 64 bits.
_FINEST: Final = 2 * 10**6


#: Most values of a quotient's base that are enumerated.
_MOST_BASES: Final = 1000

#: The lower and the upper middle value of an even number of people.
Pair = tuple[int, int]
#: The least and the greatest number of some people.
Span = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """``Σ (plain + by_value · value) · x >= least``, in whole numbers.

    Attributes:
        plain: For each histogram cell its coefficient.
        by_value: For each histogram cell the factor of its value.
    """

    plain: IntArray
    by_value: IntArray
    least: int

    def coefficients(self, values: IntArray) -> IntArray:
        """Return the whole coefficient of each histogram cell."""
        return self.plain + self.by_value * values

    @classmethod
    def of(cls, plain: IntArray, least: int, by_value: IntArray | None = None) -> Row:
        """Make a row, divided by its greatest common divisor, its side rounded inwards."""
        weights = np.zeros_like(plain) if by_value is None else by_value
        shared = max(int(np.gcd(np.gcd.reduce(plain), np.gcd.reduce(weights))), 1)
        return cls(plain // shared, weights // shared, -(-least // shared))


def share_rows(
    counted: BoolArray,
    base: BoolArray,
    ends: Ends,
    times: Fraction = Fraction(1),
    known: tuple[Span | None, Span | None] = (None, None),
) -> list[Row]:
    """Return the rows of a percentage, rate or ratio: Eq. (printed).

    Args:
        counted: The histogram cells that the numerator counts.
        base: The histogram cells that the denominator counts.
        ends: The interval that the text proves.
        times: The factor of the quotient, such as 100.
        known: Least and greatest number of people in ``counted`` and in ``base``, by counts.
    """
    above = counted.astype(np.int64)
    return _quotient_rows((above, np.zeros_like(above)), base, ends, times, known)


def mean_rows(base: BoolArray, ends: Ends, unit: int = 1, known: Span | None = None) -> list[Row]:
    """Return the rows of a mean: Eq. (printed).

    Args:
        base: The histogram cells whose values are averaged.
        ends: The interval that the text proves.
        unit: Values are whole multiples of its inverse.
        known: The least and the greatest number of people, by their count.
    """
    ones = base.astype(np.int64)
    times = Fraction(1, unit)
    return _quotient_rows((np.zeros_like(ones), ones), base, ends, times, (None, known))


def _quotient_rows(
    above: tuple[IntArray, IntArray],
    base: BoolArray,
    ends: Ends,
    times: Fraction,
    known: tuple[Span | None, Span | None],
) -> list[Row]:
    """Return the rows of a quotient: the hull of whole points if its base is known, else two sides.

    Args:
        above: Coefficients of the numerator, plain and by value.
    """
    sides, below = _sides(ends, times), base.astype(np.int64)
    facets = _whole_facets(sides, *known)
    if facets is not None:
        return [
            Row.of(over * above[0] + end * below, least, over * above[1])
            for over, end, least in facets
        ]
    return [
        *(
            Row.of(sign * (over * above[0] - end * below), least, sign * over * above[1])
            for sign, over, end, least in sides
        ),
        *somebody(base),
    ]


def _whole_facets(
    sides: list[tuple[int, int, int, int]], counted: Span | None, base: Span | None
) -> list[tuple[int, int, int]] | None:
    """Return the hull of the whole points (base, numerator) of a quotient, if its base is known.

    All vertices of the hull are whole points. The two sides of a quotient alone have others: with
    the hull, a percentage of 7 people becomes one count.

    Returns:
        Coefficients of numerator and base, and the least of each row; None where the base has too
        many values, or no whole point prints the text.
    """
    if base is None or base[1] - base[0] > _MOST_BASES:
        return None
    (_, over, low, low_open), (_, _, high, high_open) = sides
    points = []
    for people in range(max(base[0], 1), base[1] + 1):
        least, most = -(-(low * people + low_open) // over), (high * people - high_open) // over
        if counted is not None:
            least, most = max(least, counted[0]), min(most, counted[1])
        if least <= most:
            points.append((people, least, most))
    if not points:
        return None
    facets = [(0, 1, points[0][0]), (0, -1, -points[-1][0])]
    for sign, at in ((1, 1), (-1, 2)):
        hull = _lower_hull([(point[0], sign * point[at]) for point in points])
        for (n, a), (m, b) in zip(hull, hull[1:] or hull, strict=False):
            over = max(m - n, 1)
            facets.append((sign * over, a - b, over * a + (a - b) * n))
    return facets


def _lower_hull(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the corners of the greatest convex function below points, from left to right.

    >>> _lower_hull([(1, 0), (2, 1), (3, 1), (4, 3)])
    [(1, 0), (3, 1), (4, 3)]
    """
    hull: list[tuple[int, int]] = []
    for n, a in points:
        while len(hull) > 1:
            (k, c), (m, b) = hull[-2:]
            if (b - c) * (n - k) < (a - c) * (m - k):
                break
            hull.pop()
        hull.append((n, a))
    return hull


def _sides(ends: Ends, times: Fraction) -> list[tuple[int, int, int, int]]:
    """Return sign, multiple of the numerator, multiple of the base and least, of both ends."""
    ends = widened(ends)
    over = ends.over * times.numerator
    low, high = ends.least * times.denominator, ends.most * times.denominator
    return [(1, over, low, int(ends.is_least_open)), (-1, over, high, int(ends.is_most_open))]


def widened(ends: Ends) -> Ends:
    """Return ends whose denominator is small enough, closed where that widens them.

    >>> widened(Ends(1234567890, 1234567892, 2 * 10**9))
    Ends(least=1234567, most=1234568, over=2000000, is_least_open=False, is_most_open=False)
    """
    if ends.over <= _FINEST:
        return ends
    low, high = (Fraction(end, ends.over) * _FINEST for end in (ends.least, ends.most))
    return Ends(math.floor(low), math.ceil(high), _FINEST)


def somebody(base: BoolArray) -> list[Row]:
    """Return the row that requires at least one person: closed ends alone admit nobody."""
    return [Row.of(base.astype(np.int64), 1)]


def nobody(base: BoolArray) -> list[Row]:
    """Return the row that allows no people."""
    return [Row.of(-base.astype(np.int64), 0)]


@dataclass(frozen=True)
class Measured:
    """The numbers of histogram cells, such as ages.

    Attributes:
        values: For each histogram cell a whole number.
        unit: The factor that made values whole: a printed 1 is this whole number.
    """

    values: IntArray
    unit: int = 1

    def below(self, number: Fraction) -> BoolArray:
        found: BoolArray = self.values < math.ceil(number * self.unit)
        return found

    def above(self, number: Fraction) -> BoolArray:
        found: BoolArray = self.values > math.floor(number * self.unit)
        return found

    def at(self, number: Fraction) -> BoolArray:
        found: BoolArray = ~self.below(number) & ~self.above(number)
        return found


def impossible(base: BoolArray) -> list[Row]:
    """Return a row that no people can meet."""
    return [Row.of(np.zeros(len(base), dtype=np.int64), 1)]


def minimum_rows(measured: Measured, base: BoolArray, printed: Fraction) -> list[Row]:
    """Return the rows of a least value: nobody is below it, somebody has it.

    Args:
        measured: The value of each histogram cell.
        base: The histogram cells of the statistic.
        printed: The value of the statistic.
    """
    below, at = measured.below(printed), measured.at(printed)
    return [*nobody(base & below), *somebody(base & at)]


def maximum_rows(measured: Measured, base: BoolArray, printed: Fraction) -> list[Row]:
    """Return the rows of a greatest value, as `minimum_rows`."""
    above, at = measured.above(printed), measured.at(printed)
    return [*nobody(base & above), *somebody(base & at)]


def mode_rows(measured: Measured, base: BoolArray, printed: Fraction) -> list[Row]:
    """Return the rows of a mode, which need not be the only one: no value has more people."""
    at = (base & measured.at(printed)).astype(np.int64)
    others = np.unique(measured.values[base & ~measured.at(printed)])
    return [
        *(Row.of(at - (base & (measured.values == other)), 0) for other in others),
        *somebody(at > 0),
    ]


def median_rows(measured: Measured, base: BoolArray, ends: Ends) -> list[Row]:
    """Return rows that hold for any median between the two middle values.

    At most half of the people are below the interval, and at most half above.

    Args:
        measured: The value of each histogram cell.
        base: The histogram cells of the statistic.
        ends: What the text proves of the median.
    """
    return _order_rows(measured, base, ends, Fraction(1, 2), slack=0)


def quantile_rows(measured: Measured, base: BoolArray, ends: Ends, order: Fraction) -> list[Row]:
    """Return rows that hold for all nine usual definitions of a quantile.

    They allow one person more below the interval, and above it, than `median_rows`.

    Args:
        order: The share of people below the quantile.
    """
    return _order_rows(
        measured, base, replace(ends, is_least_open=False, is_most_open=False), order, slack=1
    )


def _order_rows(
    measured: Measured, base: BoolArray, ends: Ends, order: Fraction, *, slack: int
) -> list[Row]:
    low, high = Fraction(ends.least, ends.over), Fraction(ends.most, ends.over)
    below = measured.below(low) | (measured.at(low) & ends.is_least_open)
    above = measured.above(high) | (measured.at(high) & ends.is_most_open)
    part, whole = order.numerator, order.denominator
    people = base.astype(np.int64)
    return [
        Row.of(part * people - whole * (base & below), -whole * slack),
        Row.of((whole - part) * people - whole * (base & above), -whole * slack),
        *somebody(base),
    ]


def median_cases(
    measured: Measured, base: BoolArray, ends: Ends, definition: Definition
) -> list[list[Row]]:
    """Return rows for each of `middle_pairs`: the text is true exactly if some pair's rows hold."""
    pairs = middle_pairs(measured, base, ends, definition)
    return [pair_rows(measured, base, pair, definition) for pair in pairs]


def middle_pairs(
    measured: Measured, base: BoolArray, ends: Ends, definition: Definition
) -> list[tuple[int, int]]:
    """Return each pair of middle values that prints the text, the closest pairs first.

    If the definition is ``low`` or ``high``, both values of a pair are the same.

    Args:
        measured: The value of each histogram cell.
        base: The histogram cells of the statistic.
        ends: The interval that the text proves.
        definition: Median of an even number of people; ``any`` counts as ``middle``.
    """
    values = np.unique(measured.values[base])
    if definition in {"low", "high"}:
        low = high = values
    else:
        low, high = (each.ravel() for each in np.meshgrid(values, values, indexing="ij"))
    # Twice the median, in units of the values, between twice the ends.
    twice, unit = (low + high) * ends.over, 2 * measured.unit
    least, most = unit * ends.least, unit * ends.most
    fits: BoolArray = twice > least if ends.is_least_open else twice >= least
    fits &= twice < most if ends.is_most_open else twice <= most
    pairs = sorted(
        {(b - a, a, b) for a, b in zip(low[fits].tolist(), high[fits].tolist(), strict=True)}
    )
    return [(a, b) for gap, a, b in pairs if gap >= 0]


def cut_at(pairs: Sequence[Pair], definition: Definition, values: IntArray) -> IntArray:
    """Number values so that all rows of `pair_rows` treat values with equal numbers alike.

    The number counts the cuts below a value: one on either side of each middle value in ``pairs``.

    >>> cut_at([(30, 32), (31, 31)], "middle", np.array([29, 30, 31, 32, 33, 40])).tolist()
    [0, 1, 3, 5, 6, 6]
    """
    ends = {pair[at] for pair in pairs for at in (0, 1) if definition != ("high", "low")[at]}
    cuts = np.array(sorted(2 * end + until for end in ends for until in (0, 2)), dtype=np.int64)
    return np.searchsorted(cuts, 2 * values + 1, side="right").astype(np.int64)


def pair_rows(
    measured: Measured, base: BoolArray, pair: tuple[int, int], definition: Definition
) -> list[Row]:
    """Return the rows of a pair from `middle_pairs`."""
    people, (a, b) = base.astype(np.int64), pair
    before, until = (base & (measured.values < a), base & (measured.values <= b))
    up_to_a, below_b = (base & (measured.values <= a), base & (measured.values < b))
    lower = [Row.of(people - 2 * before, 1), Row.of(2 * up_to_a - people, 0)]
    upper = [Row.of(people - 2 * below_b, 0), Row.of(2 * until - people, 1)]
    wanted = {"low": lower, "high": upper}.get(definition, [*lower, *upper])
    return [*wanted, *somebody(base)]


def quantile_cases(
    measured: Measured, base: BoolArray, ends: Ends, order: Fraction
) -> list[list[Row]]:
    """Return rows for each value that is a quantile by all nine usual definitions."""
    part, whole = order.numerator, order.denominator
    people = base.astype(np.int64)
    found = []
    for value in np.unique(measured.values[base]):
        if Fraction(int(value), measured.unit) not in ends:
            continue
        below, until = base & (measured.values < value), base & (measured.values <= value)
        found.append(
            [
                Row.of(part * people - whole * below, whole),
                Row.of(whole * until - part * people, whole),
                *somebody(base),
            ]
        )
    return found


def outwards(ends: Ends) -> Ends:
    """Widen an interval to whole numbers, for a median that was interpolated within a year.

    >>> outwards(Ends(691, 693, 20))
    Ends(least=34, most=35, over=1, is_least_open=False, is_most_open=False)
    """
    return Ends(ends.least // ends.over, -(-ends.most // ends.over), 1)
