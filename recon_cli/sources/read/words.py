"""The dictionary of words: they order proposals, name things and prompt questions, not decide."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter

from recon_cli.strict_yaml import parse_yaml

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


class Sense(StrEnum):
    """What a word may stand for."""

    TOTAL = "total"
    UNIT = "unit"
    PERCENTAGE = "percentage"
    MEASURE = "measure"
    SCALE = "scale"
    ROUNDED = "rounded"
    PLACE = "place"
    OF_WHICH = "of_which"
    KIND = "kind"
    MALE = "male"
    FEMALE = "female"
    BY = "by"
    AND = "and"
    BELOW = "below"
    SUPPRESSED = "suppressed"
    NOTHING = "nothing"
    EVERYBODY = "everybody"
    YEARS = "years"
    FROM = "from"
    TO = "to"
    UNTIL = "until"
    YOUNGER = "younger"
    AT_LEAST = "at_least"
    MORE = "more"
    OR = "or"
    AGE = "age"
    SEX = "sex"
    GRADE = "grade"
    PERIOD = "period"
    GEOID = "geoid"
    BLANK = "blank"
    NOBODY = "nobody"
    NUMBER = "number"
    JOINING = "joining"
    ORDINAL = "ordinal"
    MEAN = "mean"
    MEDIAN = "median"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    MODE = "mode"
    QUANTILE = "quantile"
    DEVIATION = "deviation"
    ORDER = "order"
    UNSTATED = "unstated"


class Entry(BaseModel):
    """A word of the dictionary.

    Attributes:
        word: The word, in lower case.
        source: Where an office prints it.
        means: Its value for a program, such as the number that it stands for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str
    word: str
    source: str
    means: str = ""


_ENTRIES: Final = TypeAdapter(dict[Sense, tuple[Entry, ...]])
#: Characters that are written without blanks between words: kana and Han.
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
#: Sense → narrower senses, whose words have it, too.
_NARROWER: Final = {Sense.KIND: (Sense.AGE, Sense.SEX)}


def in_latin(word: str) -> str:
    """Write a word in small Latin letters without accents; Greek and Cyrillic as they sound.

    >>> in_latin("Größe"), in_latin("Łódź"), in_latin("Αγόρια"), in_latin("Мъже")
    ('grosse', 'lodz', 'agoria', 'mazhe')
    """
    if word.isascii():
        return word.casefold()
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(c for c in spread if not unicodedata.combining(c)).translate(_LATIN)


@cache
def dictionary() -> Mapping[Sense, tuple[Entry, ...]]:
    """Return all words by what they stand for."""
    text = files("recon_cli.sources.read").joinpath("words.yaml").read_text(encoding="utf-8")
    return _ENTRIES.validate_python(parse_yaml(text, source="words.yaml").data)


@cache
def words_for(*senses: Sense) -> frozenset[str]:
    """Return the words that may stand for one of ``senses``, in Latin letters."""
    every = [each for sense in senses for each in (sense, *_NARROWER.get(sense, ()))]
    return frozenset(in_latin(each.word) for sense in every for each in dictionary()[sense])


@cache
def meanings(sense: Sense) -> Mapping[str, str]:
    """Return what each of the words for a sense means, by the word in Latin letters.

    >>> meanings(Sense.NUMBER)["five"]
    '5'
    """
    return {in_latin(each.word): each.means for each in dictionary()[sense]}


@cache
def either(*senses: Sense) -> str:
    """Return a pattern of the words that may stand for one of ``senses``, in Latin letters."""
    longest = sorted(words_for(*senses), key=lambda word: (-len(word), word))
    return "|".join(map(re.escape, longest))


@cache
def pattern_of(*senses: Sense) -> re.Pattern[str]:
    """Return the pattern of a word that may stand for one of ``senses``, in Latin letters.

    Words of Han characters or kana have no blanks around them.
    """
    note = r"\d?" if Sense.TOTAL in senses else ""  # a raised number, of which the sheet is
    unspaced = [re.escape(word) for word in sorted(words_for(*senses)) if _UNSPACED.match(word)]
    return re.compile("|".join((rf"(?<![^\W_])(?:{either(*senses)}){note}(?![^\W_])", *unspaced)))


def found_in(text: str, *senses: Sense) -> re.Match[str] | None:
    """Find the first word of a text that may stand for one of ``senses``; in Latin letters."""
    return pattern_of(*senses).search(in_latin(text).replace("_", " "))


def says(text: str, *senses: Sense) -> bool:
    """Test whether a text has a word that may stand for one of ``senses``.

    Example:
        >>> says("Kreise insgesamt", Sense.TOTAL), says("Girls", Sense.TOTAL)
        (True, False)
        >>> says("TOTAL1", Sense.TOTAL)  # with a footnote
        True
    """
    return found_in(text, *senses) is not None


def is_word(text: str, *senses: Sense) -> bool:
    """Test whether a text is a word that may stand for one of ``senses``, and nothing else.

    Example:
        >>> is_word("Mädchen", Sense.FEMALE), is_word("Girls' schools", Sense.FEMALE)
        (True, False)
    """
    return in_latin(text).replace("_", " ").strip(" :") in words_for(*senses)
