"""The dictionary of words that order proposals, name things and ask; none decides anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter

from recon_cli.sources.formats.vocabulary import in_latin
from recon_cli.strict_yaml import parse_yaml


class Sense(StrEnum):
    """What a word may stand for."""

    TOTAL = "total"
    UNIT = "unit"
    PERCENTAGE = "percentage"
    MEASURE = "measure"
    SCALE = "scale"
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


class Entry(BaseModel):
    """A word of the dictionary.

    Attributes:
        word: In small letters.
        source: Where an office prints it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str
    word: str
    source: str


_ENTRIES: Final = TypeAdapter(dict[Sense, tuple[Entry, ...]])


@cache
def dictionary() -> Mapping[Sense, tuple[Entry, ...]]:
    """Return all words by what they stand for."""
    text = files("recon_cli.sources.read").joinpath("words.yaml").read_text(encoding="utf-8")
    return _ENTRIES.validate_python(parse_yaml(text, source="words.yaml").data)


@cache
def _patterns() -> Mapping[Sense, re.Pattern[str]]:
    found = {}
    for sense, entries in dictionary().items():
        words = sorted((in_latin(each.word) for each in entries), key=len, reverse=True)
        either = "|".join(map(re.escape, words))
        note = r"\d?" if sense is Sense.TOTAL else ""  # a raised number, of which the sheet is
        found[sense] = re.compile(rf"(?<![^\W_])(?:{either}){note}(?![^\W_])")
    return found


def says(text: str, sense: Sense) -> bool:
    """Test whether a text has a word that may stand for ``sense``.

    Example:
        >>> says("Kreise insgesamt", Sense.TOTAL), says("Girls", Sense.TOTAL)
        (True, False)
        >>> says("TOTAL1", Sense.TOTAL)  # with a footnote
        True
    """
    return _patterns()[sense].search(in_latin(text).replace("_", " ")) is not None


@cache
def _whole_words() -> Mapping[Sense, frozenset[str]]:
    return {
        sense: frozenset(in_latin(each.word) for each in entries)
        for sense, entries in dictionary().items()
    }


def is_word(text: str, sense: Sense) -> bool:
    """Tell whether a text is a word that may stand for ``sense``, and nothing else.

    Example:
        >>> is_word("Mädchen", Sense.FEMALE), is_word("Girls' schools", Sense.FEMALE)
        (True, False)
    """
    return in_latin(text).replace("_", " ").strip(" :") in _whole_words()[sense]
