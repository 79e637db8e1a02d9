"""Verified claims of a batch: bounds of all groups, and of the number of disclosed people.

Each unit is examined alone, with its own tables as equalities and coarser ones as upper bounds (Eq.
4.9 of the 2010 study): claims that hold there hold in every solution of the region, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.quarantine import BatchQuarantine
from recon_cli.capabilities.claims.duplicate_columns import MergedProgram, merge_duplicate_columns
from recon_cli.capabilities.claims.groups import (
    KINDS,
    Groups,
    UnitGroups,
    disclosed_groups,
    disclosing_groups,
    distinct_rows,
    make_groups,
)
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.settle import Sets, SettledSets, greatest, settle
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds, propagate_people
from recon_cli.model.components import Component, split_components
from recon_cli.model.program import LinearConstraints
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Most unrefuted groups times histogram cells of a unit; further groups stay undecided.
_MEMBERSHIPS = 60_000_000
#: Most variables times distinct sets of a unit that are settled: some thirty bytes each.
_COEFFICIENTS = 10_000_000
#: Number of consecutive vertices that refute nothing after which the search ends.
_DRY = 4
#: Most groups whose sizes the cost of one vertex is to change.
_AT_ONCE = 64
#: Weight of random costs beside those of groups: they only choose among tied vertices.
_NOISE = 1e-3


@dataclass(frozen=True)
class UnitPrograms:
    """The programs of a batch's units, which are not coupled.

    Attributes:
        rows: The relaxed rows.
        incumbent: A solution: people in each candidate.
        is_excluded: For each unit whether nothing can be claimed: people are missing from the
            incumbent, or the unit stands for places that are not listed.
        is_open: For each unit whether nothing bounds its people: then claims rest on propagation
            alone.
        is_loose: Whether rows admit people who print other medians: then proofs are valid, but more
            may be true.
        unbounded: Histogram cells of open units that no row mentions.
        defined: Places of two columns → which values of the first determine the second by
            definition, see `recon_cli.schema.Release.defines`.
        seconds: Deterministic seconds for each unit.
    """

    rows: LinearConstraints
    incumbent: IntArray
    unit: IntArray
    is_excluded: BoolArray
    is_open: BoolArray
    is_loose: bool
    unbounded: HistogramCells
    defined: Mapping[tuple[int, int], BoolArray]
    seeds: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class BatchClaims:
    """The groups of a batch with their proven bounds.

    Attributes:
        lower: Proven least size of each group.
        upper: Proven greatest size of each group; refined only where the known solutions agree.
        proof: For each group the place in `GROUNDS` of the evidence for the bounds.
        undecided: Whether effort ended before the least size was known, or before it was known
            whether all solutions agree.
        possible: For each histogram cell whether a solution may have people in it; true for all
            cells of units without claims.
        zero_proof: For each cell that is empty in all solutions the place in `GROUNDS` of the
            evidence.
        disclosed: (kinds × known columns × units) the least number of people for whom so many
            columns, or fewer, determine another one.
    """

    groups: Groups
    lower: IntArray
    upper: IntArray
    proof: IntArray
    undecided: BoolArray
    possible: BoolArray
    zero_proof: IntArray
    disclosed: IntArray
    deterministic_time: npt.NDArray[np.float64]


def verify_batch(
    programs: UnitPrograms,
    histogram: HistogramCells,
    options: Claims,
    quarantine: BatchQuarantine,
) -> BatchClaims:
    """Bound the size of every group in which the incumbent has people: Eq. (claim).

    Args:
        histogram: The units' histogram cells, over the columns of claims.
    """
    batch = _Batch(programs, histogram, quarantine)
    batch.settle_groups()
    if options.at_most:
        batch.bound_above()
    if options.absent:
        batch.settle_empty_cells()
    disclosing = disclosing_groups(
        batch.groups, batch.lower, batch.upper, options.share, batch.is_defined
    )
    disclosed = batch.least_people(disclosed_groups(batch.groups, disclosing))
    return BatchClaims(
        groups=batch.groups,
        lower=batch.lower,
        upper=batch.upper,
        proof=batch.proof,
        undecided=batch.undecided,
        possible=batch.possible,
        zero_proof=batch.zero_proof,
        disclosed=disclosed,
        deterministic_time=batch.deterministic_time,
    )


@dataclass
class _OpenUnit:
    """The residue of a unit after propagation.

    Attributes:
        merged: The component's program over sums of variables that no row tells apart.
        of_variable: For each of the component's variables its place among the unit's cells.
    """

    component: Component
    merged: MergedProgram
    groups: UnitGroups
    of_variable: IntArray
    random: np.random.Generator
    relaxation: LinearRelaxation
    solutions: tuple[IntArray, ...] = field(default=())


class _Batch:
    """The bounds of all groups, initially from propagation."""

    def __init__(
        self, programs: UnitPrograms, histogram: HistogramCells, quarantine: BatchQuarantine
    ) -> None:
        self.programs = programs
        self.histogram = histogram
        self.quarantine = quarantine
        bounds = propagate_people(programs.rows, programs.incumbent)
        held = self._by_cell(programs.incumbent)
        self.groups = make_groups(histogram, np.flatnonzero(held > 0))
        self.cell_lower = self._by_cell(bounds.lower)
        self.cell_fixed = self._by_cell(np.where(bounds.free, 0, bounds.lower))
        is_claimed = ~(programs.is_open | programs.is_excluded)[histogram.unit]
        self.possible: BoolArray = ~is_claimed | (self._by_cell(bounds.upper) > 0)
        self.zero_proof = np.zeros(len(self.possible), dtype=np.int64)
        self.held = held[self.groups.held]
        # Variables that propagation settles have the incumbent's value.
        self.lower = self.groups.sums(self.held)
        self.upper = self.lower.copy()
        self.proof = np.zeros(len(self.lower), dtype=np.int64)
        self.deterministic_time = np.zeros(len(programs.is_open))
        self.undecided: BoolArray = np.zeros(len(self.lower), dtype=bool)
        self._bound_open(bounds)
        for array in (self.lower, self.upper):
            array[programs.is_excluded[self.groups.unit]] = 0
        self.open_units = dict(self._open_units(bounds))

    def _by_cell(self, values: IntArray) -> IntArray:
        cells = len(self.histogram.unit)
        return np.bincount(self.histogram.of_cell, values, cells).astype(np.int64)

    def _bound_open(self, bounds: Bounds) -> None:
        """Bound the groups of units with unbounded population, by propagation."""
        upper = self._by_cell(np.where(bounds.is_open, OPEN, bounds.upper))
        for unit in np.flatnonzero(self.programs.is_open).tolist():
            mine = self.groups.in_unit(unit, self.histogram)
            beyond = self.groups.in_unit(unit, self.histogram, self.programs.unbounded)
            self.lower[mine.groups] = mine.sums(self.cell_lower[mine.cells])
            is_unbounded = beyond.sums(np.ones(beyond.alike.shape[1], dtype=np.int64)) > 0
            most = mine.sums(upper[mine.cells])
            self.upper[mine.groups] = np.where(is_unbounded, OPEN, np.minimum(most, OPEN))

    def _open_units(self, bounds: Bounds) -> Iterator[tuple[int, _OpenUnit]]:
        """Yield the units that propagation leaves open, with its bounds of their groups."""
        unit, upper = self.programs.unit, self._by_cell(bounds.upper)
        for component in split_components(self.programs.rows, bounds, unit, targets=unit, pack=1):
            of_unit = int(unit[component.columns[0]])
            if self.programs.is_open[of_unit] or self.programs.is_excluded[of_unit]:
                continue
            mine = self.groups.in_unit(of_unit, self.histogram)
            groups, cells = mine.groups, mine.cells
            self.lower[groups] = mine.sums(self.cell_lower[cells])
            self.upper[groups] = mine.sums(upper[cells])
            self.undecided[groups] = self.lower[groups] < self.upper[groups]
            merged = merge_duplicate_columns(component.program)
            yield (
                of_unit,
                _OpenUnit(
                    component,
                    merged,
                    mine,
                    self.histogram.of_cell[component.columns] - cells.start,
                    np.random.default_rng(self.programs.seeds[of_unit]),
                    LinearRelaxation(merged.program),
                    (merged.add_up(self.programs.incumbent[component.columns]),),
                ),
            )

    def is_defined(self, groups: IntArray, column: int) -> BoolArray:
        """Test which groups define the value of another column."""
        found = np.zeros(len(groups), dtype=bool)
        values = self.histogram.groups[self.groups.cell[groups]]
        for (known, other), says in self.programs.defined.items():
            if other == column:
                is_known = self.groups.subset[groups] >> known & 1 == 1
                found |= is_known & says[values[:, known]]
        return found

    def settle_groups(self) -> None:
        """Bound the groups that propagation leaves open, unit by unit."""
        for unit, space in self.open_units.items():
            is_left = self.undecided[space.groups.groups]
            if not is_left.any() or not self.quarantine.admits(np.array([unit])):
                continue
            left = self._unrefuted(unit, space, np.flatnonzero(is_left))
            groups, cells = space.groups.groups[left], space.groups.cells
            width = cells.stop - cells.start
            if len(left) * width > _MEMBERSHIPS:
                by_size = np.argsort(self.groups.size[groups], kind="stable")
                left = np.sort(left[by_size[: max(_MEMBERSHIPS // width, 1)]])
                groups = space.groups.groups[left]
            if not len(left):
                continue
            members = space.groups.members(left)
            if len(left) * space.merged.program.shape[1] > _COEFFICIENTS:
                is_asked = _affordable(space, self.groups.size[groups], members)
                left, groups, members = left[is_asked], groups[is_asked], members[is_asked]
            settled, of_set = self._settle(unit, members)
            fixed = space.groups.sums(self.cell_fixed[cells])[left]
            self.lower[groups] = settled.lower[of_set] + fixed
            self.upper[groups] = settled.upper[of_set] + fixed
            self.proof[groups] = settled.grounds[of_set]
            self.undecided[groups] = settled.is_undecided[of_set]

    def bound_above(self) -> None:
        """Compute upper bounds of the groups with certain people, within the budget."""
        for unit, space in self.open_units.items():
            mine = space.groups
            is_left = (self.lower > 0) & (self.lower < self.upper)
            left = np.flatnonzero(is_left[mine.groups])
            if not len(left) or not self.quarantine.admits(np.array([unit])):
                continue
            groups, members = mine.groups[left], mine.members(left)
            fixed = mine.sums(self.cell_fixed[mine.cells])[left]
            first, of_set = distinct_rows(members[:, space.of_variable])
            outer = space.merged.between(members[first][:, space.of_variable])[1]
            ledger = greatest(
                space.merged.program,
                outer,
                space.solutions,
                Effort(self.programs.seeds[unit], self._seconds_left(unit)),
                space.relaxation,
            )
            self.deterministic_time[unit] += round(ledger.effort, 9)
            self.upper[groups] = np.minimum(self.upper[groups], ledger.upper[of_set] + fixed)

    def settle_empty_cells(self) -> None:
        """Prove that cells that are empty in all known solutions are empty in every solution."""
        for unit, space in self.open_units.items():
            cells = space.groups.cells
            width = cells.stop - cells.start
            in_free = np.isin(np.arange(width), space.of_variable)
            asked = np.flatnonzero(self.possible[cells] & in_free & (self.cell_fixed[cells] == 0))
            if not len(asked) or not self.quarantine.admits(np.array([unit])):
                continue
            settled, of_set = self._settle(unit, np.arange(width) == asked[:, None])
            is_empty = settled.upper[of_set] == 0
            empty = asked[is_empty] + cells.start
            self.possible[empty] = False
            self.zero_proof[empty] = settled.grounds[of_set[is_empty]]

    def _unrefuted(self, unit: int, space: _OpenUnit, left: IntArray) -> IntArray:
        """Return the groups whose claimed exact size, or least size, no solution refutes.

        Solutions are sought that change the sizes of groups on which the known solutions agree. A
        group that is empty in some solution is decided: its least size is 0.
        """
        groups = space.groups.groups
        lower, least = self.lower[groups[left]], self.groups.sums(self.held)[groups[left]]
        greatest, dry = least, 0
        while dry < _DRY and self._seconds_left(unit) > 0:
            is_constant = least == greatest
            asked = left[is_constant if is_constant.any() else lower < least]
            if not len(asked):
                break
            solution, in_cells = self._vertex(unit, space, asked)
            if not len(solution):
                break
            dry += 1
            if not space.merged.program.is_feasible(solution):
                continue
            size = space.groups.sums(in_cells)[left]
            if (is_constant & (size != least)).any() or (size == 0).any():
                dry = 0
                space.solutions = (*space.solutions, solution)
            least, greatest = np.minimum(least, size), np.maximum(greatest, size)
            kept = least > 0
            self.undecided[groups[left[~kept]]] = False
            left, lower, least, greatest = (x[kept] for x in (left, lower, least, greatest))
        return left

    def _vertex(self, unit: int, space: _OpenUnit, asked: IntArray) -> tuple[IntArray, IntArray]:
        """Return a rounded vertex at which random groups are large and others small.

        Returns:
            A value for each variable of the merged program, and people in each of the unit's
            cells; empty if the effort ended.
        """
        random, merged, mine = space.random, space.merged, space.groups
        if len(asked) > _AT_ONCE:
            asked = np.sort(random.choice(asked, _AT_ONCE, replace=False))
        of_cell = random.choice([-1.0, 1.0], len(asked)) @ mine.members(asked)
        cell = space.of_variable[merged.one_of_each(random)]
        cost = of_cell[cell] + _NOISE * random.random(len(cell))
        vertex = space.relaxation.solve(cost, self._seconds_left(unit))
        self.deterministic_time[unit] += vertex.deterministic_time
        solution = np.rint(vertex.values).astype(np.int64)
        if not len(solution):
            return solution, solution
        fixed = self.cell_fixed[mine.cells]
        return solution, np.bincount(cell, solution, len(fixed)).astype(np.int64) + fixed

    def _seconds_left(self, unit: int) -> float:
        return self.programs.seconds - float(self.deterministic_time[unit])

    def least_people(self, chosen: BoolArray) -> IntArray:
        """Return (kinds × known columns × units) proven least numbers of people in chosen groups.

        Args:
            chosen: (kinds × known columns × groups) which groups.
        """
        units = len(self.programs.is_open)
        flat = chosen.reshape(len(KINDS) * self.groups.columns, len(self.lower))
        least = np.zeros((len(flat), units), dtype=np.int64)
        unit = self.histogram.unit[self.groups.held]
        for row, is_chosen in enumerate(flat):
            covered = self.groups.covers(is_chosen) * self.held
            least[row] = np.bincount(unit, covered, units)
        for unit_number, space in self.open_units.items():
            least[:, unit_number] = self._least_in(unit_number, space, flat)
        for unit_number in np.flatnonzero(self.programs.is_open).tolist():
            mine = self.groups.in_unit(unit_number, self.histogram)
            covered = mine.unions(flat[:, mine.groups]).astype(np.int64)
            least[:, unit_number] = covered @ self.cell_lower[mine.cells]
        least[:, self.programs.is_excluded] = 0
        return least.reshape(len(KINDS), self.groups.columns, units)

    def _least_in(self, unit: int, space: _OpenUnit, chosen: BoolArray) -> IntArray:
        """Return the proven least number of people in each choice of an open unit's groups."""
        mine = space.groups
        covered = mine.unions(chosen[:, mine.groups])
        least: IntArray = covered.astype(np.int64) @ self.cell_lower[mine.cells]
        if covered.any() and self.quarantine.admits(np.array([unit])):
            settled, of_row = self._settle(unit, covered)
            fixed = covered.astype(np.int64) @ self.cell_fixed[mine.cells]
            least = settled.lower[of_row] + fixed
        return least

    def _settle(self, unit: int, sets: BoolArray) -> tuple[SettledSets, IntArray]:
        """Settle the distinct sets of a unit's cells; also return for each set its number there."""
        space = self.open_units[unit]
        first, of_set = distinct_rows(sets[:, space.of_variable])
        distinct = Sets(*space.merged.between(sets[first][:, space.of_variable]))
        effort = Effort(self.programs.seeds[unit], self._seconds_left(unit))
        settled = settle(space.merged.program, distinct, space.solutions, effort, space.relaxation)
        space.solutions = tuple(settled.ledger.known)
        self.deterministic_time[unit] += round(settled.ledger.effort, 9)
        return settled, of_set


def _affordable(space: _OpenUnit, size: IntArray, members: BoolArray) -> BoolArray:
    """Select the groups of a unit to settle: if there are too many, those with few columns.

    Args:
        size: For each group its number of columns.
        members: (groups × the unit's cells) which cells are in each group.
    """
    _, of_set = distinct_rows(members[:, space.of_variable])
    most = max(_COEFFICIENTS // space.merged.program.shape[1], 1)
    by_size = np.argsort(size, kind="stable")
    _, first = np.unique(of_set[by_size], return_index=True)
    chosen = of_set[by_size[np.sort(first)[:most]]]
    is_asked: BoolArray = np.isin(of_set, chosen)
    return is_asked
