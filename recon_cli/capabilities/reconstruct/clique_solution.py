"""Reconstruction of protected counts by clique tables: Eq. (clique), combined into people.

The published counts and their likelihood depend on clique tables alone. The likeliest tables are
the solution of an integer program of a fraction of the size; people are built from them afterwards.
If tables are too wide, totals are open or statements contradict each other, this method finds
nothing, and columns of the joint histogram are priced instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem, glue, nested_blocks
from recon_cli.capabilities.reconstruct.least_cost import least_cost
from recon_cli.capabilities.reconstruct.priced import PricedSolution
from recon_cli.capabilities.reconstruct.priced_rows import kinds_of_nodes
from recon_cli.capabilities.reconstruct.row_costs import RECORD, RowCosts, cost_program, row_costs
from recon_cli.frames import OPEN
from recon_cli.model.bounds import SignedBounds, propagate_signed
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    connected_parts,
    connected_subset,
)
from recon_cli.seeding import generator
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, solve_nested

#: Deterministic seconds for the relaxation, and for the first engine after it.
_LIMIT = 10.0


def solve_by_cliques(
    form: CliqueForm, counts: PartitionCounts, region: slice, seed: int, *, is_likely: bool
) -> PricedSolution | None:
    """Solve one region, at least cost if that can be proven.

    Args:
        form: Narrow cliques of the plan.
        region: The units of a whole region.
        seed: Seed of the solvers, and of the combination into people.

    Returns:
        None where columns have to be priced.
    """
    number = region.stop - region.start
    if not form.can_hold(number):
        return None
    system = CliqueSystem.of(form, counts, region).tightened(counts, region)
    if system is None or not system.published:
        return None
    bounds = propagate_signed(system.rows, system.ceiling)
    if bounds.conflict.any() or (bounds.upper == OPEN).any():
        return None
    found = (
        _likeliest(system, bounds, counts, seed)
        if is_likely
        else _any(
            system, bounds, nested_blocks(counts.lying_in(region), system.unit[bounds.free]), seed
        )
    )
    if found is None:
        return None
    tables = bounds.lower.copy()
    tables[bounds.free] = found.free
    unit, people = glue(form, tables.reshape(number, form.width), generator(seed, "glue"))
    sizes = form.plan.grain.sizes
    code = np.ravel_multi_index(tuple(people.T.astype(np.int64)), sizes)
    placed, copies = np.unique(np.stack([unit, code]), axis=1, return_counts=True)
    return PricedSolution(
        unit=placed[0],
        cell=placed[1],
        people=copies.astype(np.int64),
        is_solved=np.ones(number, dtype=bool),
        is_least=found.is_least,
        deterministic_time=np.full(number, found.seconds / number),
    )


def _free_rows(system: CliqueSystem, bounds: SignedBounds) -> tuple[sparse.csr_array, IntArray]:
    """Return the rows over open cells, and the contribution of the others to each."""
    fixed = np.where(bounds.free, 0, bounds.lower)
    A = sparse.csr_array(sparse.csc_array(system.rows.A)[:, bounds.free])
    return A, system.rows.A @ fixed


@dataclass(frozen=True)
class _Tables:
    """A solution.

    Attributes:
        free: Values of the cells that propagation leaves open.
        is_least: For each unit whether no solution costs less.
        seconds: Deterministic, of the engines.
    """

    free: IntArray
    is_least: BoolArray
    seconds: float


def _any(
    system: CliqueSystem, bounds: SignedBounds, blocks: tuple[tuple[IntArray, ...], ...], seed: int
) -> _Tables | None:
    A, fixed = _free_rows(system, bounds)
    constraints = LinearConstraints(A, system.rows.least - fixed, system.rows.most - fixed)
    ends = bounds.lower[bounds.free], bounds.upper[bounds.free]
    found = solve_nested(IntegerProgram(constraints, *ends), blocks, seed)
    if found.outcome is not Feasibility.SOLVED:
        return None
    nothing = np.zeros(len(system.units), dtype=bool)
    return _Tables(found.values, nothing, found.deterministic_time)


def _likeliest(
    system: CliqueSystem, bounds: SignedBounds, counts: PartitionCounts, seed: int
) -> _Tables | None:
    """Find the solution that makes the published counts likeliest: Eq. (likely)."""
    A, fixed = _free_rows(system, bounds)
    nothing = np.zeros(A.shape[0], dtype=np.int64)
    ends = bounds.lower[bounds.free], bounds.upper[bounds.free]
    rows = _row_costs(system, counts).less(fixed)
    costs = cost_program(A, *ends, rows, short=nothing, over=nothing)
    # A record is in one cell of the first clique.
    of_cell = np.where(np.arange(system.form.width) < system.form.first[1], RECORD, 0)
    cost = costs.cost.copy()
    cost[: costs.columns] = np.tile(of_cell, len(system.units))[bounds.free]
    unit = system.unit[bounds.free]
    values = np.zeros(len(cost), dtype=np.int64)
    is_least, seconds = np.ones(len(system.units), dtype=bool), 0.0
    _, part = connected_parts(costs.program.constraints.A)
    order = np.argsort(part, kind="stable")
    for columns in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        inside = connected_subset(costs.program, columns).program
        found = least_cost(inside, cost[columns], Effort(seed, _LIMIT))
        seconds += found.deterministic_time
        if not len(found.values):
            return None
        values[columns] = found.values
        is_least[unit[columns[columns < costs.columns]]] &= found.is_least
    return _Tables(values[: costs.columns], is_least, seconds)


def _row_costs(system: CliqueSystem, counts: PartitionCounts) -> RowCosts:
    """Return the costs of the rows: separators have none."""
    rows, plan, costs = system.rows, system.form.plan, counts.costs
    kinds: list[IntArray] = []
    if costs is None:
        return row_costs(rows.least, rows.most, kinds, None)
    for published in system.published:
        pattern = plan.patterns[published.pattern]
        cells = np.array([plan.columns[cell] for cell in pattern.margins.columns])
        _, node = system.form.published(pattern)
        of_cell = costs.of(published.geounits)[:, cells]
        for layer, kind in enumerate(kinds_of_nodes(of_cell, node, len(published.nodes))):
            if layer == len(kinds):
                kinds.append(np.full(len(rows.least), -1))
            kinds[layer][published.first : published.first + kind.size] = kind.ravel()
    return row_costs(rows.least, rows.most, kinds, costs)
