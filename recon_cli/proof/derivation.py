"""Lines of a proof in one scope: the bounds that each tightens, and the lines it depends on.

Floating point proposes and the checker's own classes decide: a line counts only by its effect on
`recon_cli.reconcheck.Scope`, in Python integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.proof.scope_rows import OPEN, RowSource, ScopeRows
from recon_cli.solve.dual_bounds import whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Multiples of the goal that are tried to make the weights of duals whole.
MULTIPLES: Final = (*range(1, 13), 60, 2520, 10**6)
#: Number of records that stands for an open bound in a relaxation; no proof depends on it.
_MANY: Final = 10**7
_PASSES: Final = 60

#: In place of a row number: the row to be refuted.
GOAL: Final = -1

Row = tuple[dict[int, int], int | None, int | None]
#: Pairs of a weight and a row number.
Terms = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Line:
    """A line `p` of a proof.

    Attributes:
        terms: Weights and numbers of rows, `GOAL` among them.
        rests_on: Places in the log of the lines that this line depends on.
        before: For each bound that the line changed, the line that had made this bound, if any.
    """

    terms: tuple[tuple[int, int], ...]
    rests_on: frozenset[int]
    before: dict[tuple[bool, int], int | None]


@dataclass(frozen=True)
class Count:
    """A count over a scope's unknowns.

    Attributes:
        coefficients: Unknown → how often it is counted.
        is_whole: Whether all units of the count lie in the scope.
    """

    coefficients: dict[int, int]
    is_whole: bool = True


@dataclass
class Budget:
    """The remaining deterministic seconds."""

    left: float
    spent: float = 0.0

    def spend(self, seconds: float) -> None:
        self.left -= seconds
        self.spent += seconds


@dataclass
class ScopeProver:
    """Searches for lines in one scope of a proof, each a use of Eq. (rule).

    Attributes:
        scope: The checker's scope (`recon_cli.reconcheck.Scope`), without bounds at first.
        budget: Budget of relaxations.
        log: Lines that changed a bound.
        made_by: For an upper (true) or lower end of an unknown, the line that made it.
    """

    scope: Any
    rows: ScopeRows
    budget: Budget
    log: list[Line] = field(default_factory=list)
    made_by: dict[tuple[bool, int], int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, source: RowSource, scope: Any, budget: Budget, alone: Collection[int] | None = None
    ) -> ScopeProver:
        """Prepare a prover for a scope of a publication, or for the counts of some units alone."""
        return cls(scope, source.rows(scope, alone), budget)

    def __post_init__(self) -> None:
        unknowns = self.rows.unknowns
        self.low = np.zeros(len(unknowns), dtype=np.int64)
        self.high = np.full(len(unknowns), OPEN, dtype=np.int64)
        self.column = dict(zip(unknowns.tolist(), range(len(unknowns)), strict=True))
        self._made: dict[int, Row] = {}
        self._entry_row = np.repeat(np.arange(len(self.rows.names)), np.diff(self.rows.A.indptr))
        self._relaxation: LinearRelaxation | None = None
        self._bounded = (self.low, self.high)

    def row(self, number: int) -> Row:
        """Return a row as the checker has it."""
        if number == GOAL:
            goal: Row = self.scope.goal
            return goal
        if number not in self._made:
            A, rows = self.rows.A, self.rows
            start, end = A.indptr[number : number + 2]
            unknowns = rows.unknowns[A.indices[start:end]].tolist()
            low, high = int(rows.least[number]), int(rows.most[number])
            self._made[number] = (
                dict(zip(unknowns, A.data[start:end].tolist(), strict=True)),
                None if low < 0 else low,
                None if high == OPEN else high,
            )
        return self._made[number]

    def add(self, terms: Terms) -> bool:
        """Apply a line, and keep it if it changed a bound; return whether it is a contradiction."""
        scope, mark = self.scope, len(self.scope.trail)
        is_end = scope.add(*((weight, self.row(number)) for weight, number in terms))
        changed = self._follow(mark)
        if is_end or changed:
            rests_on = self._rests_on(terms)
            before = {end: self.made_by.get(end) for end in changed}
            self.made_by.update(dict.fromkeys(changed, len(self.log)))
            self.log.append(Line(tuple(terms), rests_on, before))
        return bool(is_end)

    def _follow(self, mark: int) -> set[tuple[bool, int]]:
        """Copy the bounds that the checker changed since a mark."""
        scope, changed = self.scope, set()
        for ends, unknown, _ in scope.trail[mark:]:
            is_high = ends is scope.high
            changed.add((is_high, unknown))
            (self.high if is_high else self.low)[self.column[unknown]] = ends[unknown]
        return changed

    def _rests_on(self, terms: Terms) -> frozenset[int]:
        (weight, first), *others = terms
        total = {unknown: weight * a for unknown, a in self.row(first)[0].items()}
        for weight, number in others:
            for unknown, a in self.row(number)[0].items():
                total[unknown] = total.get(unknown, 0) + weight * a
        used = ((a < 0, unknown) for unknown, a in total.items() if a)
        return frozenset(self.made_by[end] for end in used if end in self.made_by)

    def text(self, line: Line) -> str:
        """Format a line for a proof."""
        words = ["p"]
        for weight, number in line.terms:
            name = "goal" if number == GOAL else self.rows.names[number]
            words.append({1: "", -1: "-*"}.get(weight, f"{weight}*") + name)
        return " ".join(words)

    def undo(self, mark: int, lines: int) -> None:
        """Undo bounds since a mark, and remove lines."""
        touched = {unknown for _, unknown, _ in self.scope.trail[mark:]}
        self.scope.undo(mark)
        for unknown in touched:
            at = self.column[unknown]
            self.low[at] = self.scope.low.get(unknown) or 0
            high = self.scope.high.get(unknown)
            self.high[at] = OPEN if high is None else high
        while len(self.log) > lines:
            for end, line in self.log.pop().before.items():
                if line is None:
                    del self.made_by[end]
                else:
                    self.made_by[end] = line

    def restrict(self, unknown: int, number: int, *, is_less: bool) -> bool:
        """Bound an unknown by a number (at most, or more); return whether that contradicts rows."""
        mark = len(self.scope.trail)
        row: Row = ({unknown: 1}, None, number) if is_less else ({unknown: -1}, None, -number - 1)
        is_end = bool(self.scope.add((1, row)))
        self._follow(mark)
        return is_end

    def words_of(self, unknown: int) -> str:
        """Format an unknown: its unit, and an atom of each feature; or a sum of a printed text."""
        if unknown in self.rows.sums:
            return self.rows.sums[unknown]
        scope = self.scope
        unit, clique, kind = next(
            (unit, scope.cliques[at], unknown - start)
            for (unit, at), (start, _) in scope.open.items()
            if start <= unknown < start + scope.cliques[at].size
        )
        words = [str(unit), *("*" for _ in clique.atoms)]
        for feature in clique.of_atom:
            atoms = clique.atoms[feature]
            kind, at = divmod(kind, len(atoms))
            words[1 + feature] = f"{atoms[at]:x}"
        return " ".join(words)

    def propagate(self) -> bool:
        """Apply single rows until nothing changes; return whether there is a contradiction."""
        for _ in range(_PASSES):
            before = len(self.log)
            if any(self.add([(sign, row)]) for sign, row in self._improving()):
                return True
            if len(self.log) == before:
                return False
        return False

    def _improving(self) -> Iterable[tuple[int, int]]:
        """Return signs and numbers of rows that tighten something, or contradict the bounds."""
        rows, A = self.rows, self.rows.A
        if not A.shape[0]:
            return []
        upper = self._narrowing(A.data, rows.most, rows.most < OPEN)
        lower = self._narrowing(-A.data, -rows.least, rows.least >= 0)
        return [*((1, r) for r in upper), *((-1, r) for r in lower)]

    def _narrowing(self, a: IntArray, most: IntArray, has_end: BoolArray) -> list[int]:
        """Return the rows that tighten something or contradict the bounds, given upper bounds."""
        row, column, height = self._entry_row, self.rows.A.indices, len(most)
        low, high = self.low[column], self.high[column]
        is_open = (a < 0) & (high == OPEN)
        ends = np.where(is_open, 0, high)
        least = np.bincount(row, a * np.where(a > 0, low, ends), height).astype(np.int64)
        often, room = np.bincount(row, is_open, height), most - least
        falls = (a > 0) & (often == 0)[row] & (low + room[row] // a < high)
        rises = (a < 0) & (often[row] == is_open) & (ends - room[row] // -a > low)
        narrows = np.zeros(height, dtype=bool)
        narrows[row[falls | rises]] = True
        narrows |= (often == 0) & (room < 0)
        return np.flatnonzero(narrows & has_end).tolist()

    def duals(
        self, cost: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return values and duals of the least cost within the bounds; empty if not found."""
        lower = self.low
        upper = np.where(self.high == OPEN, np.maximum(lower, _MANY), self.high)
        if self._relaxation is None:
            rows = self.rows
            most = np.where(rows.most == OPEN, _MANY, rows.most)
            constraints = LinearConstraints(rows.A, rows.lowest, most)
            self._relaxation = LinearRelaxation(IntegerProgram(constraints, lower.copy(), upper))
            self._bounded = lower.copy(), upper
        elif any((a != b).any() for a, b in zip(self._bounded, (lower, upper), strict=True)):
            self._relaxation.bound(lower.copy(), upper)
            self._bounded = lower.copy(), upper
        vertex = self._relaxation.solve(cost.astype(np.float64), self.budget.left)
        self.budget.spend(vertex.deterministic_time)
        return vertex.values, vertex.duals

    def weighted(self, duals: npt.NDArray[np.float64], multiple: int) -> list[tuple[int, int]]:
        """Return rows with integer weights whose sum is at least ``multiple`` times a cost."""
        weights = -whole_weights(duals, multiple)
        has_end = np.where(weights > 0, self.rows.most < OPEN, self.rows.least >= 0)
        used = np.flatnonzero((weights != 0) & has_end)
        return list(zip(weights[used].tolist(), used.tolist(), strict=True))

    def settle(self, cost: npt.NDArray[np.int64]) -> None:
        """Tighten bounds by the dual of a cost: no goal is needed."""
        _, duals = self.duals(cost)
        for multiple in MULTIPLES if len(duals) else ():
            terms = self.weighted(duals, multiple)
            if terms and np.abs(duals * multiple - np.rint(duals * multiple)).max() < 1e-6:
                self.add(terms)
                return

    def cost(self, coefficients: dict[int, int]) -> IntArray:
        cost = np.zeros(len(self.column), dtype=np.int64)
        for unknown, a in coefficients.items():
            cost[self.column[unknown]] = a
        return cost

    def closure(self, lines: Iterable[int]) -> set[int]:
        """Return lines of the log, with all lines that they depend on."""
        kept = set(lines)
        for at in range(len(self.log) - 1, -1, -1):
            if at in kept:
                kept |= self.log[at].rests_on
        return kept

    def makers(self, ends: Iterable[tuple[bool, int]]) -> set[int]:
        """Return the lines that made some bounds of unknowns."""
        return {self.made_by[end] for end in ends if end in self.made_by}
