"""The steps that fill a ledger: solutions that reach ends, and proofs that none goes farther.

Whoever asks for ends, an audit, claims, leave-one-out, takes these steps in an order of its own,
from cheap to expensive. Whatever they show is in the ledger: each proof as rows to be added up, or
as the word of two engines, and each value with a solution that has it.

See *end* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.ledger import Combination, Grounds, Ledger, Witness
from recon_cli.solve.bound_tightening import Ends, tighten_bounds
from recon_cli.solve.constancy import combinations, prove_constant
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, row_combinations, whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex
from recon_cli.solve.rounding import ConnectedParts

#: Vertices in a row that move nothing, after which random costs are given up.
_DRY = 3
#: How much a random cost decides beside functionals: only among vertices that are equal else.
_NOISE = 1e-3


class EndSearch:
    """A ledger being filled, and the effort that is left."""

    def __init__(
        self,
        ledger: Ledger,
        effort: Effort,
        parts: ConnectedParts | None = None,
        relaxation: LinearRelaxation | None = None,
    ) -> None:
        """Nothing is tried yet.

        Args:
            ledger: What is asked.
            effort: Its limit is for everything together.
            parts: Where solutions and proofs are looked for apart from each other; each functional
                is over one. Default the whole program.
            relaxation: Of the program, if it was used before.
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
        """Deterministic seconds that are left."""
        return self.effort.limit - self.ledger.effort

    def vertex(self, cost: FloatArray) -> tuple[Vertex, bool]:
        """The vertex of least cost, and whether what is a solution of it shows anything new."""
        vertex = self.relaxation.solve(cost, self.left)
        self.ledger.effort += vertex.deterministic_time
        return vertex, bool(len(vertex.values)) and self.look_at(vertex.values)

    def look_at(self, point: FloatArray) -> bool:
        """Whether a point shows anything new in the parts where it is a solution once rounded."""
        known = self.ledger.known[0]
        solution = self.parts.rounded(point, known)
        columns = np.flatnonzero(solution != known)
        witness = Witness(0, columns, (solution - known)[columns])
        return bool(len(columns)) and self.ledger.see(self.ledger.functionals @ solution, witness)

    def move(self, wanted: Callable[[], BoolArray]) -> None:
        """Move as many wanted functionals as possible at once, at random which way."""
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
        """Prove many at once that functionals are constant, as long as that settles most."""
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
                whys = combinations(self.added, ledger.row(at), weights, tight)
                for sign, why in zip((1, -1), whys, strict=True):
                    ledger.prove(at, sign, sign * int(ledger.least[at]), why)
            for point in shown.vertices:
                self.look_at(point)
            if 2 * np.count_nonzero(ledger.is_undecided) > len(k):
                return

    def combine_rows(self, functionals: IntArray) -> None:
        """Settle those of some functionals that are sums and differences of equations."""
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
        objective = ledger.side_by_side(functionals, signs)
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
        """Bound open ends by duals, the widest gap of each part at a time; vertices are shared.

        Args:
            wanted: Which functionals.
            reserve: Deterministic seconds that are kept.
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
        """Ask two engines about some functionals."""
        if len(functionals) and self.left > 0:
            effort = replace(self.effort, limit=self.left)
            tighten_bounds(self.ledger, effort, ends, functionals)
