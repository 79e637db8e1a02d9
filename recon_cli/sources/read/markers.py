"""Texts that stand in place of a count, and what they say of it."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from recon_cli.statement.suppression import is_marker

_BELOW: Final = re.compile(r"(?:<|less than|under|fewer than)\s*(\d{1,9})%?", re.IGNORECASE)
_AT_MOST: Final = re.compile(r"(?:\u2264|<=|up to)\s*(\d{1,9})%?", re.IGNORECASE)
_ABOVE: Final = re.compile(r"(?:>|more than|over)\s*(\d{1,9})%?", re.IGNORECASE)
_AT_LEAST: Final = re.compile(r"(?:\u2265|>=|at least)\s*(\d{1,9})%?|(\d{1,9})\+", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"(\d{1,9})\s*(?:-|\u2013|\u2014|to|\.\.)\s*(\d{1,9})")
#: A text that is short and no word: ``[c]``, ``..C``, ``(D)``, ``/``, en dash, ``n/a``.
_SHORT: Final = re.compile(
    r"[^\w\s]{1,3}|[\[(]\s*\w{1,4}\s*[\])]|\.{1,3}\w{0,2}|:?\s?[A-Za-z]{1,2}|n/?[ap]\.?|n\.[ap]\.",
    re.IGNORECASE,
)


def bounds(text: str) -> tuple[float, float]:
    """The least and the greatest count that a text leaves possible, by what it says itself.

    Example:
        >>> [bounds(text) for text in ("<5", "1-9", "more than 20", "*")]
        [(0.0, 4.0), (1.0, 9.0), (21.0, inf), (0.0, inf)]
    """
    bare = text.strip()
    if found := _BELOW.fullmatch(bare):
        return 0.0, float(found[1]) - 1
    if found := _AT_MOST.fullmatch(bare):
        return 0.0, float(found[1])
    if found := _ABOVE.fullmatch(bare):
        return float(found[1]) + 1, np.inf
    if found := _AT_LEAST.fullmatch(bare):
        return float(found[1] or found[2]), np.inf
    if (found := _BETWEEN.fullmatch(bare)) and int(found[1]) <= int(found[2]):
        return float(found[1]), float(found[2])
    return 0.0, np.inf


def looks_like_marker(text: str) -> bool:
    """Whether a text has the form of a marker; any text may be one, these need no number beside.

    Example:
        >>> [looks_like_marker(text) for text in ("[c]", "..C", "(D)", "<5", "Ashby")]
        [True, True, True, True, False]
    """
    bare = text.strip()
    if not bare:
        return False
    if is_marker(bare) or bounds(bare) != (0.0, np.inf):
        return True
    return _SHORT.fullmatch(bare) is not None
