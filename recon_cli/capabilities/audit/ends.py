"""Least and greatest values of many counts: functionals split over connected components.

A count is the sum of the contributions of each connected component of a program, and its bounds are
the sums of their bounds. Within a component many cells have the same functional, which is then
solved once.

The steps, in order of cost: vertices of the linear relaxation for random costs, each of which moves
many functionals at once; one proof that all functionals which did not move are constant; duals for
the remaining bounds, one functional of each component at a time; and bound tightening by two
engines for functionals that are still not known to be constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.audit.cells import EndsSoFar, OnEnds
from recon_cli.model.components import Component
from recon_cli.model.distinct_rows import distinct_rows
from recon_cli.model.ledger import Ledger, OnLedger, ignore_ledger
from recon_cli.model.program import ConnectedParts, IntegerProgram, activity_bounds, connected_parts
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import EndSearch

#: Share of the effort for bounds; the rest is for functionals not known to be constant.
_ENDS = 0.5


@dataclass(frozen=True)
class DistinctFunctionals:
    """The distinct functionals that make up the counts of cells in one program.

    Attributes:
        coefficients: Sparse (functionals × variables), distinct, each over one connected part.
        part: The connected part of each functional.
        cells: Sparse (cells × functionals): the functionals whose sum is each count.
    """

    coefficients: sparse.csr_array
    part: IntArray
    cells: sparse.csr_array

    @classmethod
    def of(cls, program: IntegerProgram, coefficients: sparse.csr_array) -> DistinctFunctionals:
        """Split and deduplicate functionals.

        Args:
            coefficients: Sparse (cells × variables): the counts.
        """
        _, part_of_variable = connected_parts(program.constraints.A)
        entries = coefficients.tocoo()
        parts = int(part_of_variable.max(initial=-1)) + 1
        key = entries.row.astype(np.int64) * parts + part_of_variable[entries.col]
        pieces, piece = np.unique(key, return_inverse=True)
        shape = (len(pieces), coefficients.shape[1])
        split = sparse.csr_array((entries.data, (piece, entries.col)), shape=shape)
        cell, part = np.divmod(pieces, max(parts, 1))
        first, same = distinct_rows(split)
        member = sparse.csr_array(
            (np.ones(len(pieces), dtype=np.int64), (cell, same)),
            shape=(coefficients.shape[0], len(first)),
        )
        return cls(sparse.csr_array(split[first]), part[first], member)


class FindEnds(Protocol):
    """A method to find the bounds of functionals of a program."""

    def __call__(self, functionals: sparse.csr_array, *, watch: OnLedger) -> Ledger:
        """Find the bounds, and pass the ledger to ``watch`` from time to time."""


class SummedEnds:
    """Bounds of counts, summed over components that share no row.

    Attributes:
        lower: Proven lower bounds, over the components that were added.
        upper: Proven upper bounds, over the added components.
        least: The least counts in known solutions of the added components.
    """

    def __init__(
        self, counts: sparse.csr_array, lower: IntArray, free: BoolArray, upper: IntArray
    ) -> None:
        """Start with the contributions of settled variables.

        Args:
            counts: Sparse (cells × variables).
            free: Mask of the variables that are in a component.
            upper: The greatest of each variable; `OPEN` where there is none.
        """
        self._by_variable = sparse.csc_array(counts)
        left = np.where(free, lower, 0), np.where(free, upper, 0)
        #: Least and greatest contribution of the components that are not added yet.
        self._rest = activity_bounds(counts, *left)
        known: IntArray = counts @ np.where(free, 0, lower)
        self.lower, self.upper = known.copy(), known.copy()
        self.least, self.greatest = known.copy(), known

    def add(self, component: Component, find: FindEnds, on_ends: OnEnds | None = None) -> Ledger:
        """Add the contribution of a component.

        Args:
            on_ends: Called with the bounds of the counts over the components added so far.
        """
        here = sparse.csr_array(self._by_variable[:, component.columns])
        asked = np.flatnonzero(np.diff(here.indptr))
        functionals = DistinctFunctionals.of(component.program, sparse.csr_array(here[asked]))
        part = component.program
        added = activity_bounds(sparse.csr_array(here[asked]), part.lower, part.upper)
        for rest, less in zip(self._rest, added, strict=True):
            rest[asked] -= less

        def show(ledger: Ledger) -> None:
            if on_ends is None:
                return
            low, high = self._rest
            # Components that are not searched yet are assumed to have the same solution throughout.
            so_far = [self.lower + low, self.upper + high, self.least + low, self.greatest + low]
            values = (ledger.lower, ledger.upper, ledger.least, ledger.greatest)
            for known, own in zip(so_far, values, strict=True):
                known[asked] += functionals.cells @ own
            on_ends(EndsSoFar(asked, *so_far))

        found = find(functionals.coefficients, watch=show)
        self.lower[asked] += functionals.cells @ found.lower
        self.upper[asked] += functionals.cells @ found.upper
        self.least[asked] += functionals.cells @ found.least
        self.greatest[asked] += functionals.cells @ found.greatest
        return found

    def leave(self, component: Component) -> None:
        """Add the range of a component without a known solution."""
        here = sparse.csr_array(self._by_variable[:, component.columns])
        lower, upper = activity_bounds(here, component.program.lower, component.program.upper)
        low, high = self._rest
        self._rest = low - lower, high - upper
        self.lower += lower
        self.upper += upper
        self.least += lower
        self.greatest += lower


def find_ends(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    effort: Effort,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """Find the least and the greatest value of each functional: Eq. (ends).

    If the budget runs out, the ledger still contains valid bounds.

    Args:
        functionals: Sparse (functionals × variables), each over one connected part, none empty.
        effort: Budget for everything together.
    """
    ledger = Ledger(program, functionals, [known])
    search = EndSearch(ledger, effort, ConnectedParts.of(program))
    # First all open ends; then the functionals that no solution has moved yet.
    for step in (
        partial(search.move, lambda: ledger.is_open_anywhere),
        partial(search.move, lambda: ledger.is_undecided),
        search.prove_constants,
        partial(search.bound_widest, lambda: ledger.is_undecided, 0.0),
    ):
        step()
        watch(ledger)
    search.bound_widest(lambda: ledger.is_open_anywhere, search.left * (1 - _ENDS))
    watch(ledger)
    search.tighten(np.flatnonzero(ledger.is_undecided))
    return ledger


def find_all_ends(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    effort: Effort,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """Find ends as `find_ends`, then tighten those that no solution attains.

    Rows of printed statistics have large coefficients, so that duals leave gaps that they do not
    leave for rows of counts alone.
    """
    ledger = find_ends(program, functionals, known, effort, watch)
    search = EndSearch(ledger, effort, ConnectedParts.of(program))
    search.tighten(np.flatnonzero(ledger.is_open_anywhere))
    watch(ledger)
    return ledger


def find_settled(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    known: IntArray,
    effort: Effort,
    watch: OnLedger = ignore_ledger,
) -> Ledger:
    """Find which functionals are constant over all solutions, like `find_ends` without bounds."""
    ledger = Ledger(program, functionals, [known])
    search = EndSearch(ledger, effort, ConnectedParts.of(program))
    search.move(lambda: ledger.is_undecided)
    search.prove_constants()
    watch(ledger)
    search.bound_widest(lambda: ledger.is_undecided, search.left * (1 - _ENDS))
    search.tighten(np.flatnonzero(ledger.is_undecided))
    return ledger
