"""The least number of each record over all solutions of a place's program.

Most records are missing in some solution. So the search first looks for solutions that lack as many
as possible, among the variables that the relaxation makes likely. Duals, added up in integers,
prove most of the rest; case splits prove what duals do not; two engines come last.

Proofs by cases are branch and bound over the linear relaxation, whose every leaf is a sum of rows
in integers: duals if the case has a point, and a dual ray if it has none. So the tree is a proof
that can be recomputed without trusting an engine (Wolsey 1998).

See *proof by cases* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.joint.sifting import SiftedRelaxation, likely_variables, solution_among
from recon_cli.model.ledger import Cases, Combination, Confirmation, Ledger
from recon_cli.model.program import ConnectedParts, IntegerProgram, LinearConstraints, with_rows
from recon_cli.solve.certificates import CONFIRMATION, confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, find_feasible
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import WHOLE, LinearRelaxation, Vertex

#: Consecutive solutions that refute nothing, after which each record is searched alone.
_DRY = 2
#: Weight of random costs beside those of records: they only choose among tied vertices.
_NOISE = 1e-3
#: Records' random costs as whole numbers: from one to this many.
_STEPS = 10
#: Deterministic seconds for a solution that lacks many records, and for one that lacks one.
_MANY, _ONE = 0.5, 1.0
#: Variables for each row among which a solution is sought: at first, and at last.
_FEW, _MORE = 2, 8
#: Deterministic seconds of proofs by cases, of each record.
_CASES = 5.0
#: Most cases that are examined, and the greatest depth of cases within cases.
_NODES, _DEPTH = 400, 40
#: Multiples of a ray that are tried.
_MULTIPLES = (1, 4, 16, 64, 256, 1024)


@dataclass(frozen=True)
class Start:
    """The bounds and solutions known before the search.

    Attributes:
        known: Solutions, at least one.
        likely: Variables that the relaxation makes likely; may be empty.
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


@dataclass(frozen=True)
class CaseSearch:
    """The result of a search by cases.

    Attributes:
        why: The proof; None where there is none.
        solution: A solution below the bound; empty if none was found.
        deterministic_time: Seconds.
    """

    why: Combination | Cases | None
    solution: IntArray
    deterministic_time: float


def prove_by_cases(
    program: IntegerProgram, functional: IntArray, bound: int, limit: float
) -> CaseSearch:
    """Prove that no solution's ``functional @ x`` is below a bound, or find one: Eq. (cases).

    Args:
        functional: Integer coefficient of each variable, none below 0.
        limit: Deterministic seconds.
    """
    tree = _Tree(program, functional, bound, limit)
    why = tree.below(program, _DEPTH)
    return CaseSearch(why, tree.solution, round(limit - tree.left, 9))


class _Tree:
    def __init__(
        self, program: IntegerProgram, functional: IntArray, bound: int, limit: float
    ) -> None:
        self.functional, self.bound, self.left = functional, bound, limit
        self.nodes = _NODES
        self.solution: IntArray = np.empty(0, dtype=np.int64)
        self._cost = functional.astype(np.float64)
        self._relaxation = LinearRelaxation(program)
        self._added = WeightedRows(program, ConnectedParts.whole(program))

    def below(self, program: IntegerProgram, depth: int) -> Combination | Cases | None:
        """Prove the bound within the bounds of one case; None if that fails."""
        self.nodes -= 1
        self._relaxation.narrow(program.lower, program.upper)
        vertex = self._relaxation.solve(self._cost, self.left)
        self.left -= vertex.deterministic_time
        if not len(vertex.values):
            return self._refuted(program, self._relaxation.refutation())
        why = self._leaf(program, vertex.duals)
        if why is not None:
            return why
        apart = np.abs(vertex.values - np.rint(vertex.values))
        variable = int(apart.argmax())
        solution = program.rounded(vertex.values)
        if len(solution) and int(self.functional @ solution) < self.bound:
            self.solution = solution
        if len(self.solution) or apart[variable] < WHOLE or not depth or self.nodes < 0:
            return None
        return self._cases(program, variable, int(vertex.values[variable]), depth)

    def _cases(self, program: IntegerProgram, variable: int, most: int, depth: int) -> Cases | None:
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[variable], upper[variable] = most + 1, most
        above = self.below(replace(program, lower=lower), depth - 1)
        below = None if above is None else self.below(replace(program, upper=upper), depth - 1)
        return None if above is None or below is None else Cases(variable, most, below, above)

    def _refuted(self, program: IntegerProgram, ray: FloatArray) -> Combination | None:
        """Refute a case by a ray, scaled so that the functional does not matter."""
        if not len(ray) or not np.isfinite(ray).all() or not np.abs(ray).max(initial=0):
            return None
        ray = ray / np.abs(ray).max()
        for multiple in _MULTIPLES:
            why = self._leaf(program, multiple * ray)
            if why is not None:
                return why
        return None

    def _leaf(self, program: IntegerProgram, duals: FloatArray) -> Combination | None:
        weights = whole_weights(duals)
        if not self._added.has_room(self.functional, weights):
            return None
        rest = self._added.rest(self.functional, weights)
        rows = program.constraints
        total = int(np.where(weights > 0, weights * rows.least, weights * rows.most).sum())
        total += int(np.where(rest > 0, rest * program.lower, rest * program.upper).sum())
        return Combination.of(SCALE, weights) if -(-total // SCALE) >= self.bound else None
