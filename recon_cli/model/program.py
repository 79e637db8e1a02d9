"""Integer programs, and programs derived by fixing, relaxing or shifting.

An integer program is Eq. (program) of docs/method.md. It is independent of the system that it came
from; where that matters, a `Subprogram` keeps the index maps.

See *integer program* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.placed import widened

_Number = TypeVar("_Number", np.int64, np.float64)


@dataclass(frozen=True)
class LinearConstraints:
    """``least <= A x <= most``: Eq. (published) of docs/method.md, over the unknowns of a system.

    An exact count has ``least == most``; a count that is only an upper bound has ``least == 0``.

    Attributes:
        A: Sparse (rows × cells), integer coefficients, positive in rows of published counts.
        least: Lower bound of each row.
        most: Upper bound of each row. In a system it is `recon_cli.frames.OPEN` where nothing
            bounds the row; in an integer program it is finite, by the bounds of the variables.

    Raises:
        ValueError: On construction, if there are not as many bounds as rows.
    """

    A: sparse.csr_array
    least: IntArray
    most: IntArray

    def __post_init__(self) -> None:
        rows = self.A.shape[0]
        if self.least.shape != (rows,) or self.most.shape != (rows,):
            raise ValueError(
                f"{rows} rows have bounds of shapes {self.least.shape} and {self.most.shape}"
            )

    def are_met_by(self, values: IntArray) -> bool:
        total = self.A @ values
        return bool((total >= self.least).all() and (total <= self.most).all())


def relax(
    rows: LinearConstraints, is_unit_row: npt.NDArray[np.bool_], unit: IntArray
) -> LinearConstraints:
    """Relax rows unit by unit: coarse rows become upper bounds of each unit's part (Eq. 4.9).

    Args:
        is_unit_row: For each row whether it belongs to a unit, not to a coarser geounit.
        unit: For each cell its unit.

    Returns:
        The units' rows as they are, and for every coarse row and unit in it one row that the
        unit's share must not exceed. No row couples two units.
    """
    entries = rows.A.tocoo()
    own = is_unit_row[entries.row]
    share = np.where(own, 0, unit[entries.col] + 1)
    shares = int(share.max(initial=0)) + 1
    # One number for row and share: NumPy sorts those ten times as fast as pairs.
    pairs, number = np.unique(entries.row * np.int64(shares) + share, return_inverse=True)
    row, share = np.divmod(pairs, shares)
    A = sparse.csr_array((entries.data, (number, entries.col)), shape=(len(row), rows.A.shape[1]))
    return LinearConstraints(A, np.where(share == 0, rows.least[row], 0), rows.most[row])


@dataclass(frozen=True)
class IntegerProgram:
    """``least <= A x <= most``, ``lower <= x <= upper``, x integer: Eq. (program).

    Attributes:
        constraints: (rows × variables) integer coefficients with the bounds of each row.
        lower: The least value of each variable.
        upper: The greatest value of each variable, not below `lower`.

    Raises:
        ValueError: On construction, if bounds do not fit the constraints, or cross.
    """

    constraints: LinearConstraints
    lower: IntArray
    upper: IntArray

    def __post_init__(self) -> None:
        width = self.constraints.A.shape[1]
        if self.lower.shape != (width,) or self.upper.shape != (width,):
            raise ValueError(
                f"an integer program over {width} variables has bounds of shapes "
                f"{self.lower.shape} and {self.upper.shape}"
            )
        if (self.lower > self.upper).any():
            at = int(np.argmax(self.lower > self.upper))
            raise ValueError(
                f"variable {at} is at least {self.lower[at]}, at most {self.upper[at]}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        rows, variables = self.constraints.A.shape
        return rows, variables

    def is_feasible(self, values: IntArray) -> bool:
        return bool(
            values.shape == self.lower.shape
            and (values >= self.lower).all()
            and (values <= self.upper).all()
            and self.constraints.are_met_by(values)
        )

    def rounded(self, point: FloatArray) -> IntArray:
        """Round a point of the relaxation; return an empty array if that is no solution."""
        values = np.rint(point).astype(np.int64)
        return values if self.is_feasible(values) else np.empty(0, dtype=np.int64)

    def highest(self, objective: IntArray) -> int:
        """Return the greatest ``objective @ x`` that the bounds of the variables allow."""
        return int(objective @ np.where(objective > 0, self.upper, self.lower))

    def lowest(self, objective: IntArray) -> int:
        """Return the least ``objective @ x`` that the bounds of the variables allow."""
        return -self.highest(-objective)


@dataclass(frozen=True)
class Subprogram:
    """A program over some variables and rows of a larger one.

    Attributes:
        columns: For each variable of `program` its column in the larger program, sorted.
        rows: For each row of `program` its row in the larger program, sorted.

    Raises:
        ValueError: On construction, if the index maps do not fit the program.
    """

    program: IntegerProgram
    columns: IntArray
    rows: IntArray

    def __post_init__(self) -> None:
        maps = (len(self.rows), len(self.columns))
        if maps != self.program.shape:
            raise ValueError(f"index maps of lengths {maps} for a program of {self.program.shape}")


@dataclass(frozen=True)
class DeviationProgram:
    """A program in deviations from given values: Eq. (deviation) of docs/method.md.

    Attributes:
        program: Non-negative deviations, one variable for each direction that has room.
        variables: For each deviation the variable of the original program that it changes.
        sign: For each deviation 1 if it raises the variable, -1 if it lowers it.
        origin: The values deviated from, one for each variable of the original program.
    """

    program: IntegerProgram
    variables: IntArray
    sign: IntArray
    origin: IntArray

    def values_at(self, deviations: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Return the original variables' values for some deviations."""
        values = self.origin.astype(deviations.dtype)
        np.add.at(values, self.variables, self.sign * deviations)
        return values


def activity_bounds(
    A: sparse.csr_array, lower: IntArray, upper: IntArray
) -> tuple[IntArray, IntArray]:
    """Return for each row the least and the greatest ``A x`` with ``lower <= x <= upper``.

    >>> A = sparse.csr_array([[1, -1]])
    >>> least, most = activity_bounds(A, np.array([0, 0]), np.array([2, 3]))
    >>> least.tolist(), most.tolist()
    ([-3], [2])
    """
    positive = sparse.csr_array((np.maximum(A.data, 0), A.indices, A.indptr), shape=A.shape)
    negative = sparse.csr_array((np.minimum(A.data, 0), A.indices, A.indptr), shape=A.shape)
    return positive @ lower + negative @ upper, positive @ upper + negative @ lower


def stacked(first: LinearConstraints, second: LinearConstraints) -> LinearConstraints:
    """Stack two sets of rows over the same variables."""
    return LinearConstraints(
        sparse.csr_array(sparse.vstack([first.A, second.A])),
        np.concatenate([first.least, second.least]),
        np.concatenate([first.most, second.most]),
    )


def with_rows(program: IntegerProgram, further: LinearConstraints) -> IntegerProgram:
    """Add rows to a program."""
    return replace(program, constraints=stacked(program.constraints, further))


def with_variables(program: IntegerProgram, upper: IntArray) -> IntegerProgram:
    """Add variables from 0 to ``upper`` that are in no row yet."""
    old = program.constraints
    width = program.shape[1]
    return IntegerProgram(
        LinearConstraints(widened(old.A, width + len(upper)), old.least, old.most),
        np.concatenate([program.lower, np.zeros(len(upper), dtype=np.int64)]),
        np.concatenate([program.upper, upper]),
    )


def fix_others(program: IntegerProgram, variables: IntArray, values: IntArray) -> Subprogram:
    """Restrict a program to some variables, with the others fixed at ``values``.

    Args:
        variables: The variables to keep, sorted.
        values: One value for each variable of ``program``.
    """
    A = program.constraints.A
    kept = sparse.csr_array(A[:, variables])
    others = A @ values - kept @ values[variables]
    least, most = program.constraints.least - others, program.constraints.most - others
    # A row without these variables stays if it is broken: then there is no solution here.
    keep = (np.diff(kept.indptr) > 0) | (least > 0) | (most < 0)
    return subprogram(program, variables, LinearConstraints(kept, least, most), keep)


def connected_subset(program: IntegerProgram, variables: IntArray) -> Subprogram:
    """Select whole connected parts of a program, by their sorted variables."""
    old = program.constraints
    kept = sparse.csr_array(old.A[:, variables])
    keep = np.diff(kept.indptr) > 0
    return subprogram(program, variables, LinearConstraints(kept, old.least, old.most), keep)


def deviation_program(program: IntegerProgram, origin: IntArray) -> DeviationProgram:
    """Substitute the deviations ``x - origin`` in a program: Eq. (deviation) of docs/method.md.

    Args:
        origin: A value for each variable; it need not be a solution, nor within the bounds.
    """
    A = sparse.csc_array(program.constraints.A)
    above, below = program.upper - origin, origin - program.lower
    raised, lowered = np.flatnonzero(above > 0), np.flatnonzero(below > 0)
    base = A @ origin
    deviations = IntegerProgram(
        LinearConstraints(
            sparse.csr_array(sparse.hstack([A[:, raised], -A[:, lowered]])),
            program.constraints.least - base,
            program.constraints.most - base,
        ),
        # An origin out of bounds must move at least into them.
        lower=np.concatenate([np.maximum(-below[raised], 0), np.maximum(-above[lowered], 0)]),
        upper=np.concatenate([above[raised], below[lowered]]),
    )
    sign = np.repeat([1, -1], [len(raised), len(lowered)])
    return DeviationProgram(deviations, np.concatenate([raised, lowered]), sign, origin)


def connected_parts(
    A: sparse.csr_array, groups: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the connected part of each row and of each column, numbered from 0.

    Args:
        A: Sparse (rows × columns); a row connects the columns that it has entries in.
        groups: For each column a label; columns with equal labels are connected, too.

    >>> rows, columns = connected_parts(sparse.csr_array([[1, 1, 0], [0, 0, 1]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [0, 0, 1])
    """
    rows, columns = A.shape
    entries = A.tocoo()
    left: list[IntArray] = [entries.row.astype(np.int64)]
    right: list[IntArray] = [entries.col.astype(np.int64) + rows]
    size = rows + columns
    if groups is not None:
        _, number = np.unique(groups, return_inverse=True)
        left.append(np.arange(columns) + rows)
        right.append(number.ravel() + size)
        size += int(number.max(initial=-1)) + 1
    first = _first_connected(np.concatenate(left), np.concatenate(right), size)
    _, part = np.unique(first, return_inverse=True)
    return part[:rows], part[rows : rows + columns]


@dataclass(frozen=True)
class ConnectedParts:
    """The parts of a program that can be solved separately.

    Attributes:
        of_row: For each row its part, from 0.
        of_variable: For each variable its part.
    """

    program: IntegerProgram
    of_row: IntArray
    of_variable: IntArray
    count: int

    @classmethod
    def of(cls, program: IntegerProgram) -> ConnectedParts:
        """Split a program into parts that share no row."""
        of_row, of_variable = connected_parts(program.constraints.A)
        last = max(of_row.max(initial=-1), of_variable.max(initial=-1))
        return cls(program, of_row, of_variable, int(last) + 1)

    @classmethod
    def whole(cls, program: IntegerProgram) -> ConnectedParts:
        rows, variables = (np.zeros(size, dtype=np.int64) for size in program.shape)
        return cls(program, rows, variables, 1)

    @cached_property
    def rows(self) -> list[IntArray]:
        """List the sorted rows of each part."""
        order = np.argsort(self.of_row, kind="stable")
        sizes = np.bincount(self.of_row, minlength=self.count)
        return np.split(order, np.cumsum(sizes)[:-1])

    def rounded(self, point: FloatArray, known: IntArray) -> IntArray:
        """Round a point in the parts where that gives a solution; elsewhere take a known solution.

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


def _first_connected(left: IntArray, right: IntArray, size: int) -> IntArray:
    """Return for each node of a graph the least node of its connected component.

    The roots of both ends of an edge are joined, and every node looks up its root again, until no
    edge joins two roots. On small programs this takes a tenth of the time of scipy's `csgraph`, on
    large ones the same; and importing that costs 0.1 s and 11 MB in every process.

    Args:
        left: One end of each edge.
        right: The other.
    """
    root = np.arange(size)
    while True:
        one, other = root[left], root[right]
        apart = one != other
        if not apart.any():
            return root
        left, right, one, other = left[apart], right[apart], one[apart], other[apart]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while (root[root] != root).any():
            root = root[root]


def subprogram(
    program: IntegerProgram,
    variables: IntArray,
    kept: LinearConstraints,
    keep: BoolArray,
) -> Subprogram:
    """Restrict a program to some variables and the given rows over them."""
    rows = np.flatnonzero(keep)
    constraints = LinearConstraints(
        sparse.csr_array(kept.A[rows]), kept.least[rows], kept.most[rows]
    )
    smaller = IntegerProgram(constraints, program.lower[variables], program.upper[variables])
    return Subprogram(smaller, variables, rows)
