"""Printed decimals: the exact interval that a printed text proves of the number behind it.

A text with d decimals and digits M, read as a whole number, proves an interval with ends over
2·10^d; which of its ends belong to it depends on how ties were rounded. Ends are whole numbers, so
that nothing is lost to floats.

See *printed statistic* in docs/glossary.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, get_args

#: How a number half way between two texts was rounded; or that all numbers were rounded ``down``,
#: towards zero, or ``up``, away from it, as spreadsheets do.
Ties = Literal["half_up", "half_even", "down", "up", "unknown"]
TIES: Final[tuple[Ties, ...]] = get_args(Ties)
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
#: More digits than any program prints, and few enough for texts that are no numbers at all.
_DIGITS: Final = 40


@dataclass(frozen=True)
class Ends:
    """An interval of rational numbers with a common denominator, each end closed or open.

    Attributes:
        least: Numerator of the least number.
        most: Numerator of the greatest.
        over: The denominator, positive.
        is_least_open: Whether the least number itself is excluded.
        is_most_open: Whether the greatest number itself is excluded.
    """

    least: int
    most: int
    over: int
    is_least_open: bool = False
    is_most_open: bool = False

    def __contains__(self, value: Fraction | int) -> bool:
        """Test whether a number lies in the interval.

        >>> Fraction(3465, 100) in printed_ends("34.6", "half_up")
        False
        """
        scaled = value * self.over
        above = scaled > self.least if self.is_least_open else scaled >= self.least
        below = scaled < self.most if self.is_most_open else scaled <= self.most
        return above and below

    def multiples(self, step: Fraction) -> tuple[int, int]:
        """Return the least and the greatest whole k for which k·step lies in the interval.

        The first exceeds the second if there is none.

        Args:
            step: Positive.

        >>> printed_ends("34.57").multiples(Fraction(1, 7))
        (242, 242)
        >>> printed_ends("34.61").multiples(Fraction(1, 7))  # no mean of seven whole numbers
        (243, 242)
        """
        low = Fraction(self.least, self.over) / step
        high = Fraction(self.most, self.over) / step
        least, most = -(-low.numerator // low.denominator), high.numerator // high.denominator
        least += self.is_least_open and least == low
        most -= self.is_most_open and most == high
        return least, most

    def counts(
        self, base_low: int, base_high: int | None = None, times: Fraction | int = 100
    ) -> tuple[int, int]:
        """Return the least and the greatest count whose share of a base lies in the interval.

        The first exceeds the second if no count fits. Shares of nobody are not printed.

        Args:
            base_low: The least value of the base.
            base_high: The greatest value of the base; default the least.
            times: The factor of the share: 100 for a percentage, 1000 for a rate.

        >>> printed_ends("12.5").counts(24)
        (3, 3)
        >>> printed_ends("50").counts(3)  # first exceeds second: no such count
        (2, 1)
        """
        low = max(base_low, 1)
        high = low if base_high is None else base_high
        least = self.multiples(Fraction(times) / low)[0]
        most = self.multiples(Fraction(times) / high)[1] if high >= low else -1
        return max(least, 0), most


def printed_ends(text: str, ties: Ties = "unknown", decimals: int | None = None) -> Ends:
    """Return the exact interval of the numbers that print as a text.

    Args:
        text: Digits with at most one decimal point, and a sign.
        ties: How ties were rounded.
        decimals: Decimals that were rounded to, for numbers whose trailing zeros are lost.

    Raises:
        ValueError: The text is no such number, or has more decimals than ``decimals``.

    >>> printed_ends("34.6")
    Ends(least=691, most=693, over=20, is_least_open=False, is_most_open=False)
    """
    digits, places = _digits(text)
    if decimals is not None:
        if places > decimals:
            raise ValueError(f"expected {decimals} decimals, found {text!r}")
        digits, places = digits * 10 ** (decimals - places), decimals
    least, most, is_least_open, is_most_open = _around(abs(digits), ties)
    if digits < 0:
        least, most, is_least_open, is_most_open = -most, -least, is_most_open, is_least_open
        if ties == "half_up":  # some programs round -0.5 to 0, others to -1
            is_least_open = False
    elif digits == 0 and ties == "down":
        least, is_least_open = -2, True
    return Ends(least, most, 2 * 10**places, is_least_open, is_most_open)


def printed_value(text: str) -> Fraction:
    """Return the number that a text spells.

    Raises:
        ValueError: The text is no number.

    >>> printed_value("1.50")
    Fraction(3, 2)
    """
    digits, places = _digits(text)
    return Fraction(digits, 10**places)


def _digits(text: str) -> tuple[int, int]:
    """Return the digits of a text as a whole number, and how many of them are decimals."""
    if len(text) > _DIGITS or not text.isascii() or _NUMBER.fullmatch(text) is None:
        raise ValueError(_expected(text))
    whole, _, decimals = text.partition(".")
    return int(whole + decimals), len(decimals)


def _expected(text: str) -> str:
    """Return what is wrong with a text that is no printed number."""
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f'expected a decimal point, found {text!r}; say decimal: ","'
    if text.endswith("%"):
        return f"expected a number, found {text[:_DIGITS]!r}: drop '%'"
    return f"expected a number such as 34.6, found {text[:_DIGITS]!r}"


def _around(digits: int, ties: Ties) -> tuple[int, int, bool, bool]:
    """Return ends of digits that are not negative, in halves of the last place."""
    middle = 2 * digits
    if ties == "half_up":
        return middle - 1, middle + 1, False, True
    if ties == "half_even":
        is_odd = digits % 2 == 1
        return middle - 1, middle + 1, is_odd, is_odd
    if ties == "down":
        return middle, middle + 2, False, True
    if ties == "up":
        return (middle - 2, middle, True, False) if digits else (0, 0, False, False)
    return middle - 1, middle + 1, False, False
