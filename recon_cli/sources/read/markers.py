"""Texts in place of a count, and the bounds that they state."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from recon_cli.frames import OPEN
from recon_cli.statement.suppression import is_marker
from recon_cli.statement.texts import interval_said

#: A text that is short and no word: ``[c]``, ``..C``, ``(D)``, ``/``, en dash, ``n/a``; a word in
#: brackets, and what programs write for nothing. Letters are Latin, Greek or Cyrillic.
_SHORT: Final = re.compile(
    r"[^\w\s]{1,3}|\[[\w ]{1,20}\]|\(\s*\w{1,4}\s*\)|\.{1,3}\w{0,2}"
    r"|:?\s?[A-Za-z\u0391-\u03c9\u0410-\u044f]{1,2}|n/?[ap]\.?|n\.[ap]\.|#n/a|nan|null|none",
    re.IGNORECASE,
)


def bounds(text: str) -> tuple[float, float]:
    """Return the least and the greatest count that a text states.

    Example:
        >>> [bounds(text) for text in ("<5", "1-9", "more than 20", "*")]
        [(0.0, 4.0), (1.0, 9.0), (21.0, inf), (0.0, inf)]
    """
    least, most = interval_said(text) or (0, OPEN)
    return float(least), float(most) if most < OPEN else np.inf


def looks_like_marker(text: str) -> bool:
    """Test whether a text has the form of a marker; others are markers only beside numbers.

    Example:
        >>> [looks_like_marker(text) for text in ("[c]", "..C", "(D)", "<5", "Ashby")]
        [True, True, True, True, False]
    """
    bare = text.strip()
    if not bare:
        return False
    if is_marker(bare) or interval_said(bare.removesuffix("%")) is not None:
        return True
    return _SHORT.fullmatch(bare) is not None
