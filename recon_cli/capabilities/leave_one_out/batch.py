"""Conclusions about people of a batch, with them in the counts and without.

Without a person, the solutions of the counts are those that contain the person's record, with that
record removed: Eq. (without) of docs/method.md. So the second attack is the first with a lower
bound raised by one; it is unnecessary if the record is in every solution.

Only what the conclusions need is computed: whether anybody, and whether somebody else, has the
record in every solution, and whether anybody else with the same known values differs. Known
solutions refute most; the duals of one relaxation prove most of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.confidence.sampling import SampledSolutions, vertex
from recon_cli.capabilities.leave_one_out.reference import ReferenceClasses, chance
from recon_cli.model.components import Component
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import System
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import Ends, EndSearch

#: If so many people have a record in every solution, it is certain without one of them, too.
ENOUGH = 2
#: People whose questions are held in memory at a time: a number for each variable.
_CHUNK = 128


@dataclass
class RecordEnds:
    """Proven bounds of two counts: of a person's record, and of others with the same known values.

    Attributes:
        least: The least number of people with the record.
        least_known: The least in a known solution; `least` is exact where they are equal.
        most_others: The most people of the reference class with other gained values.
        most_known: The most in a known solution.
    """

    least: IntArray
    least_known: IntArray
    most_others: IntArray
    most_known: IntArray

    @classmethod
    def of_known(cls, record: IntArray, others: IntArray) -> RecordEnds:
        """Start from (people × solutions) known counts, proven for people in no component."""
        least, most = record.min(axis=1), others.max(axis=1)
        return cls(least, least.copy(), most, most.copy())

    def at_least(self, people: int) -> IntArray:
        """Report whether this many people have the record in every solution: 1, 0, −1 if open."""
        return np.where(self.least >= people, 1, np.where(self.least_known < people, 0, -1))

    def alone(self, people: int) -> IntArray:
        """Report as `at_least`, and whether also nobody of the class has other gained values."""
        nobody = np.where(self.most_others == 0, 1, np.where(self.most_known > 0, 0, -1))
        enough = self.at_least(people)
        return np.where((enough == 0) | (nobody == 0), 0, np.minimum(enough, nobody))

    def take(self, other: RecordEnds, at: int) -> None:
        """Copy the bounds of one person from others."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[at] = theirs[at]


@dataclass(frozen=True)
class Questions:
    """The questions about some people: how many have the record, and how many others exist.

    Attributes:
        program: The program of a component, where the reference classes are open.
        functionals: (2 × people × variables) people with the record; others of the class.
        fixed: (2 × people) the same counts outside of the program.
    """

    program: IntegerProgram
    functionals: IntArray
    fixed: IntArray


def settle_ends(
    ends: RecordEnds, people: IntArray, questions: Questions, known: IntArray, effort: Effort
) -> float:
    """Find the bounds of some people's counts, in place, as far as needed; return the seconds.

    Args:
        known: (solutions × variables) solutions.
    """
    program, fixed = questions.program, questions.fixed
    # As least values: of the record, and of the negative of the others.
    signed = questions.functionals * np.array([1, -1])[:, None, None]
    offset = fixed * np.array([1, -1])[:, None]
    least = (signed @ known.T).min(axis=2) + offset
    bound = np.stack([signed[0] @ program.lower, signed[1] @ program.upper]) + offset
    # Enough people with the record, and the least end of the others: nobody.
    wanted = np.minimum(least, np.array([[ENOUGH], [0]]))
    refuted = np.array([[0], [-1]])
    elapsed = 0.0
    for kind, at in np.argwhere((bound < wanted) & (least > refuted)).tolist():
        goal = int(wanted[kind, at] - offset[kind, at])
        found = _least(program, signed[kind, at], known, goal, effort)
        bound[kind, at] = found.lower[0] + offset[kind, at]
        least[kind, at] = found.least[0] + offset[kind, at]
        elapsed += found.effort
    ends.least[people], ends.least_known[people] = bound[0], least[0]
    ends.most_others[people], ends.most_known[people] = -bound[1], -least[1]
    return elapsed


def _least(
    program: IntegerProgram, functional: IntArray, known: IntArray, goal: int, effort: Effort
) -> Ledger:
    """Find the least value of a functional, as far as needed to compare it with a goal."""
    ledger = Ledger(program, sparse.csr_array(functional[None, :]), list(known))
    search, only = EndSearch(ledger, effort), np.array([0])
    search.bound(only, np.array([1]))
    if ledger.lower[0] < min(goal, ledger.least[0]):
        search.tighten(only, Ends.LOWER)
    return ledger


@dataclass(frozen=True)
class Conclusions:
    """Conclusions about people: 1 yes, 0 no, −1 undecided.

    Attributes:
        chance: The chance that the attack says what is true of the gained columns: Eq. (chance).
        is_settled: Whether the gained values follow from the known ones in every solution.
        is_certain: Whether the record is in every solution.
    """

    chance: FloatArray
    is_settled: IntArray
    is_certain: IntArray


@dataclass(frozen=True)
class BatchComparison:
    """Conclusions about people, from the counts with and without each person.

    Attributes:
        deterministic_time: For each person the solver's seconds for both conclusions.
    """

    included: Conclusions
    left_out: Conclusions
    deterministic_time: FloatArray

    def spread(self, places: IntArray, people: int) -> BatchComparison:
        """Spread the results to positions among more people, without conclusions for the others."""

        def wide(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            spread = np.zeros(people, dtype=values.dtype)
            spread[places] = values
            return spread

        included, left_out = (
            Conclusions(*(wide(values) for values in vars(each).values()))
            for each in (self.included, self.left_out)
        )
        return BatchComparison(included, left_out, wide(self.deterministic_time))


def compare_batch(
    system: System,
    sampled: SampledSolutions,
    classes: ReferenceClasses,
    people: IntArray,
    seconds: float,
) -> BatchComparison:
    """Leave out each of some people of a batch: Eq. (without) of docs/method.md.

    Args:
        system: The batch; its counts are exact.
        sampled: Sampled solutions; reference classes are not split between components.
        people: The candidates of their records, sorted, each once.
        seconds: Deterministic seconds to settle what is certain about one person.
    """
    comparison = _Comparison(system, sampled, classes, people)
    for component in sampled.components:
        comparison.add(component, seconds)
    return comparison.result()


class _Comparison:
    """The counts of the people's classes in both worlds, initially without a solver."""

    def __init__(
        self, system: System, sampled: SampledSolutions, classes: ReferenceClasses, people: IntArray
    ) -> None:
        self.system, self.sampled, self.classes, self.people = system, sampled, classes, people
        self.part, self.whole = classes.count(sampled.values, people)
        # A record in every solution stays in all of them: the others are the same.
        self.part_without, self.whole_without = self.part.copy(), self.whole.copy()
        self.elapsed = np.zeros(len(people))
        others = self.whole[0] - self.part[0]
        self.ends, self.ends_without = (
            RecordEnds.of_known(self.part[0].T, others.T) for _ in range(2)
        )

    def add(self, component: Component, seconds: float) -> None:
        """Add the people whose reference class is in one component."""
        here = np.unique(self.classes.whole[0][component.columns])
        chosen = np.flatnonzero(np.isin(self.classes.whole[0][self.people], here))
        if not len(chosen):
            return
        known = self.sampled.values[:, component.columns]
        effort = Effort(self._seeds(component)[0], seconds)
        for start in range(0, len(chosen), _CHUNK):
            some = chosen[start : start + _CHUNK]
            questions = self._questions(component, some)
            self.elapsed[some] += settle_ends(self.ends, some, questions, known, effort) / len(some)
        for at in chosen.tolist():
            place = np.flatnonzero(component.columns == self.people[at])
            if len(place) and component.program.lower[place[0]] == 0:
                self._leave_out(component, at, int(place[0]), seconds)
            else:
                self.ends_without.take(self.ends, at)

    def _seeds(self, component: Component) -> Sequence[int]:
        unit = self.system.candidates.unit[component.columns[0]]
        return self.sampled.seeds[int(self.system.regions[unit])]

    def _questions(self, component: Component, chosen: IntArray) -> Questions:
        """Return the questions of a component about some people."""
        classes, columns, people = self.classes, component.columns, self.people[chosen]
        part = classes.part[0][columns] == classes.part[0][people, None]
        whole = classes.whole[0][columns] == classes.whole[0][people, None]
        functionals = np.stack([part, whole & ~part]).astype(np.int64)
        inside = functionals @ self.sampled.values[0, columns]
        counts = np.stack([self.part[0, 0], self.whole[0, 0] - self.part[0, 0]])[:, chosen]
        return Questions(component.program, functionals, counts - inside)

    def _leave_out(self, component: Component, at: int, place: int, seconds: float) -> None:
        """Leave out a person whose record only some solutions have, replacing those without it."""
        program, seeds = component.program, self._seeds(component)
        lower = program.lower.copy()
        lower[place] = 1
        with_record = IntegerProgram(program.constraints, lower, program.upper)
        old = self.sampled.values[:, component.columns]
        new = old.copy()
        for number in np.flatnonzero(old[:, place] == 0).tolist():
            new[number], elapsed = vertex(with_record, seeds[number])
            self.elapsed[at] += elapsed
        parts, wholes = self.classes.changes(component.columns, new - old, int(self.people[at]))
        self.part_without[:, :, at] = self.part[:, :, at] + parts
        self.whole_without[:, :, at] = self.whole[:, :, at] + wholes
        chosen = np.array([at])
        questions = replace(self._questions(component, chosen), program=with_record)
        effort = Effort(seeds[0], seconds)
        self.elapsed[at] += settle_ends(self.ends_without, chosen, questions, new, effort)

    def result(self) -> BatchComparison:
        included = Conclusions(
            chance(self.part, self.whole).mean(axis=0), self.ends.alone(1), self.ends.at_least(1)
        )
        left_out = Conclusions(
            chance(self.part_without - 1, self.whole_without - 1).mean(axis=0),
            self.ends_without.alone(ENOUGH),
            self.ends_without.at_least(ENOUGH),
        )
        return BatchComparison(included, left_out, self.elapsed)
