"""Reconstruction of protected counts by clique tables: Eq. (clique), combined into people.

The published counts and their likelihood depend on clique tables alone. The likeliest tables are
the solution of an integer program of a fraction of the size; people are built from them afterwards.
If tables are too wide, totals are open or statements contradict each other, this method finds
nothing, and columns of the joint histogram are priced instead, or, with printed statistics, listed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem
from recon_cli.capabilities.reconstruct.glued_people import glue
from recon_cli.capabilities.reconstruct.least_cost import least_cost
from recon_cli.capabilities.reconstruct.priced import PricedSolution
from recon_cli.capabilities.reconstruct.priced_rows import kinds_of_nodes
from recon_cli.capabilities.reconstruct.region_blocks import nested_blocks
from recon_cli.capabilities.reconstruct.row_costs import RECORD, RowCosts, cost_program, row_costs
from recon_cli.frames import OPEN
from recon_cli.model.bounds import SignedBounds, propagate_signed
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    activity_bounds,
    connected_parts,
    connected_subset,
)
from recon_cli.seeding import generator
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, solve_nested

#: Deterministic seconds for the relaxation, and for the first engine after it.
_LIMIT = 10.0


@dataclass(frozen=True)
class CliqueRegion:
    """The clique tables of one region, with the bounds that propagation finds."""

    counts: PartitionCounts
    region: slice
    system: CliqueSystem
    bounds: SignedBounds

    @classmethod
    def of(cls, form: CliqueForm, counts: PartitionCounts, region: slice) -> CliqueRegion | None:
        """Prepare a region; return None if histogram cells must be priced or listed instead.

        Args:
            form: Narrow cliques of the plan.
            region: The units of a whole region.
        """
        # With printed statistics, no other method can hold as many units.
        if counts.statistics is None and not form.can_hold(region.stop - region.start):
            return None
        system = CliqueSystem.of(form, counts, region).tightened(counts, region)
        if system is None or not system.published:
            return None
        bounds = propagate_signed(system.rows, system.ceiling)
        is_open = (bounds.upper == OPEN).any() and not bounds.conflict.any()
        return None if is_open else cls(counts, region, system, bounds)

    def solve(self, seed: int, *, is_likely: bool, limit: float | None = None) -> CliqueTables:
        """Find clique tables, at least cost if that can be proven.

        Args:
            seed: Seed of the solvers.
            limit: Deterministic seconds of each engine for any tables; None for as many as needed.
        """
        if self.bounds.conflict.any():
            return CliqueTables.unknown(Feasibility.INFEASIBLE, self)
        if not self.bounds.free.any():
            only = np.ones(len(self.system.units), dtype=bool)
            return CliqueTables(Feasibility.SOLVED, np.empty(0, dtype=np.int64), only, 0.0)
        return _likeliest(self, seed) if is_likely else _any(self, seed, limit)

    def people(self, found: CliqueTables, seed: int) -> PricedSolution:
        """Combine clique tables into people.

        Args:
            seed: Seed of the combination.
        """
        system, number = self.system, len(self.system.units)
        values = self.bounds.lower.copy()
        values[self.bounds.free] = found.free
        unit, people = glue(system.form, system.tables(values), generator(seed, "glue"))
        sizes = system.form.plan.grain.sizes
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


def solve_by_cliques(
    form: CliqueForm, counts: PartitionCounts, region: slice, seed: int, *, is_likely: bool
) -> PricedSolution | None:
    """Solve one region of counts alone, at least cost if that can be proven.

    Args:
        form: Narrow cliques of the plan.
        region: The units of a whole region.
        seed: Seed of the solvers, and of the combination into people.

    Returns:
        None if columns must be priced instead.
    """
    prepared = CliqueRegion.of(form, counts, region)
    if prepared is None:
        return None
    found = prepared.solve(seed, is_likely=is_likely)
    return prepared.people(found, seed) if found.outcome is Feasibility.SOLVED else None


def _free_rows(system: CliqueSystem, bounds: SignedBounds) -> tuple[sparse.csr_array, IntArray]:
    """Return the rows over open cells, and the contribution of the others to each."""
    fixed = np.where(bounds.free, 0, bounds.lower)
    A = sparse.csr_array(sparse.csc_array(system.rows.A)[:, bounds.free])
    return A, system.rows.A @ fixed


@dataclass(frozen=True)
class CliqueTables:
    """The outcome for a region.

    Attributes:
        free: Values of the columns that propagation leaves open; empty without a solution.
        is_least: For each unit whether no solution costs less.
        seconds: Deterministic, of the engines.
    """

    outcome: Feasibility
    free: IntArray
    is_least: BoolArray
    seconds: float

    @classmethod
    def unknown(
        cls, outcome: Feasibility, region: CliqueRegion, seconds: float = 0.0
    ) -> CliqueTables:
        """Return an outcome without tables."""
        nothing = np.zeros(len(region.system.units), dtype=bool)
        return cls(outcome, np.empty(0, dtype=np.int64), nothing, seconds)


def _any(region: CliqueRegion, seed: int, limit: float | None) -> CliqueTables:
    system, bounds = region.system, region.bounds
    A, fixed = _free_rows(system, bounds)
    ends = bounds.lower[bounds.free], bounds.upper[bounds.free]
    # A row without upper bound gets the greatest sum of its cells.
    _, highest = activity_bounds(A, *ends)
    least, most = system.rows.least - fixed, system.rows.most - fixed
    most = np.where(system.rows.most < OPEN, most, np.maximum(highest, least))
    program = IntegerProgram(LinearConstraints(A, least, most), *ends)
    lying_in = region.counts.lying_in(region.region)
    blocks = nested_blocks(lying_in, system.unit[bounds.free])
    effort = None if limit is None else Effort(seed, limit)
    found = solve_nested(program, blocks, seed, effort)
    nothing = np.zeros(len(system.units), dtype=bool)
    return CliqueTables(found.outcome, found.values, nothing, found.deterministic_time)


def _likeliest(region: CliqueRegion, seed: int) -> CliqueTables:
    """Find the solution that makes the published counts likeliest: Eq. (likely)."""
    system, bounds = region.system, region.bounds
    A, fixed = _free_rows(system, bounds)
    nothing = np.zeros(A.shape[0], dtype=np.int64)
    ends = bounds.lower[bounds.free], bounds.upper[bounds.free]
    rows = _row_costs(system, region.counts).less(fixed)
    costs = cost_program(A, *ends, rows, short=nothing, over=nothing)
    # A record is in one cell of the first clique.
    of_column = np.zeros(len(system.unit), dtype=np.int64)
    of_column[system.people.reshape(len(system.units), -1)[:, : system.form.first[1]]] = RECORD
    cost = costs.cost.copy()
    cost[: costs.columns] = of_column[bounds.free]
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
            return CliqueTables.unknown(Feasibility.UNDECIDED, region, seconds)
        values[columns] = found.values
        is_least[unit[columns[columns < costs.columns]]] &= found.is_least
    return CliqueTables(Feasibility.SOLVED, values[: costs.columns], is_least, seconds)


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
