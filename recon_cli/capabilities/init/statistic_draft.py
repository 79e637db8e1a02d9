"""Means, medians, minima and maxima of a sheet, compared with its counts.

A header proposes the statistic of a column. If its values are categories that are counted, too, it
is computed again in every row with exact counts, and accepted only if all rows agree.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.init.conditions import Key
from recon_cli.capabilities.init.proposal.evidence import MARGIN_BITS, STRONG_POSITIONS
from recon_cli.errors import ConfigError
from recon_cli.schema.statistics import Definition
from recon_cli.sources.formats.vocabulary import Interval, interval
from recon_cli.statement.printed import Ends, printed_ends

#: Statistics of values that a sheet is searched for.
Kind = Literal["mean", "median", "minimum", "maximum", "mode", "quantile"]
#: Greatest age where the last category is open.
OLDEST: Final = 110
#: Fewest medians between two values that show how medians are defined.
_DEFINED: Final = 3
#: Most letters of a table's name.
_LONGEST: Final = 40
_ORDER: Final = re.compile(r"\d{1,3}/[1-9]\d{0,3}|0?\.\d{1,3}")
_RANGE: Final = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")


@dataclass(frozen=True)
class Scale:
    """A feature whose categories are numbers, or groups of numbers without a gap.

    Attributes:
        keys: Its categories.
        spans: The least and the greatest number of each category; None where the last is open.
    """

    name: str
    keys: tuple[str, ...]
    spans: tuple[Interval, ...]

    @classmethod
    def of(cls, name: str, keys: Sequence[str]) -> Scale | None:
        """Return categories as a scale; None if they are no numbers, or have gaps.

        >>> Scale.of("age", ["0-24", "25+"])
        Scale(name='age', keys=('0-24', '25+'), spans=((0, 24), (25, None)))
        >>> Scale.of("age", ["0-24", "30+"]), Scale.of("sex", ["female", "male"])
        (None, None)
        """
        spans = [each for key in keys if (each := interval(key)) is not None]
        ordered = sorted(spans, key=lambda each: each[0])
        joined = all(one[1] == two[0] - 1 for one, two in itertools.pairwise(ordered) if one[1])
        if len(spans) < max(2, len(keys)) or not joined:
            return None
        if any(high is None for _, high in ordered[:-1]):
            return None
        return cls(name, tuple(keys), tuple(spans))

    @property
    def groups(self) -> list[tuple[str, Interval]]:
        """Return each category with its least and greatest number."""
        return list(zip(self.keys, self.spans, strict=True))

    @property
    def is_single(self) -> bool:
        """Test whether each category is one number."""
        return all(low == high for low, high in self.spans)

    @property
    def least(self) -> int:
        """Return the least number."""
        return min(low for low, _ in self.spans)

    @property
    def greatest(self) -> int | None:
        """Return the greatest number; None where the last category is open."""
        highs = [high for _, high in self.spans]
        return None if None in highs else max(high for high in highs if high is not None)

    @property
    def width(self) -> int:
        """Return the number of values from the least to the greatest printed one."""
        return max(high or low for low, high in self.spans) - self.least + 1


@dataclass(frozen=True)
class Observed:
    """A printed statistic beside the exact counts of each category.

    Attributes:
        text: The statistic, with a decimal point.
        counts: People of each category of a scale.
    """

    text: str
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Agreement:
    """Agreement of a printed statistic with counts.

    Attributes:
        shown: Number of rows that agree.
        broken: The first row that does not agree.
        bits: −log2 of the probability of such agreement by chance.
        definition: For a median: the only definition that agrees everywhere, if enough rows tell.
    """

    shown: int
    broken: Observed | None
    bits: float
    definition: Definition = "any"

    def is_strong(self, tried: int) -> bool:
        """Test whether chance is excluded, given the number of statistics tried."""
        is_shown = self.broken is None and self.shown >= STRONG_POSITIONS
        return is_shown and self.bits >= MARGIN_BITS + math.log2(max(1, tried))


def agreement(kind: Kind, scale: Scale, rows: Sequence[Observed], order: str = "") -> Agreement:
    """Compare a statistic with what the counts of each category allow, row by row.

    Args:
        order: For a quantile: the share of people below it.

    >>> scale = Scale.of("size", ["1", "2", "3"])
    >>> rows = [Observed("1.33", (2, 1, 0)), Observed("2.5", (0, 2, 2)), Observed("2", (1, 1, 1))]
    >>> agreement("mean", scale, rows).shown, agreement("maximum", scale, rows).broken.text
    (3, '1.33')
    """
    shown, bits, between = 0, 0.0, 0
    able: set[Definition] = {"middle", "low", "high"}
    for row in rows:
        counts = np.array(row.counts, dtype=np.int64)
        if not counts.sum():
            continue
        ends = printed_ends(row.text)
        least, most = _allowed(kind, scale, counts, order)
        if not _fits(kind, ends, least, most):
            return Agreement(shown, row, bits)
        shown += 1
        room = (scale.width if math.isinf(most) else float(most - least)) + 2 / ends.over
        bits += max(0.0, math.log2(scale.width / max(room, 2 / ends.over)))
        if kind == "median" and scale.is_single:
            low, high = _middle(scale, counts)
            between += low < high
            able = {each for each in able if _defined(each, low, high) in ends}
    told = able if between >= _DEFINED else set()
    return Agreement(shown, None, bits, next(iter(told)) if len(told) == 1 else "any")


def are_of_whole(medians: Iterator[Fraction]) -> bool:
    """Test whether medians are of whole numbers: all are whole or halves, and one is a half.

    Medians that are interpolated in groups have other decimals, or are printed without.

    >>> are_of_whole(map(Fraction, ("36", "35.5"))), are_of_whole(map(Fraction, ("36", "35.4")))
    (True, False)
    >>> are_of_whole(map(Fraction, ("36", "35")))
    False
    """
    twice = [2 * each for each in medians]
    are_halves = all(each.denominator == 1 for each in twice)
    return are_halves and any(each.numerator % 2 for each in twice)


def _fits(kind: Kind, ends: Ends, least: Fraction, most: Fraction | float) -> bool:
    """Test whether a printed number can be a statistic between two numbers."""
    low, high = Fraction(ends.least, ends.over), Fraction(ends.most, ends.over)
    if kind == "median":  # by any definition, within whole numbers, too
        return math.ceil(high) >= least and math.floor(low) <= most
    if kind in {"minimum", "maximum", "mode"}:  # printed as it is
        return least <= (low + high) / 2 <= most
    return high >= least and low <= most


def _allowed(
    kind: Kind, scale: Scale, counts: IntArray, order: str
) -> tuple[Fraction, Fraction | float]:
    """Return the least and the greatest statistic that the counts of categories allow."""
    lows = [low for low, _ in scale.spans]
    highs = [math.inf if high is None else high for _, high in scale.spans]
    some = [i for i in np.argsort(lows).tolist() if counts[i]]
    if kind == "mean":
        people = int(counts.sum())
        most = sum(int(counts[i]) * highs[i] for i in some)
        least = Fraction(sum(int(counts[i]) * lows[i] for i in some), people)
        return least, most if math.isinf(most) else Fraction(int(most), people)
    if kind == "median":
        first, second = _middle_categories(scale, counts)
    elif kind == "mode":
        often = [i for i in some if counts[i] == counts.max()]
        first, second = often[0], often[-1]
    elif kind == "quantile":
        first, second = _quantile_categories(counts, some, Fraction(order))
    else:
        first = second = some[0 if kind == "minimum" else -1]
    most = highs[second]
    return Fraction(lows[first]), most if math.isinf(most) else Fraction(int(most))


def _middle_categories(scale: Scale, counts: IntArray) -> tuple[int, int]:
    """Return the categories of the two middle people; twice the same for an odd number."""
    order = np.argsort([low for low, _ in scale.spans])
    until = np.cumsum(counts[order])
    people = int(until[-1])
    first, second = np.searchsorted(until, [(people - 1) // 2, people // 2], side="right")
    return int(order[first]), int(order[second])


def _quantile_categories(counts: IntArray, some: Sequence[int], order: Fraction) -> tuple[int, int]:
    """Return the first and the last category that a quantile may be in, by any definition.

    Args:
        some: The categories with people, in their order.
    """
    people = int(counts.sum())
    until = np.cumsum([int(counts[i]) for i in some]).tolist()
    before = [0, *until[:-1]]
    able = [
        i
        for i, below, to in zip(some, before, until, strict=True)
        if below <= order * people + 1 and people - to <= (1 - order) * people + 1
    ]
    return able[0], able[-1]


def _middle(scale: Scale, counts: IntArray) -> tuple[int, int]:
    first, second = _middle_categories(scale, counts)
    return scale.spans[first][0], scale.spans[second][0]


def _defined(definition: Definition, low: int, high: int) -> Fraction:
    if definition == "middle":
        return Fraction(low + high, 2)
    return Fraction(low if definition == "low" else high)


# --- what is said -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SaidStatistic:
    """Statement of a user on a column of a statistic.

    Attributes:
        kind: The kind of statistic; None if the column's header says it.
        feature: The feature that it summarises; empty if numbers show it.
        ends: The least and the greatest value, which are whole.
        of: Header of the counts of the people it summarises; empty if the column's header says it.
        order: For a quantile: the share of people below it; empty if the column's header says it.
    """

    kind: Kind | None = None
    feature: str = ""
    ends: tuple[int, int] | None = None
    of: str = ""
    order: str = ""

    @classmethod
    def parse(cls, header: str, text: str) -> SaidStatistic:
        """Read what stands behind ``HEADER=``: a kind, a feature, a range, ``of`` whom.

        Raises:
            ConfigError: The text has another form.

        >>> SaidStatistic.parse("Mean age", "mean age 0..110 of Girls: Number")
        SaidStatistic(kind='mean', feature='age', ends=(0, 110), of='Girls: Number', order='')
        >>> SaidStatistic.parse("P90", "quantile 9/10 age").order
        '9/10'
        """
        words, _, of = text.strip().partition(" of ")
        kind: Kind | None = None
        ends, feature, order = None, "", ""
        for word in words.split():
            if word in get_args(Kind) and kind is None:
                kind = next(each for each in get_args(Kind) if each == word)
            elif (match := _RANGE.fullmatch(word)) and int(match[1]) < int(match[2]):
                ends = int(match[1]), int(match[2])
            elif _ORDER.fullmatch(word) and 0 < Fraction(word) < 1 and not order:
                order = word
            elif re.fullmatch(r"[a-z][a-z0-9_]*", word) and not feature:
                feature = word
            else:
                raise ConfigError(
                    f"--statistic {header}={text}: expected such as '{header}=mean age 0..110', "
                    f"found {word!r} (kinds: {', '.join(get_args(Kind))})"
                )
        return cls(kind, feature, ends, of.strip(), order)


def spoken(kind: str, feature: str, ends: tuple[int, int] | None, of: str = "") -> str:
    """Return a statistic as the text that `SaidStatistic.parse` reads.

    >>> spoken("mean", "age", (0, 110))
    'mean age 0..110'
    """
    said = [kind, feature, *([f"{ends[0]}..{ends[1]}"] if ends else [])]
    return " ".join(filter(None, said)) + (f" of {of}" if of else "")


# --- what is drafted ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DraftedStatistic:
    """A column of a statistic whose people and values are known.

    Attributes:
        feature: The feature that it summarises.
        values: Category → its number, where the feature's values are categories.
        of: Header of the counts of the people it summarises.
        order: For a quantile: the share of people below it.
    """

    kind: Kind
    feature: str
    of: str
    definition: Definition = "any"
    values: tuple[tuple[str, int], ...] = ()
    order: str = ""

    @property
    def name(self) -> str:
        """Return the name of its table."""
        return f"{self.kind}_{self.feature}".upper()

    @property
    def form(self) -> dict[str, object]:
        """Return the form of the statistic in a schema."""
        form: dict[str, object] = {self.kind: self.feature}
        if self.definition != "any":
            form["definition"] = self.definition
        if self.values:
            form["values"] = dict(self.values)
        if self.order:
            form["order"] = self.order
        return form


@dataclass(frozen=True)
class DraftedShare:
    """A column of shares among people who are withheld somewhere.

    Attributes:
        of: Header of the counts of these people.
        part: The people among these whose share it is.
        times: 100 for a percentage.
    """

    of: str
    part: Key
    times: int = 100

    @property
    def name(self) -> str:
        """Return the name of its table."""
        words = "_".join(value for _, values in self.part for value in values)
        return re.sub(r"\W+", "_", f"SHARE_{words}".upper())[:_LONGEST]

    def form(self, part: Mapping[str, object]) -> dict[str, object]:
        """Return the form of the share in a schema.

        Args:
            part: The values of the part, by their names in the schema.
        """
        return {"share": dict(part)} | ({} if self.times == 100 else {"times": self.times})


def greatest_value(scale: Scale, printed: Iterator[Fraction], ends: tuple[int, int] | None) -> int:
    """Return an upper bound of a scale's values: of its last category, or as the user says.

    Medians, minima and maxima prove the same for every bound beyond the printed numbers.
    """
    if scale.greatest is not None:
        return scale.greatest
    if ends is not None:
        return ends[1]
    beyond = max([scale.width + scale.least, *(math.ceil(each) + 1 for each in printed)])
    return max(beyond, OLDEST) if "age" in scale.name.split("_") else beyond
