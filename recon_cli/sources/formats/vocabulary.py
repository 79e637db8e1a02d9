"""Words of published labels and codes as sets of a feature's values."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from recon_cli.schema import Feature, Release

#: Words for all values of a feature.
_TOTAL: Final = re.compile(
    r"t|_t|tot|total|totals|all|both|any|persons|people|population|everybody|everyone"
    r"|(total|all|both) (?!other).*|.* total|total\W.*|all categories\W.*"
)
#: What offices call the total in other languages of Europe, as `in_latin` has it; no word that is
#: a place or a category, too, such as Alle, Allen or alt.
TOTALS: Final = frozenset(
    (
        *("insgesamt", "gesamt", "summe", "zusammen", "ensemble", "tous", "toutes"),
        *("totale", "totaux", "totales", "todos", "todas", "ambos sexos", "tutti", "totali"),
        *("totaal", "ogolem", "razem", "suma", "samtliga", "totalt", "i alt"),
        *("yhteensa", "kaikki", "celkem", "uhrnem", "spolu", "osszesen", "total general", "ukupno"),
        *("skupaj", "kokku", "pavisam", "is viso", "synolo", "obshto", "vsichko"),
        *("iomlan", "total geral", "ambos os sexos", "les deux sexes", "beide geschlechter"),
    )
)
#: Letters that are no Latin letters with an accent, and what stands for each.
_LETTERS: Final = (
    "α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ ς τ υ φ χ ψ ω "  # noqa: RUF001
    "а б в г д е ж з и й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я є і ґ ј "  # noqa: RUF001
    "ł ø đ æ œ þ ð ı",  # noqa: RUF001
    "a v g d e z i th i k l m n x o p r s s t y f ch ps o "
    "a b v g d e zh z i y k l m n o p r s t u f h ts ch sh sht a y _ e yu ya ye i g j "
    "l o d ae oe th d i",
)
_LATIN: Final = str.maketrans(dict(zip(*map(str.split, _LETTERS), strict=True)))
#: Ages in English, German, French, Dutch, Spanish, Portuguese, Italian, the languages of the North
#: and Polish, without accents.
_FILLER: Final = re.compile(
    r"\b(aged?|from|years?|yrs?|old|of age|and|von|jahren?|jahre|de|ans|anos|anni|van|jaar|ar|"
    r"vuotta|lat|lata|w wieku)\b"
)
_MORE: Final = (
    "over|older|more|above|plus|alter|aelter|daruber|mehr|ouder|meer|mas|mais|piu|oltre|aldre|"
    "aeldre|eldre|fler|mer|mere|wiecej|starsi"
)
_ENDS: Final = rf"(?:\+|(?:(?:or|und|oder|et|ou|of|en|y|o|e|och|eller|og|i) )?(?:{_MORE}))"
_BELOW: Final = (
    "lt_?|under |less than |<|unter |moins |menos |menores |jonger dan |minder dan |meno |"
    "mniej niz |ponizej "
)
_AT_MOST: Final = re.compile(rf"(?:y_?)?(?:{_BELOW}) ?(\d{{1,9}})")
_AT_LEAST: Final = re.compile(rf"(?:y_?)?(?:ge_?|>=|ab ) ?(\d{{1,9}})|y?(\d{{1,9}}) ?{_ENDS}")
_BETWEEN: Final = re.compile(r"y?(\d{1,9}) ?(?:-|–|to|t|bis|a|til|till|do|t/m) ?y?(\d{1,9})")
_BEFORE: Final = re.compile(r"(\d{1,9}) ?(?:-|–|bis)? ?(?:unter|tot|to under|but under) ?(\d{1,9})")
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
    return _TOTAL.fullmatch(word) is not None or in_latin(word) in TOTALS


def in_latin(word: str) -> str:
    """Write a word in small Latin letters without accents; Greek and Cyrillic as they sound.

    >>> in_latin("Größe"), in_latin("Łódź"), in_latin("Αγόρια"), in_latin("Мъже")
    ('grosse', 'lodz', 'agoria', 'mazhe')
    """
    if word.isascii():
        return word.casefold()
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in spread if not unicodedata.combining(c)).translate(_LATIN)


def plain(text: str) -> str:
    """Fold case, and drop a colon at the end and doubled blanks."""
    return " ".join(text.casefold().strip(" :").split())


def interval(text: str) -> Interval | None:
    """Return the ages that a label or code names; None if it names none.

    >>> [interval(t) for t in ("Under 5 years", "Y15-64", "65 years and over", "Y_GE65")]
    [(0, 4), (15, 64), (65, None), (65, None)]
    >>> interval("under_15"), interval("65_over"), interval("Males"), interval("9 to 2")
    ((0, 14), (65, None), None, None)
    >>> [interval(t) for t in ("15 bis unter 25 Jahre", "15 à 24 ans", "65 años y más")]
    [(15, 24), (15, 24), (65, None)]
    """
    words = " ".join(_FILLER.sub(" ", in_latin(plain(text)).replace("_", " ")).split())
    words = words.replace("y lt", "y_lt").replace("y ge", "y_ge").replace("lt ", "lt_")
    if match := _AT_MOST.fullmatch(words):
        return 0, int(match[1]) - 1
    if match := _AT_LEAST.fullmatch(words):
        return int(match[1] or match[2]), None
    if match := _BEFORE.fullmatch(words):
        low, high = int(match[1]), int(match[2]) - 1
        return (low, high) if low <= high else None
    if match := _BETWEEN.fullmatch(words):
        low, high = int(match[1]), int(match[2])
        return (low, high) if low <= high else None
    if match := _SINGLE.fullmatch(words):
        return int(match[1]), int(match[1])
    return None


@dataclass(frozen=True)
class Vocabulary:
    """What words say of one feature.

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
