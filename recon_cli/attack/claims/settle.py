"""Least and greatest sizes of many sets of one unit's people: refuted by solutions, or proven.

In this order, from cheap to expensive: the bounds of the variables, sums of rows, duals of the
linear relaxation and the solutions at its vertices, and bound tightening by two engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.bound_tightening import Ends, tighten_bounds
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.dual_bounds import rounded_weights, row_combinations, weighted_bounds
from recon_cli.solve.linear_relaxation import LinearRelaxation
from recon_cli.solve.objectives import LinearFunctionals

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]

#: Vertices near an end that is not reached, and how much a random cost decides there.
_NEAR = 8
_NEAR_NOISE = 0.1
#: Whole numbers up to it are exact in single precision.
_SINGLE = 2**24


class Proof(Enum):
    """What a proof needs, by rising effort."""

    #: The bounds of the cells alone.
    PROPAGATION = "propagation"
    #: Published counts, added and subtracted.
    ROWS = "rows"
    #: Weighted sums of rows and of the cells' bounds, from duals, added up in integers.
    LP = "lp"
    #: CP-SAT, which SCIP confirms.
    SOLVER = "solver"


PROOFS = tuple(Proof)


@dataclass(frozen=True)
class Sets:
    """Sets of variables, some of which may be in a set by part.

    Attributes:
        inner: (sets × variables) what is in each set for certain; its sum is the least size.
        outer: (sets × variables) what may be in it; its sum is the greatest size. The same array
            where no variable is in a set by part.
    """

    inner: BoolArray
    outer: BoolArray


@dataclass(frozen=True)
class Certificate:
    """Weights that prove the ends of a set's size: see `recon_cli.solve.dual_bounds`.

    Attributes:
        below: For each row of the program its weight in the lower bound of the size.
        above: Its weight in the lower bound of the size's negative.
    """

    below: IntArray
    above: IntArray


@dataclass(frozen=True)
class SettledSets:
    """What is known of the sizes of sets; bounds are valid in any case.

    Attributes:
        lower: No solution has less.
        upper: No solution has more.
        least: The least value in a known solution.
        greatest: The greatest value in a known solution.
        proof: For each set the place in `PROOFS` of the most that its bounds rest on.
        certificates: Of sets, by number, that are proven by ``rows`` or ``lp``.
        solutions: The known solutions.
        deterministic_time: Seconds.
    """

    lower: IntArray
    upper: IntArray
    least: IntArray
    greatest: IntArray
    proof: IntArray
    certificates: dict[int, Certificate]
    solutions: tuple[IntArray, ...]
    deterministic_time: float

    @property
    def is_undecided(self) -> BoolArray:
        """Whether the least value, or whether all solutions agree, is not known."""
        undecided: BoolArray = (self.lower < self.least) | (
            (self.least == self.greatest) & (self.greatest < self.upper)
        )
        return undecided


def settle(
    program: IntegerProgram,
    sets: Sets,
    known: tuple[IntArray, ...],
    effort: Effort,
    relaxation: LinearRelaxation | None = None,
) -> SettledSets:
    """The least size of each set, and its greatest one unless two solutions differ.

    Where the effort ends before, the bounds stay valid, and `least` lies above `lower`, or
    `greatest` below `upper`, though no two solutions differ.

    Args:
        program: The program of a unit.
        sets: The sets.
        known: Solutions, at least one.
        effort: Its limit is for everything together.
        relaxation: Of the program, if it was used before.

    Raises:
        DisagreementError: Two engines disagree.
        SolverError: An engine fails.
    """
    solver = LinearRelaxation(program) if relaxation is None else relaxation
    search = _Search(program, solver, sets, known, effort)
    search.combine_rows()
    search.bound_by_duals()
    search.look_near_ends()
    search.tighten()
    return search.result()


class _Search:
    """Bounds, known solutions and the effort that is left."""

    def __init__(
        self,
        program: IntegerProgram,
        relaxation: LinearRelaxation,
        sets: Sets,
        known: tuple[IntArray, ...],
        effort: Effort,
    ) -> None:
        self.program = program
        self.relaxation = relaxation
        # Matrices multiply fast in single precision, in which sums of so few people are exact.
        is_small = int(program.upper.sum()) < _SINGLE
        self.inner: FloatArray = sets.inner.astype(np.float32 if is_small else np.float64)
        self.outer = self.inner
        if sets.outer is not sets.inner:
            self.outer = sets.outer.astype(self.inner.dtype)
        self.lower = self._sums(self.inner, program.lower)
        self.upper = self._sums(self.outer, program.upper)
        self.proof = np.zeros(len(sets.inner), dtype=np.int64)
        self.certificates: dict[int, Certificate] = {}
        self.effort = effort
        self.elapsed = 0.0
        self.random = np.random.default_rng(effort.seed)
        self.solutions: list[IntArray] = []
        self.least = np.full(len(sets.inner), np.iinfo(np.int64).max)
        self.greatest = np.full(len(sets.inner), -1)
        for solution in known:
            self._add(solution)

    @property
    def left(self) -> float:
        return self.effort.limit - self.elapsed

    @property
    def is_open_below(self) -> BoolArray:
        """Whether the least size is not known."""
        is_open: BoolArray = self.lower < self.least
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Whether the greatest size is not known, and matters: the known solutions agree."""
        is_open: BoolArray = (self.greatest < self.upper) & (self.least == self.greatest)
        return is_open

    def combine_rows(self) -> None:
        """Settle the sets whose size is a sum and difference of equations."""
        whole = (self.inner == self.outer).all(axis=1)
        todo = np.flatnonzero((self.is_open_below | self.is_open_above) & whole)
        is_combination, weights = row_combinations(self.program, _integers(self.inner[todo]))
        for k, weight in zip(todo[is_combination].tolist(), weights[is_combination], strict=True):
            self.lower[k] = self.upper[k] = self.least[k]
            self._proven_by(k, Proof.ROWS)
            self.certificates[k] = Certificate(weight, -weight)

    def bound_by_duals(self) -> None:
        """Bound open ends by duals, one relaxation each, and keep the vertices that are whole."""
        nothing = np.zeros((len(self.lower), self.program.shape[0]), dtype=np.int64)
        below, above = nothing, nothing.copy()
        for sets, sign, weights in ((self.inner, 1, below), (self.outer, -1, above)):
            asked = []
            for k in range(len(sets)):
                is_open = self._is_open(k, sign)
                if not is_open or self.left <= 0:
                    continue
                vertex = self.relaxation.solve(sign * sets[k].astype(np.float64), self.left)
                self.elapsed += vertex.deterministic_time
                if len(vertex.values):
                    self._try(vertex.values)
                weights[k] = rounded_weights(self.program, vertex)
                asked.append(k)
            if not asked:
                continue
            bounds = weighted_bounds(self.program, sign * _integers(sets[asked]), weights[asked])
            is_better = bounds > (self.lower if sign > 0 else -self.upper)[asked]
            better, worse = np.array(asked, dtype=np.int64)[is_better], ~is_better
            (self.lower if sign > 0 else self.upper)[better] = sign * bounds[is_better]
            weights[np.array(asked, dtype=np.int64)[worse]] = 0
        for k in np.flatnonzero(below.any(axis=1) | above.any(axis=1)).tolist():
            self._proven_by(k, Proof.LP)
            self.certificates[k] = Certificate(below[k], above[k])

    def look_near_ends(self) -> None:
        """Look for solutions that reach the ends which duals leave open, before engines are asked.

        Such an end is a vertex that is not whole: others beside it may be.
        """
        for k in np.flatnonzero(self.is_open_below | self.is_open_above).tolist():
            for sign, sets in ((1, self.inner), (-1, self.outer)):
                for _ in range(_NEAR):
                    if not self._is_open(k, sign) or self.left <= 0:
                        break
                    noise = _NEAR_NOISE * self.random.random(self.program.shape[1])
                    vertex = self.relaxation.solve(sign * sets[k] + noise, self.left)
                    self.elapsed += vertex.deterministic_time
                    if len(vertex.values):
                        self._try(vertex.values)

    def tighten(self) -> None:
        """Ask two engines about what is left."""
        for sign, sets in ((1, self.inner), (-1, self.outer)):
            todo = np.flatnonzero(self.is_open_below if sign > 0 else self.is_open_above)
            if not len(todo) or self.left <= 0:
                continue
            functionals = LinearFunctionals(
                sparse.csr_array(_integers(sets[todo])), self.lower[todo], self.upper[todo]
            )
            effort = Effort(self.effort.seed, self.left, self.effort.search)
            tight = tighten_bounds(
                self.program,
                functionals,
                self.solutions,
                effort,
                Ends.LOWER if sign > 0 else Ends.UPPER,
            )
            self.elapsed += tight.deterministic_time
            for solution in tight.solutions:
                self._add(solution)
            if sign > 0:
                self.lower[todo], certified = tight.lower, tight.is_lower_certified
            else:
                self.upper[todo], certified = tight.upper, tight.is_upper_certified
            for k in todo[certified].tolist():
                self._proven_by(k, Proof.SOLVER)
                self.certificates.pop(k, None)

    def _is_open(self, k: int, sign: int) -> bool:
        """Whether one end of a set is open: see `is_open_below` and `is_open_above`."""
        if sign > 0:
            return bool(self.lower[k] < self.least[k])
        return bool(self.least[k] == self.greatest[k] < self.upper[k])

    def _proven_by(self, k: int, proof: Proof) -> None:
        self.proof[k] = max(int(self.proof[k]), PROOFS.index(proof))

    def _try(self, point: npt.NDArray[np.float64]) -> None:
        """Keep a point of the relaxation if it is a solution once rounded."""
        values = np.rint(point).astype(np.int64)
        if self.program.is_feasible(values):
            self._add(values)

    def _add(self, solution: IntArray) -> None:
        least = self._sums(self.inner, solution)
        greatest = least if self.outer is self.inner else self._sums(self.outer, solution)
        if (least < self.least).any() or (greatest > self.greatest).any():
            self.least = np.minimum(self.least, least)
            self.greatest = np.maximum(self.greatest, greatest)
            self.solutions.append(solution)

    def _sums(self, sets: FloatArray, values: IntArray) -> IntArray:
        sums: IntArray = np.rint(sets @ values.astype(sets.dtype)).astype(np.int64)
        return sums

    def result(self) -> SettledSets:
        return SettledSets(
            lower=self.lower,
            upper=self.upper,
            least=self.least,
            greatest=self.greatest,
            proof=self.proof,
            certificates=self.certificates,
            solutions=tuple(self.solutions),
            deterministic_time=round(self.elapsed, 9),
        )


def _integers(sets: FloatArray) -> IntArray:
    return sets.astype(np.int64)
