"""Words of a sheet of places: names, notes behind them, and what stands for all together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from recon_cli.plurals import plural
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.formats.vocabulary import TOTALS, in_latin
from recon_cli.statement.suppression import is_marker

#: What all places together are called, whatever their row is called.
WHOLE: Final = "All places"
#: Between a place and what it is part of.
PART_OF: Final = " / "
#: A place, the largest first; or the words of a header.
Path = tuple[str, ...]
Row = tuple[str, ...]
#: A mark of a footnote behind a word.
_NOTE_MARK: Final = re.compile(r"\s*(\[(note )?\w{1,2}\]|[¹²³⁴⁵⁶⁷⁸⁹]+)$", re.IGNORECASE)
_TOTAL: Final = re.compile(
    r"(grand |sub-?|over)?(total|totals|sum|all)|all together|(whole |the )?county( total)?"
    r"|.*\W(sub)?totals?"
)
#: First words of a total, and of a school's name.
_PERHAPS: Final = ("all ", "total ", "total, ", "total: ", "whole ", "sum ")
_USUAL: Final = (
    "place", "area", "school", "ward", "district", "hospital", "region", "practice", "clinic",
    "site", "location", "unit",
)  # fmt: skip
_COUNTED: Final = frozenset(
    ("people", "persons", "pupils", "students", "patients", "residents", "children", "households")
)


def is_all_places(name: str, nouns: Sequence[str] = ()) -> bool:
    """Whether words can only mean all places together.

    Args:
        nouns: What places are called there, beside the usual.

    >>> [is_all_places(text) for text in ("Total", "All schools", "All Saints", "Insgesamt")]
    [True, True, False, True]
    """
    word = clean(name).casefold()
    if _TOTAL.fullmatch(word) or in_latin(word) in TOTALS:
        return True
    known = {plural(noun) for noun in (*nouns, *_USUAL) if noun} | _COUNTED
    return word.startswith("all ") and word.removeprefix("all ") in {*known, *nouns}


def may_be_total(name: str) -> bool:
    """Whether a name is that of a total or of a place: ``All Saints``."""
    return name.casefold().startswith(_PERHAPS)


def is_count(text: str) -> bool:
    """Whether a text is a number or stands for a count."""
    return is_number(text) or is_marker(text)


def clean(text: str) -> str:
    """Without doubled blanks, and without the mark of a footnote."""
    return _NOTE_MARK.sub("", " ".join(text.split()))


def without_parts(word: str) -> str:
    """A name that is not taken for a place and what it is part of."""
    return word.replace(PART_OF, "/")


def same(name: str, other: str) -> bool:
    """Whether two names are one."""
    return name.casefold() == other.casefold()


def is_total_of(name: str, place: str) -> bool:
    """``North total``, ``Total North``, ``All North``, ``Total, North``."""
    word, own = name.casefold(), place.casefold()
    rest = word.replace(own, "", 1)
    return own in word and re.sub(r"[\W_]+", " ", rest).strip() in (
        "total", "totals", "all", "sum", "subtotal", "sub total", "total for", "all of", "all in",
        "total of",
    )  # fmt: skip
