"""Decide whether some published cells imply a claim: by a proof, or by a counterexample.

The unknowns are all histogram cells of all units, with published zeros as facts. Histogram cells
that none of the chosen facts distinguishes form one class, so a few facts make a small integer
program, whatever the size of the domain. A counterexample is a change of the reconstruction that
violates the claim and none of the facts.

See *claim* and *counterexample* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.facts import EVERYWHERE, Facts, RecordCounts
from recon_cli.model.bounds import propagate
from recon_cli.model.components import split_components
from recon_cli.model.grain import Grain, enumerate_domain, refine
from recon_cli.model.predicates import Masks
from recon_cli.model.program import LinearConstraints
from recon_cli.schema import Release, bits
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import min_l1_repair


@dataclass(frozen=True)
class Claim:
    """The claim that at least `least` people of a unit are inside `masks`."""

    masks: Masks
    least: int

    def contains(self, positions: IntArray) -> BoolArray:
        """Test which records, given as (records × features) value positions, are inside."""
        inside = np.ones(len(positions), dtype=bool)
        for f, mask in enumerate(self.masks):
            inside &= np.array([bool(mask >> at & 1) for at in positions[:, f].tolist()])
        return inside


_NO_RECORDS = RecordCounts(*(np.empty(0, dtype=np.int64) for _ in range(3)))


class Implication(Enum):
    """An answer to whether some facts imply a claim."""

    IMPLIED = "implied"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ImplicationResult:
    """An answer with its evidence.

    Attributes:
        counterexample: If refuted, a change that violates the claim and none of the facts.
        method: If implied, how that is proven: ``propagation`` or ``solver`` (two engines).
    """

    implication: Implication
    counterexample: RecordCounts = _NO_RECORDS
    method: str = ""


@dataclass(frozen=True)
class ImplicationProblem:
    """A claim, and the facts that may imply it.

    Attributes:
        people: A solution: the records of all units of `facts`.
        claim: Claim to explain; true of `people`.
    """

    facts: Facts
    people: RecordCounts
    claim: Claim

    @cached_property
    def room(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """Return for each geounit how far the counts of `people` may decrease, and increase."""
        return self.facts.room(self.people)


def decide_implication(
    problem: ImplicationProblem, chosen: list[int], effort: Effort
) -> ImplicationResult:
    """Decide whether some facts imply a claim.

    Args:
        chosen: Numbers of facts, sorted.
        effort: Effort of the search for a small counterexample; with none, propagation alone
            decides.

    Raises:
        SolverError: Two engines disagree that there is no counterexample.
    """
    program = _class_program(problem, chosen)
    rows, start = program.with_claim_negated(problem.claim), program.start
    bounds = propagate(rows, start)
    if bounds.conflict.any():
        return ImplicationResult(Implication.IMPLIED, method="propagation")
    values = np.where(bounds.free, start, bounds.lower)
    for part in split_components(rows, bounds, np.zeros(len(start), dtype=np.int64), pack=1):
        if part.program.is_feasible(start[part.columns]):
            continue
        repair = min_l1_repair(part.program, start[part.columns], effort)
        if repair.is_infeasible:
            return ImplicationResult(Implication.IMPLIED, method="solver")
        if not len(repair.values):
            return ImplicationResult(Implication.UNDECIDED)
        values[part.columns] = repair.values
    change = _RecordWriter(problem).write(program.groups, values - start)
    return ImplicationResult(Implication.REFUTED, change)


@dataclass(frozen=True)
class _UnitGroup:
    """Units that the chosen facts do not distinguish, and their classes of histogram cells.

    Attributes:
        grain: Grain of the facts about them and of the claim.
        atoms: (members × features) atoms of each histogram cell that may hold people.
        label: For each of these cells its class.
        A: Dense (facts × classes).
        inside: Whether the claim is about each class.
        start: People in each class.
        kinds: The kinds of people that live here.
        of_kind: For each of these kinds its class, −1 where no fact counts it.
    """

    units: IntArray
    grain: Grain
    atoms: IntArray
    label: IntArray
    A: IntArray
    inside: BoolArray
    start: IntArray
    kinds: IntArray
    of_kind: IntArray


@dataclass(frozen=True)
class _ClassProgram:
    """Some facts as rows over the classes of all unit groups, one group after the other."""

    low: IntArray
    high: IntArray
    groups: list[_UnitGroup]

    @property
    def start(self) -> IntArray:
        """Return the number of people in each class."""
        return np.concatenate([group.start for group in self.groups])

    def with_claim_negated(self, claim: Claim) -> LinearConstraints:
        """Return the facts with the claim negated: infeasible if and only if it is implied."""
        facts = np.hstack([group.A for group in self.groups])
        inside = np.concatenate([group.inside for group in self.groups])
        return LinearConstraints(
            sparse.csr_array(np.vstack([facts, inside.astype(np.int64)[None, :]])),
            np.append(self.low, 0),
            np.append(self.high, claim.least - 1),
        )


def _class_program(problem: ImplicationProblem, chosen: list[int]) -> _ClassProgram:
    facts = problem.facts
    columns = facts.by_geounit(chosen)
    low, high = (
        np.concatenate(
            [np.empty(0, dtype=np.int64), *(ends[g][which] for g, which in columns.items())]
        )
        for ends in (facts.low, facts.high)
    )
    groups = _indistinguishable_units(facts, columns)
    return _ClassProgram(
        low, high, [_unit_group(problem, columns, high, units) for units in groups]
    )


def _indistinguishable_units(facts: Facts, columns: dict[int, IntArray]) -> list[IntArray]:
    """Group units by the geounits with chosen facts that contain them; the claim's stays alone."""
    home = np.arange(len(facts.units)) == facts.unit
    inside = np.vstack([home, facts.covers[list(columns)]])
    _, which = np.unique(inside, axis=1, return_inverse=True)
    groups = [np.flatnonzero(which.ravel() == k) for k in range(int(which.max()) + 1)]
    return [units for units in groups if inside[:, units[0]].any()]


def _unit_group(
    problem: ImplicationProblem, columns: dict[int, IntArray], high: IntArray, units: IntArray
) -> _UnitGroup:
    facts, people = problem.facts, problem.people
    claim = problem.claim if (units == facts.unit).any() else None
    here = {g: which for g, which in columns.items() if facts.covers[g, units[0]]}
    applies = np.repeat([g in here for g in columns], [len(which) for which in columns.values()])
    grain = _grain(facts, here, claim)
    atoms = enumerate_domain(grain.sizes).astype(np.int64)
    values = np.stack([first[atoms[:, f]] for f, first in enumerate(grain.lowest)], axis=1)
    weights = [facts.cells[g].weights(values, which) for g, which in here.items()]
    A = np.hstack([np.empty((len(atoms), 0), dtype=np.int64), *weights])
    inside = np.zeros(len(atoms), dtype=bool) if claim is None else claim.contains(values)
    # People whom no fact counts may be any number: they matter to the claim alone.
    is_empty = ((high[applies.astype(bool)] < A) & (A > 0)).any(axis=1)
    keep = np.flatnonzero(((A > 0).any(axis=1) & ~is_empty) | inside)
    keys = np.column_stack([A[keep], inside[keep]])
    merged, label = np.unique(keys, axis=0, return_inverse=True)
    class_of_cell = np.full(len(atoms), -1, dtype=np.int64)
    class_of_cell[keep] = label.ravel()
    kinds = np.flatnonzero(np.isin(people.unit, units))
    of_kind = class_of_cell[_codes(facts.release, grain, people.positions[kinds])]
    placed = of_kind >= 0
    start = np.bincount(of_kind[placed], people.count[kinds[placed]], len(merged))
    matrix = np.zeros((len(high), len(merged)), dtype=np.int64)
    matrix[applies.astype(bool)] = merged[:, :-1].T
    return _UnitGroup(
        units=units,
        grain=grain,
        atoms=atoms[keep],
        label=label.ravel(),
        A=matrix,
        inside=merged[:, -1].astype(bool),
        start=start.astype(np.int64),
        kinds=kinds,
        of_kind=of_kind,
    )


def _grain(facts: Facts, columns: dict[int, IntArray], claim: Claim | None) -> Grain:
    cells = [facts.cells[g].cells[i][1] for g, which in columns.items() for i in which.tolist()]
    predicates = [cell.masks for cell in cells] + ([claim.masks] if claim is not None else [])
    tallied = {cell.tally for cell in cells if cell.tally is not None}
    return refine(facts.release, predicates, tallied)


def _codes(release: Release, grain: Grain, positions: IntArray) -> IntArray:
    """Return the histogram cell of each record."""
    codes = np.zeros(len(positions), dtype=np.int64)
    for f, feature in enumerate(release.features):
        atom = np.empty(len(feature.values), dtype=np.int64)
        for number, mask in enumerate(grain.atoms[f]):
            atom[list(bits(mask))] = number
        codes = codes * grain.sizes[f] + atom[positions[:, f]]
    return codes


class _RecordWriter:
    """Writes a change of classes as records, each as similar to a removed one as possible."""

    def __init__(self, problem: ImplicationProblem) -> None:
        facts = problem.facts
        self._people = problem.people
        published = [geoid != EVERYWHERE for geoid in facts.geoids]
        enclosing = np.flatnonzero(facts.covers[:, facts.unit] & published).tolist()
        fewest = min((facts.cells[g] for g in enclosing), key=lambda each: len(each.cells))
        self._differences = fewest.differences
        self._removed: list[int] = []
        self._added: list[tuple[int, IntArray]] = []

    def write(self, groups: list[_UnitGroup], step: IntArray) -> RecordCounts:
        steps = np.split(step, np.cumsum([len(group.start) for group in groups])[:-1])
        for group, change in zip(groups, steps, strict=True):
            self._remove(group, change)
        waiting = list(self._removed)
        for group, change in zip(groups, steps, strict=True):
            for label in np.flatnonzero(change > 0).tolist():
                for _ in range(int(change[label])):
                    self._add(group, label, waiting)
        units = [*self._people.unit[self._removed].tolist(), *(unit for unit, _ in self._added)]
        positions = [*self._people.positions[self._removed], *(values for _, values in self._added)]
        sign = np.repeat([-1, 1], [len(self._removed), len(self._added)])
        return RecordCounts(np.array(units, dtype=np.int64), np.stack(positions), sign)

    def _remove(self, group: _UnitGroup, change: IntArray) -> None:
        for label in np.flatnonzero(change < 0).tolist():
            kinds = group.kinds[group.of_kind == label]
            who = np.repeat(kinds, self._people.count[kinds])[: -int(change[label])]
            self._removed += who.tolist()

    def _add(self, group: _UnitGroup, label: int, waiting: list[int]) -> None:
        members = group.atoms[group.label == label]
        # The claim is violated only if somebody is removed, so there is a removed record.
        kinds = waiting or self._removed
        candidates = [
            (unit not in group.units, *self._nearest(group.grain, members, wanted))
            for unit, wanted in zip(
                self._people.unit[kinds].tolist(), self._people.positions[kinds], strict=True
            )
        ]
        at = min(range(len(candidates)), key=lambda i: candidates[i][:2])
        is_away, _, values = candidates[at]
        unit = int(group.units[0]) if is_away else int(self._people.unit[kinds[at]])
        if waiting:
            del waiting[at]
        self._added.append((unit, values))

    def _nearest(self, grain: Grain, members: IntArray, wanted: IntArray) -> tuple[int, IntArray]:
        """Return the record of a class that the fewest published cells distinguish from another."""
        total = np.zeros(len(members), dtype=np.int64)
        values = np.empty_like(members)
        for f, atoms in enumerate(grain.atoms):
            difference = self._differences[f][wanted[f]]
            nearest = [min(bits(atom), key=lambda v: (difference[v], v)) for atom in atoms]
            values[:, f] = np.array(nearest)[members[:, f]]
            total += difference[values[:, f]]
        at = int(total.argmin())
        return int(total[at]), values[at]
