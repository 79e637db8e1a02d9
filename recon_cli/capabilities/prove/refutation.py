"""Proofs of bounds and of single solutions: by propagation, by duals, by cases.

Each proof restores the scope's bounds, except those that all statements share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import IntArray
from recon_cli.capabilities.prove.statements import Bound
from recon_cli.proof.derivation import GOAL, MULTIPLES, Count, Row, ScopeProver, Terms
from recon_cli.proof.scope_rows import OPEN
from recon_cli.proof.tables import PublishedTables

#: Greatest depth of cases within cases.
_DEPTH: Final = 40
#: Tolerance of integers in floating point.
_WHOLE: Final = 1e-6


@dataclass(frozen=True)
class Refutation:
    """Lines that refute the negation of a statement.

    Attributes:
        lines: Lines that follow the statement.
        shared: Numbers of earlier lines of the log on which these rest.
        terms: Terms of the single line, if there is no other.
        how: ``bounds``, ``combination``, ``steps`` or ``tree``.
    """

    lines: tuple[str, ...]
    shared: frozenset[int]
    terms: Terms
    how: str


def prove_unique(prover: ScopeProver, unit: int, present: dict[int, int]) -> set[int] | None:
    """Tighten the bounds until the least and greatest number of each kind in a unit are equal.

    Args:
        prover: Prover of a scope that contains the unit; propagated.
        present: Unknown → number of records, in some solution.

    Returns:
        The numbers of the needed lines; None if the bounds do not meet.
    """
    start, kinds = prover.scope.open[unit, 0]
    mine = [start + at for at, bit in enumerate(bin(kinds)[:1:-1]) if bit == "1"]

    def open_ones() -> list[int]:
        at = [prover.column[v] for v in mine]
        return [
            v for v, is_open in zip(mine, prover.low[at] < prover.high[at], strict=True) if is_open
        ]

    absent = [v for v in open_ones() if not present.get(v)]
    if absent:
        prover.settle(prover.cost(dict.fromkeys(absent, -1)))
        prover.propagate()
    for unknown in open_ones():
        for sign in (1, -1):
            at = prover.column[unknown]
            if prover.low[at] < prover.high[at]:
                prover.settle(prover.cost({unknown: sign}))
                prover.propagate()
        if prover.low[at] < prover.high[at]:
            return None
    return prover.makers((upper, unknown) for unknown in mine for upper in (True, False))


def settle_sums(prover: ScopeProver) -> bool:
    """Tighten the bounds of sums of printed texts; return whether that contradicts."""
    for unknown in prover.rows.sums:
        at = prover.column[unknown]
        for sign in (1, -1):
            if prover.low[at] < prover.high[at]:
                prover.settle(prover.cost({unknown: sign}))
    return bool(prover.rows.sums) and prover.propagate()


def refute(prover: ScopeProver, count: Count, bound: int, *, is_least: bool) -> Refutation | None:
    """Refute the negation of "at least", or "at most", this many records.

    Args:
        prover: Prover of the scope, unchanged afterwards.
        bound: Number of records.

    Returns:
        None where nothing was found.
    """
    if not is_least and not count.is_whole:
        return None
    scope, row = prover.scope, count.coefficients
    more = {unknown: -a for unknown, a in row.items()}
    goal: Row = (row, None, bound - 1) if is_least else (more, None, -bound - 1)
    mark, lines = len(scope.trail), len(prover.log)
    scope.goal = goal
    try:
        return _refute(prover, goal[0], mark, lines)
    finally:
        prover.undo(mark, lines)
        scope.goal = None


def _refute(prover: ScopeProver, goal: dict[int, int], mark: int, lines: int) -> Refutation | None:
    """Find lines that contradict the goal within the bounds."""
    if prover.add([(1, GOAL)]):
        shared = prover.log[-1].rests_on
        only = prover.closure(shared) if len(shared) == 1 else set()
        alone: Terms = prover.log[next(iter(only))].terms if len(only) == 1 else ()
        return Refutation((), shared, alone, "bounds")
    prover.undo(mark, lines)
    _, duals = prover.duals(prover.cost(goal))  # before the goal narrows bounds
    prover.add([(1, GOAL)])
    start = len(prover.log)
    if _add_up(prover, duals):
        return _kept(prover, lines, start, "combination")
    if prover.propagate():
        return _kept(prover, lines, start, "steps")
    if prover.budget.left <= 0:  # without a relaxation cases lead nowhere
        return None
    texts = _Tree(prover, prover.cost(goal)).below(start, _DEPTH)
    return None if texts is None else Refutation(tuple(texts), frozenset(range(lines)), (), "tree")


def _add_up(prover: ScopeProver, duals: npt.NDArray[np.float64]) -> bool:
    """Test whether the goal and rows, weighted by multiples of duals, are a contradiction."""
    for multiple in MULTIPLES if len(duals) else ():
        at, before = len(prover.scope.trail), len(prover.log)
        if prover.add([(multiple, GOAL), *prover.weighted(duals, multiple)]):
            return True
        prover.undo(at, before)
    return False


@dataclass
class _Tree:
    """A refutation by cases: the number of a kind in a unit is at most this many, or more.

    Attributes:
        prover: Prover with the goal among its bounds.
        cost: Coefficients of the goal.
        nodes: Cases that may still be examined.
    """

    prover: ScopeProver
    cost: IntArray
    nodes: int = 100

    def below(self, start: int, depth: int) -> list[str] | None:
        """Return lines that contradict the present bounds, including those of the log since."""
        prover = self.prover
        self.nodes -= 1
        values, duals = prover.duals(self.cost)
        if _add_up(prover, duals) or prover.propagate():
            return [prover.text(line) for line in prover.log[start:]]
        case = self._case(values)
        if case is None or not depth or self.nodes < 0:
            return None
        unknown, number = case
        lines = [prover.text(line) for line in prover.log[start:]]
        lines.append(f"if {number} {prover.words_of(unknown)}")
        for is_less in (True, False):
            mark, before = len(prover.scope.trail), len(prover.log)
            is_end = prover.restrict(unknown, number, is_less=is_less)
            inner = [] if is_end else self.below(before, depth - 1)
            prover.undo(mark, before)
            if inner is None:
                return None
            lines += inner
        return lines

    def _case(self, values: npt.NDArray[np.float64]) -> tuple[int, int] | None:
        """Choose an unknown and a number below its upper bound; None if nothing is gained."""
        low, high = self.prover.low, self.prover.high
        unknowns = self.prover.rows.unknowns
        if len(values):
            apart = np.abs(values - np.rint(values))
            if (of_sums := np.where(unknowns < 0, apart, 0)).max() > _WHOLE:
                apart = of_sums
            at = int(apart.argmax())
            return (int(unknowns[at]), int(values[at])) if apart[at] > _WHOLE else None
        if not len(unknowns):
            return None
        width = np.where((low < high) & (high < OPEN), high - low, OPEN)
        at = int(width.argmin())
        return (int(unknowns[at]), int(low[at] + width[at] // 2)) if width[at] < OPEN else None


def _kept(prover: ScopeProver, lines: int, start: int, how: str) -> Refutation:
    """Return the lines that the last line depends on, separately from earlier ones.

    The goal itself tightens bounds as part of the statement; it is no line.
    """
    needed = prover.closure({len(prover.log) - 1})
    own = [prover.log[at] for at in sorted(needed) if at >= start]
    shared = frozenset(at for at in needed if at < lines)
    texts = tuple(prover.text(each) for each in own)
    return Refutation(texts, shared, own[0].terms if len(own) == 1 and not shared else (), how)


#: Most terms of a sum that is worth reading.
_TERMS: Final = 6


def sum_text(
    written: PublishedTables, prover: ScopeProver, place: int, bound: Bound, refutation: Refutation
) -> str:
    """Format the sum of counts that proves a bound, such as ``OUTCOMES 2 (5) − AGES 3 (4)``.

    Empty if further bounds or printed texts are needed, or it has many terms.
    """
    divisor = sum(weight for weight, row in refutation.terms if row == GOAL) or 1
    names = prover.rows.names
    cells = [(w, row) for w, row in refutation.terms if row != GOAL and "=" not in names[row]]
    sign = -1 if bound.is_least else 1
    if any("@" in names[row] or "%" in names[row] for _, row in cells):
        return ""
    ends = [prover.rows.least if weight < 0 else prover.rows.most for weight, _ in cells]
    counts = [int(end[row]) for end, (_, row) in zip(ends, cells, strict=True)]
    total = sum(sign * weight * n for (weight, _), n in zip(cells, counts, strict=True))
    rounded = -(-total // divisor) if bound.is_least else total // divisor
    if not cells or len(cells) > _TERMS or rounded != bound.number:
        return ""
    words = []
    for (weight, row), number in zip(cells, counts, strict=True):
        times = f"{abs(weight)} × " if abs(weight) > 1 else ""
        named = f"{times}{_cell_words(written, names[row], place)} ({number:,})"
        words.append(("+ " if sign * weight > 0 else "− ") + named)
    words.sort(key=lambda word: word[0] != "+")
    text = " ".join(words).removeprefix("+ ")
    return f"({text}) / {divisor}" if divisor > 1 else text


def _cell_words(written: PublishedTables, name: str, place: int) -> str:
    """Name table and cell of a row, and its place if that differs."""
    number, _, cells = name.partition(":")
    table, _, numbers = cells.partition("/")[0].partition(".")
    named = f"{written.tables[int(table)].name} {numbers}"
    where = "" if int(number) == place else f"{list(written.places)[int(number)]} "
    return where + named
