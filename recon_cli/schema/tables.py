"""Published tables: each cell is a predicate over the features and, rarely, a tally.

Also relations between predicates: cells that are sums of others, totals, subtotals and tallies;
and structural zeros, combinations of values that no record can have.

See *structural zero* in docs/glossary.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from recon_cli.errors import SchemaError
from recon_cli.schema.features import count_combinations
from recon_cli.schema.statistics import Statistic


class Cell(NamedTuple):
    """One published cell.

    Attributes:
        number: Position in the published table, from 1.
        masks: For every feature of the release, in order, the values that count.
        tally: Index of the multi-select feature whose picked options are counted instead of
            people (``races tallied``: a two-race person counts twice), or None.
    """

    number: int
    masks: tuple[int, ...]
    tally: int | None = None


@dataclass(frozen=True)
class Table:
    """One published table.

    Attributes:
        name: Short name (``P12A``).
        code: Cell-code pattern; its run of ``#`` is the zero-padded cell number (``P012A###``).
        levels: Geographic levels that it is published for.
        cells: In published order.
        title: Title for readers; may be empty.
        statistic: The number printed for each cell; None for the number of people.
    """

    name: str
    code: str
    levels: tuple[str, ...]
    cells: tuple[Cell, ...]
    title: str = ""
    statistic: Statistic | None = None

    @property
    def called(self) -> str:
        """Return the title and the short name."""
        return f"{self.title} ({self.name})" if self.title else self.name

    def __post_init__(self) -> None:
        if len(re.findall("#+", self.code)) != 1:
            raise SchemaError(
                f"table {self.name!r}: code {self.code!r} needs exactly one run of '#' "
                "for the cell number"
            )
        if [cell.number for cell in self.cells] != list(range(1, len(self.cells) + 1)):
            raise SchemaError(f"table {self.name!r}: cells are not numbered 1, 2, 3, …")
        if not self.cells:
            raise SchemaError(f"table {self.name!r} has no cells")
        if not self.levels:
            raise SchemaError(f"table {self.name!r} is published for no level")

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """List the published code of every cell, in order."""
        before, run, after = re.split("(#+)", self.code)
        return tuple(f"{before}{cell.number:0{len(run)}}{after}" for cell in self.cells)

    @cached_property
    def masks(self) -> tuple[tuple[int, ...], ...]:
        """List the distinct masks of the cells by each feature, ascending."""
        return tuple(
            tuple(sorted(set(masks))) for masks in zip(*(c.masks for c in self.cells), strict=True)
        )

    @cached_property
    def tallies(self) -> frozenset[int]:
        """List the features whose picked options some cells count."""
        return frozenset(cell.tally for cell in self.cells if cell.tally is not None)

    @cached_property
    def mask_places(self) -> tuple[tuple[int, ...], ...]:
        """List for each feature the index of each cell's mask in `masks`."""
        places = [{mask: at for at, mask in enumerate(masks)} for masks in self.masks]
        return tuple(
            tuple(place[cell.masks[f]] for cell in self.cells) for f, place in enumerate(places)
        )


@dataclass(frozen=True)
class StructuralZero:
    """A rule between features: records with some values have only certain values elsewhere.

    Attributes:
        when: For every feature of the release, in order, the values to which the rule applies.
        only: For every feature the values that such a record can have.
        is_definition: Whether the rule follows from what the features mean; else it is assumed.
    """

    when: tuple[int, ...]
    only: tuple[int, ...]
    is_definition: bool = False
    why: str = ""

    @cached_property
    def impossible(self) -> tuple[tuple[int, ...], ...]:
        """Return predicates that together hold for exactly the records that the rule forbids."""
        excluded = [when & ~only for when, only in zip(self.when, self.only, strict=True)]
        return tuple(
            (*self.when[:f], mask, *self.when[f + 1 :]) for f, mask in enumerate(excluded) if mask
        )


#: A mask for each feature: the histogram cells whose values are all in these masks.
Box = tuple[int, ...]
#: Most disjoint boxes into which the rest that some cells leave is cut.
_MOST_PIECES: Final = 1_000


def is_sum(cell: Cell, cells: Iterable[Cell]) -> bool:
    """Test whether ``cell`` is redundant, that is, follows from other cells.

    True for a tally, and for a cell that is the disjoint union of some others of ``cells``. Of two
    cells with the same predicate the earlier one counts as redundant.
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
    """Test if every histogram cell of ``whole`` is known to be in one of ``parts``.

    >>> is_covered((0b11, 0b1), [(0b01, 0b1), (0b10, 0b1)])
    True
    """
    left = [whole]
    for part in sorted(parts, key=count_combinations, reverse=True):
        left = [piece for box in left for piece in _without(box, part)]
        if not left or len(left) > _MOST_PIECES:
            break
    return not left


def _tiles(region: list[Box], parts: list[Box]) -> bool:
    """Test whether some of ``parts`` partition ``region``.

    Some part must contain any given point of the region, so only the parts around one point need to
    be tried; choosing a part removes those that overlap it.

    Args:
        region: Disjoint boxes.
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
    """Subtract ``part`` from ``box``, as disjoint boxes."""
    if not _overlap(box, part):
        return [box]
    pieces: list[Box] = []
    for i, mask in enumerate(part):
        if outside := box[i] & ~mask:
            pieces.append((*box[:i], outside, *box[i + 1 :]))
        box = (*box[:i], box[i] & mask, *box[i + 1 :])
    return pieces
