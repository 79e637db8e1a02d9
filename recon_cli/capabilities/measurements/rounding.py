"""Controlled rounding: real to whole numbers with fixed sums, by a flow of least cost."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.errors import SolverError
from recon_cli.solve.network_flow import Arcs, cheapest_flow

#: More people than any group has.
_MANY: Final = 10**9
#: Costs are whole numbers: a person moved by 10⁻⁴ is one.
_SCALE: Final = 10_000
#: Cost of a group's sum off by one, relative to an entry's.
_GROUP: Final = 2
#: Tolerance of an entry that stands for an integer.
_CLOSE: Final = 1e-9
#: Proportional fitting ends when sums are this close, in people.
_FITTED: Final = 1e-6
#: Share of a cell's total that is added to every entry, so that no held sum is out of reach;
#: entries below ten times as much are not rounded up.
_TRACE: Final = 1e-6


@dataclass(frozen=True, eq=False)
class Held:
    """Sums that must hold.

    Attributes:
        group: (cells,) the group of each cell, from 0.
        counts: (groups × children) whole numbers.
    """

    group: IntArray
    counts: IntArray


def round_children(
    values: FloatArray, totals: IntArray, held: Held | None, nested: Sequence[IntArray]
) -> IntArray:
    """Round ``values`` to whole numbers with the same sums of rows.

    The sum of absolute changes of entries, and of the children's sums over nested groups of cells,
    is least among roundings up or down: rows are a partition and groups are nested, so that it is a
    flow, and integral by construction.

    Args:
        values: (cells × children), at least 0.
        totals: (cells,) sums over the children.
        held: Sums over groups of cells that must hold; consistent with ``totals``.
        nested: Divisions of the (cells,) into groups, from coarse to fine: each group is within a
            group of the division before, and within a held group. If nothing is held, all cells
            together come first.

    Raises:
        SolverError: The held sums contradict the totals.
    """
    if held is not None:
        values = _fitted(values, totals, held)
    base = np.floor(values + _CLOSE).astype(np.int64)
    found = _flow(values, base, totals, held, nested)
    if found is None:  # proportional fitting has not converged: any entry may change
        found = _flow(values, np.zeros_like(base), totals, held, nested)
    if found is None:
        raise SolverError("top-down: held counts contradict those of the level above")
    return found


def _fitted(values: FloatArray, totals: IntArray, held: Held) -> FloatArray:
    """Fit to the totals and the held sums by iterative proportional fitting.

    Source: Deming & Stephan (1940).
    """
    rows, wanted = held.group, held.counts.astype(np.float64)
    open_ = (wanted[rows] > 0) & (totals[:, None] > 0)
    found = np.where(open_, values + _TRACE * totals[:, None], 0)
    member = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))))
    for _ in range(200):
        sums = member @ found
        factor = np.divide(wanted, sums, out=np.zeros_like(wanted), where=sums > 0)
        found *= factor[rows]
        across = found.sum(axis=1)
        if np.abs(across - totals).max(initial=0) < _FITTED:
            break
        found *= np.divide(totals, across, out=np.zeros_like(across), where=across > 0)[:, None]
    return found


def _flow(
    values: FloatArray,
    base: IntArray,
    totals: IntArray,
    held: Held | None,
    nested: Sequence[IntArray],
) -> IntArray | None:
    """Return ``base`` plus the cheapest flow of the remainder, or None if there is none.

    A unit flows from its cell to a child's finest group of the cell, to the coarser groups, and to
    the child's held group; or, if nothing is held, to the child and to one sink.
    """
    cells, children = values.shape
    left = totals - base.sum(axis=1)
    outer = np.zeros(cells, dtype=np.int64) if held is None else held.group
    groups = [*reversed(nested), outer]
    first = cells + children * np.cumsum([0, *(int(group.max()) + 1 for group in groups)])
    row, column, capacity, cost = _steps(values, base, totals)
    arcs = [Arcs(row, first[0] + groups[0][row] * children + column, capacity, cost)]
    for i, (group, above) in enumerate(itertools.pairwise(groups)):
        parent = np.zeros(int(group.max()) + 1, dtype=np.int64)
        parent[group] = above
        head = first[i + 1] + parent[:, None] * children + np.arange(children)
        wanted = _sums(values - base, group)
        arcs.extend(_towards(first[i] + np.arange(wanted.size), head.ravel(), wanted.ravel()))
    supply = np.zeros(first[-1] + (held is None), dtype=np.int64)
    supply[:cells] = left
    if held is None:
        tail, most = first[-2] + np.arange(children), np.full(children, left.sum())
        arcs.append(Arcs(tail, np.full(children, first[-1]), most, np.zeros_like(most)))
        supply[-1] = -left.sum()
    else:
        missing = held.counts - _sums(base.astype(np.float64), held.group).astype(np.int64)
        supply[first[-2] :] = -missing.ravel()
    flow = cheapest_flow(supply, arcs)
    if flow is None:
        return None
    found = base.copy()
    np.add.at(found, (row, column), flow[: len(row)])
    return found


def _steps(
    values: FloatArray, base: IntArray, totals: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return row, column, capacity and cost of arcs: how an entry may grow above its base."""
    whole = np.floor(values + _CLOSE).astype(np.int64)
    part = values - whole
    if (base == whole).all():
        row, column = np.nonzero(part > 10 * _TRACE)
        ones = np.ones(len(row), dtype=np.int64)
        return row, column, ones, _cost(1 - 2 * part[row, column])
    row, column = np.nonzero(np.broadcast_to(totals[:, None] > 0, values.shape))
    up = part[row, column]
    capacity = np.concatenate([whole[row, column], np.ones_like(row), totals[row]])
    cost = np.concatenate([_cost(np.full(len(up), -1.0)), _cost(1 - 2 * up), _cost(up * 0 + 1)])
    return np.tile(row, 3), np.tile(column, 3), capacity, cost


def _towards(tail: IntArray, head: IntArray, wanted: FloatArray) -> list[Arcs]:
    """Return arcs whose cost decreases up to the wanted sum, and increases from there."""
    whole = np.floor(np.maximum(wanted, 0) + _CLOSE).astype(np.int64)
    rest = np.maximum(wanted - whole, 0)
    ones = np.ones_like(rest)
    return [
        Arcs(tail, head, whole, _cost(-_GROUP * ones)),
        Arcs(tail, head, np.ones_like(whole), _cost(_GROUP * (1 - 2 * rest))),
        Arcs(tail, head, np.full_like(whole, _MANY), _cost(_GROUP * ones)),
    ]


def _cost(people: FloatArray) -> IntArray:
    return np.rint(_SCALE * people).astype(np.int64)


def _sums(values: FloatArray, group: IntArray) -> FloatArray:
    """Return (groups × children) sums over groups of cells."""
    starts, order = _runs(group)
    found: FloatArray = np.add.reduceat(values[order], starts, axis=0)
    return found


def _runs(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each group starts in the order that sorts cells by group."""
    order = np.argsort(group, kind="stable")
    return np.searchsorted(group[order], np.arange(int(group.max()) + 1)), order


def round_alone(values: FloatArray, total: int) -> IntArray:
    """Round ``values`` to whole numbers with a given sum, by the largest remainders.

    >>> round_alone(np.array([1.6, 0.7, 0.7]), total=3).tolist()
    [1, 1, 1]
    """
    if values.sum() > 0:
        scaled = values * (total / values.sum())
    else:
        scaled = np.full(len(values), total / len(values))
    found: IntArray = np.floor(scaled + _CLOSE).astype(np.int64)
    up = np.argsort(found - scaled, kind="stable")[: total - int(found.sum())]
    found[up] += 1
    return found


def round_groups(values: FloatArray, group: IntArray, totals: IntArray) -> IntArray:
    """Apply `round_alone` to groups of entries, each with its total."""
    starts, order = _runs(group)
    found = np.zeros(len(values), dtype=np.int64)
    for inside, total in zip(np.split(order, starts[1:]), totals, strict=True):
        found[inside] = round_alone(values[inside], int(total))
    return found
