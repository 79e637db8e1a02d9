"""Connected components of the residue of propagation.

Small components of one region are packed together: starting a solver costs more than solving a
dozen variables. Packs depend on the region alone, so they are the same in every batch or shard.

See *component* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds
from recon_cli.model.distinct_rows import distinct_rows
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    Subprogram,
    activity_bounds,
    connected_parts,
    connected_subset,
)

#: Variables in a pack, exceeded only by a connected part that is larger.
PACK = 256


@dataclass(frozen=True)
class Component(Subprogram):
    """Connected components of one region's residue, between the bounds of propagation.

    `columns` and `rows` index the whole system; the program's rows have the contribution of fixed
    variables subtracted, and no duplicates.
    """

    def subset(self, variables: IntArray) -> Component:
        """Select some whole components, by their sorted variables."""
        part = connected_subset(self.program, variables)
        return Component(part.program, self.columns[part.columns], self.rows[part.rows])


def split_components(
    system: LinearConstraints,
    bounds: Bounds,
    regions: IntArray,
    targets: IntArray | None = None,
    pack: int = PACK,
) -> Iterator[Component]:
    """Drop fixed columns and duplicate rows; yield the components, sorted by first column.

    Args:
        regions: For each column of the system the region it lies in, sorted.
        targets: For each column a label; columns with equal labels stay together.
        pack: Columns of unconnected parts to put together; 1 keeps them all apart.
    """
    free = np.flatnonzero(bounds.free)
    if not len(free):
        return
    residue = sparse.csr_array(system.A[:, free])
    fixed = system.A @ np.where(bounds.free, 0, bounds.lower)
    least, most = system.least - fixed, system.most - fixed
    lowest, highest = activity_bounds(residue, bounds.lower[free], bounds.upper[free])
    # A row without upper bound gets the greatest sum of its cells.
    most = np.where(system.most >= OPEN, highest, most)
    # A row that holds for all values within the bounds is no constraint.
    slack = (highest <= most) & (lowest >= least)
    rows = np.flatnonzero((np.diff(residue.indptr) > 0) & ~slack)
    residue, least, most = sparse.csr_array(residue[rows]), least[rows], most[rows]
    # Equal rows with unequal sides are all kept: they contradict, and the solver must see it.
    keep = np.sort(distinct_rows(residue, least, most)[0])
    residue, rows = sparse.csr_array(residue[keep]), rows[keep]
    least, most = least[keep], most[keep]
    row_part, column_part = connected_parts(residue, None if targets is None else targets[free])
    packed = _pack(column_part, regions[free], pack)
    row_pack, column_pack = packed[row_part], packed[column_part]
    row_order = np.argsort(row_pack, kind="stable")
    column_order = np.argsort(column_pack, kind="stable")
    numbers = np.arange(int(packed.max()) + 2)
    row_ends = np.searchsorted(row_pack[row_order], numbers)
    column_ends = np.searchsorted(column_pack[column_order], numbers)
    for k in numbers[:-1]:
        inside = column_order[column_ends[k] : column_ends[k + 1]]
        members = row_order[row_ends[k] : row_ends[k + 1]]
        columns = free[inside]
        constraints = LinearConstraints(
            sparse.csr_array(residue[members][:, inside]), least[members], most[members]
        )
        program = IntegerProgram(constraints, bounds.lower[columns], bounds.upper[columns])
        yield Component(program, columns, rows[members])


def _pack(part_of_column: IntArray, regions: IntArray, pack: int) -> IntArray:
    """Return the pack of each component, numbered by the components' first columns."""
    _, first, size = np.unique(part_of_column, return_index=True, return_counts=True)
    packed = np.empty(len(first), dtype=np.int64)
    number, filled, region = -1, pack, -1
    for part in np.argsort(first, kind="stable").tolist():
        here = int(regions[first[part]])
        if filled + int(size[part]) > pack or here != region:
            number, filled, region = number + 1, 0, here
        packed[part] = number
        filled += int(size[part])
    return packed
