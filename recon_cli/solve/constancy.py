"""Functionals that are the same in every solution, proven many at once.

A functional that no known solution changes is either constant or not refuted yet. One linear
relaxation for the least and one for the greatest value of a random combination of all of them tells
which: where the two ends differ, their vertices refute some; where the duals prove, in integers,
that the ends are equal, every row and bound with a weight is tight in every solution, and a
functional in the span of what is tight is constant: Eq. (constant) of docs/method.md.

See *dual* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram, connected_parts
from recon_cli.solve.dual_bounds import SAFE, SCALE, largest_sums
from recon_cli.solve.linear_relaxation import FloatArray, LinearRelaxation

BoolArray = npt.NDArray[np.bool_]

#: Random weights of functionals are below it.
_WEIGHTS = 1000
#: A pivot this small, of a sketch of a matrix of small integers, is none.
_RANK = 1e-7
#: Columns of a sketch more than rows.
_SPARE = 16
#: Entries of a dense sketch that is factored.
_DENSE = 16_000_000


@dataclass(frozen=True)
class TightConstraints:
    """What every solution has at one value.

    Attributes:
        rows: Whether each row is among them.
        variables: Whether each variable is.
    """

    rows: BoolArray
    variables: BoolArray

    @classmethod
    def given(cls, program: IntegerProgram) -> TightConstraints:
        """Equations, and variables with one possible value."""
        rows = program.constraints
        return cls(rows.least == rows.most, program.lower == program.upper)

    def __or__(self, other: TightConstraints) -> TightConstraints:
        """What either holds."""
        return TightConstraints(self.rows | other.rows, self.variables | other.variables)

    def __len__(self) -> int:
        """How many there are."""
        return int(self.rows.sum() + self.variables.sum())


@dataclass(frozen=True)
class Constancy:
    """What one attempt showed.

    Attributes:
        is_constant: For each functional whether all solutions are proven to agree.
        tight: What the proofs may rest on, for the next attempt.
        vertices: Of the relaxation; solutions where they are whole.
        deterministic_time: Seconds.
    """

    is_constant: BoolArray
    tight: TightConstraints
    vertices: tuple[FloatArray, ...]
    deterministic_time: float


def prove_constant(
    program: IntegerProgram,
    functionals: sparse.csr_array,
    tight: TightConstraints | None,
    relaxation: LinearRelaxation,
    *,
    seed: int,
    limit: float,
) -> Constancy:
    """Which functionals are proven to be constant, by two relaxations for all together.

    Args:
        program: The program; it has a solution.
        functionals: Sparse (functionals × variables) integer coefficients, each over variables of
            one connected part.
        tight: Of the attempt before; None for the first.
        relaxation: That of the program.
        seed: Of the random combination.
        limit: Deterministic seconds.
    """
    random = np.random.default_rng(seed)
    factors = random.integers(1, _WEIGHTS, functionals.shape[0])
    combined = functionals.T @ (factors * random.choice([-1, 1], len(factors)))
    vertices: list[FloatArray] = []
    weights: list[IntArray] = []
    elapsed = 0.0
    for sign in (1, -1):
        vertex = relaxation.solve((sign * combined).astype(np.float64), limit - elapsed)
        elapsed += vertex.deterministic_time
        if len(vertex.duals):
            vertices.append(vertex.values)
            weights.append(np.rint(SCALE * vertex.duals).astype(np.int64))
    found = TightConstraints.given(program) if tight is None else tight
    if len(weights) == 2:
        found |= tight_constraints(program, combined, weights[0], weights[1])
    constant = np.zeros(functionals.shape[0], dtype=bool)
    if tight is None or len(found) > len(tight):
        constant = in_span(program, found, functionals, random)
    return Constancy(constant, found, tuple(vertices), elapsed)


def tight_constraints(
    program: IntegerProgram, functional: IntArray, below: IntArray, above: IntArray
) -> TightConstraints:
    """Rows and variables that every solution has at one end: Eq. (constant).

    Args:
        program: The program.
        functional: Integer coefficient of each variable.
        below: For each row its weight, in units of 1/`SCALE`, in a bound of the functional from
            below: any integers.
        above: Likewise of its negative.

    Returns:
        Of each connected part in which the two bounds meet, all that has a weight in them; nothing
        where the sums might not fit into 64 bits.
    """
    rows = program.constraints
    weights = np.stack([below, above])
    if largest_sums(program, np.stack([functional, -functional]), weights).max() >= SAFE:
        nothing = np.zeros(program.shape[0], dtype=bool), np.zeros(program.shape[1], dtype=bool)
        return TightConstraints(*nothing)
    row_part, part = connected_parts(rows.A)
    gap = np.zeros(int(max(row_part.max(initial=-1), part.max(initial=-1))) + 1, dtype=np.int64)
    used_rows = np.zeros(len(row_part), dtype=bool)
    used_variables = np.zeros(len(part), dtype=bool)
    for sign, weights in ((1, below), (-1, above)):
        rest = sign * SCALE * functional - rows.A.T @ weights
        np.add.at(gap, row_part, np.where(weights > 0, weights * rows.least, weights * rows.most))
        np.add.at(gap, part, np.where(rest > 0, rest * program.lower, rest * program.upper))
        used_rows |= weights != 0
        used_variables |= rest != 0
    meets = gap == 0
    return TightConstraints(used_rows & meets[row_part], used_variables & meets[part])


def in_span(
    program: IntegerProgram,
    tight: TightConstraints,
    functionals: sparse.csr_array,
    random: np.random.Generator,
) -> BoolArray:
    """Which functionals are combinations of tight rows and variables.

    The weights are solved for on a random sketch of the columns, rounded to multiples of
    1/`SCALE`, and checked in integers on all of them.

    Args:
        program: Has the rows.
        tight: Those that may be used.
        functionals: Sparse (functionals × variables) integer coefficients.
        random: Of the sketch.
    """
    free = np.flatnonzero(~tight.variables)
    A = sparse.csr_array(program.constraints.A[tight.rows][:, free])
    A = sparse.csr_array(A[np.diff(A.indptr) > 0])
    C = sparse.csr_array(functionals[:, free])
    found: BoolArray = np.diff(C.indptr) == 0
    width = A.shape[0] + _SPARE
    if not A.shape[0] or not len(free) or A.shape[0] * width > _DENSE:
        return found
    from scipy import linalg  # noqa: PLC0415 - slow to load, and most units need no solver

    wide = width < len(free)
    sketch = random.standard_normal((len(free), width)) if wide else np.eye(len(free))
    q, r, order = linalg.qr((A @ sketch).T, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _RANK * max(abs(r[0, 0]), 1.0)).sum())
    basic = linalg.solve_triangular(r[:rank, :rank], q[:, :rank].T @ (C @ sketch).T)
    weights = np.rint(SCALE * basic).astype(np.int64)
    # Beyond that a sum of products might wrap to zero.
    size = abs(A).max() * np.abs(weights.astype(np.float64)).sum(axis=0).max(initial=0)
    if not size + SCALE * abs(C).max() < SAFE:
        return found
    rest = SCALE * C - sparse.csr_array(weights.T) @ sparse.csr_array(A[order[:rank]])
    is_zero = sparse.csr_array(rest)
    is_zero.eliminate_zeros()
    found |= np.diff(is_zero.indptr) == 0
    return found
