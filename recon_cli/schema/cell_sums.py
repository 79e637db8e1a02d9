"""Which cells are sums of others, totals, subtotals and tallies; and what some leave out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from recon_cli.schema import Cell, count_combinations

#: A mask for each feature: the set of histogram cells that has a value of each mask.
Box = tuple[int, ...]
#: Disjoint boxes that are told apart at most where it is asked what some cells leave out.
_MOST_PIECES: Final = 1_000


def is_sum(cell: Cell, cells: Iterable[Cell]) -> bool:
    """Whether a publisher may leave ``cell`` out without losing anything but convenience.

    True for a tally, and for a cell whose people are those of some others of ``cells``, each once.
    Of two cells with the same predicate the earlier one is the sum.
    """
    if cell.tally is not None:
        return True
    parts = [
        other.masks
        for other in cells
        if other.tally is None
        and _contains(cell.masks, other.masks)
        and (other.masks != cell.masks or other.number > cell.number)
    ]
    # Large parts first: a total is found to be male and female before single ages are tried.
    parts.sort(key=count_combinations, reverse=True)
    whole = count_combinations(cell.masks)
    return sum(map(count_combinations, parts)) >= whole and _tiles([cell.masks], parts)


def is_covered(whole: Box, parts: Iterable[Box]) -> bool:
    """Whether every histogram cell of ``whole`` is shown to be in one of ``parts``."""
    left = [whole]
    for part in sorted(parts, key=count_combinations, reverse=True):
        left = [piece for box in left for piece in _without(box, part)]
        if not left or len(left) > _MOST_PIECES:
            break
    return not left


def _tiles(region: list[Box], parts: list[Box]) -> bool:
    """Whether some of ``parts``, pairwise disjoint, are together exactly ``region``.

    Some part must hold any given point of the region, so only the parts around one point need
    to be tried; a part that is taken removes those that overlap it.

    Args:
        region: Disjoint boxes.
        parts: Boxes within the region.
    """
    if not region:
        return True
    corner = tuple(mask & -mask for mask in region[0])
    for part in parts:
        if _contains(part, corner):
            left = [piece for box in region for piece in _without(box, part)]
            if _tiles(left, [other for other in parts if not _overlap(other, part)]):
                return True
    return False


def _contains(outer: Box, inner: Box) -> bool:
    return all(small & ~large == 0 for large, small in zip(outer, inner, strict=True))


def _overlap(one: Box, other: Box) -> bool:
    return all(a & b for a, b in zip(one, other, strict=True))


def _without(box: Box, part: Box) -> list[Box]:
    """``box`` minus ``part``, as disjoint boxes."""
    if not _overlap(box, part):
        return [box]
    pieces: list[Box] = []
    for i, mask in enumerate(part):
        if outside := box[i] & ~mask:
            pieces.append((*box[:i], outside, *box[i + 1 :]))
        box = (*box[:i], box[i] & mask, *box[i + 1 :])
    return pieces
