"""Points of a relaxation, rounded: solutions, where the integers say so.

Floating point only proposes; whatever is kept of a point has all rows and bounds in integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.model.program import IntegerProgram, connected_parts


def rounded_solution(program: IntegerProgram, point: FloatArray) -> IntArray:
    """A point, rounded; empty where that is no solution, or there is no point."""
    values = np.rint(point).astype(np.int64)
    return values if program.is_feasible(values) else np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class ConnectedParts:
    """The parts of a program of which each may be solved alone.

    Attributes:
        of_row: For each row its part, from 0.
        of_variable: For each variable its part.
        count: How many there are.
    """

    program: IntegerProgram
    of_row: IntArray
    of_variable: IntArray
    count: int

    @classmethod
    def of(cls, program: IntegerProgram) -> ConnectedParts:
        """Those that no row connects."""
        of_row, of_variable = connected_parts(program.constraints.A)
        last = max(of_row.max(initial=-1), of_variable.max(initial=-1))
        return cls(program, of_row, of_variable, int(last) + 1)

    @classmethod
    def whole(cls, program: IntegerProgram) -> ConnectedParts:
        """All of the program as one part."""
        rows, variables = (np.zeros(size, dtype=np.int64) for size in program.shape)
        return cls(program, rows, variables, 1)

    @cached_property
    def rows(self) -> list[IntArray]:
        """The rows of each part, rising."""
        order = np.argsort(self.of_row, kind="stable")
        sizes = np.bincount(self.of_row, minlength=self.count)
        return np.split(order, np.cumsum(sizes)[:-1])

    def rounded(self, point: FloatArray, known: IntArray) -> IntArray:
        """A solution: a point, rounded, in the parts where that is one, elsewhere a known one.

        Args:
            point: A value of each variable.
            known: A solution.
        """
        program, values = self.program, np.rint(point).astype(np.int64)
        rows = program.constraints
        total = rows.A @ values
        is_solution = np.ones(self.count, dtype=bool)
        is_solution[self.of_row[(total < rows.least) | (total > rows.most)]] = False
        outside = (values < program.lower) | (values > program.upper)
        is_solution[self.of_variable[outside]] = False
        solution: IntArray = np.where(is_solution[self.of_variable], values, known)
        return solution
