"""Words for the rows of ``audit/``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def words_without(row: Mapping[str, Any]) -> str:
    """Describe the range by counts alone of a count that statistics recover; else return "".

    Args:
        row: A row of ``audit/``.

    >>> words_without({"least": 3, "greatest": 3, "least_without": 1, "greatest_without": 4})
    ' (by statistics; 1 to 4 by counts alone)'
    """
    least, greatest = (row.get(f"{end}_without") for end in ("least", "greatest"))
    if least is None or row["least"] != row["greatest"] or least == greatest:
        return ""
    alone = f"{least:,} or more" if greatest is None else f"{least:,} to {greatest:,}"
    return f" (by statistics; {alone} by counts alone)"


def meaning_of(recovered: int, *, is_small: bool) -> str:
    """Describe a recovered count: nobody, somebody, or somebody below the threshold.

    >>> meaning_of(0, is_small=True), meaning_of(2, is_small=True), meaning_of(9, is_small=False)
    ('nobody', 'somebody, below the threshold', 'somebody')
    """
    if not recovered:
        return "nobody"
    return f"somebody{', below the threshold' if is_small else ''}"
