"""Least and greatest sizes of many sets of one unit's people: refuted by solutions, or proven.

The steps, in order of cost: bounds of the variables, sums of rows, duals of the linear relaxation
and solutions at its vertices, and bound tightening by two engines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.ledger import Ledger
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.ends import Ends, EndSearch
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Vertices that are tried near an end that is not attained, and the weight of their random costs.
_NEAR = 8
_NEAR_NOISE = 0.1


@dataclass(frozen=True)
class Sets:
    """Sets of variables; a variable may be partly in a set.

    Attributes:
        inner: (sets × variables) variables wholly in each set; their sum is the least size.
        outer: (sets × variables) variables at least partly in each set; their sum is the greatest
            size. The same array as `inner` if no variable is partly in a set.
    """

    inner: BoolArray
    outer: BoolArray

    @property
    def functionals(self) -> sparse.csr_array:
        """Return sparse (functionals × variables): inner sums, and outer ones if different."""
        every = [self.inner] if self.outer is self.inner else [self.inner, self.outer]
        return sparse.csr_array(np.concatenate(every)).astype(np.int64)


@dataclass(frozen=True)
class SettledSets:
    """Bounds of the sizes of sets, valid at any time.

    Attributes:
        above: For each set the number of its outer sum; its inner sum has the set's own number.
    """

    ledger: Ledger
    above: IntArray

    @property
    def lower(self) -> IntArray:
        lower: IntArray = self.ledger.lower[: len(self.above)]
        return lower

    @property
    def upper(self) -> IntArray:
        upper: IntArray = self.ledger.upper[self.above]
        return upper

    @property
    def is_open_below(self) -> BoolArray:
        """Return a mask of the sets whose least size is not known."""
        is_open: BoolArray = self.ledger.is_open_below[: len(self.above)]
        return is_open

    @property
    def is_open_above(self) -> BoolArray:
        """Return a mask of the sets whose greatest size is unknown and not yet seen to vary."""
        ledger = self.ledger
        least, greatest = ledger.least[: len(self.above)], ledger.greatest[self.above]
        is_open: BoolArray = ledger.is_open_above[self.above] & (least == greatest)
        return is_open

    @property
    def is_undecided(self) -> BoolArray:
        """Return a mask of the sets whose least size, or constancy, is not known."""
        return self.is_open_below | self.is_open_above

    @property
    def grounds(self) -> IntArray:
        """Return for each set the index in `recon_cli.model.ledger.GROUNDS` of its evidence."""
        below = self.ledger.grounds(range(len(self.above)), 1)
        return np.maximum(below, self.ledger.grounds(self.above.tolist(), -1))


def settle(
    program: IntegerProgram,
    sets: Sets,
    known: tuple[IntArray, ...],
    effort: Effort,
    relaxation: LinearRelaxation | None = None,
) -> SettledSets:
    """Find the least size of each set, and its greatest unless two solutions differ.

    If the budget runs out, the bounds are still valid, but the least seen size may exceed `lower`,
    or the greatest stay below `upper`, although no two solutions are known to differ.

    Args:
        known: Solutions, at least one.
        effort: Budget for everything together.
        relaxation: Relaxation of the program, if it was used before.
    """
    ledger = Ledger(program, sets.functionals, list(known))
    numbers = np.arange(len(sets.inner))
    settled = SettledSets(ledger, numbers + ledger.functionals.shape[0] - len(numbers))
    search = _Search(settled, EndSearch(ledger, effort, relaxation=relaxation))
    whole = (sets.inner == sets.outer).all(axis=1)
    sums = np.flatnonzero(settled.is_undecided & whole)
    search.steps.combine_rows(np.unique([sums, settled.above[sums]]))
    search.bound_by_duals()
    search.look_near_ends()
    search.tighten()
    return settled


def greatest(
    program: IntegerProgram,
    sets: BoolArray,
    known: tuple[IntArray, ...],
    effort: Effort,
    relaxation: LinearRelaxation,
) -> Ledger:
    """Find the greatest size of each set, or an upper bound if the budget runs out.

    Args:
        sets: (sets × variables) which variables are in each set.
        effort: Budget for everything together.
    """
    ledger = Ledger(program, sparse.csr_array(sets).astype(np.int64), list(known))
    search = EndSearch(ledger, effort, relaxation=relaxation)
    for k in range(len(sets)):
        if ledger.is_open(k, -1) and search.left > 0:
            search.bound(np.array([k]), np.array([-1]))
    search.tighten(np.flatnonzero(ledger.is_open_above), Ends.UPPER)
    return ledger


class _Search:
    """The steps of the search, with a functional for each end of each set."""

    def __init__(self, settled: SettledSets, steps: EndSearch) -> None:
        self.settled, self.steps = settled, steps
        self.sides = ((1, np.arange(len(settled.above))), (-1, settled.above))

    def is_open(self, k: int, sign: int) -> bool:
        """Test whether one end of a set is unknown and still needed."""
        ledger, outer = self.steps.ledger, int(self.settled.above[k])
        if sign > 0:
            return ledger.is_open(k, 1)
        return ledger.is_open(outer, -1) and bool(ledger.least[k] == ledger.greatest[outer])

    def bound_by_duals(self) -> None:
        """Bound open ends by duals, one relaxation each, and keep the integral vertices."""
        for sign, functional in self.sides:
            for k in range(len(functional)):
                if self.is_open(k, sign) and self.steps.left > 0:
                    self.steps.bound(functional[[k]], np.array([sign]))

    def look_near_ends(self) -> None:
        """Search for solutions that attain the ends which duals leave open, before using engines.

        The relaxation attains such an end at a fractional vertex; integral points near that vertex
        may attain it, too.
        """
        ledger, steps = self.steps.ledger, self.steps
        for k in np.flatnonzero(self.settled.is_undecided).tolist():
            for sign, functional in self.sides:
                for _ in range(_NEAR):
                    if not self.is_open(k, sign) or steps.left <= 0:
                        break
                    noise = _NEAR_NOISE * steps.random.random(ledger.program.shape[1])
                    steps.vertex(sign * ledger.coefficients(int(functional[k])) + noise)

    def tighten(self) -> None:
        """Tighten the remaining bounds by two engines."""
        self.steps.tighten(np.flatnonzero(self.settled.is_open_below), Ends.LOWER)
        self.steps.tighten(self.settled.above[self.settled.is_open_above], Ends.UPPER)
