"""Find the rule of suppression in the notes of a sheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.sources.formats.vocabulary import in_latin
from recon_cli.sources.read.words import Sense, dictionary, says

_WORDS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS: Final = {word: number for number, word in enumerate(_WORDS, start=2)}
_NUMBER: Final = rf"(\d{{1,3}}|{'|'.join(_NUMBERS)})\b"
_BETWEEN: Final = re.compile(r"\b(?:0|1|one)\s*(?:-|\u2013|to|and|bis|a)\s*" + _NUMBER)
#: Letters of a note that are shown.
_LONGEST: Final = 70


@dataclass(frozen=True)
class NotedRule:
    """A note that says which counts are suppressed.

    Attributes:
        text: The note.
        below: Counts under it are suppressed.
    """

    text: str
    below: int


def noted_rule(texts: Iterable[str], markers: Sequence[str]) -> NotedRule | None:
    """Find a note that says below which number counts are suppressed.

    Such a note has a marker in it, or a word of suppression; an age under 5 has neither.

    Args:
        texts: Texts beside the numbers.
        markers: What stands in place of counts.

    Returns:
        None where no note says so, or two say different things.

    Example:
        >>> noted_rule(["Source: school census", "* fewer than five pupils"], ["*"])
        NotedRule(text='* fewer than five pupils', below=5)
        >>> noted_rule(["Numbers from 1 to 4 are suppressed"], ["x"]).below
        5
        >>> noted_rule(["Children under 5", "* provisional"], ["*"])
    """
    found: dict[int, str] = {}
    for text in texts:
        words = text.split()
        has_marker = any(each in words or text.startswith(each) for each in markers if each)
        if (has_marker or says(text, Sense.SUPPRESSED)) and (below := _below(text)):
            found.setdefault(below, text)
    if len(found) != 1:
        return None
    ((below, text),) = found.items()
    shown = " ".join(text.split())
    return NotedRule(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…", below)


def _below(text: str) -> int | None:
    plain = in_latin(text)
    either = "|".join(re.escape(in_latin(each.word)) for each in dictionary()[Sense.BELOW])
    if number := re.search(rf"(?:<\s*|\b(?:{either})\s+){_NUMBER}", plain):
        return _value(number[1])
    if number := _BETWEEN.search(plain):
        return _value(number[1]) + 1
    return None


def _value(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]
