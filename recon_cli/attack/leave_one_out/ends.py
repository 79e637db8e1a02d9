"""Ends of two counts for each person: of the record, and of others who are known to be alike.

Only what the conclusions need is asked: whether anybody, and whether somebody else, has the record
in every solution, and whether anybody else with the same known values differs. Known solutions
refute most; the duals of one relaxation prove most of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import Ends, EndSearch

#: A record that so many people have in every solution is there without one of them, too.
ENOUGH = 2


@dataclass
class RecordEnds:
    """Proven ends of two counts: of a person's record, and of the other people known to be alike.

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

    def at_least(self, people: int) -> IntArray:
        """Whether so many people have the record in every solution: 1, 0, or −1: undecided."""
        return np.where(self.least >= people, 1, np.where(self.least_known < people, 0, -1))

    def alone(self, people: int) -> IntArray:
        """Likewise, and nobody else of the class has other gained values."""
        nobody = np.where(self.most_others == 0, 1, np.where(self.most_known > 0, 0, -1))
        enough = self.at_least(people)
        return np.where((enough == 0) | (nobody == 0), 0, np.minimum(enough, nobody))

    def take(self, other: RecordEnds, at: int) -> None:
        """The ends of one person as in others."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[at] = theirs[at]


@dataclass(frozen=True)
class Questions:
    """What is asked about some people: how many have the record, and how many others there are.

    Attributes:
        program: Where their reference classes are open.
        functionals: (2 × people × variables) people with the record; others of the class.
        fixed: (2 × people) those outside of the program.
    """

    program: IntegerProgram
    functionals: IntArray
    fixed: IntArray


def settle_ends(
    ends: RecordEnds, people: IntArray, questions: Questions, known: IntArray, effort: Effort
) -> float:
    """Find the ends of some people's counts, in place, as far as they matter; the seconds.

    Args:
        ends: Of all people.
        people: The numbers of some.
        questions: About them.
        known: (solutions × variables) solutions.
        effort: For each of them.
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
    """The least value of a functional, as far as it matters whether it is below a goal."""
    ledger = Ledger(program, sparse.csr_array(functional[None, :]), list(known))
    search, only = EndSearch(ledger, effort), np.array([0])
    search.bound(only, np.array([1]))
    if ledger.lower[0] < min(goal, ledger.least[0]):
        search.tighten(only, Ends.LOWER)
    return ledger
