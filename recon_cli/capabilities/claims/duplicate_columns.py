"""Duplicate columns: variables with the same coefficients in every row, replaced by their sum.

No row distinguishes these variables, so their sum can be split among them freely. A functional that
contains only some of them lies between two functionals of the sums.

See *duplicate columns* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.distinct_rows import distinct_columns
from recon_cli.model.program import IntegerProgram, LinearConstraints


@dataclass(frozen=True)
class MergedProgram:
    """A program over sums of variables that no row distinguishes.

    Attributes:
        program: The program over the sums.
        of_variable: For each variable of the original program the number of its sum.
    """

    program: IntegerProgram
    of_variable: IntArray

    @cached_property
    def _by_sum(self) -> tuple[IntArray, IntArray]:
        """Return the original variables sorted by sum, and the start of each sum."""
        order = np.argsort(self.of_variable, kind="stable").astype(np.int64)
        starts = np.searchsorted(self.of_variable[order], np.arange(self.program.shape[1]))
        return order, starts.astype(np.int64)

    @cached_property
    def sizes(self) -> IntArray:
        """Count the variables of each sum."""
        return np.bincount(self.of_variable, minlength=self.program.shape[1]).astype(np.int64)

    def add_up(self, values: IntArray) -> IntArray:
        """Convert a solution of the original program to one of the merged program."""
        sums = np.bincount(self.of_variable, values, self.program.shape[1])
        return sums.astype(np.int64)

    def one_of_each(self, random: np.random.Generator) -> IntArray:
        """Draw one variable of each sum at random, to stand for the whole sum."""
        order, starts = self._by_sum
        chosen: IntArray = order[starts + random.integers(0, self.sizes)]
        return chosen

    def between(self, members: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Return the sums whose variables are all in a set, and the sums with some variable in it.

        A set has at least the former sums and at most the latter; for given values of the sums,
        some solutions attain each bound.

        Args:
            members: (sets × original variables) which variables are in each set.
        """
        order, starts = self._by_sum
        if len(order) == len(starts):
            return members, members
        ordered = members[:, order]
        inner: BoolArray = np.logical_and.reduceat(ordered, starts, axis=1)
        outer: BoolArray = np.logical_or.reduceat(ordered, starts, axis=1)
        return inner, inner if np.array_equal(inner, outer) else outer


def merge_duplicate_columns(program: IntegerProgram) -> MergedProgram:
    """Merge variables with the same coefficients, if each may be as large as their sum can be.

    Args:
        program: The program; if it has negative coefficients, nothing is merged.
    """
    A = sparse.csc_array(program.constraints.A)
    most = _most_by_rows(program, A)
    free = (program.lower == 0) & (most <= program.upper)
    key = np.where(free, -1, np.arange(A.shape[1]))
    first, of_variable = distinct_columns(A, key)
    rows = program.constraints
    merged = IntegerProgram(
        LinearConstraints(sparse.csr_array(A[:, first]), rows.least, rows.most),
        program.lower[first],
        np.where(free, most, program.upper)[first],
    )
    return MergedProgram(merged, of_variable)


def _most_by_rows(program: IntegerProgram, A: sparse.csc_array) -> IntArray:
    """Return each variable's upper bound by the rows alone, without limit where there is none."""
    nothing = np.full(A.shape[1], np.iinfo(np.int64).max)
    if not A.nnz or A.data.min() <= 0:
        return nothing
    room = program.constraints.most - program.constraints.A @ program.lower
    in_some = np.flatnonzero(np.diff(A.indptr) > 0)
    allowed = room[A.indices] // A.data
    nothing[in_some] = np.minimum.reduceat(allowed, A.indptr[in_some])
    return nothing
