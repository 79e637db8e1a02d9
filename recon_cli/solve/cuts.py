"""Why some cells cannot be as proposed: an inequality that they break and every solution meets.

A feasibility cut (Benders 1962). Rows are added up, each with a weight, and the cells that were
not asked about are put at their bounds. That holds for any weights, so the relaxation's prices
may be rounded to whole ones: the inequality is exact, whatever floating point did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.model.components import Component, deviation_program, fix_others
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.solve.linear_relaxation import FloatArray, solve_relaxation

#: Prices at a vertex are mostly simple fractions: this is divisible by all up to tenths.
_PARTS = 2520
#: Sums below this are exact in 64 bits, whatever their order.
_SAFE = 2.0**60


@dataclass(frozen=True)
class Cut:
    """What was found.

    Attributes:
        rows: One row over the cells that were asked about, or none.
        work: Deterministic seconds.
    """

    rows: LinearConstraints
    work: float


def feasibility_cut(component: Component, cells: IntArray, values: IntArray, limit: float) -> Cut:
    """An inequality on ``cells`` that ``values`` break, if the relaxation shows why they cannot be.

    Args:
        component: The program.
        cells: Some of its columns, rising.
        values: For each column; those of ``cells`` are in doubt, the others' a place to begin.
        limit: Deterministic seconds.
    """
    others = np.setdiff1d(np.arange(len(values)), cells)
    number = np.arange(len(component.rows.most))
    rest = fix_others(replace(component, origin=number), others, values)
    change, _ = deviation_program(rest, values[others])
    elastic, cost = _elastic(change)
    vertex = solve_relaxation(elastic, cost, limit)
    if not len(vertex.prices):
        return Cut(_no_rows(len(cells)), vertex.work)
    prices = np.zeros(len(number))
    prices[rest.origin] = vertex.prices
    weights = np.rint(-_PARTS * prices)
    if not _largest_sum(component, weights) <= _SAFE:  # nor if it is no number
        return Cut(_no_rows(len(cells)), vertex.work)
    rows = _added_up(component, cells, others, weights.astype(np.int64))
    if rows.are_met_by(values[cells]):
        rows = _no_rows(len(cells))
    return Cut(rows, vertex.work)


def _elastic(change: Component) -> tuple[Component, FloatArray]:
    """The same program, but rows that are broken without a change may be missed, at a cost."""
    lacks, exceeds = np.maximum(change.rows.least, 0), np.maximum(-change.rows.most, 0)
    missed = np.flatnonzero(lacks + exceeds)
    sign = np.where(lacks[missed] > 0, 1, -1)
    size = len(missed)
    slack = sparse.csr_array((sign, (missed, np.arange(size))), shape=(len(lacks), size))
    program = Component(
        cells=np.concatenate([change.cells, np.full(size, -1)]),
        rows=LinearConstraints(
            sparse.csr_array(sparse.hstack([change.rows.A, slack])),
            change.rows.least,
            change.rows.most,
        ),
        lower=np.concatenate([change.lower, np.zeros(size, dtype=np.int64)]),
        upper=np.concatenate([change.upper, (lacks + exceeds)[missed]]),
        origin=change.origin,
    )
    return program, np.repeat([0.0, 1.0], [len(change.cells), size])


def _largest_sum(component: Component, weights: FloatArray) -> float:
    """No sum in `_added_up` is greater, with whatever signs."""
    rows = component.rows
    sides = np.maximum(np.abs(rows.least), np.abs(rows.most))
    return float(np.abs(weights) @ (sides + abs(rows.A) @ component.upper).astype(np.float64))


def _added_up(
    component: Component, cells: IntArray, others: IntArray, weights: IntArray
) -> LinearConstraints:
    """``coefficients @ x[cells] ≤ most``, from all rows with a weight each."""
    coefficients: IntArray = component.rows.A.T @ weights
    lower, upper = component.lower, component.upper
    top = np.where(weights > 0, component.rows.most, component.rows.least) @ weights
    elsewhere = coefficients[others]
    most = top - np.where(elsewhere > 0, lower[others], upper[others]) @ elsewhere
    here = coefficients[cells]
    shared = max(int(np.gcd.reduce(here)), 1)
    here, most = here // shared, most // shared
    least = np.where(here > 0, lower[cells], upper[cells]) @ here
    return LinearConstraints(sparse.csr_array(here[None, :]), np.array([least]), np.array([most]))


def _no_rows(columns: int) -> LinearConstraints:
    none = np.empty(0, dtype=np.int64)
    return LinearConstraints(sparse.csr_array(np.empty((0, columns), dtype=np.int64)), none, none)
