"""Geoids for places that have names and no codes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.scaffold.axes import slug
from recon_cli.sources.formats.layout import PART_OF, WHOLE, is_all_places

#: More names than anybody would check.
_MOST: Final = 5_000
#: What a geoid is of.
_CODE: Final = "^[A-Za-z0-9]+$"


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
    whole = [name for name in places if is_all_places(name)]
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


def nested_geoids(sheets: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What stands for each place of laid-out sheets → a geoid that begins with its parent's.

    A sheet that says nothing of parents has the places of the others, by their names.

    Args:
        sheets: What messages call a sheet → its places.

    Raises:
        SourceError: A name in such a sheet is of several places of the others, or of none.
    """
    paths = {label: [_path(text) for text in texts] for label, texts in sheets.items()}
    deepest = {label: max(map(len, own), default=0) for label, own in paths.items()}
    most = max(deepest.values())
    known = {path for label, own in paths.items() if deepest[label] == most for path in own}
    known |= {path[:n] for path in known for n in range(1, len(path))}
    same: dict[str, tuple[str, ...]] = {}
    for label, texts in sheets.items():
        for text, path in zip(texts, paths[label], strict=True):
            same[text] = path
            if deepest[label] == most or path in known or not path:
                continue
            found = [each for each in known if each[-len(path) :] == path]
            if len(found) != 1:
                what = "of several places: " + ", ".join(
                    PART_OF.join(each) for each in sorted(found)[:3]
                )
                raise SourceError(
                    f"{label}: {text!r} is {what if found else 'in no other sheet'}; say in every "
                    "sheet what places are part of, or name the sheets to read (`recon init "
                    "--sheet`)"
                )
            same[text] = found[0]
    numbers: dict[tuple[str, ...], str] = {(): "A"}
    every = known | set(same.values())
    for depth in range(1, most + 1):
        level = sorted(path for path in every if len(path) == depth)
        digits = len(str(max(Counter(path[:-1] for path in level).values(), default=1)))
        for outer, siblings in itertools.groupby(level, key=lambda path: path[:-1]):
            for number, path in enumerate(siblings, start=1):
                numbers[path] = f"{numbers[outer]}{number:0{digits}}"
    return {text: numbers[same[text]] for text in sorted(same, key=lambda t: (same[t], len(t)))}


def _path(text: str) -> tuple[str, ...]:
    return () if text == WHOLE else tuple(text.split(PART_OF))


def coded_geoids(codes: Sequence[str], *, said: bool) -> dict[str, str]:
    """Geoids in place of codes that cannot be geoids as they are; empty if all can be.

    All places together have no code: then every geoid is ``A`` and the code.

    Args:
        codes: Of all places.
        said: Whether the header says that they are geoids: then they are, of whatever form.
    """
    series = pl.Series("geoid", sorted({*codes} - {WHOLE}), dtype=pl.String)
    if not (_are_codes(series) or (said and series.str.contains(_CODE).all())):
        return nested_geoids({"": codes})
    return {WHOLE: "A", **{code: f"A{code}" for code in series}} if WHOLE in codes else {}


def levels_of(lengths: Sequence[int], said: Sequence[str], *, has_whole: bool) -> dict[int, str]:
    """Length → name of each level of drafted geoids.

    Args:
        lengths: Of the geoids.
        said: What the files call places, the largest first.
        has_whole: Whether the shortest is all places together.
    """
    finest = sorted(set(lengths), reverse=True)
    names = [slug(each) for each in reversed(said)] or ["place"]
    names += ["area", *(f"area_{n}" for n in range(2, len(finest) + 1))]
    if has_whole:
        names[len(finest) - 1] = "region" if "region" not in names[: len(finest) - 1] else "whole"
    found: dict[int, str] = {}
    for length, name in zip(finest, names, strict=False):
        taken = set(found.values())
        found[length] = name if name and name not in taken else f"level_{length}"
    return found


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
