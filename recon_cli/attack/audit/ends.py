"""Least and greatest values of many functionals: solutions first, then proofs.

In this order, from cheap to expensive: vertices of the linear relaxation for random costs, each of
which moves many functionals at once; a proof for all that none of them moved; duals for the ends
that are left, one functional of each connected part at a time; and for functionals of which it is
still unknown whether they are constant, bound tightening by two engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.attack.audit.functionals import DistinctFunctionals
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, activity_bounds, connected_parts
from recon_cli.solve.bound_tightening import tighten_bounds
from recon_cli.solve.constancy import prove_constant
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.dual_bounds import SAFE, SCALE, largest_sums
from recon_cli.solve.linear_relaxation import FloatArray, LinearRelaxation
from recon_cli.solve.objectives import LinearFunctionals

BoolArray = npt.NDArray[np.bool_]

#: Vertices in a row that move nothing, after which random costs are given up.
_DRY = 3
#: How much a random cost decides beside functionals: only among vertices that are equal else.
_NOISE = 1e-3
#: Share of the effort that ends may take; the rest is for what is not known to be constant.
_ENDS = 0.5


@dataclass(frozen=True)
class FunctionalEnds:
    """What is known of functionals; no solution is outside ``lower`` and ``upper``.

    Attributes:
        lower: No solution has less.
        upper: No solution has more.
        least: The least value in a known solution.
        greatest: The greatest value in a known solution.
        deterministic_time: Seconds.
    """

    lower: IntArray
    upper: IntArray
    least: IntArray
    greatest: IntArray
    deterministic_time: float


def find_ends(
    program: IntegerProgram, functionals: DistinctFunctionals, known: IntArray, effort: Effort
) -> FunctionalEnds:
    """The least and the greatest value of each functional: Eq. (ends).

    Where the effort ends before, ``lower`` and ``upper`` are valid bounds.

    Args:
        program: The program.
        functionals: What is asked.
        known: A solution.
        effort: Its limit is for everything together.

    Raises:
        DisagreementError: Two engines disagree.
        SolverError: An engine fails.
    """
    search = _Search(program, functionals, known, effort)
    search.explore()
    search.prove_constants()
    search.bound_undecided()
    search.bound_ends()
    search.tighten_undecided()
    return search.result()


def find_witnesses(
    program: IntegerProgram, functionals: DistinctFunctionals, known: IntArray, effort: Effort
) -> FunctionalEnds:
    """Solutions in which functionals differ, or proofs that all solutions agree.

    As `find_ends`, but ends are left where they are once a functional is known to vary.
    """
    search = _Search(program, functionals, known, effort)
    search.explore()
    search.prove_constants()
    search.bound_undecided()
    search.tighten_undecided()
    return search.result()


class _Search:
    """The bounds so far, the values of known solutions, and the effort that is left."""

    def __init__(
        self,
        program: IntegerProgram,
        functionals: DistinctFunctionals,
        known: IntArray,
        effort: Effort,
    ) -> None:
        self.program = program
        self.relaxation = LinearRelaxation(program)
        self.known = known
        self.C = functionals.coefficients
        self.transposed = sparse.csr_array(self.C.T)
        self.part = functionals.part
        self.part_of_row, self.part_of_variable = connected_parts(program.constraints.A)
        self.parts = int(self.part_of_variable.max(initial=-1)) + 1
        self.lower, self.upper = activity_bounds(self.C, program.lower, program.upper)
        self.least = self.C @ known
        self.greatest = self.least.copy()
        self.effort = effort
        self.elapsed = 0.0
        self.random = np.random.default_rng(effort.seed)

    @property
    def left(self) -> float:
        """Deterministic seconds that are left."""
        return self.effort.limit - self.elapsed

    @property
    def is_open(self) -> BoolArray:
        """Whether some end is not known exactly."""
        is_open: BoolArray = (self.lower < self.least) | (self.greatest < self.upper)
        return is_open

    @property
    def is_undecided(self) -> BoolArray:
        """Whether it is not known if all solutions agree."""
        undecided: BoolArray = (self.least == self.greatest) & (self.lower < self.upper)
        return undecided

    def explore(self) -> None:
        """Move as many functionals as possible at once, at random which way.

        First all open ends; then those that no solution has moved yet, which would not be worth
        what others cost.
        """
        self._move(lambda: self.is_open)
        self._move(lambda: self.is_undecided)

    def _move(self, wanted: Callable[[], BoolArray]) -> None:
        dry = 0
        while dry < _DRY and self.left > 0 and (todo := np.flatnonzero(wanted())).size:
            sign = self.random.choice([-1.0, 1.0], len(todo))
            sign[self.lower[todo] == self.least[todo]] = -1.0
            sign[self.upper[todo] == self.greatest[todo]] = 1.0
            cost = np.zeros(len(self.part))
            cost[todo] = sign
            noise = _NOISE * self.random.random(self.program.shape[1])
            dry = 0 if self._try_vertex(self.transposed @ cost + noise) else dry + 1

    def prove_constants(self) -> None:
        """Prove many at once that functionals are constant, as long as that settles most."""
        tight = None
        while self.left > 0 and (k := np.flatnonzero(self.is_undecided)).size:
            seed = int(self.random.integers(2**31))
            coefficients = sparse.csr_array(self.C[k])
            shown = prove_constant(
                self.program, coefficients, tight, self.relaxation, seed=seed, limit=self.left
            )
            self.elapsed += shown.deterministic_time
            fixed = k[shown.is_constant]
            self.lower[fixed] = self.upper[fixed] = self.least[fixed]
            for vertex in shown.vertices:
                self._try(vertex)
            tight = shown.tight
            if 2 * np.count_nonzero(self.is_undecided) > len(k):
                return

    def bound_undecided(self) -> None:
        """Bound by duals what is not known to vary."""
        self._bound_widest(lambda: self.is_undecided, 0.0)

    def bound_ends(self) -> None:
        """Bound open ends by duals, as far as half of the effort goes."""
        self._bound_widest(lambda: self.is_open, self.left * (1 - _ENDS))

    def _bound_widest(self, wanted: Callable[[], BoolArray], reserve: float) -> None:
        """The widest gap of each part at a time; the vertices are shared."""
        untried = np.ones((2, len(self.part)), dtype=bool)
        while self.left > reserve:
            gaps = np.stack([self.least - self.lower, self.upper - self.greatest])
            gaps *= untried & wanted()
            widest = gaps.max(axis=0, initial=0)
            order = np.lexsort((widest, self.part))
            chosen = order[np.flatnonzero(np.diff(self.part[order], append=-1))]
            chosen = chosen[widest[chosen] > 0]
            if not len(chosen):
                return
            is_upper = gaps[1, chosen] > gaps[0, chosen]
            untried[is_upper.astype(int), chosen] = False
            self._bound(chosen, np.where(is_upper, -1, 1))

    def tighten_undecided(self) -> None:
        """Ask two engines whether functionals are constant that nothing else decided."""
        k = np.flatnonzero(self.is_undecided)
        if not len(k) or self.left <= 0:
            return
        functionals = LinearFunctionals(sparse.csr_array(self.C[k]), self.lower[k], self.upper[k])
        effort = Effort(self.effort.seed, self.left, self.effort.search)
        found = tighten_bounds(self.program, functionals, [self.known], effort)
        self.elapsed += found.deterministic_time
        self.lower[k], self.upper[k] = found.lower, found.upper
        self.least[k], self.greatest[k] = found.least, found.greatest

    def _bound(self, chosen: IntArray, sign: IntArray) -> None:
        """Bound ``sign`` times some functionals from below, at most one of each part."""
        signs = np.zeros(len(self.part), dtype=np.int64)
        signs[chosen] = sign
        objective = self.transposed @ signs
        vertex = self.relaxation.solve(objective.astype(np.float64), self.left)
        self.elapsed += vertex.deterministic_time
        if not len(vertex.values):
            return
        self._try(vertex.values)
        weights = np.rint(SCALE * vertex.duals).astype(np.int64)
        bound = self._weighted_bounds(objective, weights)[self.part[chosen]]
        low, high = chosen[sign > 0], chosen[sign < 0]
        self.lower[low] = np.maximum(self.lower[low], bound[sign > 0])
        self.upper[high] = np.minimum(self.upper[high], -bound[sign < 0])

    def _weighted_bounds(self, objective: IntArray, weights: IntArray) -> IntArray:
        """Eq. (dual), part by part; without weights where the sums might not fit into 64 bits."""
        if largest_sums(self.program, objective[None], weights[None])[0] >= SAFE:
            weights = np.zeros_like(weights)
        rows, bounds = self.program.constraints, np.zeros(self.parts, dtype=np.int64)
        of_rows = np.where(weights > 0, weights * rows.least, weights * rows.most)
        rest = SCALE * objective - rows.A.T @ weights
        of_variables = np.where(rest > 0, rest * self.program.lower, rest * self.program.upper)
        np.add.at(bounds, self.part_of_row, of_rows)
        np.add.at(bounds, self.part_of_variable, of_variables)
        return -(-bounds // SCALE)

    def _try_vertex(self, cost: FloatArray) -> bool:
        """Whether the vertex of least cost moves anything."""
        vertex = self.relaxation.solve(cost, self.left)
        self.elapsed += vertex.deterministic_time
        return bool(len(vertex.values)) and self._try(vertex.values)

    def _try(self, point: FloatArray) -> bool:
        """Whether the parts of a point that are solutions once rounded move anything."""
        rows, values = self.program.constraints, np.rint(point).astype(np.int64)
        total = rows.A @ values
        is_solution = np.ones(self.parts, dtype=bool)
        is_solution[self.part_of_row[(total < rows.least) | (total > rows.most)]] = False
        outside = (values < self.program.lower) | (values > self.program.upper)
        is_solution[self.part_of_variable[outside]] = False
        found, here = self.C @ values, is_solution[self.part]
        less, more = here & (found < self.least), here & (found > self.greatest)
        self.least[less], self.greatest[more] = found[less], found[more]
        return bool(less.any() or more.any())

    def result(self) -> FunctionalEnds:
        return FunctionalEnds(
            self.lower, self.upper, self.least, self.greatest, round(self.elapsed, 9)
        )
