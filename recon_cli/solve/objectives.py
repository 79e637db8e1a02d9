"""Objectives over an integer program, such as how many interval ends a solution attains.

They are functions of linear functionals ``y = C x`` of the program's variables. Every objective is
linear, so that a second engine can solve the same program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.placed import diagonal, placed
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    activity_bounds,
    with_rows,
    with_variables,
)


@dataclass(frozen=True)
class LinearFunctionals:
    """Functionals ``y = C x``, each with bounds that every solution satisfies.

    Attributes:
        coefficients: Sparse (functionals × variables) integers ``C``; 1 for histogram cells.
        lower: Lower bound of each functional.
        upper: Upper bound of each functional.

    Raises:
        ValueError: On construction, if there are not as many bounds as functionals.
    """

    coefficients: sparse.csr_array
    lower: IntArray
    upper: IntArray

    def __post_init__(self) -> None:
        rows = self.coefficients.shape[0]
        if self.lower.shape != (rows,) or self.upper.shape != (rows,):
            raise ValueError(
                f"{rows} functionals have bounds of shapes {self.lower.shape}, {self.upper.shape}"
            )

    @property
    def width(self) -> IntArray:
        """Return the length of each interval."""
        return self.upper - self.lower

    def select(self, rows: IntArray) -> LinearFunctionals:
        return LinearFunctionals(
            sparse.csr_array(self.coefficients[rows]), self.lower[rows], self.upper[rows]
        )


@dataclass(frozen=True)
class Maximization:
    """The maximisation of the sum of ``terms @ x + constants`` over a program.

    Attributes:
        program: The original program's variables first, then those that the objective adds.
        terms: Sparse (functionals × variables): what each functional adds to the objective.
        constants: For each functional a constant that it adds.
    """

    program: IntegerProgram
    terms: sparse.csr_array
    constants: IntArray

    @cached_property
    def objective(self) -> IntArray:
        """Return the integer coefficient of each variable."""
        coefficients: IntArray = self.terms.T @ np.ones(self.terms.shape[0], dtype=np.int64)
        return coefficients

    @property
    def constant(self) -> int:
        return int(self.constants.sum())

    def at_least(self, value: int) -> IntegerProgram:
        """Restrict the program to solutions with at least ``value``; infeasible if none has."""
        row = sparse.csr_array(self.objective[None, :])
        least = value - self.constant
        most = max(self.program.highest(self.objective), least)
        return with_rows(self.program, LinearConstraints(row, np.array([least]), np.array([most])))

    def capped(self, group: IntArray, most: IntArray) -> Maximization:
        """Add rows by which groups of functionals add at most ``most`` to the objective.

        No solution is lost; the solver recognises the optimum earlier.

        Args:
            group: For each functional its group, from 0.
            most: For each group a valid bound on what its functionals add to the objective.
        """
        n, functionals = len(most), len(group)
        members = sparse.csr_array(
            (np.ones(functionals, dtype=np.int64), (group, np.arange(functionals))),
            shape=(n, functionals),
        )
        A = sparse.csr_array(members @ self.terms)
        A.sort_indices()
        least, _ = activity_bounds(A, self.program.lower, self.program.upper)
        rows = LinearConstraints(A, least, np.maximum(most - members @ self.constants, least))
        return replace(self, program=with_rows(self.program, rows))


def interval_ends(
    program: IntegerProgram,
    functionals: LinearFunctionals,
    at_lower: npt.NDArray[np.bool_],
    at_upper: npt.NDArray[np.bool_],
) -> Maximization:
    """Maximise how many of some interval ends a solution attains; if 0, no solution attains any.

    Eq. (indicator) of docs/method.md: an indicator ``z`` that is one forces its functional to the
    end, and the interval's width is the least valid big-M.

    Args:
        functionals: With ``lower < upper`` where an end is to be reached.
        at_lower: Functionals whose lower end is to be reached.
        at_upper: Functionals whose upper end is to be reached.
    """
    narrow = functionals.width == 1
    # A functional between two neighbouring values is its own indicator.
    low, high = at_lower & narrow, at_upper & narrow
    constants = functionals.upper * low - functionals.lower * high
    own = scaled(functionals.coefficients, high.astype(np.int64) - low)
    low, high = np.flatnonzero(at_lower & ~narrow), np.flatnonzero(at_upper & ~narrow)
    wide = np.concatenate([low, high])
    n = len(wide)
    sign = np.repeat([1, -1], [len(low), len(high)])
    rows = LinearConstraints(
        sparse.csr_array(
            sparse.hstack(
                [functionals.coefficients[wide], diagonal(sign * functionals.width[wide])]
            )
        ),
        functionals.lower[wide],
        functionals.upper[wide],
    )
    wider = with_variables(program, np.ones(n, dtype=np.int64))
    indicators = placed(wide, len(constants))
    return Maximization(with_rows(wider, rows), hstack([own, indicators]), constants)


def scaled(A: sparse.csr_array, factors: IntArray) -> sparse.csr_array:
    """Multiply the rows of ``A`` by their factors; zeros are not stored."""
    entries = A.data * np.repeat(factors, np.diff(A.indptr))
    scaled = sparse.csr_array((entries, A.indices, A.indptr), shape=A.shape, copy=True)
    scaled.eliminate_zeros()
    return scaled


def hstack(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    """Put sparse matrices beside each other."""
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))
