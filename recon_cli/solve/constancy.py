"""Functionals that are constant over all solutions, proven many at once.

A functional that no known solution changes is either constant or not refuted yet. Two linear
relaxations, for the minimum and the maximum of a random combination of these functionals, tell
which: if the two values differ, their vertices refute some functionals; if the duals prove, in
integers, that they are equal, every row and bound with a weight is tight in every solution, and a
functional in the span of tight rows and bounds is constant: Eq. (constant) of docs/method.md.

See *dual* and *certificate* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.model.ledger import Combination
from recon_cli.model.program import IntegerProgram
from recon_cli.solve.dual_bounds import SAFE, SCALE, WeightedRows, whole_weights
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: Random weights of functionals are below this.
_WEIGHTS = 1000
#: Smaller pivots, in a sketch of a matrix of small integers, count as zero.
_RANK = 1e-7
#: How many more columns than rows a sketch has.
_SPARE = 16
#: Most entries of a dense sketch that is factored.
_DENSE = 16_000_000


@dataclass(frozen=True)
class TightConstraints:
    """Rows and variables that have one value in every solution.

    Attributes:
        rows: Mask of these rows.
        variables: Mask of these variables.
        weights: A weight for each row. The weighted slacks of rows and bounds add up to 0 in every
            solution, so each row with a weight is met with equality.
    """

    rows: BoolArray
    variables: BoolArray
    weights: IntArray

    @classmethod
    def given(cls, program: IntegerProgram) -> TightConstraints:
        """Return equations, and variables with one possible value."""
        rows = program.constraints
        nothing = np.zeros(program.shape[0], dtype=np.int64)
        return cls(rows.least == rows.most, program.lower == program.upper, nothing)

    def __or__(self, other: TightConstraints) -> TightConstraints:
        """Unite the rows and the variables of both, and add the weights."""
        return TightConstraints(
            self.rows | other.rows, self.variables | other.variables, self.weights + other.weights
        )

    def __len__(self) -> int:
        return int(self.rows.sum() + self.variables.sum())


@dataclass(frozen=True)
class Span:
    """Functionals as sums of tight rows and variables.

    Attributes:
        is_constant: For each functional whether all solutions are proven to agree.
        weights: (functionals × rows) weights of tight rows, in 1/`SCALE`; the rest of a constant
            functional has tight variables only.
    """

    is_constant: BoolArray
    weights: IntArray

    @classmethod
    def nothing(cls, functionals: int, rows: int) -> Span:
        weights = np.zeros((functionals, rows), dtype=np.int64)
        return cls(np.zeros(functionals, dtype=bool), weights)


@dataclass(frozen=True)
class Constancy:
    """The result of one attempt to prove functionals constant.

    Attributes:
        span: Weights of tight rows and variables that add up to functionals.
        tight: Tight constraints that proofs may use, for the next attempt.
        vertices: Vertices of the relaxation; solutions if they are integral.
        deterministic_time: Seconds.
    """

    span: Span
    tight: TightConstraints
    vertices: tuple[FloatArray, ...]
    deterministic_time: float


def prove_constant(
    added: WeightedRows,
    functionals: sparse.csr_array,
    tight: TightConstraints | None,
    relaxation: LinearRelaxation,
    *,
    seed: int,
    limit: float,
) -> Constancy:
    """Prove which functionals are constant, by two relaxations for all together.

    Args:
        added: The rows of a program that has a solution.
        functionals: Sparse (functionals × variables) integer coefficients, each over variables of
            one connected part.
        tight: Tight constraints from the attempt before; None for the first.
        limit: Deterministic seconds.
    """
    program = added.program
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
            weights.append(whole_weights(vertex.duals))
    found = TightConstraints.given(program) if tight is None else tight
    if len(weights) == 2:
        found |= tight_constraints(added, combined, weights[0], weights[1])
    span = Span.nothing(functionals.shape[0], program.shape[0])
    if tight is None or len(found) > len(tight):
        span = in_span(program, found, functionals, random)
    return Constancy(span, found, tuple(vertices), elapsed)


def tight_constraints(
    added: WeightedRows, functional: IntArray, below: IntArray, above: IntArray
) -> TightConstraints:
    """Return rows and variables that are at one bound in every solution: Eq. (constant).

    Args:
        functional: Integer coefficient of each variable.
        below: For each row its integer weight, in units of 1/`SCALE`, in a lower bound of the
            functional.
        above: Weights in a lower bound of the negative functional.

    Returns:
        The rows and variables with a weight in connected parts where the two bounds meet; none
        where the sums might not fit into 64 bits.
    """
    parts, proofs = added.parts, ((functional, below), (-functional, above))
    if not all(added.has_room(*proof) for proof in proofs):
        rows, variables = (np.zeros(size, dtype=bool) for size in added.program.shape)
        return TightConstraints(rows, variables, np.zeros_like(below))
    rests = [added.rest(*proof) for proof in proofs]
    least = [added.least(weights, rest) for (_, weights), rest in zip(proofs, rests, strict=True)]
    meets = least[0] + least[1] == 0
    rows, variables = meets[parts.of_row], meets[parts.of_variable]
    return TightConstraints(
        ((below != 0) | (above != 0)) & rows,
        ((rests[0] != 0) | (rests[1] != 0)) & variables,
        np.where(rows, below + above, 0),
    )


def in_span(
    program: IntegerProgram,
    tight: TightConstraints,
    functionals: sparse.csr_array,
    random: np.random.Generator,
) -> Span:
    """Test which functionals are combinations of tight rows and variables.

    The weights are computed on a random sketch of the columns, rounded to multiples of 1/`SCALE`,
    and checked in integers on all columns.

    Args:
        functionals: Sparse (functionals × variables) integer coefficients.
    """
    free = np.flatnonzero(~tight.variables)
    rows = np.flatnonzero(tight.rows)
    A = sparse.csr_array(program.constraints.A[rows][:, free])
    used = np.diff(A.indptr) > 0
    A, rows = sparse.csr_array(A[used]), rows[used]
    C = sparse.csr_array(functionals[:, free])
    found = Span.nothing(C.shape[0], program.shape[0])
    found.is_constant[:] = np.diff(C.indptr) == 0
    width = A.shape[0] + _SPARE
    if not A.shape[0] or not len(free) or A.shape[0] * width > _DENSE:
        return found
    from scipy import linalg  # slow to load, and most units need no solver

    wide = width < len(free)
    sketch = random.standard_normal((len(free), width)) if wide else np.eye(len(free))
    q, r, order = linalg.qr((A @ sketch).T, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _RANK * max(abs(r[0, 0]), 1.0)).sum())
    basic = linalg.solve_triangular(r[:rank, :rank], q[:, :rank].T @ (C @ sketch).T)
    weights = whole_weights(basic).T
    # Beyond that a sum of products might wrap to zero.
    size = abs(A).max() * np.abs(weights.astype(np.float64)).sum(axis=1).max(initial=0)
    if not size + SCALE * abs(C).max() < SAFE:
        return found
    rest = sparse.csr_array(SCALE * C - sparse.csr_array(weights) @ A[order[:rank]])
    rest.eliminate_zeros()
    is_sum = np.diff(rest.indptr) == 0
    found.weights[np.ix_(is_sum & ~found.is_constant, rows[order[:rank]])] = weights[
        is_sum & ~found.is_constant
    ]
    found.is_constant[is_sum] = True
    return found


def combinations(
    added: WeightedRows, functional: IntArray, weights: IntArray, tight: TightConstraints
) -> tuple[Combination, Combination]:
    """Return combinations of rows that bound a constant functional from below and from above.

    The proof of tightness is added so many times that every row and variable gets the sign of its
    proven bound.

    Args:
        functional: Integer coefficient of each variable.
    """
    rest = added.rest(functional, weights)
    often = 1 + max(int(np.abs(each).max(initial=0)) for each in (weights, rest))
    size = float(often) * float(np.abs(tight.weights).max(initial=0))
    proofs = often * (tight.weights if size < SAFE else tight.weights.astype(object))
    return Combination.of(SCALE, proofs + weights), Combination.of(SCALE, proofs - weights)
