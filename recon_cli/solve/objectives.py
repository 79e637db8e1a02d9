"""Objectives over an integer program: attained interval ends, distance to a solution, diameter.

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
from recon_cli.model.placed import placed
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
        coefficients: Sparse (functionals × variables) integers ``C``; of histogram cells, ones.
        lower: The least that each functional is known to be.
        upper: The greatest that each functional is known to be.

    Raises:
        ValueError: When made: as many bounds as functionals are needed.
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
        """Add the knowledge that groups of functionals add ``most`` at most.

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
    """Maximise how many of some interval ends one solution attains; 0: none is attained by any.

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
    own = _scaled(functionals.coefficients, high.astype(np.int64) - low)
    low, high = np.flatnonzero(at_lower & ~narrow), np.flatnonzero(at_upper & ~narrow)
    wide = np.concatenate([low, high])
    n = len(wide)
    sign = np.repeat([1, -1], [len(low), len(high)])
    rows = LinearConstraints(
        sparse.csr_array(
            sparse.hstack(
                [functionals.coefficients[wide], _diagonal(sign * functionals.width[wide])]
            )
        ),
        functionals.lower[wide],
        functionals.upper[wide],
    )
    wider = with_variables(program, np.ones(n, dtype=np.int64))
    indicators = placed(wide, len(constants))
    return Maximization(with_rows(wider, rows), _hstack([own, indicators]), constants)


def distance_from(
    program: IntegerProgram, functionals: LinearFunctionals, origin: IntArray
) -> Maximization:
    """Maximise the distance of a solution from ``origin``: the sum of ``|y − origin|``.

    Eq. (distance) of docs/method.md, with ``s`` the origin, ``d`` the distance and ``z`` the side.

    Args:
        origin: Value of each functional to measure from, within its interval.
    """
    above, below = functionals.upper - origin, origin - functionals.lower
    # Where the interval does not straddle the origin the absolute value is linear.
    up, down = below == 0, (above == 0) & (below > 0)
    linear = _scaled(functionals.coefficients, up.astype(np.int64) - down)
    constants = origin * down - origin * up
    inner = np.flatnonzero((above > 0) & (below > 0))
    n = len(inner)
    ups, downs, s = above[inner], below[inner], origin[inner]
    one = sparse.eye_array(n, dtype=np.int64, format="csr")
    y = functionals.coefficients[inner]
    # y − d − 2·below·z ≥ s − 2·below and −y − d + 2·above·z ≥ −s; the other sides always hold.
    first = sparse.hstack([y, -one, -_diagonal(2 * downs)])
    second = sparse.hstack([-y, -one, _diagonal(2 * ups)])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second])),
        np.concatenate([s - 2 * downs, -s]),
        np.concatenate([s + ups, 2 * ups - s + downs]),
    )
    far = np.maximum(ups, downs)
    wider = with_variables(program, np.concatenate([far, np.ones(n, dtype=np.int64)]))
    distances = placed(inner, len(constants))
    sides = sparse.csr_array((len(constants), n), dtype=np.int64)
    return Maximization(with_rows(wider, rows), _hstack([linear, distances, sides]), constants)


def loss_from(
    program: IntegerProgram, functionals: LinearFunctionals, origin: IntArray
) -> Maximization:
    """Maximise how much of ``origin`` a solution lacks, twice: the sum of ``2·(origin − y)⁺``.

    Eq. (loss) of docs/method.md, with ``s`` the origin, ``d`` the shortfall and ``z`` whether there
    is any.

    Args:
        origin: Value of each functional to measure from, within its interval.
    """
    above, below = functionals.upper - origin, origin - functionals.lower
    down = (above == 0) & (below > 0)
    linear = _scaled(functionals.coefficients, -2 * down.astype(np.int64))
    inner = np.flatnonzero((above > 0) & (below > 0))
    n = len(inner)
    ups, downs, s = above[inner], below[inner], origin[inner]
    one = sparse.eye_array(n, dtype=np.int64, format="csr")
    y, nothing = functionals.coefficients[inner], sparse.csr_array((n, program.shape[1]))
    # y + d + above·z ≤ s + above and d ≤ below·z.
    first = sparse.hstack([y, one, _diagonal(ups)])
    second = sparse.hstack([nothing.astype(np.int64), one, -_diagonal(downs)])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second])),
        np.concatenate([s - downs, -downs]),
        np.concatenate([s + ups, np.zeros(n, dtype=np.int64)]),
    )
    wider = with_variables(program, np.concatenate([downs, np.ones(n, dtype=np.int64)]))
    losses = placed(inner, len(origin)) * 2
    sides = sparse.csr_array((len(origin), n), dtype=np.int64)
    terms = _hstack([linear, sparse.csr_array(losses), sides])
    return Maximization(with_rows(wider, rows), terms, 2 * origin * down)


def diameter(program: IntegerProgram, functionals: LinearFunctionals) -> Maximization:
    """Maximise the distance of two solutions: the sum of ``|y − y'|``.

    Eq. (diameter) of docs/method.md. The program's variables are the one solution, the other,
    distances ``d`` and sides ``z``.
    """
    n = len(functionals.lower)
    old = program.constraints
    twice = IntegerProgram(
        LinearConstraints(
            sparse.csr_array(sparse.block_diag([old.A, old.A], format="csr")),
            np.tile(old.least, 2),
            np.tile(old.most, 2),
        ),
        lower=np.tile(program.lower, 2),
        upper=np.tile(program.upper, 2),
    )
    width = functionals.width
    one = sparse.eye_array(n, dtype=np.int64, format="csr")
    y = functionals.coefficients
    # y − y' − d − 2·width·z ≥ −2·width and y' − y − d + 2·width·z ≥ 0.
    first = sparse.hstack([y, -y, -one, -_diagonal(2 * width)])
    second = sparse.hstack([-y, y, -one, _diagonal(2 * width)])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second])),
        np.concatenate([-2 * width, np.zeros(n, dtype=np.int64)]),
        np.concatenate([width, 3 * width]),
    )
    wider = with_variables(twice, np.concatenate([width, np.ones(n, dtype=np.int64)]))
    solutions = sparse.csr_array((n, 2 * program.shape[1]), dtype=np.int64)
    sides = sparse.csr_array((n, n), dtype=np.int64)
    terms = _hstack([solutions, one, sides])
    return Maximization(with_rows(wider, rows), terms, np.zeros(n, dtype=np.int64))


def _diagonal(values: IntArray) -> sparse.csr_array:
    return placed(np.arange(len(values)), len(values), values)


def _scaled(A: sparse.csr_array, factors: IntArray) -> sparse.csr_array:
    """Multiply the rows of ``A`` by their factors; zeros are no entries."""
    scaled = sparse.csr_array(_diagonal(factors) @ A)
    scaled.eliminate_zeros()
    return scaled


def _hstack(blocks: list[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.hstack(blocks, format="csr"))
