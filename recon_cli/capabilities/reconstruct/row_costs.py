"""Convex costs of rows: programs whose objective is the likelihood of the published counts.

Eq. (likely) of docs/method.md. A row's cost is that of the published cells that it represents. It
is least at the row's likeliest count, and increases on either side in segments of constant slope,
so that the least sum over rows is an integer program with one variable for each segment.

See *cost* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.placed import placed
from recon_cli.model.program import IntegerProgram, LinearConstraints, activity_bounds
from recon_cli.statement.costs import REACH, SCALE, CountCosts

#: Cost of each record, in 1/`SCALE`, which selects the solution with the fewest people among those
#: that are about equally likely.
RECORD = SCALE * 3 // 1000
#: Cost of each person that a row lacks or has too many, in 1/`SCALE`: more than any other cost.
SHORTAGE = 100 * SCALE


@dataclass(frozen=True)
class RowCosts:
    """Costs of rows as functions of their counts.

    Attributes:
        least: Lower bound of each row.
        most: Upper bound of each row, `OPEN` where there is none.
        likeliest: Count of each row with the least cost.
        sign: 1 for segments above the likeliest count, −1 for those below.
        start: People between the likeliest count and the segment.
        width: People in the segment, `OPEN` in the last one of a row without upper end.
        slope: Nonnegative cost of one more person in each segment, in 1/`SCALE`.
    """

    least: IntArray
    most: IntArray
    likeliest: IntArray
    row: IntArray
    sign: IntArray
    start: IntArray
    width: IntArray
    slope: IntArray

    def less(self, counts: IntArray) -> RowCosts:
        """Shift the costs to functions of the excess over ``counts``."""
        return replace(
            self,
            least=self.least - counts,
            most=np.where(self.most < OPEN, self.most - counts, OPEN),
            likeliest=self.likeliest - counts,
        )

    def select(self, rows: IntArray) -> RowCosts:
        """Select the costs of some rows, sorted."""
        place = np.full(len(self.least), -1)
        place[rows] = np.arange(len(rows))
        of_row = place[self.row]
        kept = of_row >= 0
        segments = (each[kept] for each in (of_row, self.sign, self.start, self.width, self.slope))
        return RowCosts(self.least[rows], self.most[rows], self.likeliest[rows], *segments)

    def cost(self, counts: IntArray) -> IntArray:
        """Return the cost of each row, within its bounds, in 1/`SCALE`."""
        beyond = (counts - self.likeliest)[self.row] * self.sign
        found = np.zeros(len(self.least), dtype=np.int64)
        np.add.at(found, self.row, np.clip(beyond - self.start, 0, self.width) * self.slope)
        return found


def row_costs(
    least: IntArray, most: IntArray, kinds: Sequence[IntArray], costs: CountCosts | None
) -> RowCosts:
    """Compute the costs of rows.

    Args:
        least: Lower bound of each row.
        most: Upper bound of each row, `OPEN` if unbounded.
        kinds: Kinds of the first published cell of each row, of the second, and so on; −1 where
            there is none, or it has no cost.
        costs: Costs of the kinds; None if no count has a cost.
    """
    slope = np.zeros((len(least), 2 * REACH), dtype=np.int64)
    centre = least.copy()
    if costs is not None:
        for kind in reversed(kinds):
            centre = np.where(kind >= 0, costs.likeliest[kind], centre)
        centre = np.clip(centre, least, most)
        steps = np.arange(-REACH, REACH)
        for kind in kinds:
            has = np.flatnonzero(kind >= 0)
            slope[has] += costs.slopes_at(kind[has, None], centre[has, None] + steps)
    likeliest = np.clip(centre - REACH + (slope < 0).sum(axis=1), least, most)
    flat = ~slope.any(axis=1)
    likeliest[flat] = least[flat]
    first = likeliest - centre + REACH
    parts = [
        _segments(slope, first, np.where(most < OPEN, most - likeliest, OPEN), 1),
        _segments(slope, first, likeliest - least, -1),
    ]
    row, sign, start, width, cost = (np.concatenate(each) for each in zip(*parts, strict=True))
    return RowCosts(least, most, likeliest, row, sign, start, width, cost)


def _segments(
    slope: IntArray, first: IntArray, room: IntArray, sign: int
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Return row, sign, start, width and slope of the segments on one side of the optima."""
    steps = np.arange(REACH)
    at = first[:, None] + (steps if sign > 0 else -1 - steps)
    here = sign * np.take_along_axis(slope, np.clip(at, 0, 2 * REACH - 1), axis=1)
    begins = np.ones(here.shape, dtype=bool)
    begins[:, 1:] = here[:, 1:] != here[:, :-1]
    begins &= steps < room[:, None]
    row, start = np.nonzero(begins)
    # A segment ends where the row's next segment begins, and the last segment where the room ends.
    end = np.append(start[1:], 0)
    last = np.append(row[1:] != row[:-1], True)[: len(row)]
    end = np.where(last, room[row], end[: len(row)])
    width = np.where(end < OPEN, end - start, OPEN)
    return row, np.full(len(row), sign), start, width, here[row, start]


@dataclass(frozen=True)
class CostProgram:
    """An integer program over rows with costs.

    Attributes:
        program: Its variables are the columns, then the segments, then the people that rows lack or
            have too many.
        cost: Cost of each variable, in 1/`SCALE`.
    """

    program: IntegerProgram
    cost: IntArray
    columns: int
    segments: int


def cost_program(
    A: sparse.csr_array,
    lower: IntArray,
    upper: IntArray,
    rows: RowCosts,
    *,
    short: IntArray,
    over: IntArray,
) -> CostProgram:
    """Build the program whose least cost is that of the likeliest counts: Eq. (likely).

    Args:
        A: Sparse (rows × columns) coefficients.
        lower: Least people in each column.
        upper: Most.
        short: Cost of each person that a row lacks, in 1/`SCALE`; 0 where it may lack nobody.
        over: The same of people whom a row has too many.
    """
    height, columns = A.shape
    lacking, beyond = np.flatnonzero((short > 0) & (rows.least > 0)), np.flatnonzero(over)
    sign = np.concatenate([-rows.sign, np.repeat([1, -1], [len(lacking), len(beyond)])])
    at = np.concatenate([rows.row, lacking, beyond])
    slack = placed(at, height, sign)
    limit = int(A.sum(axis=0).max(initial=0)) * int(upper.sum()) + int(-rows.most.min(initial=0))
    room = np.full(len(beyond), max(limit, 0))
    # No more people than the columns hold can be above the likeliest count of their row.
    _, most = activity_bounds(A, lower, upper)
    highest = np.maximum(most - rows.likeliest, 0)[rows.row]
    width = np.where(rows.width < OPEN, rows.width, highest)
    return CostProgram(
        program=IntegerProgram(
            LinearConstraints(
                sparse.csr_array(sparse.hstack([A, slack], format="csr")),
                rows.likeliest,
                rows.likeliest,
            ),
            lower=np.concatenate([lower, np.zeros(len(at), dtype=np.int64)]),
            upper=np.concatenate([upper, width, rows.least[lacking], room]),
        ),
        cost=np.concatenate([np.full(columns, RECORD), rows.slope, short[lacking], over[beyond]]),
        columns=columns,
        segments=len(rows.row),
    )
