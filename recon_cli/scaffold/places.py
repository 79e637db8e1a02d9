"""Geoids for places that have names and no codes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

import polars as pl

#: More names than anybody would check.
_MOST: Final = 5_000
#: What a geoid is of.
_CODE: Final = "^[A-Za-z0-9]+$"
#: First words of the name of all places together.
_ALL: Final = ("all", "total", "totals", "sum", "overall", "whole")


def draft_geoids(places: pl.Series, *, said: bool) -> Mapping[str, str] | None:
    """What stands for each place → a geoid; None where they are codes already.

    Codes are of one length, or begin with those of the places that they are parts of. All places
    together, if one name says so, are ``A``, and each of the others ``A`` and a number.

    Args:
        places: All of them, sorted.
        said: Whether the column's header says that they are codes: then some digits are enough.
    """
    if not 0 < len(places) <= _MOST:
        return None
    whole = [name for name in places if name.casefold().split()[0] in _ALL]
    if not whole and _are_codes(places):
        return None
    if said and places.str.contains("[0-9]").any() and places.str.contains(_CODE).all():
        return None
    parts = [name for name in places if name not in whole]
    if len(whole) > 1 or not parts:
        return None
    digits = len(str(len(parts)))
    numbered = {name: f"A{number:0{digits}}" for number, name in enumerate(parts, 1)}
    return {**dict.fromkeys(whole, "A"), **numbered}


def levels_of(geoids: Mapping[str, str]) -> dict[int, str]:
    """Length → name of each level of drafted geoids."""
    lengths = {len(geoid) for geoid in geoids.values()}
    return {max(lengths): "place", 1: "region"}


def _are_codes(places: pl.Series) -> bool:
    """Whether places' texts nest as geoids do.

    Numbers of several lengths do so by chance, 12 with 1: then places without any part tell.
    """
    if not places.str.contains(_CODE).all():
        return False
    by_length = [part for _, part in sorted(_by_length(places).items())]
    is_number = places.str.contains("^[0-9]+$").all()
    for coarse, fine in itertools.pairwise(by_length):
        parents = fine.str.slice(0, len(coarse[0]))
        if parents.is_in(coarse.implode()).mean() < 0.5:  # type: ignore[operator]
            return False
        if is_number and not coarse.is_in(parents.implode()).all():
            return False
    return True


def _by_length(places: pl.Series) -> dict[int, pl.Series]:
    lengths = places.str.len_chars()
    return {length: places.filter(lengths == length) for length in lengths.unique()}
