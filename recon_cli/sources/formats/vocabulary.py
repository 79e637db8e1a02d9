"""Words of published labels and codes as sets of a feature's values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

from recon_cli.schema import Feature, Release
from recon_cli.sources.read.words import Sense, either, in_latin, is_word, words_for

#: How SDMX codes a total.
_TOTAL_CODES: Final = frozenset(("t", "_t", "tot"))
#: A total in English, with further words: ``All persons``, ``Total: 2021``, ``Year 7 total``.
_TOTAL_OF: Final = re.compile(r"(?:all|both) (?!other).*|total\W.*|.* total")
_SINGLE: Final = re.compile(r"y?(\d{1,9})")

#: Lowest and highest number, the latter None without an end.
Interval = tuple[int, int | None]


def is_total(text: str) -> bool:
    """Test whether a label or code stands for everybody.

    >>> [is_total(text) for text in ("T", "TOTAL", "All persons", "Persons", "Males", "All other")]
    [True, True, True, True, False, False]
    >>> is_total("Insgesamt"), is_total("Ogółem"), is_total("Σύνολο")
    (True, True, True)
    """
    word = plain(text)
    is_said = is_word(word, Sense.TOTAL, Sense.EVERYBODY)
    return is_said or word in _TOTAL_CODES or _TOTAL_OF.fullmatch(word) is not None


def plain(text: str) -> str:
    """Fold case, and drop a colon at the end and doubled blanks."""
    return " ".join(text.casefold().strip(" :").split())


def _bare(words: str) -> str:
    """Drop words that only mark numbers as ages: ``moins de 15 ans`` becomes ``moins 15``."""
    unspoken = rf"\b(?:{either(Sense.YEARS, Sense.FROM)})\b"
    return " ".join(re.sub(unspoken, " ", words).split())


@cache
def _ages() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns of ages: below n, n and over, n to m, and n to below m."""
    below = "|".join(map(re.escape, map(_bare, words_for(Sense.BELOW, Sense.YOUNGER))))
    joins, more, until = either(Sense.AND, Sense.OR), either(Sense.MORE), either(Sense.UNTIL)
    to = rf"-|–|{either(Sense.TO)}"
    return (
        re.compile(rf"(?:y_?)?(?:lt_?|<|(?:{below}) ) ?(\d{{1,9}})"),
        re.compile(
            rf"(?:y_?)?(?:ge_?|>=|{either(Sense.AT_LEAST)}) ?(\d{{1,9}})"
            rf"|y?(\d{{1,9}}) ?(?:\+|(?:(?:{joins}) )?(?:{more}))"
        ),
        re.compile(rf"y?(\d{{1,9}}) ?(?:{to}|t) ?y?(\d{{1,9}})"),
        re.compile(rf"(\d{{1,9}}) ?(?:{to})? ?(?:{until}|{below}) ?(\d{{1,9}})"),
    )


def interval(text: str) -> Interval | None:
    """Return the ages that a label or code names; None if it names none.

    >>> [interval(t) for t in ("Under 5 years", "Y15-64", "65 years and over", "Y_GE65")]
    [(0, 4), (15, 64), (65, None), (65, None)]
    >>> interval("under_15"), interval("65_over"), interval("Males"), interval("9 to 2")
    ((0, 14), (65, None), None, None)
    >>> [interval(t) for t in ("15 bis unter 25 Jahre", "15 à 24 ans", "65 años y más")]
    [(15, 24), (15, 24), (65, None)]
    """
    words = _bare(in_latin(plain(text)).replace("_", " "))
    words = words.replace("y lt", "y_lt").replace("y ge", "y_ge").replace("lt ", "lt_")
    at_most, at_least, between, before = _ages()
    if match := at_most.fullmatch(words):
        return 0, int(match[1]) - 1
    if match := at_least.fullmatch(words):
        return int(match[1] or match[2]), None
    if match := before.fullmatch(words) or between.fullmatch(words):
        low, high = int(match[1]), int(match[2]) - (match.re is before)
        return (low, high) if low <= high else None
    if match := _SINGLE.fullmatch(words):
        return int(match[1]), int(match[1])
    return None


@dataclass(frozen=True)
class Vocabulary:
    """The words for one feature and its values.

    Attributes:
        groups: Label → the set of values: the feature's own, and the groups of its recodes.
    """

    feature: Feature
    names: frozenset[str]
    groups: dict[str, int]

    @classmethod
    def of(cls, release: Release, feature: Feature) -> Vocabulary:
        """Return the words of a feature of ``release``."""
        groups = {str(value): 1 << i for i, value in enumerate(feature.values)}
        if feature.options:
            groups = {}  # a value is a sum of bits, which no label is
        names = {_word(feature.name)}
        for recode in release.recodes:
            if recode.feature != feature.name:
                continue
            names.add(_word(recode.name))
            for label, mask in zip(recode.labels, recode.masks, strict=True):
                groups.setdefault(str(label), mask)
        return cls(feature, frozenset(names), groups)

    def is_named(self, text: str) -> bool:
        """Test whether ``text`` names the feature: ``C_SEX``, ``Sex (2 categories)``."""
        word = re.sub(r" \(\d+ categories\)$", "", plain(text)).removeprefix("c_")
        return _word(word) in self.names

    def mask(self, text: str) -> int | None:
        """Return the set of values that a label or code means; None if it means none."""
        if is_total(text):
            return self.feature.full
        if (found := interval(text)) is not None:
            return self._of_interval(found)
        word = _word(text)
        if word in self._words:
            return self._words[word]
        if len(word) == 1:  # M, F
            masks = {mask for name, mask in self._words.items() if name.startswith(word)}
            return masks.pop() if len(masks) == 1 else None
        return None

    def _of_interval(self, wanted: Interval) -> int | None:
        if not self.feature.ordered:
            return self._intervals.get(wanted)
        low, high = wanted
        first, last = int(self.feature.values[0]), int(self.feature.values[-1])
        if low > last or (high is not None and high > last):
            return None
        found = sum(
            1 << i
            for i, value in enumerate(self.feature.values)
            if max(low, first) <= int(value) <= (last if high is None else high)
        )
        return found or None

    @cached_property
    def _words(self) -> dict[str, int]:
        return {_word(name): mask for name, mask in self.groups.items() if not interval(name)}

    @cached_property
    def _intervals(self) -> dict[Interval, int]:
        named = ((interval(name), mask) for name, mask in self.groups.items())
        return {each: mask for each, mask in named if each is not None}


def _word(text: str) -> str:
    """Strip plural, blanks and underscores from a word.

    >>> _word("Females"), _word("under_15"), _word("Nursing facilities")
    ('female', 'under 15', 'nursing facilitie')
    """
    word = re.sub(r"[\W_]+", " ", text.casefold()).strip()
    return word.removesuffix("s") if len(word) > 2 else word
