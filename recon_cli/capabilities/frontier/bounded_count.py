"""A count of at most n, with n public: how often each mechanism publishes the true one.

Matrices have a row for each published count and a column for each true one, 0 to n; neighbours
differ by one. All true counts are equally likely where one number is asked for.

Source: JASON (JSR-19-2F), 5.2.3; Cormode, Kulkarni & Srivastava, Constrained private mechanisms for
count data (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
from scipy import sparse
from scipy.optimize import linprog

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.statement.noise import TruncatedGeometric

#: Percentage of intervals that may miss the true count.
_MISSED = 5


def truncated_geometric(most: int, epsilon: float) -> FloatArray:
    """Return the (n+1 × n+1) mechanism of geometric noise truncated to 0 to n.

    >>> truncated_geometric(1, 1.0).sum(axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    alpha, count = math.exp(-epsilon), np.arange(most + 1)
    distance = abs(count[:, None] - count)
    ends = np.isin(count, (0, most))[:, None]
    found: FloatArray = np.where(ends, 1.0, 1 - alpha) / (1 + alpha) * alpha**distance
    return found


def fair(most: int, epsilon: float) -> FloatArray:
    """Return the (n+1 × n+1) most accurate mechanism that is equally accurate for all counts.

    P(i | j) is in proportion to α^g, g = |i − j| while that is below e = min(j, n − j), else ⌈(|i −
    j| + e)/2⌉. The printed scale is that of even n; columns here add up to 1 for all n.
    """
    count = np.arange(most + 1)
    distance = abs(count[:, None] - count)
    edge = np.minimum(count, most - count)
    power = np.where(distance < edge, distance, -(-(distance + edge) // 2))
    weight = math.exp(-epsilon) ** power
    found: FloatArray = weight / weight.sum(axis=0)
    return found


def honest_rows(most: int) -> sparse.csr_array:
    """Return constraint rows: no published count is likelier than the true one."""
    size = most + 1
    cells = np.arange(size**2).reshape(size, size)  # published × true
    truth = np.broadcast_to(np.diag(cells), (size, size))
    other = cells != truth
    return _differences(cells[other], truth[other], size**2)


def fair_rows(most: int) -> sparse.csr_array:
    """Return constraint rows: all counts are published correctly equally often."""
    truth = np.diag(np.arange((most + 1) ** 2).reshape(most + 1, most + 1))
    return _differences(truth, np.roll(truth, 1), (most + 1) ** 2)


def rightest(most: int, epsilon: float, rows: Sequence[sparse.csr_array] = ()) -> float:
    """Compute how often the best mechanism is right, by a linear program.

    Args:
        most: n.
        epsilon: Bound of the log-ratio of neighbours' probabilities.
        rows: Further constraints: rows whose product with the mechanism is at most 0.
    """
    size = most + 1
    cells = np.arange(size**2).reshape(size, size)
    left, right = cells[:, :-1].ravel(), cells[:, 1:].ravel()
    factor = math.exp(-epsilon)
    private = [
        _differences(one, other, size**2, factor) for one, other in ((left, right), (right, left))
    ]
    asked = sparse.vstack([*private, *rows]).tocsr()
    columns = sparse.csr_array(np.tile(np.eye(size), size))
    found = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays
        -np.eye(size).ravel() / size,
        A_ub=asked,
        b_ub=np.zeros(asked.shape[0]),
        A_eq=columns,
        b_eq=np.ones(size),
        bounds=(0, 1),
        method="highs",
    )
    return float(-found.fun)


def _differences(
    less: IntArray, more: IntArray, width: int, factor: float = 1.0
) -> sparse.csr_array:
    """Return constraint rows factor · x[less] ≤ x[more]."""
    row = np.arange(len(less))
    values = np.repeat([factor, -1.0], len(row))
    at = (np.tile(row, 2), np.concatenate([less, more]))
    return sparse.csr_array((values, at), shape=(len(row), width))


def bounded_count(most: int, epsilons: Sequence[float]) -> pl.DataFrame:
    """Tabulate how often each mechanism is right.

    Args:
        most: n.

    Returns:
        ``epsilon``; ``uniform`` (any count, whatever is true), ``geometric`` (the best of all),
        ``honest`` (the best for which no answer is likelier than the truth) and ``fair`` (the
        best that is right equally often for all counts), shares; ``is_honest``, whether the
        geometric mechanism is.
    """
    return pl.DataFrame(
        {
            "epsilon": epsilon,
            "uniform": 1 / (most + 1),
            "geometric": float(np.diag(P).mean()),
            "honest": rightest(most, epsilon, [honest_rows(most)]),
            "fair": float(np.diag(fair(most, epsilon)).mean()),
            "is_honest": bool((np.diag(P) >= P.max(axis=0)).all()),
        }
        for epsilon in epsilons
        for P in [truncated_geometric(most, epsilon)]
    )


def count_intervals(most: int, epsilons: Sequence[float]) -> pl.DataFrame:
    """Tabulate what a published count leaves open, with truncated geometric noise.

    Returns:
        ``epsilon``, ``published``, and the 95% interval ``low`` to ``high`` of the true count.
    """
    published = np.arange(most + 1)
    parts = []
    for epsilon in epsilons:
        law = TruncatedGeometric(epsilon=Fraction(str(epsilon)), within=(0, most))
        low, high = law.tested(published, _MISSED / 100)
        parts.append(
            pl.DataFrame({"published": published, "low": low, "high": high}).select(
                pl.lit(epsilon, pl.Float64).alias("epsilon"), pl.all()
            )
        )
    return pl.concat(parts)
