"""The least number of each record over all solutions of a place's program.

Most records are missing in some solution. So the search first looks for solutions that lack as many
as possible, among the variables that the relaxation makes likely. Duals, added up in integers,
prove most of the rest; case splits prove what duals do not; two engines come last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.joint.cases import prove_by_cases
from recon_cli.capabilities.joint.sifting import SiftedRelaxation, likely_variables, solution_among
from recon_cli.model.ledger import Combination, Confirmation, Ledger
from recon_cli.model.program import ConnectedParts, IntegerProgram, LinearConstraints, with_rows
from recon_cli.solve.certificates import CONFIRMATION, confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, find_feasible
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import Vertex

#: Solutions in a row that refute nothing, after which records are asked for one at a time.
_DRY = 2
#: Weight of random costs beside records: they only choose among equal vertices.
_NOISE = 1e-3
#: Records' random costs as whole numbers: from one to so many.
_STEPS = 10
#: Deterministic seconds for a solution that lacks many records, and for one that lacks one.
_MANY, _ONE = 0.5, 1.0
#: Variables for each row among which solutions are looked for: at first, and at last.
_FEW, _MORE = 2, 8
#: Deterministic seconds of proofs by cases, of each record.
_CASES = 5.0


@dataclass(frozen=True)
class Start:
    """The bounds and solutions known before the search.

    Attributes:
        known: Solutions, at least one.
        likely: Variables that the relaxation makes likely; none is fine.
    """

    known: list[IntArray]
    likely: IntArray


def least_records(
    program: IntegerProgram, sums: sparse.csr_array, start: Start, effort: Effort
) -> Ledger:
    """Find the least value of each sum of variables, within the budget.

    Args:
        sums: Sparse (sums × variables) of ones.
        start: Initial bounds and solutions.
        effort: Budget for everything together.
    """
    ledger = Ledger(program, sums, start.known)
    if ledger.is_open_below.any():
        search = _Search(ledger, start.likely, effort)
        search.refute()
        for k in np.flatnonzero(ledger.is_open_below).tolist():
            search.settle(k)
    return ledger


class _Search:
    """A ledger of least values, and the remaining budget."""

    def __init__(self, ledger: Ledger, likely: IntArray, effort: Effort) -> None:
        program = ledger.program
        self.ledger, self.program, self.effort = ledger, program, effort
        self.random = np.random.default_rng(effort.seed)
        used = np.flatnonzero(np.any(ledger.known, axis=0))
        self.relaxation = SiftedRelaxation(program, np.union1d(likely, used))
        self.added = WeightedRows(program, ConnectedParts.whole(program))

    @property
    def left(self) -> float:
        """Return the remaining deterministic seconds."""
        return self.effort.limit - self.ledger.effort

    def _spent(self, seconds: float) -> None:
        self.ledger.effort = round(self.ledger.effort + seconds, 9)

    def _within(self, seconds: float) -> Effort:
        return replace(self.effort, limit=min(seconds, self.left))

    def _vertex(self, cost: FloatArray) -> Vertex:
        vertex = self.relaxation.solve(cost, self.left)
        self._spent(vertex.deterministic_time)
        return vertex

    def refute(self) -> None:
        """Search for solutions that lack as many of the open records as possible."""
        ledger, dry = self.ledger, 0
        by_variable = sparse.csr_array(ledger.functionals.T)
        while dry < _DRY and self.left > 0 and ledger.is_open_below.any():
            wanted = self.random.integers(1, _STEPS, len(ledger.least), endpoint=True)
            asked: IntArray = by_variable @ (wanted * ledger.is_open_below)
            cost = asked + _NOISE * self.random.random(len(asked))
            vertex = self._vertex(cost)
            is_new = len(vertex.values) > 0 and self._look_near(vertex, cost, asked)
            dry = 0 if is_new else dry + 1

    def _look_near(self, vertex: Vertex, cost: FloatArray, asked: IntArray) -> bool:
        """Test whether a solution at or near a vertex has any new value."""
        solution = self.program.rounded(vertex.values)
        if not len(solution):
            among = self._among(vertex, cost, _FEW, self.ledger.known[-1])
            solution, seconds = solution_among(self.program, among, asked, self._within(_MANY))
            self._spent(seconds)
        return len(solution) > 0 and self._keep(solution)

    def _keep(self, solution: IntArray) -> bool:
        """Keep a solution with a smaller sum than known; return whether it has one."""
        is_less = (self.ledger.functionals @ solution < self.ledger.least).any()
        return bool(is_less) and self.ledger.add_solution(solution)

    def _among(self, vertex: Vertex, cost: FloatArray, times: int, known: IntArray) -> IntArray:
        """Select likely variables, and those of a known solution."""
        likely = likely_variables(self.program, cost, vertex, times)
        return np.union1d(likely, np.flatnonzero(known))

    def settle(self, k: int) -> None:
        """Find the least value of one sum, by a proof or solutions with less."""
        while self.ledger.is_open(k, 1) and self.left > 0 and self._step(k):
            pass

    def _step(self, k: int) -> bool:
        """Search for a solution with a smaller sum, and proofs; return whether one was found."""
        ledger, functional = self.ledger, self.ledger.coefficients(k)
        vertex = self._vertex(functional.astype(np.float64))
        if not len(vertex.values):
            return False
        weights = whole_weights(vertex.duals)
        bound = int(self.added.bounds(functional, weights)[0])
        if bound > ledger.proven(k, 1):
            ledger.prove(k, 1, bound, Combination.of(SCALE, weights))
        if not ledger.is_open(k, 1):
            return False
        solution = self.program.rounded(vertex.values)
        if len(solution) and self._keep(solution):
            return True
        return self._look_below(k, vertex, functional) or self._prove(k, functional)

    def _look_below(self, k: int, vertex: Vertex, functional: IntArray) -> bool:
        """Search among likely variables for a solution with a smaller sum."""
        fewer = self._fewer(k, functional)
        for times in (_FEW, _MORE):
            among = self._among(vertex, functional.astype(np.float64), times, self.ledger.known[0])
            solution, seconds = solution_among(fewer, among, None, self._within(_ONE))
            self._spent(seconds)
            if len(solution):
                return self._keep(solution)
        return False

    def _fewer(self, k: int, functional: IntArray) -> IntegerProgram:
        """Restrict the program to solutions with a smaller sum than known."""
        row = sparse.csr_array(functional[None])
        proven, most = self.ledger.proven(k, 1), int(self.ledger.least[k]) - 1
        return with_rows(self.program, LinearConstraints(row, np.array([proven]), np.array([most])))

    def _prove(self, k: int, functional: IntArray) -> bool:
        """Prove by cases, or by two engines, that no solution has less; or find one that has."""
        ledger, least = self.ledger, int(self.ledger.least[k])
        found = prove_by_cases(self.program, functional, least, self._within(_CASES).limit)
        self._spent(found.deterministic_time)
        if found.why is not None:
            ledger.prove(k, 1, least, found.why)
            return False
        if len(found.solution):
            return self._keep(found.solution)
        fewer = self._fewer(k, functional)
        answer = find_feasible(fewer, self._within(self.left))
        self._spent(answer.deterministic_time)
        if answer.status is Status.INFEASIBLE and confirm_infeasible(fewer, CONFIRMATION):
            ledger.prove(k, 1, least, Confirmation())
        return len(answer.values) > 0 and self._keep(answer.values)
