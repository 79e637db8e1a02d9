"""Sums instead of single values: histogram cells that rows tell apart by their value alone.

If only sums of values tell the consecutive whole values from α to β apart, then the number of
people y and the excess s of their values over α suffice: 0 <= s <= (β − α) y. Every such s is
attained, so no solution is lost; people are placed on single values afterwards: Eq. (excess).

See *excess* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.model.distinct_rows import distinct_rows
from recon_cli.model.program import LinearConstraints


@dataclass(frozen=True)
class ValueRows:
    """Rows over histogram cells: ``least <= (plain + by_value · values) x <= most``.

    Attributes:
        plain: Sparse (rows × cells).
        by_value: Sparse (rows × cells): the multiple of the cell's value.
        values: For each cell a whole number.
        least: Lower bound of each row.
        most: Upper bound of each row, `OPEN` where there is none.
    """

    plain: sparse.csr_array
    by_value: sparse.csr_array
    values: IntArray
    least: IntArray
    most: IntArray

    @property
    def rows(self) -> LinearConstraints:
        """Return the rows over single cells."""
        by_value = self.by_value @ sparse.diags_array(self.values, dtype=np.int64)
        A = sparse.csr_array(self.plain + by_value, dtype=np.int64)
        A.eliminate_zeros()
        return LinearConstraints(A, self.least, self.most)


@dataclass(frozen=True)
class SummedColumns:
    """Rows over the people and the excess of runs of histogram cells: Eq. (excess).

    Attributes:
        rows: The rows over cells, in their order, then one for each excess.
        unit: For each column its unit, sorted.
        people: For each histogram cell the column of its run's people.
        excess: For each histogram cell the column of its run's excess, −1 where it has none.
        offset: For each histogram cell its value over the least of its run.
        span: For each histogram cell the greatest offset of its run.
        first: For each histogram cell whether it stands for all cells of its run and value.
    """

    rows: LinearConstraints
    unit: IntArray
    people: IntArray
    excess: IntArray
    offset: IntArray
    span: IntArray
    first: BoolArray

    def functionals(self, cells: sparse.csr_array) -> sparse.csr_array:
        """Return functionals over the columns from functionals that are equal on each run.

        Raises:
            ValueError: A functional differs within a run.
        """
        lead = np.flatnonzero(self.first & (self.offset == 0))
        shape = (len(self.people), len(self.unit))
        ones = np.ones(len(lead), dtype=np.int64)
        lift = sparse.csr_array((ones, (lead, self.people[lead])), shape=shape)
        found = sparse.csr_array(cells @ lift)
        every = np.arange(len(self.people))
        spread = sparse.csr_array(
            (np.ones(len(every), dtype=np.int64), (self.people, every)), shape=shape[::-1]
        )
        if abs(sparse.csr_array(found @ spread) - cells).sum():
            raise ValueError("a count tells values apart that were added up")
        return found

    def placed(self, values: IntArray) -> IntArray:
        """Return people in single histogram cells, from values of the columns."""
        found = np.zeros(len(self.people), dtype=np.int64)
        left = np.where(self.unit >= 0, values, 0).copy()
        cells = np.flatnonzero(self.first)
        order = cells[np.lexsort((-self.offset[cells], self.people[cells]))]
        starts = np.flatnonzero(np.diff(self.people[order], prepend=-1))
        for run in np.split(order, starts[1:]):
            if not len(run):
                continue
            number = int(values[self.people[run[0]]])
            if number == 0:
                continue
            excess, span = int(self.excess[run[0]]), int(self.span[run[0]])
            own = 0
            if excess >= 0:
                own = min(int(left[excess]), span * number)
                left[excess] -= own
            at = {int(self.offset[cell]): int(cell) for cell in run}
            whole, rest = divmod(own, span) if span and own else (0, 0)
            found[at[span]] += whole if span else 0
            if rest:
                found[at[rest]] += 1
            found[at[0]] += number - whole - (1 if rest else 0)
        return found


def sum_columns(
    rows: ValueRows, unit: IntArray, apart: sparse.csr_array | None = None
) -> SummedColumns:
    """Add up histogram cells that no row tells apart but by their value.

    Args:
        unit: For each cell its unit, sorted.
        apart: Sparse (functionals × cells): cells that these tell apart are not added up.
    """
    plain, by_value = sparse.csc_array(rows.plain), sparse.csc_array(rows.by_value)
    if apart is not None:
        plain = sparse.csc_array(sparse.vstack([plain, apart]))
    both = sparse.csr_array(sparse.vstack([plain, by_value]).T)
    _, alike = distinct_rows(both, unit)
    is_summed = np.diff(by_value.indptr) > 0
    # A value that occurs twice in a run stands for both cells.
    order = np.lexsort((np.arange(len(unit)), rows.values, alike))
    run, first = _runs(alike[order], rows.values[order], is_summed[order])
    of_run = np.empty(len(unit), dtype=np.int64)
    of_run[order] = run
    is_first = np.empty(len(unit), dtype=bool)
    is_first[order] = first
    runs = int(of_run.max(initial=-1)) + 1
    low = np.full(runs, np.iinfo(np.int64).max)
    high = np.full(runs, np.iinfo(np.int64).min)
    np.minimum.at(low, of_run, rows.values)
    np.maximum.at(high, of_run, rows.values)
    has_values = np.zeros(runs, dtype=bool)
    has_values[of_run[is_summed]] = True
    low, high = np.where(has_values, low, 0), np.where(has_values, high, 0)
    offset = np.where(is_summed, rows.values - low[of_run], 0)
    return _assembled(rows, unit, (of_run, low, high), offset, is_first)


def _runs(alike: IntArray, values: IntArray, is_summed: BoolArray) -> tuple[IntArray, BoolArray]:
    """Number runs of consecutive values, and mark the first cell of each value.

    Args:
        alike: For each cell the class of cells that rows treat alike, sorted.
        values: The value of each cell, sorted within a class.
        is_summed: For each cell whether rows contain its value.
    """
    step = np.diff(values, prepend=0)
    is_new_class = np.diff(alike, prepend=-1) != 0
    starts = is_new_class | (is_summed & (step > 1))
    return np.cumsum(starts) - 1, starts | (is_summed & (step > 0))


def _assembled(
    rows: ValueRows,
    unit: IntArray,
    runs: tuple[IntArray, IntArray, IntArray],
    offset: IntArray,
    is_first: BoolArray,
) -> SummedColumns:
    """Build the rows over people and excess; runs with the same factors share an excess."""
    of_run, low, high = runs
    lead = np.flatnonzero(is_first & (offset == 0))
    lead = lead[np.argsort(of_run[lead], kind="stable")]
    wide = np.flatnonzero(high > low)
    by_value = sparse.csc_array(rows.by_value)
    _, shared = distinct_rows(sparse.csr_array(by_value[:, lead[wide]].T), unit[lead[wide]])
    excesses = int(shared.max(initial=-1)) + 1
    unit_of_excess = np.zeros(excesses, dtype=np.int64)
    unit_of_excess[shared] = unit[lead[wide]]
    every_unit = np.concatenate([unit[lead], unit_of_excess])
    order = np.argsort(every_unit, kind="stable")
    column = np.empty(len(order), dtype=np.int64)
    column[order] = np.arange(len(order))
    people, excess = column[: len(lead)], column[len(lead) :]
    excess_of_run = np.full(len(lead), -1, dtype=np.int64)
    excess_of_run[wide] = excess[shared]
    # People of a run count with its least value, and the excess adds to that.
    first_values = sparse.diags_array(low, dtype=np.int64)
    of_people = rows.plain[:, lead] + rows.by_value[:, lead] @ first_values
    one_of_each = np.zeros(excesses, dtype=np.int64)
    one_of_each[shared] = lead[wide]
    main = sparse.hstack([of_people, rows.by_value[:, one_of_each]])
    limits = sparse.hstack(
        [
            sparse.csr_array(((high - low)[wide], (shared, wide)), shape=(excesses, len(lead))),
            -sparse.eye_array(excesses, dtype=np.int64),
        ]
    )
    A = sparse.csr_array(sparse.csc_array(sparse.vstack([main, limits]))[:, order])
    A.eliminate_zeros()
    none = np.zeros(excesses, dtype=np.int64)
    constraints = LinearConstraints(
        A,
        np.concatenate([rows.least, none]),
        np.concatenate([rows.most, np.full(excesses, OPEN)]),
    )
    return SummedColumns(
        rows=constraints,
        unit=every_unit[order],
        people=people[of_run],
        excess=excess_of_run[of_run],
        offset=offset,
        span=(high - low)[of_run],
        first=is_first,
    )
