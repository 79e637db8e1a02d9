"""Numbers as they are printed: digits, decimals, percent signs, and marks behind them.

A comma is a decimal sign in one country and separates thousands in another. The sheet shows which:
by texts that are numbers in one way only, else by sums that hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: Blanks that stand between thousands.
_BLANKS: Final = " \u00a0\u202f\u2009"
#: A flag or a footnote mark behind a number: ``55 r``, ``24 bu``, ``12*``, ``7[2]``, ``310 (3)``,
#: ``9\u00b9)``, ``9 a)``.
_RAISED: Final = r"[*\u2020\u2021\u00b9\u00b2\u00b3\u2070-\u207f]"
_MARK: Final = re.compile(
    r"(?P<number>[-\u2212+]?[0-9][0-9.,'\s]*%?)\s*"
    rf"(?P<mark>[A-Za-z]{{1,2}}|\(?{_RAISED}(?:,?{_RAISED})*\)?"
    r"|\[\w{1,3}\]|\(\w{1,3}\)|\\\d{1,2}|\w\))"
)
#: A percentage or an interval behind a count: ``14 (10.8%)``, ``14 (9\u201321)``, ``14 [9 to 21]``.
_VALUE: Final = re.compile(
    r"(?P<number>[-\u2212+]?[0-9][0-9.,'\s]*%?)\s*"
    r"(?P<mark>[\[(]\s*(?:95%\s*)?(?:CI:?\s*)?[-\u2212+]?\d[\d.,]*\s*"
    r"(?:%|(?:[-\u2013\u2014,;]|to)\s*[-\u2212+]?\d[\d.,]*\s*%?)\s*[\])])"
)
#: A number between parentheses.
_INSIDE: Final = re.compile(r"\(\s*([0-9][0-9.,'\s]*%?)\s*\)")
_LONG_YEAR: Final = re.compile(r"(1[6-9]|20)\d\d")


@dataclass(frozen=True)
class Number:
    """A printed number.

    Attributes:
        value: Without its percent sign: 12.5 of ``12.5%``.
        decimals: Digits behind the decimal sign.
        is_percent: Whether a percent sign stands behind it.
        mark: A flag or a footnote mark behind it.
    """

    value: float
    decimals: int = 0
    is_percent: bool = False
    mark: str = ""

    @property
    def has_value_beside(self) -> bool:
        """Test whether a percentage or an interval stands behind it, in parentheses."""
        return _VALUE.fullmatch(f"0{self.mark}") is not None

    @property
    def is_whole(self) -> bool:
        """Whether it may be a count: no decimals that are not zeros, no percent sign."""
        return not self.is_percent and self.value == int(self.value)


@dataclass(frozen=True)
class Convention:
    """What separates thousands and decimals.

    Attributes:
        decimal: ``.`` or ``,``.

    Example:
        >>> GERMAN.number("1.234,5"), ENGLISH.number("1,234")
        (Number(value=1234.5, decimals=1, is_percent=False, mark=''), \
Number(value=1234.0, decimals=0, is_percent=False, mark=''))
    """

    decimal: str

    @property
    def _pattern(self) -> re.Pattern[str]:
        return _ENGLISH if self.decimal == "." else _GERMAN

    def number(self, text: str) -> Number | None:
        """The number that a text is, with a mark behind it; None of any other text."""
        bare = text.strip()
        if not bare or not any(map(str.isdigit, bare)):
            return None
        if (found := self._bare(bare)) is not None:
            return found
        marked = _MARK.fullmatch(bare) or _VALUE.fullmatch(bare)
        if marked is None:
            return None
        number = self._bare(marked["number"].strip())
        if number is None:
            return None
        return Number(number.value, number.decimals, number.is_percent, marked["mark"])

    def _bare(self, text: str) -> Number | None:
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        whole = re.sub(r"\D", "", found["whole"] or "0")
        decimals = found["decimals"] or ""
        value = float(f"{whole}.{decimals or 0}")
        if found["sign"] and found["sign"] != "+":
            value = -value
        return Number(value, len(decimals), bool(found["percent"]))


def _pattern(thousands: str, decimal: str) -> re.Pattern[str]:
    between = rf"[{re.escape(thousands)}'{_BLANKS}]"
    return re.compile(
        rf"(?P<sign>[-\u2212+]?)\s?(?P<whole>\d{{1,3}}(?P<by>{between})\d{{3}}((?P=by)\d{{3}})*|\d*)"
        rf"({re.escape(decimal)}(?P<decimals>\d+))?(?P<exponent>)\s?(?P<percent>%?)(?<=[\d%])"
    )


_ENGLISH: Final = _pattern(",", ".")
_GERMAN: Final = _pattern(".", ",")
#: ``1,234.5``, and ``1.234,5``.
ENGLISH: Final = Convention(".")
GERMAN: Final = Convention(",")


def conventions(texts: Iterable[str]) -> tuple[Convention, ...]:
    """The conventions by which most texts are numbers, the likelier first.

    A text like ``1.234`` is a number in both; where no other text decides, both are given: groups
    of three digits throughout are thousands sooner than three decimals throughout.

    Example:
        >>> conventions(["1.234", "12,5"]) == (GERMAN,)
        True
        >>> conventions(["4.350", "698"]) == (GERMAN, ENGLISH)
        True
    """
    english = german = 0
    points = commas = 0
    for text in texts:
        if not ("." in text or "," in text):
            continue
        one, other = ENGLISH.number(text), GERMAN.number(text)
        english += one is not None
        german += other is not None
        if one is not None and other is not None and one.value != other.value:
            points += one.decimals > 0
            commas += other.decimals > 0
    if english > german:
        return (ENGLISH,)
    if german > english:
        return (GERMAN,)
    if points > commas:
        return (GERMAN, ENGLISH)
    if commas > points:
        return (ENGLISH, GERMAN)
    return (ENGLISH,)


def is_year(number: Number) -> bool:
    """Whether a number may be a year of our calendar."""
    return not number.decimals and _LONG_YEAR.fullmatch(str(int(abs(number.value)))) is not None


def inside(text: str) -> str | None:
    """Return what is between the parentheses of a text that is a number in them; else None.

    Example:
        >>> inside("(9)"), inside("( 1,204 )"), inside("9 (3)"), inside("(D)")
        ('9', '1,204', None, None)
    """
    found = _INSIDE.fullmatch(text)
    return None if found is None else found[1].strip()
