"""Bound tightening: the least and the greatest ``c·x`` over all solutions of an integer program.

Intervals of histogram cells, and with them certain records, are such ends; so are those of any
other integer functionals. Solutions are looked for that reach as many open ends as possible: ends
that are reached are exact. When no solution reaches any of them, two engines agreeing, all move in
by one, and the end that is still farthest from the known solutions is optimised by itself.

See *bound tightening* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Flag

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import IntArray
from recon_cli.model.program import (
    IntegerProgram,
    activity_bounds,
    connected_parts,
    connected_subset,
    with_rows,
)
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.objectives import LinearFunctionals, interval_ends

BoolArray = npt.NDArray[np.bool_]

#: Wall-clock seconds for the second engine to confirm one end; after that the end stays open.
_CONFIRMATION = 60.0


class Ends(Flag):
    """Which ends of intervals are asked for."""

    LOWER = 1
    UPPER = 2
    BOTH = LOWER | UPPER


@dataclass(frozen=True)
class TightenedBounds:
    """Intervals of functionals, valid in any case: no solution is outside.

    Attributes:
        functionals: With the intervals; see `lower` and `upper`.
        solutions: The known ones that reach farther than those before, and those found on the way.
        reaches_lower: For each functional the place in `solutions` of its least value.
        reaches_upper: The place of its greatest value.
        least: The least value of each functional in a known solution.
        greatest: The greatest value of each functional in a known solution.
        is_lower_certified: Whether the lower end was moved in: CP-SAT and SCIP agree that no
            solution is below. Otherwise it is the given one, and rests on what that rests on.
        is_upper_certified: Likewise for the upper end.
        deterministic_time: Seconds.
    """

    functionals: LinearFunctionals
    solutions: tuple[IntArray, ...]
    reaches_lower: IntArray
    reaches_upper: IntArray
    least: IntArray
    greatest: IntArray
    is_lower_certified: BoolArray
    is_upper_certified: BoolArray
    deterministic_time: float

    @property
    def lower(self) -> IntArray:
        """The lower end of each interval."""
        return self.functionals.lower

    @property
    def upper(self) -> IntArray:
        """The upper end of each interval."""
        return self.functionals.upper

    @property
    def is_lower_reached(self) -> BoolArray:
        """For each functional whether a solution reaches the lower end; else it is a bound."""
        reached: BoolArray = self.lower == self.least
        return reached

    @property
    def is_upper_reached(self) -> BoolArray:
        """For each functional whether a solution reaches the upper end; else it is a bound."""
        reached: BoolArray = self.upper == self.greatest
        return reached

    @property
    def is_exact(self) -> BoolArray:
        """For each functional whether solutions reach both ends."""
        return self.is_lower_reached & self.is_upper_reached


def tighten_bounds(
    program: IntegerProgram,
    functionals: LinearFunctionals,
    known: Sequence[IntArray],
    effort: Effort,
    ends: Ends = Ends.BOTH,
) -> TightenedBounds:
    """Tighten the intervals of functionals until solutions reach their ends: Eq. (ends).

    Where the effort ends before, of either engine, the ends that are left stay valid bounds.

    Args:
        program: The program.
        functionals: Integer functionals with valid intervals, such as propagation gives.
        known: Solutions of the program, at least one; different ones save solves.
        effort: Its limit is for all solves together.
        ends: Those that are asked for; others stay as they are.

    Raises:
        ValueError: No solution is known.
        DisagreementError: Two engines disagree on an end that is never reached.
        SolverError: An engine fails.
    """
    if not known:
        raise ValueError("bound tightening needs a known solution")
    search = _Search(program, functionals, known, effort, ends)
    while search.left.limit > 0 and search.has_open_ends():
        if not search.reach_ends():
            break
    return search.result()


class _Search:
    """The intervals so far, the solutions that reach into them, and the effort that is left."""

    def __init__(
        self,
        program: IntegerProgram,
        functionals: LinearFunctionals,
        known: Sequence[IntArray],
        effort: Effort,
        ends: Ends,
    ) -> None:
        self.program = program
        self.ends = ends
        self.C = functionals.coefficients
        lowest, highest = activity_bounds(self.C, program.lower, program.upper)
        self.lower = np.maximum(functionals.lower, lowest)
        self.upper = np.minimum(functionals.upper, highest)
        self.certified_lower = np.zeros(len(self.lower), dtype=bool)
        self.certified_upper = np.zeros(len(self.upper), dtype=bool)
        self.effort = effort
        self.elapsed = 0.0
        self.solutions = [known[0]]
        self.least = self.C @ known[0]
        self.greatest = self.least.copy()
        self.reaches_lower = np.zeros(len(self.lower), dtype=np.int64)
        self.reaches_upper = np.zeros(len(self.upper), dtype=np.int64)
        for solution in known[1:]:
            self._add(solution)
        # Functionals share no row with those of other parts, which may be settled already.
        rows = program.shape[0]
        stacked = sparse.csr_array(sparse.vstack([program.constraints.A, self.C]))
        row_part, self.part = connected_parts(stacked)
        self.part_of_functional = row_part[rows:]

    @property
    def left(self) -> Effort:
        """The effort that is left."""
        return replace(self.effort, limit=self.effort.limit - self.elapsed)

    @property
    def is_open_below(self) -> BoolArray:
        """Whether the lower end is asked for and no solution reaches it."""
        is_open: BoolArray = (self.lower < self.least) & (Ends.LOWER in self.ends)
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Whether the upper end is asked for and no solution reaches it."""
        is_open: BoolArray = (self.upper > self.greatest) & (Ends.UPPER in self.ends)
        return is_open

    def has_open_ends(self) -> bool:
        return bool((self.is_open_below | self.is_open_above).any())

    def reach_ends(self) -> bool:
        """One solve for as many open ends as possible; whether it is worth going on."""
        low, high = self.is_open_below, self.is_open_above
        parts = self.part_of_functional[low | high]
        here = np.flatnonzero(np.isin(self.part_of_functional, parts))
        variables = np.flatnonzero(np.isin(self.part, parts))
        functionals = LinearFunctionals(
            sparse.csr_array(self.C[here][:, variables]), self.lower[here], self.upper[here]
        )
        part = connected_subset(self.program, variables).program
        problem = interval_ends(part, functionals, low[here], high[here])
        answer = maximize(problem.program, problem.objective, self.left)
        self.elapsed += answer.deterministic_time
        if answer.status is Status.UNKNOWN:
            return False
        if answer.objective + problem.constant > 0:
            self._add(self._completed(variables, answer.values[: len(variables)]))
            return True
        if answer.status is not Status.OPTIMAL:
            return False
        if not confirm_infeasible(problem.at_least(1), _CONFIRMATION):
            return False
        self.lower[low] += 1
        self.upper[high] -= 1
        self.certified_lower |= low
        self.certified_upper |= high
        return self._optimise_farthest()

    def _optimise_farthest(self) -> bool:
        """Optimise the functional whose end is farthest from any solution, if by two or more."""
        gaps = np.concatenate(
            [
                (self.least - self.lower) * self.is_open_below,
                (self.upper - self.greatest) * self.is_open_above,
            ]
        )
        at = int(gaps.argmax())
        if gaps[at] < 2 or self.left.limit <= 0:
            return True
        is_upper, k = divmod(at, len(self.lower))
        variables = np.flatnonzero(self.part == self.part_of_functional[k])
        part = connected_subset(self.program, variables).program
        row = sparse.csr_array(self.C[[k]][:, variables])
        sign = 1 if is_upper else -1
        objective = sign * row.toarray()[0]
        answer = maximize(part, objective, self.left, self.solutions[0][variables])
        self.elapsed += answer.deterministic_time
        if answer.status is Status.UNKNOWN:
            return False
        self._add(self._completed(variables, answer.values))
        end = sign * answer.bound
        if is_upper and end < self.upper[k]:
            beyond = LinearConstraints(row, np.array([end + 1]), self.upper[[k]])
        elif not is_upper and end > self.lower[k]:
            beyond = LinearConstraints(row, self.lower[[k]], np.array([end - 1]))
        else:
            return answer.status is Status.OPTIMAL
        if not confirm_infeasible(with_rows(part, beyond), _CONFIRMATION):
            return False
        (self.upper if is_upper else self.lower)[k] = end
        (self.certified_upper if is_upper else self.certified_lower)[k] = True
        return answer.status is Status.OPTIMAL

    def _completed(self, variables: IntArray, values: IntArray) -> IntArray:
        """A solution of some parts as one of the whole program."""
        solution = self.solutions[0].copy()
        solution[variables] = values
        return solution

    def _add(self, solution: IntArray) -> None:
        values = self.C @ solution
        lower, higher = values < self.least, values > self.greatest
        if not (lower | higher).any():
            return
        self.reaches_lower[lower] = self.reaches_upper[higher] = len(self.solutions)
        self.least = np.minimum(self.least, values)
        self.greatest = np.maximum(self.greatest, values)
        self.solutions.append(solution)

    def result(self) -> TightenedBounds:
        return TightenedBounds(
            functionals=LinearFunctionals(self.C, self.lower, self.upper),
            solutions=tuple(self.solutions),
            reaches_lower=self.reaches_lower,
            reaches_upper=self.reaches_upper,
            least=self.least,
            greatest=self.greatest,
            is_lower_certified=self.certified_lower,
            is_upper_certified=self.certified_upper,
            deterministic_time=self.elapsed,
        )
