"""Least values proven by cases, where duals of the whole program are not tight enough.

Branch and bound over the linear relaxation, whose every leaf is a sum of rows in integers: duals if
the case has a point, and a dual ray if it has none. So the tree is a proof that can be recomputed
without trusting an engine (Wolsey 1998).

See *proof by cases* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.ledger import Cases, Combination
from recon_cli.model.program import ConnectedParts, IntegerProgram
from recon_cli.solve.dual_bounds import SCALE, WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import WHOLE, LinearRelaxation

#: Cases that are looked into, and cases within cases.
_NODES, _DEPTH = 400, 40
#: How often a ray is taken beside a functional.
_MULTIPLES = (1, 4, 16, 64, 256, 1024)


@dataclass(frozen=True)
class CaseSearch:
    """The result of a search by cases.

    Attributes:
        why: The proof; None where there is none.
        solution: One that refutes what was to be proven; empty where none was found.
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
