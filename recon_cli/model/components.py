"""What propagation leaves open, split into parts that share no row.

Parts of one region that are small are packed together: starting a solver costs more than solving
a dozen cells. Packs depend on the region alone, so any batch or shard gives the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.bounds import Bounds
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray

#: Cells in a pack, exceeded only by a connected part that is larger.
_PACK = 256


@dataclass(frozen=True)
class Component:
    """Connected parts of one region's residue, between the bounds of propagation.

    Attributes:
        cells: Columns of the whole system, rising.
        rows: Rows over `cells`, less what fixed cells contribute, without duplicates.
        lower: Bounds from propagation.
        upper: Bounds from propagation.
        origin: For each of `rows` its number in the whole system.
    """

    cells: IntArray
    rows: LinearConstraints
    lower: IntArray
    upper: IntArray
    origin: IntArray

    def is_met_by(self, values: IntArray) -> bool:
        """Whether ``values`` is a solution."""
        return bool(
            len(values) == len(self.lower)
            and (values >= self.lower).all()
            and (values <= self.upper).all()
            and self.rows.are_met_by(values)
        )


def with_rows(component: Component, rows: LinearConstraints) -> Component:
    """The component with further rows; of the whole system they are none (origin -1)."""
    old = component.rows
    return Component(
        cells=component.cells,
        rows=LinearConstraints(
            sparse.csr_array(sparse.vstack([old.A, rows.A])),
            np.concatenate([old.least, rows.least]),
            np.concatenate([old.most, rows.most]),
        ),
        lower=component.lower,
        upper=component.upper,
        origin=np.concatenate([component.origin, np.full(len(rows.least), -1)]),
    )


def part_labels(component: Component, targets: IntArray) -> IntArray:
    """For each cell the connected part it is in; cells of one target are connected."""
    _, labels = _labels(component.rows.A, targets)
    return labels


def connected_subset(component: Component, cells: IntArray) -> Component:
    """Some whole connected parts of a component, given by their cells, rising."""
    here = LinearConstraints(
        sparse.csr_array(component.rows.A[:, cells]), component.rows.least, component.rows.most
    )
    return _taken(component, cells, here, np.diff(here.A.indptr) > 0)


def relax_others(component: Component, cells: IntArray) -> Component:
    """Some cells of a component, whatever the others are within their bounds: a relaxation.

    Args:
        component: All of it.
        cells: Its columns to keep, rising.
    """
    A = component.rows.A
    here = sparse.csr_array(A[:, cells])
    lower, upper = component.lower[cells], component.upper[cells]
    least = component.rows.least - (A @ component.upper - here @ upper)
    most = component.rows.most - (A @ component.lower - here @ lower)
    binds = (here @ lower < least) | (here @ upper > most)
    return _taken(
        component, cells, LinearConstraints(here, least, most), (np.diff(here.indptr) > 0) & binds
    )


def fix_others(component: Component, cells: IntArray, values: IntArray) -> Component:
    """Some cells of a component while the others stay at ``values``.

    Args:
        component: All of it.
        cells: Its columns to keep, rising.
        values: One value for each of its columns.
    """
    A = component.rows.A
    here = sparse.csr_array(A[:, cells])
    others = A @ values - here @ values[cells]
    least, most = component.rows.least - others, component.rows.most - others
    # A row without these cells stays if it is broken: then there is no solution here.
    keep = (np.diff(here.indptr) > 0) | (least > 0) | (most < 0)
    return _taken(component, cells, LinearConstraints(here, least, most), keep)


def deviation_program(component: Component, start: IntArray) -> tuple[Component, IntArray]:
    """The same program in people more than ``start`` in each cell, and in people fewer.

    Only cells that have room for them are there: `Component.cells` has their columns. Also
    returned is for each column whether it adds people (1) or takes them away (-1).
    """
    A = sparse.csc_array(component.rows.A)
    up, down = component.upper - start, start - component.lower
    more, fewer = np.flatnonzero(up > 0), np.flatnonzero(down > 0)
    base = A @ start
    program = Component(
        cells=np.concatenate([more, fewer]),
        rows=LinearConstraints(
            sparse.csr_array(sparse.hstack([A[:, more], -A[:, fewer]])),
            component.rows.least - base,
            component.rows.most - base,
        ),
        # A start out of bounds must move at least into them.
        lower=np.concatenate([np.maximum(-down[more], 0), np.maximum(-up[fewer], 0)]),
        upper=np.concatenate([up[more], down[fewer]]),
        origin=component.origin,
    )
    return program, np.repeat([1, -1], [len(more), len(fewer)])


def _taken(
    component: Component, cells: IntArray, here: LinearConstraints, keep: npt.NDArray[np.bool_]
) -> Component:
    """Some cells of a component under some of these rows over them."""
    rows = np.flatnonzero(keep)
    return Component(
        cells=component.cells[cells],
        rows=LinearConstraints(sparse.csr_array(here.A[rows]), here.least[rows], here.most[rows]),
        lower=component.lower[cells],
        upper=component.upper[cells],
        origin=component.origin[rows],
    )


def split_components(
    system: LinearConstraints,
    bounds: Bounds,
    regions: IntArray,
    targets: IntArray | None = None,
    pack: int = _PACK,
) -> Iterator[Component]:
    """Drop fixed cells and duplicate rows; yield what is left, in the order of its first cells.

    Args:
        system: The rows of the whole system.
        bounds: What propagation proved.
        regions: For each cell of the system the region it lies in, rising.
        targets: For each cell the target it counts to; cells of one target stay together.
        pack: Cells of unconnected parts to put together; 1 keeps them all apart.
    """
    free = np.flatnonzero(bounds.free)
    if not len(free):
        return
    residue = sparse.csr_array(system.A[:, free])
    fixed = system.A @ np.where(bounds.free, 0, bounds.lower)
    least, most = system.least - fixed, system.most - fixed
    # A row that holds whatever its cells are is no constraint.
    slack = (residue @ bounds.upper[free] <= most) & (residue @ bounds.lower[free] >= least)
    rows = np.flatnonzero((np.diff(residue.indptr) > 0) & ~slack)
    residue, least, most = sparse.csr_array(residue[rows]), least[rows], most[rows]
    keep = _distinct_rows(residue, least, most)
    residue, rows = sparse.csr_array(residue[keep]), rows[keep]
    least, most = least[keep], most[keep]
    row_label, cell_label = _labels(residue, None if targets is None else targets[free])
    packed = _pack(cell_label, regions[free], pack)
    row_pack, cell_pack = packed[row_label], packed[cell_label]
    row_order = np.argsort(row_pack, kind="stable")
    cell_order = np.argsort(cell_pack, kind="stable")
    numbers = np.arange(int(packed.max()) + 2)
    row_ends = np.searchsorted(row_pack[row_order], numbers)
    cell_ends = np.searchsorted(cell_pack[cell_order], numbers)
    for k in numbers[:-1]:
        cells = cell_order[cell_ends[k] : cell_ends[k + 1]]
        members = row_order[row_ends[k] : row_ends[k + 1]]
        yield Component(
            cells=free[cells],
            rows=LinearConstraints(
                sparse.csr_array(residue[members][:, cells]), least[members], most[members]
            ),
            lower=bounds.lower[free[cells]],
            upper=bounds.upper[free[cells]],
            origin=rows[members],
        )


def _pack(label: IntArray, regions: IntArray, pack: int) -> IntArray:
    """For each connected part its pack, numbered in the order of the parts' first cells."""
    _, first, size = np.unique(label, return_index=True, return_counts=True)
    packed = np.empty(len(first), dtype=np.int64)
    number, filled, region = -1, pack, -1
    for part in np.argsort(first, kind="stable").tolist():
        here = int(regions[first[part]])
        if filled + int(size[part]) > pack or here != region:
            number, filled, region = number + 1, 0, here
        packed[part] = number
        filled += int(size[part])
    return packed


def _labels(A: sparse.csr_array, targets: IntArray | None) -> tuple[IntArray, IntArray]:
    """The component of each row and of each column."""
    rows, columns = A.shape
    entries = A.tocoo()
    left: list[IntArray] = [entries.row.astype(np.int64)]
    right: list[IntArray] = [entries.col.astype(np.int64) + rows]
    size = rows + columns
    if targets is not None:
        _, number = np.unique(targets, return_inverse=True)
        left.append(np.arange(columns) + rows)
        right.append(number.ravel() + size)
        size += int(number.max(initial=-1)) + 1
    ends = (np.concatenate(left), np.concatenate(right))
    graph = sparse.csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(size, size))
    from scipy.sparse import csgraph  # noqa: PLC0415 - 11 MB that most regions never need

    _, label = csgraph.connected_components(graph, directed=False)
    return label[:rows].astype(np.int64), label[rows : rows + columns].astype(np.int64)


def _distinct_rows(A: sparse.csr_array, least: IntArray, most: IntArray) -> IntArray:
    """First of each set of equal rows, told apart by two random projections of the columns.

    Rows with equal cells and unequal sides both stay: they contradict each other, and the solver
    must see it.
    """
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 2**40, size=(A.shape[1], 2), dtype=np.int64)
    signature = np.column_stack([A @ weights, least, most])
    _, first = np.unique(signature, axis=0, return_index=True)
    return np.sort(first)
