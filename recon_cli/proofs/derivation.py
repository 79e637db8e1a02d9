"""Lines that prove something of published tables, found by propagation and duals.

Floating point proposes and the checker's own classes decide: a line counts only with what it makes
of `recon_cli.reconcheck.Scope`, in Python integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.reconcheck import Refused, Scope
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Multiples of the goal, so that the weights of duals are whole.
_MULTIPLES: Final = (*range(1, 13), 60, 2520)
#: More records than a bound that is open stands for; only a proposal rests on it.
_OPEN: Final = 10**7
_PASSES: Final = 40
#: Deterministic seconds of one relaxation.
_SECONDS: Final = 1.0

Row = tuple[dict[int, int], int | None, int | None]
Bound = tuple[bool, int]
"""Whether it is an upper one, and of which unknown."""


@dataclass(frozen=True)
class _Line:
    """A line `p`, and the places in the log of the lines that it rests on."""

    text: str
    rests_on: set[int]


class ScopeProver:
    """Looks for lines in one scope of a proof."""

    def __init__(self, scope: Scope) -> None:
        """The rows are the published cells that the grain tells apart, each sum once.

        Args:
            scope: Without bounds so far.
        """
        self.scope: Any = scope
        self.rows: dict[str, Row] = {}
        seen: dict[tuple[Any, ...], str] = {}
        tables = self.scope.tables
        places = {place for unit in self.scope.units for place in tables.home[unit]}
        for place in sorted(places):
            for table, number in sorted(tables.cells_at[place]):
                name = f"{place}:{table}.{number}"
                try:
                    row = self.scope.published(place, f"{table}.{number}", None)
                except Refused:  # finer than the grain
                    continue
                key = *sorted(row[0].items()), row[1] is None, row[2]
                if row[0] and seen.setdefault(key, name) == name:
                    self.rows[name] = row
        self.log: list[_Line] = []
        self.made_by: dict[Bound, int] = {}
        self.unknowns = sorted({v for row, _, _ in self.rows.values() for v in row})
        self._column = {v: at for at, v in enumerate(self.unknowns)}

    def add(self, terms: Sequence[tuple[int, str]]) -> bool:
        """Apply a line, and keep it if it changed a bound; whether it is a contradiction."""
        scope, mark = self.scope, len(self.scope.trail)
        total: dict[int, int] = {}
        for weight, name in terms:
            for v, a in self._row(name)[0].items():
                total[v] = total.get(v, 0) + weight * a
        is_end = scope.add(*((weight, self._row(name)) for weight, name in terms))
        changed = {(ends is scope.high, v) for ends, v, _ in scope.trail[mark:]}
        if is_end or changed:
            used = ((a < 0, v) for v, a in total.items() if a)
            rests_on = {self.made_by[bound] for bound in used if bound in self.made_by}
            self.made_by.update(dict.fromkeys(changed, len(self.log)))
            self.log.append(_Line(" ".join(["p", *map(_term, terms)]), rests_on))
        return bool(is_end)

    def _row(self, name: str) -> Row:
        row: Row = self.scope.goal if name == "goal" else self.rows[name]
        return row

    def propagate(self) -> bool:
        """Apply single rows until nothing changes; whether there is a contradiction."""
        signs = [(name, sign) for name in self.rows for sign in (1, -1)]
        ends = [(name, s) for name, s in signs if self.rows[name][1 + (s > 0)] is not None]
        for _ in range(_PASSES):
            before = len(self.log)
            if any(self.add([(sign, name)]) for name, sign in ends if self._may_change(name)):
                return True
            if len(self.log) == before:
                break
        return False

    def _may_change(self, name: str) -> bool:
        low, high = self.scope.low, self.scope.high
        return any(low.get(v, 0) != high.get(v) for v in self.rows[name][0])

    def duals(self, cost: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], ...]:
        """Values and duals of the least cost within the bounds; empty where none was found."""
        names = list(self.rows)
        rows = [self.rows[name][0] for name in names]
        entries = [(at, self._column[v], a) for at, row in enumerate(rows) for v, a in row.items()]
        i, j, a = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        A = sparse.csr_array((a, (i, j)), shape=(len(names), len(self.unknowns)))
        low, high = self.scope.low, self.scope.high
        least = np.array([self.rows[n][1] or 0 for n in names])
        most = np.array([_OPEN if (end := self.rows[n][2]) is None else end for n in names])
        lower = np.array([low.get(v, 0) for v in self.unknowns])
        upper = np.array([high.get(v, _OPEN) for v in self.unknowns])
        program = IntegerProgram(LinearConstraints(A, least, most), lower, upper)
        vertex = LinearRelaxation(program).solve(cost.astype(np.float64), _SECONDS)
        return vertex.values, vertex.duals

    def terms(self, duals: npt.NDArray[np.float64], multiple: int) -> list[tuple[int, str]]:
        """Rows with whole weights that add up to no less than ``multiple`` times a cost."""
        found = []
        for name, dual in zip(self.rows, duals.tolist(), strict=True):
            weight = -round(multiple * dual)
            if weight and self.rows[name][1 + (weight > 0)] is not None:
                found.append((weight, name))
        return found

    def settle(self, cost: npt.NDArray[np.int64]) -> None:
        """Narrow bounds by what the least of a cost shows: no goal is needed."""
        _, duals = self.duals(cost)
        if not len(duals):
            return
        for multiple in _MULTIPLES:
            terms = self.terms(duals, multiple)
            if terms and np.abs(duals * multiple - np.rint(duals * multiple)).max() < 1e-6:
                self.add(terms)
                return

    def needed(self, lines: set[int]) -> list[str]:
        """Some lines of the log and those that they rest on, in order."""
        kept = set(lines)
        for at in range(len(self.log) - 1, -1, -1):
            if at in kept:
                kept |= self.log[at].rests_on
        return [self.log[at].text for at in sorted(kept)]


def _term(term: tuple[int, str]) -> str:
    weight, name = term
    return {1: "", -1: "-*"}.get(weight, f"{weight}*") + name


def prove_unique(scope: Scope, unit: int, present: dict[int, int]) -> list[str] | None:
    """Lines after which the least number of each kind in a unit is the greatest.

    Args:
        scope: One without bounds, that holds the unit.
        unit: Its number.
        present: Unknown → number of records, in some solution.

    Returns:
        None where no lines were found.
    """
    each: Any = scope
    prover = ScopeProver(scope)
    start, kinds = each.open[unit, 0]
    mine = [start + at for at, bit in enumerate(bin(kinds)[:1:-1]) if bit == "1"]
    at = {v: place for place, v in enumerate(prover.unknowns)}
    if any(v not in at for v in mine):
        return None  # no row has this kind
    if prover.propagate():
        return None

    def open_ones() -> list[int]:
        return [v for v in mine if each.low.get(v, 0) != each.high.get(v)]

    absent = [v for v in open_ones() if not present.get(v)]
    if absent:
        cost = np.zeros(len(at), dtype=np.int64)
        cost[[at[v] for v in absent]] = -1
        prover.settle(cost)
        prover.propagate()
    for v in mine:
        for sign in (1, -1):
            if each.low.get(v, 0) != each.high.get(v):
                cost = np.zeros(len(at), dtype=np.int64)
                cost[at[v]] = sign
                prover.settle(cost)
                prover.propagate()
        if each.low.get(v, 0) != each.high.get(v):
            return None
    ends = ((upper, v) for v in mine for upper in (True, False))
    return prover.needed({prover.made_by[end] for end in ends if end in prover.made_by})


def prove_end(
    scope: Scope, place: int, masks: str, bound: int, *, is_least: bool
) -> list[str] | None:
    """Lines that refute the contrary of "at least", or "at most", so many records.

    Args:
        scope: One with the bounds that are known; they are left as they are.
        place: Number of the place that is counted in.
        masks: Whose records, as a line has them.
        bound: How many.
        is_least: Whether "at least" is meant.

    Returns:
        None where no lines were found.
    """
    each: Any = scope
    tables = each.tables
    predicate = place, (tables.masks(masks.split()),)
    row, is_whole = each.count(*predicate)
    if not is_least and not is_whole:
        return None
    prover = ScopeProver(scope)
    more = {v: -a for v, a in row.items()}
    each.goal = (row, None, bound - 1) if is_least else (more, None, -bound - 1)
    mark = len(each.trail)
    try:
        return _refute(prover, row if is_least else more)
    finally:
        each.undo(mark)
        each.goal = None


def _refute(prover: ScopeProver, goal: dict[int, int]) -> list[str] | None:
    """Lines that contradict the goal within the bounds."""
    scope, cost = prover.scope, np.zeros(len(prover.unknowns), dtype=np.int64)
    at = {v: n for n, v in enumerate(prover.unknowns)}
    if any(v not in at for v in goal):
        return None
    for v, a in goal.items():
        cost[at[v]] = a
    _, duals = prover.duals(cost)  # before the goal narrows bounds, as there may be none then
    if scope.add((1, scope.goal)):
        return []
    mark = len(scope.trail)
    for multiple in _MULTIPLES if len(duals) else ():
        if prover.add([(multiple, "goal"), *prover.terms(duals, multiple)]):
            return [prover.log[-1].text]
        scope.undo(mark)
        prover.log, prover.made_by = [], {}
    if prover.propagate():
        return prover.needed({len(prover.log) - 1})
    return None
