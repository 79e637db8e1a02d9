"""Verified claims of a batch: bounds of all groups, and of the people that they disclose.

Each unit alone, its own tables as equalities and coarser ones as upper bounds (Eq. 4.9 of the 2010
study): what holds there holds in every solution of the whole region, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.attack.claims.disclosure import KINDS, disclosed_groups, disclosing_groups
from recon_cli.attack.claims.groups import Groups, distinct_rows, make_groups
from recon_cli.attack.claims.settle import SettledFunctionals, settle
from recon_cli.attack.excluded_units import BatchQuarantine
from recon_cli.attack.variability.histogram import HistogramCells
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.solve.cp_sat import Effort

BoolArray = npt.NDArray[np.bool_]


#: Coefficients of all functionals of a unit together; those beyond stay undecided.
_FUNCTIONALS = 3_000_000

#: Groups times histogram cells of a unit; groups beyond stay undecided.
_MEMBERSHIPS = 50_000_000


@dataclass(frozen=True)
class UnitPrograms:
    """The programs of a batch's units, none coupled with another.

    Attributes:
        rows: The relaxed rows.
        incumbent: A solution: people in each candidate.
        unit: For each candidate its unit.
        is_open: For each unit whether nothing can be claimed of it: the tables do not bound its
            people, or some are missing from the incumbent.
        seeds: For each unit the seed of the solver's own choices.
        seconds: Deterministic seconds for each unit.
    """

    rows: LinearConstraints
    incumbent: IntArray
    unit: IntArray
    is_open: BoolArray
    seeds: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class BatchClaims:
    """The groups of a batch and what is proven of them.

    Attributes:
        groups: The groups.
        lower: No solution has fewer people in the group.
        upper: No solution has more; refined only where the known solutions agree.
        proof: The place in `PROOFS` of what the bounds rest on.
        undecided: Whether effort ended before the least size was known, or before it was known
            whether all solutions agree.
        disclosed: (kinds × known columns × units) the least number of people of whom at most so
            many columns settle another one.
        deterministic_time: For each unit its seconds.
    """

    groups: Groups
    lower: IntArray
    upper: IntArray
    proof: IntArray
    undecided: BoolArray
    disclosed: IntArray
    deterministic_time: npt.NDArray[np.float64]


def verify_batch(
    programs: UnitPrograms, histogram: HistogramCells, share: float, quarantine: BatchQuarantine
) -> BatchClaims:
    """Bound the size of every group in which the incumbent has people: Eq. (claim).

    Args:
        programs: The units.
        histogram: Their histogram cells; its columns are the claims'.
        share: From which proven share on a value is inferred.
        quarantine: Units that no solver may be started on.

    Raises:
        DisagreementError: Two engines disagree.
        SolverError: An engine fails.
    """
    batch = _Batch(programs, histogram, quarantine)
    batch.settle_groups()
    disclosing = disclosing_groups(batch.groups, batch.lower, batch.upper, share)
    disclosed = batch.least_people(disclosed_groups(batch.groups, disclosing))
    return BatchClaims(
        groups=batch.groups,
        lower=batch.lower,
        upper=batch.upper,
        proof=batch.proof,
        undecided=batch.undecided,
        disclosed=disclosed,
        deterministic_time=batch.deterministic_time,
    )


@dataclass(frozen=True)
class _OpenUnit:
    """What propagation leaves open of a unit.

    Attributes:
        component: What is left of its program.
        groups: Its groups.
        sets: (sets × the unit's histogram cells) the distinct sets of cells that they are.
        of_group: For each of the groups its set.
        cells: The unit's histogram cells.
    """

    component: Component
    groups: IntArray
    sets: BoolArray
    of_group: IntArray
    cells: slice


class _Batch:
    """The bounds of all groups, at first those of propagation."""

    def __init__(
        self, programs: UnitPrograms, histogram: HistogramCells, quarantine: BatchQuarantine
    ) -> None:
        self.programs = programs
        self.histogram = histogram
        self.quarantine = quarantine
        bounds = propagate(programs.rows)
        held = self._by_cell(programs.incumbent)
        self.groups = make_groups(histogram, np.flatnonzero(held > 0))
        self.cell_lower = self._by_cell(bounds.lower)
        self.cell_fixed = self._by_cell(np.where(bounds.free, 0, bounds.lower))
        self.held = held[self.groups.held]
        # What propagation settles is as the incumbent has it.
        self.lower = self.groups.sums(self.held)
        self.upper = self.lower.copy()
        self.proof = np.zeros(len(self.lower), dtype=np.int64)
        self.deterministic_time = np.zeros(len(programs.is_open))
        self.undecided: BoolArray = np.zeros(len(self.lower), dtype=bool)
        for array in (self.lower, self.upper):
            array[programs.is_open[self.groups.unit]] = 0
        self.open_units = dict(self._open_units(bounds))
        self.solutions: dict[int, tuple[IntArray, ...]] = {}

    def _by_cell(self, values: IntArray) -> IntArray:
        cells = len(self.histogram.unit)
        return np.bincount(self.histogram.of_cell, values, cells).astype(np.int64)

    def _open_units(self, bounds: Bounds) -> Iterator[tuple[int, _OpenUnit]]:
        """The units that propagation leaves open, with the bounds that it gives their groups."""
        unit, upper = self.programs.unit, self._by_cell(bounds.upper)
        for component in split_components(self.programs.rows, bounds, unit, targets=unit, pack=1):
            of_unit = int(unit[component.columns[0]])
            if self.programs.is_open[of_unit]:
                continue
            cells = slice(*np.searchsorted(self.histogram.unit, [of_unit, of_unit + 1]).tolist())
            groups = self._told_apart(of_unit, cells, int(upper[cells].sum()))
            members = self.groups.members(groups, self.histogram, cells)
            first, of_group = distinct_rows(members)
            sets = members[first]
            self.lower[groups] = (sets @ self.cell_lower[cells])[of_group]
            self.upper[groups] = (sets @ upper[cells])[of_group]
            self.undecided[groups] = self.lower[groups] < self.upper[groups]
            yield of_unit, _OpenUnit(component, groups, sets, of_group, cells)

    def _told_apart(self, unit: int, cells: slice, people: int) -> IntArray:
        """The groups of an open unit; where they are too many, those of few columns.

        Of the others nothing is known but that they have at most all ``people``.
        """
        groups = self.groups.of_unit(unit)
        most = _MEMBERSHIPS // (cells.stop - cells.start)
        if len(groups) <= most:
            return groups
        groups = groups[np.argsort(self.groups.size[groups], kind="stable")]
        beyond = groups[most:]
        self.lower[beyond], self.undecided[beyond] = 0, True
        self.upper[beyond] = people
        return np.sort(groups[:most])

    def settle_groups(self) -> None:
        """Bound the groups that propagation leaves open, unit by unit."""
        for unit, space in self.open_units.items():
            is_left = self.undecided[space.groups]
            if not is_left.any() or not self.quarantine.admits(np.array([unit])):
                continue
            is_left &= self._is_affordable(space, is_left)
            sets, of_left = np.unique(space.of_group[is_left], return_inverse=True)
            settled, of_set = self._settle(unit, space.sets[sets], self.programs.seconds)
            number, groups = of_set[of_left.ravel()], space.groups[is_left]
            fixed = (space.sets[sets] @ self.cell_fixed[space.cells])[of_left.ravel()]
            self.lower[groups] = settled.lower[number] + fixed
            self.upper[groups] = settled.upper[number] + fixed
            self.proof[groups] = settled.proof[number]
            self.undecided[groups] = settled.is_undecided[number]

    def _is_affordable(self, space: _OpenUnit, is_left: BoolArray) -> BoolArray:
        """Which groups of a unit are asked for: where they are many, those of few columns."""
        most = max(_FUNCTIONALS // space.component.program.shape[1], 1)
        if len(np.unique(space.of_group[is_left])) <= most:
            return is_left
        asked = np.flatnonzero(is_left)
        asked = asked[np.argsort(self.groups.size[space.groups[asked]], kind="stable")]
        _, first = np.unique(space.of_group[asked], return_index=True)
        chosen = np.isin(space.of_group, space.of_group[asked[np.sort(first)[:most]]])
        return is_left & chosen

    def least_people(self, chosen: BoolArray) -> IntArray:
        """(kinds × known columns × units) the proven least number of people in chosen groups.

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
            least[:, unit_number] = self._least_in(unit_number, space, flat[:, space.groups])
        least[:, self.programs.is_open] = 0
        return least.reshape(len(KINDS), self.groups.columns, units)

    def _least_in(self, unit: int, space: _OpenUnit, chosen: BoolArray) -> IntArray:
        """For each choice of an open unit's groups, the proven least number of people in them."""
        covered = np.zeros((len(chosen), space.sets.shape[1]), dtype=bool)
        for row, groups in enumerate(chosen):
            covered[row] = space.sets[np.unique(space.of_group[groups])].any(axis=0)
        least: IntArray = covered.astype(np.int64) @ self.cell_lower[space.cells]
        left = self.programs.seconds - self.deterministic_time[unit]
        if covered.any() and self.quarantine.admits(np.array([unit])):
            settled, of_row = self._settle(unit, covered, left)
            fixed = covered.astype(np.int64) @ self.cell_fixed[space.cells]
            least = settled.lower[of_row] + fixed
        return least

    def _settle(
        self, unit: int, sets: BoolArray, seconds: float
    ) -> tuple[SettledFunctionals, IntArray]:
        """Settle the distinct ones of some sets of a unit's cells, and which one each set is."""
        space = self.open_units[unit]
        component = space.component
        is_member = sets[:, self.histogram.of_cell[component.columns] - space.cells.start]
        first, of_set = distinct_rows(is_member)
        known = self.solutions.get(unit, (self.programs.incumbent[component.columns],))
        effort = Effort(self.programs.seeds[unit], seconds)
        settled = settle(component.program, is_member[first].astype(np.int64), known, effort)
        self.solutions[unit] = settled.solutions
        self.deterministic_time[unit] += settled.deterministic_time
        return settled, of_set
