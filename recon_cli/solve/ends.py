"""Steps that fill a ledger: solutions that attain bounds, and proofs that none exceeds them.

Each question (audit, claims, leave-one-out) takes these steps in its own order, by increasing cost.
All results go to the ledger: each proof as a combination of rows or as the agreement of two
engines, and each value with its solution.

The last step is bound tightening by two engines. It searches for solutions that attain as many open
bounds as possible: attained bounds are exact. If both engines agree that no solution attains any,
all bounds move in by one, and the bound farthest from the known solutions is optimised by itself.

See *end* and *bound tightening* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Flag

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.ledger import Combination, Confirmation, Grounds, Ledger, Witness
from recon_cli.model.program import (
    ConnectedParts,
    IntegerProgram,
    LinearConstraints,
    connected_parts,
    connected_subset,
    with_rows,
)
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.constancy import combinations, prove_constant
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, row_combinations, whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex
from recon_cli.solve.objectives import LinearFunctionals, interval_ends

#: Successive vertices without a new value, after which random costs are given up.
_DRY = 3
#: Size of random costs of variables, which only decide between otherwise equal vertices.
_NOISE = 1e-3


#: Seconds for the second engine to confirm one end; after that the end stays open.
_CONFIRMATION = 240.0


class Ends(Flag):
    """The ends of functionals that are asked for."""

    LOWER = 1
    UPPER = 2
    BOTH = LOWER | UPPER


class EndSearch:
    """A ledger being filled, with the remaining budget."""

    def __init__(
        self,
        ledger: Ledger,
        effort: Effort,
        parts: ConnectedParts | None = None,
        relaxation: LinearRelaxation | None = None,
    ) -> None:
        """Prepare a search.

        Args:
            effort: Its limit holds for the whole search.
            parts: Parts in which solutions and proofs are sought separately; each functional
                lies in one part. Default the whole program.
            relaxation: Relaxation of the program, if it was used before.
        """
        program = ledger.program
        self.ledger, self.effort = ledger, effort
        self.parts = ConnectedParts.whole(program) if parts is None else parts
        self.relaxation = LinearRelaxation(program) if relaxation is None else relaxation
        self.added = WeightedRows(program, self.parts)
        self.random = np.random.default_rng(effort.seed)
        C = ledger.functionals
        self._transposed = sparse.csr_array(C.T)
        #: The part of each functional.
        self.part: IntArray = np.zeros(C.shape[0], dtype=np.int64)
        filled = np.flatnonzero(np.diff(C.indptr))
        self.part[filled] = self.parts.of_variable[C.indices[C.indptr[filled]]]

    @property
    def left(self) -> float:
        """Return the remaining deterministic seconds."""
        return self.effort.limit - self.ledger.effort

    def vertex(self, cost: FloatArray) -> tuple[Vertex, bool]:
        """Return the vertex of least cost, and whether its solution has any new value."""
        vertex = self.relaxation.solve(cost, self.left)
        self.ledger.effort += vertex.deterministic_time
        return vertex, bool(len(vertex.values)) and self.look_at(vertex.values)

    def look_at(self, point: FloatArray) -> bool:
        """Record a point in parts where it rounds to a solution; return whether a value is new."""
        known = self.ledger.known[0]
        solution = self.parts.rounded(point, known)
        witness = Witness.of(0, solution - known)
        is_other = len(witness.columns) > 0
        return is_other and self.ledger.see(self.ledger.functionals @ solution, witness)

    def move(self, wanted: Callable[[], BoolArray]) -> None:
        """Find vertices with new values of many wanted functionals, in random directions."""
        ledger, dry = self.ledger, 0
        while dry < _DRY and self.left > 0 and (todo := np.flatnonzero(wanted())).size:
            sign = self.random.choice([-1.0, 1.0], len(todo))
            sign[ledger.lower[todo] == ledger.least[todo]] = -1.0
            sign[ledger.upper[todo] == ledger.greatest[todo]] = 1.0
            cost = np.zeros(len(self.part))
            cost[todo] = sign
            noise = _NOISE * self.random.random(ledger.program.shape[1])
            _, is_new = self.vertex(self._transposed @ cost + noise)
            dry = 0 if is_new else dry + 1

    def prove_constants(self) -> None:
        """Prove many functionals constant at once, as long as that settles most."""
        ledger, tight = self.ledger, None
        while self.left > 0 and (k := np.flatnonzero(ledger.is_undecided)).size:
            seed = int(self.random.integers(2**31))
            asked = sparse.csr_array(ledger.functionals[k])
            shown = prove_constant(
                self.added, asked, tight, self.relaxation, seed=seed, limit=self.left
            )
            ledger.effort += shown.deterministic_time
            tight = shown.tight
            for place in np.flatnonzero(shown.span.is_constant).tolist():
                at, weights = int(k[place]), shown.span.weights[place]
                whys = combinations(self.added, ledger.coefficients(at), weights, tight)
                for sign, why in zip((1, -1), whys, strict=True):
                    ledger.prove(at, sign, sign * int(ledger.least[at]), why)
            for point in shown.vertices:
                self.look_at(point)
            if 2 * np.count_nonzero(ledger.is_undecided) > len(k):
                return

    def combine_rows(self, functionals: IntArray) -> None:
        """Settle functionals that are sums and differences of equations."""
        ledger = self.ledger
        asked = ledger.functionals[functionals].toarray()
        is_combination, weights = row_combinations(ledger.program, asked)
        found = functionals[is_combination].tolist()
        for k, weight in zip(found, weights[is_combination], strict=True):
            for sign in (1, -1):
                why = Combination.of(SCALE, sign * weight, Grounds.ROWS)
                ledger.prove(k, sign, sign * int(ledger.least[k]), why)

    def bound(self, functionals: IntArray, signs: IntArray) -> None:
        """Bound ``signs`` times some functionals from below by duals, at most one of each part."""
        ledger = self.ledger
        objective = ledger.signed_sum(functionals, signs)
        vertex, _ = self.vertex(objective.astype(np.float64))
        if not len(vertex.duals):
            return
        weights = whole_weights(vertex.duals)
        bounds = self.added.bounds(objective, weights)[self.part[functionals]]
        for k, each, bound in zip(
            functionals.tolist(), signs.tolist(), bounds.tolist(), strict=True
        ):
            if bound > ledger.proven(k, each):
                rows = self.parts.rows[self.part[k]]
                rows = rows[weights[rows] != 0]
                ledger.prove(k, each, bound, Combination(SCALE, rows, weights[rows]))

    def bound_widest(self, wanted: Callable[[], BoolArray], reserve: float) -> None:
        """Bound open ends by duals, in each part the widest gap first; parts share one vertex.

        Args:
            reserve: Deterministic seconds to leave unspent.
        """
        ledger = self.ledger
        untried = np.ones((2, len(self.part)), dtype=bool)
        while self.left > reserve:
            gaps = np.stack([ledger.least - ledger.lower, ledger.upper - ledger.greatest])
            gaps *= untried & wanted()
            widest = gaps.max(axis=0, initial=0)
            order = np.lexsort((widest, self.part))
            chosen = order[np.flatnonzero(np.diff(self.part[order], append=-1))]
            chosen = chosen[widest[chosen] > 0]
            if not len(chosen):
                return
            is_upper = gaps[1, chosen] > gaps[0, chosen]
            untried[is_upper.astype(int), chosen] = False
            self.bound(chosen, np.where(is_upper, -1, 1))

    def tighten(self, functionals: IntArray, ends: Ends = Ends.BOTH) -> None:
        """Settle some functionals by two engines."""
        if len(functionals) and self.left > 0:
            effort = replace(self.effort, limit=self.left)
            tighten_bounds(self.ledger, effort, ends, functionals)


def tighten_bounds(
    ledger: Ledger, effort: Effort, ends: Ends = Ends.BOTH, among: IntArray | None = None
) -> None:
    """Prove and attain bounds in a ledger, by two engines: Eq. (ends).

    If the budget of either engine runs out, the remaining bounds are still valid.

    Args:
        ledger: The functionals; different known solutions save solves.
        effort: Its limit is for all solves together.
        ends: The ends to settle; others stay as they are.
        among: The functionals to settle, sorted; default all.

    Raises:
        DisagreementError: Two engines disagree whether a solution attains some bound.
    """
    every = np.arange(ledger.functionals.shape[0])
    search = _Search(ledger, effort, ends, every if among is None else among)
    while search.left.limit > 0 and search.has_open_ends():
        if not search.reach_ends():
            break


class _Search:
    """The functionals in question, with the remaining budget."""

    def __init__(self, ledger: Ledger, effort: Effort, ends: Ends, among: IntArray) -> None:
        self.ledger, self.ends, self.among = ledger, ends, among
        self.program = ledger.program
        self.C = sparse.csr_array(ledger.functionals[among])
        self.effort = replace(effort, limit=effort.limit + ledger.effort)
        # Functionals share no row with those of other parts, which may be settled already.
        rows = self.program.shape[0]
        stacked = sparse.csr_array(sparse.vstack([self.program.constraints.A, self.C]))
        row_part, self.part = connected_parts(stacked)
        self.part_of_functional = row_part[rows:]

    @property
    def left(self) -> Effort:
        """Return the remaining budget."""
        return replace(self.effort, limit=self.effort.limit - self.ledger.effort)

    @property
    def is_open_below(self) -> BoolArray:
        """Return a mask of wanted lower ends that no solution attains."""
        is_open: BoolArray = self.ledger.is_open_below[self.among] & (Ends.LOWER in self.ends)
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Return a mask of wanted upper ends that no solution attains."""
        is_open: BoolArray = self.ledger.is_open_above[self.among] & (Ends.UPPER in self.ends)
        return is_open

    def has_open_ends(self) -> bool:
        return bool((self.is_open_below | self.is_open_above).any())

    def reach_ends(self) -> bool:
        """Solve once for as many open ends as possible; return whether to go on."""
        low, high = self.is_open_below, self.is_open_above
        parts = self.part_of_functional[low | high]
        here = np.flatnonzero(np.isin(self.part_of_functional, parts))
        variables = np.flatnonzero(np.isin(self.part, parts))
        k = self.among[here]
        functionals = LinearFunctionals(
            sparse.csr_array(self.C[here][:, variables]), self.ledger.lower[k], self.ledger.upper[k]
        )
        part = connected_subset(self.program, variables).program
        problem = interval_ends(part, functionals, low[here], high[here])
        answer = maximize(problem.program, problem.objective, self.left)
        self.ledger.effort += answer.deterministic_time
        if answer.status is Status.UNKNOWN:
            return False
        if answer.objective + problem.constant > 0:
            self.ledger.add_solution(self._completed(variables, answer.values[: len(variables)]))
            return True
        if answer.status is not Status.OPTIMAL:
            return False
        if not confirm_infeasible(problem.at_least(1), _CONFIRMATION):
            return False
        for sign, is_open in ((1, low), (-1, high)):
            for k in self.among[is_open].tolist():
                self.ledger.prove(k, sign, self.ledger.proven(k, sign) + 1, Confirmation())
        return self._optimise_farthest()

    def _optimise_farthest(self) -> bool:
        """Optimise the functional whose bound is farthest from any solution, if by two or more."""
        ledger, k = self.ledger, self.among
        gaps = np.concatenate(
            [
                (ledger.least - ledger.lower)[k] * self.is_open_below,
                (ledger.upper - ledger.greatest)[k] * self.is_open_above,
            ]
        )
        at = int(gaps.argmax())
        if gaps[at] < 2 or self.left.limit <= 0:
            return True
        is_upper, at = divmod(at, len(k))
        sign, asked = -1 if is_upper else 1, int(k[at])
        variables = np.flatnonzero(self.part == self.part_of_functional[at])
        part = connected_subset(self.program, variables).program
        row = sparse.csr_array(self.C[[at]][:, variables])
        objective = -sign * row.toarray()[0]
        answer = maximize(part, objective, self.left, ledger.known[0][variables])
        ledger.effort += answer.deterministic_time
        if answer.status is Status.UNKNOWN:
            return False
        ledger.add_solution(self._completed(variables, answer.values))
        if not confirm_bound(ledger, part, row, (asked, sign), -answer.bound):
            return False
        return answer.status is Status.OPTIMAL

    def _completed(self, variables: IntArray, values: IntArray) -> IntArray:
        """Extend a solution of some parts to the whole program."""
        solution = self.ledger.known[0].copy()
        solution[variables] = values
        return solution


def confirm_bound(
    ledger: Ledger,
    part: IntegerProgram,
    row: sparse.csr_array,
    end: tuple[int, int],
    bound: int,
) -> bool:
    """Prove a bound claimed by one engine, if the second one finds nothing beyond it.

    Args:
        part: The connected part of the program that contains the functional.
        row: Sparse (1 × the part's variables): the functional.
        end: The functional's number, and the sign.
        bound: The claimed minimum of the sign times the functional.

    Returns:
        Whether the bound is proven, now or before.
    """
    functional, sign = end
    proven = ledger.end(functional, sign).proven
    if bound <= proven:
        return True
    below = sorted((sign * proven, sign * (bound - 1)))
    rows = LinearConstraints(row, np.array(below[:1]), np.array(below[1:]))
    if not confirm_infeasible(with_rows(part, rows), _CONFIRMATION):
        return False
    ledger.prove(functional, sign, bound, Confirmation())
    return True
