"""Solutions near a known one: in every unit a person is added, removed or replaced.

Where counts are rounded, most such moves violate none of them, and a move in every unit at once
shows that hundreds of counts vary. No engine is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.program import IntegerProgram

#: Moves of a unit that are tried for one solution.
_TRIED: Final = 2_000
#: Number of consecutive solutions without progress after which the search ends.
_DRY: Final = 4


@dataclass
class Spans:
    """The values of functionals seen in solutions so far.

    Attributes:
        least: The least value of each in a solution.
        greatest: The greatest value of each in a solution.
        wanted: Required distance between the two.
    """

    least: IntArray
    greatest: IntArray
    wanted: int

    @property
    def is_open(self) -> BoolArray:
        """Return a mask of the functionals whose values are not far enough apart."""
        is_open: BoolArray = self.greatest - self.least < self.wanted
        return is_open

    def see(self, values: IntArray) -> bool:
        """Record a solution's values; return whether it widens an open range."""
        further = (values < self.least) | (values > self.greatest)
        shows = bool((further & self.is_open).any())
        self.least = np.minimum(self.least, values)
        self.greatest = np.maximum(self.greatest, values)
        return shows

    def worth(self, among: IntArray, values: IntArray, known: IntArray) -> IntArray:
        """Score values (functionals × moves) of a further solution.

        Half of the score is the widened range of the functionals, half the distance from the known
        values, so that the first of two steps has a value, too.
        """
        top = np.maximum(self.greatest[among, None], values)
        bottom = np.minimum(self.least[among, None], values)
        apart = np.minimum(top - bottom, self.wanted)
        far = np.minimum(abs(values - known[among, None]), self.wanted)
        worth: IntArray = (apart + far).sum(axis=0)
        return worth


class PersonMoves:
    """Moves of single people of one program, around a solution."""

    def __init__(
        self,
        program: IntegerProgram,
        functionals: sparse.csr_array,
        known: IntArray,
        unit: IntArray,
    ) -> None:
        """Prepare the moves of a program whose variables are kinds of people.

        Args:
            functionals: Sparse (functionals × variables).
            unit: The unit of each variable.
        """
        self.program, self.known = program, known
        self.functionals = functionals
        self.rows = sparse.csc_array(program.constraints.A)
        self.asked = sparse.csc_array(functionals)
        free = np.flatnonzero(program.lower < program.upper)
        order = free[np.argsort(unit[free], kind="stable")]
        self._units = np.split(order, np.flatnonzero(np.diff(unit[order])) + 1)

    def solutions(self, spans: Spans, random: np.random.Generator) -> Iterator[IntArray]:
        """Yield solutions that widen the ranges of open functionals."""
        rows, dry = self.program.constraints, 0
        if (rows.least == rows.most).all():  # nobody comes alone
            return
        while dry < _DRY and spans.is_open.any():
            walk = _Walk(self, spans, random)
            for _ in range(spans.wanted):
                for at in random.permutation(len(self._units)).tolist():
                    walk.move(self._units[at])
            dry = 0 if spans.see(walk.values) else dry + 1
            if not dry:
                yield walk.people


class _Walk:
    """A walk from the known solution to another."""

    def __init__(self, moves: PersonMoves, spans: Spans, random: np.random.Generator) -> None:
        self.moves, self.spans, self.random = moves, spans, random
        self.people = moves.known.copy()
        rows = moves.program.constraints
        total = rows.A @ self.people
        self.up, self.down = rows.most - total, total - rows.least
        self.start: IntArray = moves.functionals @ self.people
        self.values = self.start.copy()

    def move(self, columns: IntArray) -> None:
        """Apply the best of a random sample of moves in a unit."""
        moves, program = self.moves, self.moves.program
        asked = sparse.csr_array(moves.asked[:, columns])
        of_unit = np.flatnonzero(np.diff(asked.indptr))
        open_ones = of_unit[self.spans.is_open[of_unit]]
        if not len(open_ones):
            return
        here = self.people[columns]
        pairs = self._pairs(
            np.flatnonzero(here > program.lower[columns]),
            np.flatnonzero(here < program.upper[columns]),
        )
        rows = sparse.csr_array(moves.rows[:, columns])
        touched = np.flatnonzero(np.diff(rows.indptr))
        change = _changes(rows[touched].toarray(), pairs)
        is_right = (change <= self.up[touched, None]).all(axis=0)
        is_right &= (-change <= self.down[touched, None]).all(axis=0)
        pairs, change = pairs[:, is_right], change[:, is_right]
        if not pairs.shape[1]:
            return
        now = self.values[open_ones, None]
        after = now + _changes(asked[open_ones].toarray(), pairs)
        before, brings = (self.spans.worth(open_ones, each, self.start) for each in (now, after))
        gains = brings - before
        best = int((gains + self.random.random(len(gains))).argmax())
        if gains[best] <= 0:
            return
        self.up[touched] -= change[:, best]
        self.down[touched] += change[:, best]
        step = _steps(pairs[:, [best]], len(columns))[:, 0]
        self.values += moves.asked[:, columns] @ step
        self.people[columns] += step

    def _pairs(self, leaving: IntArray, coming: IntArray) -> IntArray:
        """Return the kinds that each move removes and adds (2 × moves); −1 is nobody."""
        nobody = np.array([-1])
        some = [np.concatenate([nobody, each]) for each in (leaving, coming)]
        if len(some[0]) * len(some[1]) <= _TRIED:
            every = np.meshgrid(*some, indexing="ij")
            return np.stack([each.ravel() for each in every])
        alone = np.stack([np.full(len(coming), -1), coming])
        return np.concatenate(
            [
                np.stack([leaving, np.full(len(leaving), -1)])[:, :_TRIED],
                alone[:, :_TRIED],
                np.stack([self.random.choice(each, _TRIED) for each in some]),
            ],
            axis=1,
        )


def _changes(matrix: IntArray, pairs: IntArray) -> IntArray:
    """Return the changes of moves in rows (rows × moves)."""
    nobody = np.zeros((matrix.shape[0], 1), dtype=matrix.dtype)
    padded = np.hstack([matrix, nobody])
    change: IntArray = padded[:, pairs[1]] - padded[:, pairs[0]]
    return change


def _steps(pairs: IntArray, width: int) -> IntArray:
    """Return the changes of moves in variables (variables × moves)."""
    return _changes(np.eye(width, dtype=np.int64), pairs)
