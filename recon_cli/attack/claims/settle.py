"""Least and greatest values of many functionals of one unit: refuted by solutions, or proven.

In this order, from cheap to expensive: the bounds of the cells, sums of rows, solutions that
differ, duals of the linear relaxation, and bound tightening by two engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.bound_tightening import tighten_bounds
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.dual_bounds import least_value, row_combinations
from recon_cli.solve.linear_relaxation import LinearRelaxation
from recon_cli.solve.objectives import LinearFunctionals

BoolArray = npt.NDArray[np.bool_]

#: Vertices in a row that refute nothing, after which no further ones are looked for.
_DRY = 4
#: How much a random cost decides beside a functional: only among vertices that are equal else.
_NOISE = 1e-3
#: Vertices near an end that is not reached, and how much a random cost decides there.
_NEAR = 8
_NEAR_NOISE = 0.1


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
class Certificate:
    """Weights that prove the ends of a functional: see `recon_cli.solve.dual_bounds`.

    Attributes:
        below: For each row of the program its weight in the lower bound of the functional.
        above: Its weight in the lower bound of the functional's negative.
    """

    below: IntArray
    above: IntArray


@dataclass(frozen=True)
class SettledFunctionals:
    """What is known of functionals; bounds are valid in any case.

    Attributes:
        lower: No solution has less.
        upper: No solution has more.
        least: The least value in a known solution.
        greatest: The greatest value in a known solution.
        proof: For each functional the place in `PROOFS` of the most that its bounds rest on.
        certificates: Of functionals, by number, that are proven by ``rows`` or ``lp``.
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
    program: IntegerProgram, functionals: IntArray, known: tuple[IntArray, ...], effort: Effort
) -> SettledFunctionals:
    """The least value of each functional, and its greatest one unless two solutions differ.

    Where the effort ends before, the bounds stay valid, and `least` lies above `lower`, or
    `greatest` below `upper`, though no two solutions differ.

    Args:
        program: The program of a unit.
        functionals: (functionals × variables) integer coefficients, each row once.
        known: Solutions, at least one.
        effort: Its limit is for everything together.

    Raises:
        DisagreementError: Two engines disagree.
        SolverError: An engine fails.
    """
    search = _Search(program, functionals, known, effort)
    search.combine_rows()
    search.refute()
    search.bound_by_duals()
    search.look_near_ends()
    search.tighten()
    return search.result()


class _Search:
    """Bounds, known solutions and the effort that is left."""

    def __init__(
        self,
        program: IntegerProgram,
        functionals: IntArray,
        known: tuple[IntArray, ...],
        effort: Effort,
    ) -> None:
        self.program = program
        self.relaxation = LinearRelaxation(program)
        self.C = functionals
        positive, negative = np.maximum(functionals, 0), np.minimum(functionals, 0)
        low, high = program.lower, program.upper
        self.lower: IntArray = (positive @ low + negative @ high).astype(np.int64)
        self.upper: IntArray = (positive @ high + negative @ low).astype(np.int64)
        self.proof = np.zeros(len(functionals), dtype=np.int64)
        self.certificates: dict[int, Certificate] = {}
        self.effort = effort
        self.elapsed = 0.0
        self.random = np.random.default_rng(effort.seed)
        self.solutions = list(known)
        values = functionals @ np.stack(known, axis=1)
        self.least, self.greatest = values.min(axis=1), values.max(axis=1)

    @property
    def left(self) -> float:
        return self.effort.limit - self.elapsed

    @property
    def is_constant(self) -> BoolArray:
        """Whether the known solutions agree."""
        constant: BoolArray = self.least == self.greatest
        return constant

    @property
    def is_open_below(self) -> BoolArray:
        """Whether the least value is not known."""
        is_open: BoolArray = self.lower < self.least
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Whether the greatest value is not known, and matters."""
        is_open: BoolArray = (self.greatest < self.upper) & self.is_constant
        return is_open

    def combine_rows(self) -> None:
        """Settle the functionals that are sums and differences of equations."""
        todo = np.flatnonzero(self.is_open_below | self.is_open_above)
        is_combination, weights = row_combinations(self.program, self.C[todo])
        for k, weight in zip(todo[is_combination].tolist(), weights[is_combination], strict=True):
            self.lower[k] = self.upper[k] = self.least[k]
            self._proven_by(k, Proof.ROWS)
            self.certificates[k] = Certificate(weight, -weight)

    def refute(self) -> None:
        """Look for solutions in which functionals differ that agree in the known ones."""
        dry = 0
        while dry < _DRY and self.left > 0:
            todo = np.flatnonzero((self.is_open_below | self.is_open_above) & self.is_constant)
            if not len(todo):
                return
            sign = self.random.choice([-1.0, 1.0], len(todo))
            vertex = self.relaxation.solve(sign @ self.C[todo] + self._noise(), self.left)
            self.elapsed += vertex.deterministic_time
            if not len(vertex.values):
                return
            self._try(vertex.values)
            dry = dry + 1 if self.is_constant[todo].all() else 0

    def bound_by_duals(self) -> None:
        """Bound open ends by duals, one relaxation each, and keep the vertices that are whole."""
        for k in np.flatnonzero(self.is_open_below | self.is_open_above).tolist():
            weights = [np.zeros(self.program.shape[0], dtype=np.int64) for _ in range(2)]
            for sign, is_open in ((1, self.is_open_below), (-1, self.is_open_above)):
                if not is_open[k] or self.left <= 0:
                    continue
                end = least_value(self.program, sign * self.C[k], self.left, self.relaxation)
                self.elapsed += end.deterministic_time
                if len(end.vertex):
                    self._try(end.vertex)
                if sign > 0 and end.bound > self.lower[k]:
                    self.lower[k], weights[0] = end.bound, end.weights
                elif sign < 0 and -end.bound < self.upper[k]:
                    self.upper[k], weights[1] = -end.bound, end.weights
            if weights[0].any() or weights[1].any():
                self._proven_by(k, Proof.LP)
                self.certificates[k] = Certificate(*weights)

    def look_near_ends(self) -> None:
        """Look for solutions that reach the ends which duals leave open, before engines are asked.

        Such an end is a vertex that is not whole: others beside it may be.
        """
        for k in np.flatnonzero(self.is_open_below | self.is_open_above).tolist():
            for sign in (1, -1):
                for _ in range(_NEAR):
                    is_open = self.is_open_below if sign > 0 else self.is_open_above
                    if not is_open[k] or self.left <= 0:
                        break
                    noise = _NEAR_NOISE * self.random.random(self.program.shape[1])
                    vertex = self.relaxation.solve(sign * self.C[k] + noise, self.left)
                    self.elapsed += vertex.deterministic_time
                    if len(vertex.values):
                        self._try(vertex.values)

    def tighten(self) -> None:
        """Ask two engines about what is left."""
        todo = np.flatnonzero(self.is_open_below | self.is_open_above)
        if not len(todo) or self.left <= 0:
            return
        functionals = LinearFunctionals(
            sparse.csr_array(self.C[todo]), self.lower[todo], self.upper[todo]
        )
        effort = Effort(self.effort.seed, self.left, self.effort.search)
        tight = tighten_bounds(self.program, functionals, self.solutions, effort)
        self.elapsed += tight.deterministic_time
        for solution in tight.solutions:
            self._add(solution)
        self.lower[todo], self.upper[todo] = tight.lower, tight.upper
        for k in todo[tight.is_lower_certified | tight.is_upper_certified].tolist():
            self._proven_by(k, Proof.SOLVER)
            self.certificates.pop(k, None)

    def _noise(self) -> npt.NDArray[np.float64]:
        return _NOISE * self.random.random(self.program.shape[1])

    def _proven_by(self, k: int, proof: Proof) -> None:
        self.proof[k] = max(int(self.proof[k]), PROOFS.index(proof))

    def _try(self, point: npt.NDArray[np.float64]) -> None:
        """Keep a point of the relaxation if it is a solution once rounded."""
        values = np.rint(point).astype(np.int64)
        if self.program.is_feasible(values):
            self._add(values)

    def _add(self, solution: IntArray) -> None:
        values = self.C @ solution
        if ((values < self.least) | (values > self.greatest)).any():
            self.least = np.minimum(self.least, values)
            self.greatest = np.maximum(self.greatest, values)
            self.solutions.append(solution)

    def result(self) -> SettledFunctionals:
        return SettledFunctionals(
            lower=self.lower,
            upper=self.upper,
            least=self.least,
            greatest=self.greatest,
            proof=self.proof,
            certificates=self.certificates,
            solutions=tuple(self.solutions),
            deterministic_time=round(self.elapsed, 9),
        )
