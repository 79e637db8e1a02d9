"""Do some published cells force a claim? A proof, or other records that meet them all.

The unknowns are all histogram cells of all units, published zeros included as facts. Histogram
cells that no fact in question tells apart are one class, so a few facts make a small system,
whatever the size of the domain. An alternative is a change of the reconstruction that none of the
facts notices and that breaks the claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import sparse

from recon_cli.explain.facts import BoolArray, Facts, RecordCounts
from recon_cli.model.bounds import propagate
from recon_cli.model.components import split_components
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import Grain, IntArray, enumerate_domain, refine
from recon_cli.model.margins import Masks
from recon_cli.schema import Release, bits
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.min_l1_repair import min_l1_repair


@dataclass(frozen=True)
class Claim:
    """At least `least` people of the unit in question are inside `masks`."""

    masks: Masks
    least: int

    def holds_of(self, positions: IntArray) -> BoolArray:
        """Which records are inside."""
        inside = np.ones(len(positions), dtype=bool)
        for f, mask in enumerate(self.masks):
            inside &= np.array([bool(mask >> at & 1) for at in positions[:, f].tolist()])
        return inside


_NOBODY = RecordCounts(*(np.empty(0, dtype=np.int64) for _ in range(3)))


class Implication(Enum):
    """What is known of a claim and some facts."""

    FORCED = "forced"
    OPEN = "open"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class ImplicationTest:
    """A verdict with its grounds.

    Attributes:
        verdict: Whether the facts force the claim.
        change: Where they do not, a change that they do not notice; else empty.
        method: Where they do, how that is proven: ``propagation`` or ``solver`` (two engines).
    """

    verdict: Implication
    change: RecordCounts
    method: str = ""


@dataclass(frozen=True)
class ClaimProblem:
    """A claim, and where its grounds are looked for.

    Attributes:
        facts: Published cells.
        people: A solution: the records of all units of `facts`.
        claim: What is claimed.
    """

    facts: Facts
    people: RecordCounts
    claim: Claim


def test_implication(question: ClaimProblem, chosen: list[int], effort: Effort) -> ImplicationTest:
    """Whether some facts force a claim.

    Args:
        question: The claim.
        chosen: Numbers of facts, rising.
        effort: For the search of a small change; without it nothing is decided that propagation
            does not decide.

    Raises:
        SolverError: Two engines disagree that there is no alternative.
    """
    system = _system(question, chosen)
    rows, start = system.denying(question.claim), system.start
    bounds = propagate(rows)
    if bounds.conflict.any():
        return ImplicationTest(Implication.FORCED, _NOBODY, "propagation")
    values = np.where(bounds.free, start, bounds.lower)
    for part in split_components(rows, bounds, np.zeros(len(start), dtype=np.int64), pack=1):
        if part.is_met_by(start[part.cells]):
            continue
        nearest = min_l1_repair(part, start[part.cells], effort)
        if nearest.is_infeasible:
            return ImplicationTest(Implication.FORCED, _NOBODY, "solver")
        if not len(nearest.values):
            return ImplicationTest(Implication.UNDECIDED, _NOBODY)
        values[part.cells] = nearest.values
    change = _Writer(question).write(system.places, values - start)
    return ImplicationTest(Implication.OPEN, change)


@dataclass(frozen=True)
class _Place:
    """Units that the chosen facts do not tell apart, and their classes of histogram cells.

    Attributes:
        units: The units.
        grain: What the facts on them, and the claim, tell apart.
        atoms: (members × features) atoms of each histogram cell that may hold people.
        label: For each of them its class.
        A: Dense (facts × classes).
        inside: Which classes the claim is about.
        start: People in each class.
        kinds: The kinds of people that live here.
        of_kind: For each of them its class, −1 where no fact sees it.
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
class _System:
    """Some facts over the classes of all places, one place after the other."""

    counts: IntArray
    places: list[_Place]

    @property
    def start(self) -> IntArray:
        """People in each class."""
        return np.concatenate([place.start for place in self.places])

    def denying(self, claim: Claim) -> LinearConstraints:
        """The facts, and the claim denied."""
        facts = np.hstack([place.A for place in self.places])
        inside = np.concatenate([place.inside for place in self.places])
        return LinearConstraints(
            sparse.csr_array(np.vstack([facts, inside.astype(np.int64)[None, :]])),
            np.append(self.counts, 0),
            np.append(self.counts, claim.least - 1),
        )


def _system(question: ClaimProblem, chosen: list[int]) -> _System:
    facts = question.facts
    columns = facts.places(chosen)
    counts = [facts.counts[g][which] for g, which in columns.items()]
    n = np.concatenate([np.empty(0, dtype=np.int64), *counts])
    return _System(n, [_place(question, columns, n, units) for units in _alike(facts, columns)])


def _alike(facts: Facts, columns: dict[int, IntArray]) -> list[IntArray]:
    """Units by the geounits with chosen facts that they lie in; the unit in question alone."""
    home = np.arange(len(facts.units)) == facts.unit
    inside = np.vstack([home, facts.covers[list(columns)]])
    _, which = np.unique(inside, axis=1, return_inverse=True)
    groups = [np.flatnonzero(which.ravel() == k) for k in range(int(which.max()) + 1)]
    return [units for units in groups if inside[:, units[0]].any()]


def _place(
    question: ClaimProblem, columns: dict[int, IntArray], counts: IntArray, units: IntArray
) -> _Place:
    facts, people = question.facts, question.people
    claim = question.claim if (units == facts.unit).any() else None
    here = {g: which for g, which in columns.items() if facts.covers[g, units[0]]}
    applies = np.repeat([g in here for g in columns], [len(which) for which in columns.values()])
    grain = _grain(facts, here, claim)
    atoms = enumerate_domain(grain.sizes).astype(np.int64)
    values = np.stack([first[atoms[:, f]] for f, first in enumerate(grain.lowest)], axis=1)
    weights = [facts.sheets[g].weights(values, which) for g, which in here.items()]
    A = np.hstack([np.empty((len(atoms), 0), dtype=np.int64), *weights])
    inside = np.zeros(len(atoms), dtype=bool) if claim is None else claim.holds_of(values)
    # Of those whom no fact sees there may be any number: they matter to the claim alone.
    is_empty = ((counts[applies.astype(bool)] < A) & (A > 0)).any(axis=1)
    keep = np.flatnonzero(((A > 0).any(axis=1) & ~is_empty) | inside)
    keys = np.column_stack([A[keep], inside[keep]])
    merged, label = np.unique(keys, axis=0, return_inverse=True)
    class_of_cell = np.full(len(atoms), -1, dtype=np.int64)
    class_of_cell[keep] = label.ravel()
    kinds = np.flatnonzero(np.isin(people.unit, units))
    of_kind = class_of_cell[_codes(facts.release, grain, people.positions[kinds])]
    placed = of_kind >= 0
    start = np.bincount(of_kind[placed], people.count[kinds[placed]], len(merged))
    matrix = np.zeros((len(counts), len(merged)), dtype=np.int64)
    matrix[applies.astype(bool)] = merged[:, :-1].T
    return _Place(
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
    cells = [facts.sheets[g].cells[i][1] for g, which in columns.items() for i in which.tolist()]
    predicates = [cell.masks for cell in cells] + ([claim.masks] if claim is not None else [])
    tallied = {cell.tally for cell in cells if cell.tally is not None}
    return refine(facts.release, predicates, tallied)


def _codes(release: Release, grain: Grain, positions: IntArray) -> IntArray:
    """The histogram cell of each record."""
    codes = np.zeros(len(positions), dtype=np.int64)
    for f, feature in enumerate(release.features):
        atom = np.empty(len(feature.values), dtype=np.int64)
        for number, mask in enumerate(grain.atoms[f]):
            atom[list(bits(mask))] = number
        codes = codes * grain.sizes[f] + atom[positions[:, f]]
    return codes


class _Writer:
    """Writes a change of classes out as records, each as like a replaced one as can be."""

    def __init__(self, question: ClaimProblem) -> None:
        facts = question.facts
        self._people = question.people
        above = np.flatnonzero(facts.covers[:, facts.unit]).tolist()
        self._gaps = min((facts.sheets[g] for g in above), key=lambda s: len(s.cells)).gaps
        self._removed: list[int] = []
        self._added: list[tuple[int, IntArray]] = []

    def write(self, places: list[_Place], step: IntArray) -> RecordCounts:
        steps = np.split(step, np.cumsum([len(place.start) for place in places])[:-1])
        for place, change in zip(places, steps, strict=True):
            self._remove(place, change)
        waiting = list(self._removed)
        for place, change in zip(places, steps, strict=True):
            for label in np.flatnonzero(change > 0).tolist():
                for _ in range(int(change[label])):
                    self._add(place, label, waiting)
        units = [*self._people.unit[self._removed].tolist(), *(unit for unit, _ in self._added)]
        positions = [*self._people.positions[self._removed], *(values for _, values in self._added)]
        sign = np.repeat([-1, 1], [len(self._removed), len(self._added)])
        return RecordCounts(np.array(units, dtype=np.int64), np.stack(positions), sign)

    def _remove(self, place: _Place, change: IntArray) -> None:
        for label in np.flatnonzero(change < 0).tolist():
            kinds = place.kinds[place.of_kind == label]
            who = np.repeat(kinds, self._people.count[kinds])[: -int(change[label])]
            self._removed += who.tolist()

    def _add(self, place: _Place, label: int, waiting: list[int]) -> None:
        members = place.atoms[place.label == label]
        # The claim breaks only if somebody is removed, so there is somebody to be like.
        kinds = waiting or self._removed
        found = [
            (unit not in place.units, *self._nearest(place.grain, members, wanted))
            for unit, wanted in zip(
                self._people.unit[kinds].tolist(), self._people.positions[kinds], strict=True
            )
        ]
        at = min(range(len(found)), key=lambda i: found[i][:2])
        is_away, _, values = found[at]
        unit = int(place.units[0]) if is_away else int(self._people.unit[kinds[at]])
        if waiting:
            del waiting[at]
        self._added.append((unit, values))

    def _nearest(self, grain: Grain, members: IntArray, wanted: IntArray) -> tuple[int, IntArray]:
        """The record of a class that the fewest published cells tell from another record."""
        total = np.zeros(len(members), dtype=np.int64)
        values = np.empty_like(members)
        for f, atoms in enumerate(grain.atoms):
            gaps = self._gaps[f][wanted[f]]
            nearest = [min(bits(atom), key=lambda value: (gaps[value], value)) for atom in atoms]
            found = np.array(nearest)[members[:, f]]
            values[:, f] = found
            total += gaps[found]
        at = int(total.argmin())
        return int(total[at]), values[at]
