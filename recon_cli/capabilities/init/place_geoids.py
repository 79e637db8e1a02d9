"""Geoids of places: the codes of files where these nest, else numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from recon_cli.capabilities.init.place_parents import Path


def are_nested(codes: Mapping[Path, str], paths: Sequence[Path]) -> bool:
    """Test whether codes are of one length at each depth, and begin with their parent's."""
    lengths: dict[int, set[int]] = {}
    for path in paths:
        lengths.setdefault(len(path), set()).add(len(codes[path]))
        if len(path) > 1 and not codes[path].startswith(codes.get(path[:-1], "-")):
            return False
    if any(len(each) > 1 for each in lengths.values()):
        return False
    ordered = [next(iter(lengths[depth])) for depth in sorted(lengths)]
    return all(one < two for one, two in itertools.pairwise(ordered))


def numbered_geoids(paths: Mapping[Path, None]) -> dict[Path, str]:
    """Map each place to a geoid: its parent's geoid, and a number."""
    found: dict[Path, str] = {(): "A"}
    depth = 1
    while level := [path for path in paths if len(path) == depth]:
        siblings: dict[Path, list[Path]] = {}
        for path in level:
            siblings.setdefault(path[:-1], []).append(path)
        width = len(str(max(map(len, siblings.values()))))
        for outer, own in siblings.items():
            for number, path in enumerate(own, start=1):
                found[path] = f"{found[outer]}{number:0{width}}"
        depth += 1
    return found


def is_geoid(text: str) -> bool:
    """Test whether a text can be a geoid: letters and digits alone, with a digit.

    >>> is_geoid("E0500"), is_geoid("Aln"), is_geoid("7")
    (True, False, False)
    """
    return len(text) > 1 and text.isascii() and text.isalnum() and any(map(str.isdigit, text))
