"""Find the rule of suppression in the notes of a sheet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.sources.read.words import Sense, either, found_in, in_latin, meanings, says

#: Punctuation behind a marker, or around it, in a sentence.
_PUNCTUATION: Final = ".,;:()'\"\u201c\u201d\u2018\u2019\u300c\u300d\u300e\u300f"
#: Quotation marks and stops without a blank before or behind them.
_OPENING: Final = re.compile(r"[\u300c\u300e]")
_UNSPACED: Final = re.compile(r"[\u300d\u300f\u3002\uff0c\uff1b]")
#: Characters that end a clause.
_ENDS: Final = (";", ".", "\u3002", "\uff1b")
#: Most letters of a note that are shown.
_LONGEST: Final = 70


@dataclass(frozen=True)
class NotedRule:
    """A note that says which counts are suppressed.

    Attributes:
        text: The note.
        below: Counts under this number are suppressed.
        markers: The texts in place of these counts that the note names.
    """

    text: str
    below: int
    markers: tuple[str, ...] = ()


def noted_rule(texts: Iterable[str], markers: Sequence[str]) -> NotedRule | None:
    """Find a note that says below which number counts are suppressed.

    Such a note has a marker in it, or a word of suppression; an age under 5 has neither.

    Args:
        texts: Texts beside the numbers.
        markers: Texts in place of counts.

    Returns:
        None where no note says a number, or notes say different numbers.

    Example:
        >>> noted_rule(["Source: school census", "* fewer than five pupils"], ["*"])
        NotedRule(text='* fewer than five pupils', below=5, markers=('*',))
        >>> noted_rule(["Numbers from 1 to 4 are suppressed"], ["x"]).below
        5
        >>> noted_rule(["Children under 5", "* provisional"], ["*"])
        >>> noted_rule(["Counts of fewer than 5 are replaced by [c]; see below"], ["[c]"]).below
        5
    """
    found: dict[int, str] = {}
    named: dict[str, None] = {}
    for text in texts:
        own = _named_rules(text, markers)
        if not own and says(text, Sense.SUPPRESSED) and (below := _below(text)):
            found.setdefault(below, text)
        for marker, below in own.items():
            found.setdefault(below, text)
            named[marker] = None
    if len(found) != 1:
        return None
    ((below, text),) = found.items()
    shown = " ".join(text.split())
    return NotedRule(
        shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}\u2026", below, tuple(named)
    )


def noted_zeros(texts: Iterable[str], markers: Sequence[str]) -> frozenset[str]:
    """Return the markers that stand for zero according to a note; "" for a blank.

    Example:
        >>> sorted(noted_zeros(["x = secret; – = nichts vorhanden", "- nil"], ["x", "–", "-"]))
        ['-', '–']
        >>> noted_zeros(["c: fewer than 5. A blank cell means nobody."], ["c", ""])
        frozenset({''})
        >>> noted_zeros(["「X」は秘匿「-」は該当数字なし"], ["X", "-"])
        frozenset({'-'})
        >>> noted_zeros(["- nil or confidential"], ["-"])
        frozenset()
    """
    found: set[str] = set()
    for text in texts:
        for sentence in re.split(r"[.;]\s", text) if "" in markers else ():
            blank = found_in(sentence, Sense.BLANK)
            said = blank.string[blank.end() :] if blank else ""
            if says(said, Sense.NOTHING, Sense.NOBODY) and not _below(said):
                found.add("")
        for marker, words in _clauses(text, markers):
            ends = (i for i, word in enumerate(words, start=1) if word.endswith(_ENDS))
            clause = " ".join(words[: next(ends, len(words))])
            is_nobody = says(clause, Sense.NOTHING) and not says(clause, Sense.SUPPRESSED)
            if marker and is_nobody and not _below(clause):
                found.add(marker)
    return frozenset(found)


def _named_rules(text: str, markers: Sequence[str]) -> dict[str, int]:
    """Map the markers that a note names to their thresholds.

    The words behind a marker are about it; words before the first marker, about all in the clause.

    Example:
        >>> _named_rules(".. = secret (1-3 persons), : = not available", ["..", ":"])
        {'..': 4}
    """
    parts = _clauses(text, markers)
    before = _below(" ".join(parts[0][1]))
    found: dict[str, int] = {}
    for marker, words in parts:
        if marker and (below := _below(" ".join(words)) or before):
            found[marker] = below
        if marker and any(word.endswith(_ENDS) for word in words):
            before = None
    return found


def _clauses(text: str, markers: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the words that follow each marker in a note; first, under "", those before any."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for i, word in enumerate(_UNSPACED.sub(r"\g<0> ", _OPENING.sub(r" \g<0>", text)).split()):
        bare = word.strip(_PUNCTUATION)
        glued = next((each for each in markers if each and not i and text.startswith(each)), None)
        marker = next((each for each in markers if each and each in (word, bare)), glued)
        if marker is None:
            parts[-1][1].append(word)
        else:
            parts.append((marker, [word.removeprefix(marker)]))
    return parts


def _below(text: str) -> int | None:
    plain, numbers = in_latin(text), meanings(Sense.NUMBER)
    ones = sorted(word for word, means in numbers.items() if means == "1")  # below one is nobody
    number = rf"(\d{{1,3}}|{'|'.join(sorted(numbers.keys() - ones))})\b"
    below = rf"(?:<\s*|\b(?:{either(Sense.BELOW)})\s+){number}"
    up_to = rf"\b(?:0|1|{'|'.join(ones)})\s*(?:-|\u2013|{either(Sense.TO, Sense.AND)})\s*{number}"
    for added, pattern in enumerate((below, up_to)):
        if found := re.search(pattern, plain):
            return int(numbers.get(found[1], found[1])) + added
    return None
