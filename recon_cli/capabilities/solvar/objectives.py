"""Objectives of an integer program: distance from a given solution, and between two solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.placed import diagonal, placed, widened
from recon_cli.model.program import IntegerProgram, LinearConstraints, with_rows, with_variables
from recon_cli.solve.objectives import LinearFunctionals, Maximization, hstack, scaled


def distance_from(
    program: IntegerProgram, functionals: LinearFunctionals, origin: IntArray
) -> Maximization:
    """Maximise the distance of a solution from ``origin``: the sum of ``|y − origin|``.

    Eq. (distance) of docs/method.md: the sum of ``y − origin``, plus twice the amounts by which
    ``y`` is below it. Only functionals that may be both above and below the origin need further
    variables.

    Args:
        origin: Value of each functional to measure from, within its interval.
    """
    lost = loss_from(program, functionals, origin)
    terms = lost.terms + widened(functionals.coefficients, lost.program.shape[1])
    return replace(lost, terms=sparse.csr_array(terms), constants=lost.constants - origin)


def loss_from(
    program: IntegerProgram, functionals: LinearFunctionals, origin: IntArray
) -> Maximization:
    """Maximise twice what a solution lacks of ``origin``: the sum of ``2·(origin − y)⁺``.

    This is the numerator of Eq. (loss) of docs/method.md. ``d`` and ``z`` of Eq. (distance) are how
    far a functional moves to its nearer end; if that is the upper end, it lacks ``d − (y −
    origin)``.

    Args:
        origin: Value of each functional to measure from, within its interval.
    """
    above, below = functionals.upper - origin, origin - functionals.lower
    is_up = above < below
    linear = scaled(functionals.coefficients, -2 * is_up.astype(np.int64))
    inner = np.flatnonzero((above > 0) & (below > 0))
    near, far = np.sort([above[inner], below[inner]], axis=0)
    sign = np.where(is_up[inner], -1, 1)
    s = sign * origin[inner]
    wide = np.flatnonzero(near > 1)
    wider = with_variables(program, np.concatenate([near, np.ones(len(wide), dtype=np.int64)]))
    y = scaled(functionals.coefficients[inner], sign).tocoo()
    at, further = np.arange(len(inner)), len(inner) + np.arange(len(wide))
    d, z = program.shape[1] + at, program.shape[1] + further
    # y + d + far·z ≤ s + far, and further rows d ≤ near·z; where near is 1, d is its own z.
    entries = [
        (y.row, y.col, y.data),
        (at, d, np.where(near > 1, 1, 1 + far)),
        (wide, z, far[wide]),
        (further, d[wide], np.ones(len(wide), dtype=np.int64)),
        (further, z, -near[wide]),
    ]
    row, column, value = map(np.concatenate, zip(*entries, strict=True))
    rows = LinearConstraints(
        sparse.csr_array((value, (row, column)), shape=(len(inner) + len(wide), wider.shape[1])),
        np.concatenate([s - near, -near[wide]]),
        np.concatenate([s + far, np.zeros(len(wide), dtype=np.int64)]),
    )
    terms = hstack([linear, placed(inner, len(origin)) * 2])
    return Maximization(with_rows(wider, rows), widened(terms, wider.shape[1]), 2 * origin * is_up)


def diameter(program: IntegerProgram, functionals: LinearFunctionals) -> Maximization:
    """Maximise the distance of two solutions: the sum of ``|y − y'|``.

    Eq. (diameter) of docs/method.md. The program's variables are the two solutions, distances ``d``
    and sides ``z``.
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
    low, high = functionals.lower, functionals.upper
    sides = sparse.csr_array((n, n), dtype=np.int64)
    # y − y' − d − 2·width·z ≥ −2·width and y' − y − d + 2·width·z ≥ 0.
    first = sparse.hstack([y, -y, -one, -diagonal(2 * width)])
    second = sparse.hstack([-y, y, -one, diagonal(2 * width)])
    # The other rows are implied in integers, and the concave envelope of |y − y'|: without them
    # z = ½ lets the relaxation have any distance. y + y' − d ≥ 2·low and y + y' + d ≤ 2·high.
    above = sparse.hstack([y, y, -one, sides])
    below = sparse.hstack([y, y, one, sides])
    rows = LinearConstraints(
        sparse.csr_array(sparse.vstack([first, second, above, below])),
        np.concatenate([-2 * width, np.zeros(n, dtype=np.int64), 2 * low, 2 * low]),
        np.concatenate([width, 3 * width, 2 * high, 2 * high]),
    )
    wider = with_variables(twice, np.concatenate([width, np.ones(n, dtype=np.int64)]))
    solutions = sparse.csr_array((n, 2 * program.shape[1]), dtype=np.int64)
    terms = hstack([solutions, one, sides])
    return Maximization(with_rows(wider, rows), terms, np.zeros(n, dtype=np.int64))
