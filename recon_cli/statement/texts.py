"""Texts in place of a count that state an interval for it: ``1-9``, ``≤ 4``, ``10+``."""

from __future__ import annotations

import re
from typing import Final

from recon_cli.frames import OPEN

_BELOW: Final = re.compile(r"(?:<|less than|under|fewer than)\s*(\d{1,9})", re.IGNORECASE)
_AT_MOST: Final = re.compile(r"(?:\u2264|<=|up to)\s*(\d{1,9})", re.IGNORECASE)
_ABOVE: Final = re.compile(r"(?:>|more than|over)\s*(\d{1,9})", re.IGNORECASE)
_AT_LEAST: Final = re.compile(r"(?:\u2265|>=|at least)\s*(\d{1,9})|(\d{1,9})\+", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"(\d{1,9})\s*(?:-|\u2013|\u2014|to|\.\.)\s*(\d{1,9})")


def threshold_of(marker: str) -> int | None:
    """Return the threshold that a marker names, such as 5 for ``<5``; None for other markers.

    >>> threshold_of("<5"), threshold_of("fewer than 10"), threshold_of("*")
    (5, 10, None)
    """
    found = _BELOW.fullmatch(marker.strip())
    return int(found[1]) if found else None


def interval_said(text: str) -> tuple[int, int] | None:
    """Return the least and the greatest count that a text states; a percentage states none.

    Returns:
        The interval, `OPEN` in place of a greatest count without bound; None if none is stated.

    Example:
        >>> [interval_said(text) for text in ("<5", "1-9", "more than 20", "<5%")]
        [(0, 4), (1, 9), (21, 2147483647), None]
    """
    bare = text.strip()
    if not bare[-1:].isdigit() and not bare.endswith("+"):
        return None  # a word; sheets have many
    if below := threshold_of(bare):
        return 0, below - 1
    if found := _AT_MOST.fullmatch(bare):
        return 0, int(found[1])
    if found := _ABOVE.fullmatch(bare):
        return int(found[1]) + 1, OPEN
    if found := _AT_LEAST.fullmatch(bare):
        return int(found[1] or found[2]), OPEN
    found = _BETWEEN.fullmatch(bare)
    ends = None if found is None else (int(found[1]), int(found[2]))
    return None if ends is None or ends[0] > ends[1] else ends
