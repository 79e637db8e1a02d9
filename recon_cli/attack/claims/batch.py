"""Verified claims of a batch: bounds of all groups, and of the people that they disclose.

Each unit alone, its own tables as equalities and coarser ones as upper bounds (Eq. 4.9 of the 2010
study): what holds there holds in every solution of the whole region, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.attack.claims.disclosure import KINDS, disclosed_cells, disclosing_groups
from recon_cli.attack.claims.groups import Groups, make_groups
from recon_cli.attack.claims.settle import SettledFunctionals, settle
from recon_cli.attack.excluded_units import BatchQuarantine
from recon_cli.attack.variability.histogram import Histogram
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.solve.cp_sat import Effort

BoolArray = npt.NDArray[np.bool_]


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
    programs: UnitPrograms, histogram: Histogram, share: float, quarantine: BatchQuarantine
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
    disclosed = batch.least_people(disclosed_cells(batch.groups, disclosing))
    return BatchClaims(
        groups=batch.groups,
        lower=batch.lower,
        upper=batch.upper,
        proof=batch.proof,
        undecided=batch.undecided,
        disclosed=disclosed,
        deterministic_time=batch.deterministic_time,
    )


class _Batch:
    """The bounds of all groups, at first those of propagation."""

    def __init__(
        self, programs: UnitPrograms, histogram: Histogram, quarantine: BatchQuarantine
    ) -> None:
        self.programs = programs
        self.histogram = histogram
        self.quarantine = quarantine
        self.bounds: Bounds = propagate(programs.rows)
        self.groups = make_groups(histogram)
        free = self.bounds.free
        self.cell_lower = self._by_cell(self.bounds.lower)
        self.cell_fixed = self._by_cell(np.where(free, 0, self.bounds.lower))
        self.lower = self.groups.sums(self.cell_lower)
        self.upper = self.groups.sums(self._by_cell(self.bounds.upper))
        self.held = self.groups.sums(self._by_cell(programs.incumbent))
        self.proof = np.zeros(len(self.lower), dtype=np.int64)
        self.deterministic_time = np.zeros(len(programs.is_open))
        is_left = (self.lower < self.upper) & (self.held > 0)
        self.undecided: BoolArray = is_left & ~programs.is_open[self.groups.unit]
        for array in (self.lower, self.upper):
            array[programs.is_open[self.groups.unit]] = 0
        self.components = dict(self._components())
        self.solutions: dict[int, tuple[IntArray, ...]] = {}

    def _by_cell(self, values: IntArray) -> IntArray:
        cells = len(self.histogram.unit)
        return np.bincount(self.histogram.of_cell, values, cells).astype(np.int64)

    def _components(self) -> Iterator[tuple[int, Component]]:
        """For each unit that propagation leaves open what is left of its program."""
        unit = self.programs.unit
        for component in split_components(
            self.programs.rows, self.bounds, unit, targets=unit, pack=1
        ):
            of_unit = int(unit[component.columns[0]])
            if not self.programs.is_open[of_unit]:
                yield of_unit, component

    def _admits(self, unit: int) -> bool:
        """Whether a solver may be started on a unit that propagation leaves open."""
        return unit in self.components and self.quarantine.admits(np.array([unit]))

    def settle_groups(self) -> None:
        """Bound the groups that propagation leaves open, unit by unit."""
        todo = np.flatnonzero(self.undecided)
        todo = todo[np.argsort(self.groups.unit[todo], kind="stable")]
        fixed = self.groups.sums(self.cell_fixed)
        _, starts = np.unique(self.groups.unit[todo], return_index=True)
        for groups in np.split(todo, starts[1:]):
            unit = int(self.groups.unit[groups[0]]) if len(groups) else -1
            if not self._admits(unit):
                continue
            component = self.components[unit]
            members = self.groups.of_cell[:, self.histogram.of_cell[component.columns]]
            is_member = members[self.groups.subset[groups]] == groups[:, None]
            settled, of_group = self._settle(unit, is_member, self.programs.seconds)
            self.lower[groups] = settled.lower[of_group] + fixed[groups]
            self.upper[groups] = settled.upper[of_group] + fixed[groups]
            self.proof[groups] = settled.proof[of_group]
            self.undecided[groups] = settled.is_undecided[of_group]

    def least_people(self, covered: BoolArray) -> IntArray:
        """(kinds × known columns × units) the proven least number of people in some cells.

        Args:
            covered: (kinds × known columns × histogram cells) which cells.
        """
        units = len(self.programs.is_open)
        flat = covered.reshape(len(KINDS) * self.groups.columns, covered.shape[-1])
        least, fixed = np.zeros((2, len(flat), units), dtype=np.int64)
        np.add.at(least.T, self.histogram.unit, (flat * self.cell_lower).T)
        np.add.at(fixed.T, self.histogram.unit, (flat * self.cell_fixed).T)
        for unit, component in self.components.items():
            is_member = flat[:, self.histogram.of_cell[component.columns]]
            left = self.programs.seconds - self.deterministic_time[unit]
            if is_member.any() and self._admits(unit):
                settled, of_row = self._settle(unit, is_member, left)
                least[:, unit] = settled.lower[of_row] + fixed[:, unit]
        least[:, self.programs.is_open] = 0
        return least.reshape(len(KINDS), self.groups.columns, units)

    def _settle(
        self, unit: int, is_member: BoolArray, seconds: float
    ) -> tuple[SettledFunctionals, IntArray]:
        """Settle the distinct ones of some sets of variables, and which one each set is."""
        component = self.components[unit]
        _, first, of_set = np.unique(
            np.packbits(is_member, axis=1), axis=0, return_index=True, return_inverse=True
        )
        known = self.solutions.get(unit, (self.programs.incumbent[component.columns],))
        effort = Effort(self.programs.seeds[unit], seconds)
        settled = settle(component.program, is_member[first].astype(np.int64), known, effort)
        self.solutions[unit] = settled.solutions
        self.deterministic_time[unit] += settled.deterministic_time
        return settled, of_set.ravel()
