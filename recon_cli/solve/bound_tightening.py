"""Bound tightening: the least and the greatest ``c·x`` over all solutions of an integer program.

Intervals of histogram cells, and with them certain records, are such ends; so are those of any
other integer functionals. Solutions are looked for that reach as many open ends as possible: ends
that are reached are exact. When no solution reaches any of them, two engines agreeing, all move in
by one, and the end that is still farthest from the known solutions is optimised by itself.

See *bound tightening* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Flag

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.ledger import Confirmation, Ledger
from recon_cli.model.program import connected_parts, connected_subset, with_rows
from recon_cli.solve.certificates import confirm_infeasible
from recon_cli.solve.cp_sat import Effort, Status, maximize
from recon_cli.solve.objectives import LinearFunctionals, interval_ends

#: Seconds for the second engine to confirm one end; after that the end stays open.
_CONFIRMATION = 60.0


class Ends(Flag):
    """Which ends of functionals are asked for."""

    LOWER = 1
    UPPER = 2
    BOTH = LOWER | UPPER


def tighten_bounds(
    ledger: Ledger, effort: Effort, ends: Ends = Ends.BOTH, among: IntArray | None = None
) -> None:
    """Prove and reach ends in a ledger, by two engines: Eq. (ends).

    Where the effort ends before, of either engine, the ends that are left stay valid bounds.

    Args:
        ledger: The functionals; different known solutions save solves.
        effort: Its limit is for all solves together.
        ends: Those that are asked for; others stay as they are.
        among: The functionals that are asked about, rising; default all.

    Raises:
        DisagreementError: Two engines disagree on an end that is never reached.
    """
    every = np.arange(ledger.functionals.shape[0])
    search = _Search(ledger, effort, ends, every if among is None else among)
    while search.left.limit > 0 and search.has_open_ends():
        if not search.reach_ends():
            break


class _Search:
    """The functionals that are asked about, and the effort that is left."""

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
        """The effort that is left."""
        return replace(self.effort, limit=self.effort.limit - self.ledger.effort)

    @property
    def is_open_below(self) -> BoolArray:
        """Whether the lower end is asked for and no solution reaches it."""
        is_open: BoolArray = self.ledger.is_open_below[self.among] & (Ends.LOWER in self.ends)
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Whether the upper end is asked for and no solution reaches it."""
        is_open: BoolArray = self.ledger.is_open_above[self.among] & (Ends.UPPER in self.ends)
        return is_open

    def has_open_ends(self) -> bool:
        return bool((self.is_open_below | self.is_open_above).any())

    def reach_ends(self) -> bool:
        """One solve for as many open ends as possible; whether it is worth going on."""
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
            self.ledger.add(self._completed(variables, answer.values[: len(variables)]))
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
        """Optimise the functional whose end is farthest from any solution, if by two or more."""
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
        ledger.add(self._completed(variables, answer.values))
        bound, proven = -answer.bound, ledger.proven(asked, sign)
        if bound > proven:
            below = beyond(row, sign, proven, bound)
            if not confirm_infeasible(with_rows(part, below), _CONFIRMATION):
                return False
            ledger.prove(asked, sign, bound, Confirmation())
        return answer.status is Status.OPTIMAL

    def _completed(self, variables: IntArray, values: IntArray) -> IntArray:
        """A solution of some parts as one of the whole program."""
        solution = self.ledger.known[0].copy()
        solution[variables] = values
        return solution


def beyond(row: sparse.csr_array, sign: int, proven: int, bound: int) -> LinearConstraints:
    """The row that ``sign`` times a functional is proven to reach, and does not reach a bound."""
    ends = sign * proven, sign * (bound - 1)
    return LinearConstraints(row, np.array([min(ends)]), np.array([max(ends)]))
