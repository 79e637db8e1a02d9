"""Decoders from sums of random subsets to bits, one for each kind of noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import linprog

from recon_cli.arrays import FloatArray, IntArray

_ITERATIONS = 400
#: Largest difference between the halves of the splitting.
_SETTLED = 1e-3
#: Penalty of the splitting for answers without noise; small, so that the cube decides.
_EXACT_PENALTY = 0.01
#: Pull to the cube's centre for answers without noise: too small to move any bit they decide.
_EXACT_CENTRE = 1e-7
#: Steps between two tests whether rounded bits have all sums.
_CHECK = 20
#: Pull to the cube's centre, as a share of a query's weight: decides only what the sums do not.
_CENTRE = 1e-4
_NEWTON_STEPS = 300
#: Factor of the bound's price from one centre to the next.
_DEARER = 8.0
#: Newton decrements: of a centre, and of a point that is near enough to go on.
_CENTRED, _NEAR = 1e-3, 1.0


def round_bits(x: FloatArray) -> IntArray:
    """Round a point of the cube to bits; one half becomes 1.

    >>> round_bits(np.array([0.2, 0.5, 0.9])).tolist()
    [0, 1, 1]
    """
    found: IntArray = (x >= 0.5).astype(np.int64)
    return found


def box_least_squares(gram: FloatArray, moments: FloatArray, queries: int) -> FloatArray:
    """Minimise ½‖Qx − a‖² for 0 ≤ x ≤ 1, for many right-hand sides of one Q.

    Of several solutions it returns nearly the one nearest the cube's centre.

    Source: Boyd et al., Alternating direction method of multipliers (2011), section 5.

    Args:
        gram: (n × n) QᵀQ.
        moments: (n × sides) Qᵀa.

    Returns:
        (n × sides) points of the cube.
    """
    split = _Splitting(gram, moments, queries / 4)
    return split.run(max(0.1, 1 - (len(gram) / (2 * queries)) ** 0.5), _CENTRE)


def exact_solution(gram: FloatArray, moments: FloatArray, queries: int) -> FloatArray:
    """Find some 0 ≤ x ≤ 1 with Qx = a for answers without noise; see `box_least_squares`.

    The search ends as soon as rounded bits have all the sums, which proves them a solution.
    """
    split = _Splitting(gram, moments, queries / 4)
    return split.run(_EXACT_PENALTY, _EXACT_CENTRE, until_solved=True)


@dataclass(frozen=True)
class _Splitting:
    """Alternating least squares and projection to the cube.

    Attributes:
        gram: (n × n) QᵀQ.
        moments: (n × sides) Qᵀa.
        weight: Curvature along a bit: a query's contribution times the number of queries.
    """

    gram: FloatArray
    moments: FloatArray
    weight: float

    def run(self, penalty: float, centre: float, *, until_solved: bool = False) -> FloatArray:
        """Return (n × sides) points of the cube; penalty and pull to the centre are relative."""
        damped = self.gram.copy()
        damped[np.diag_indices_from(damped)] += self.weight * (penalty + centre)
        inverse = _inverse(damped)  # one product a step is faster than two triangular solutions
        target = self.moments + self.weight * centre / 2
        z, dual = np.full(self.moments.shape, 0.5), np.zeros(self.moments.shape)
        for step in range(_ITERATIONS):
            x = inverse @ (target + self.weight * penalty * (z - dual))
            before, z = z, np.clip(x + dual, 0, 1)
            dual += x - z
            if until_solved:
                if step % _CHECK == 0 and self._is_solved(z):
                    break
            elif max(np.abs(x - z).max(), np.abs(z - before).max()) < _SETTLED:
                break
        return z

    def _is_solved(self, z: FloatArray) -> bool:
        """Test whether rounded bits have the sums: integers are equal if closer than ½."""
        return bool(np.abs(self.gram @ round_bits(z) - self.moments).max() < 0.5)


def _inverse(A: FloatArray) -> FloatArray:
    """Invert a positive definite matrix, which is overwritten."""
    factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)[0]
    filled, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    found: FloatArray = np.tril(filled)
    found += np.tril(found, -1).T
    return found


def least_absolute(Q: FloatArray, answers: FloatArray) -> FloatArray:
    """Minimise Σ|Qx − a| for 0 ≤ x ≤ 1, for Laplace noise: a linear program."""
    m, n = Q.shape
    eye = sparse.eye_array(m)
    program = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * m)]),
        A_eq=sparse.hstack([sparse.csr_array(Q), eye, -eye], format="csr"),
        b_eq=answers,
        bounds=[*[(0, 1)] * n, *[(0, None)] * (2 * m)],
        method="highs",
    )
    found: FloatArray = np.asarray(program.x, dtype=np.float64)[:n]
    return found


def within(Q: FloatArray, answers: FloatArray, error: float) -> FloatArray | None:
    """Find the analytic centre of 0 ≤ x ≤ 1 with |Qx − a| ≤ error, for bounded noise.

    The analytic centre has the greatest product of all distances to bounds; a vertex would be
    feasible, too, but as far from the middle as possible. A bound that the cube's centre satisfies
    is lowered until it equals the error.

    Source: Dinur & Nissim, Revealing information while preserving privacy (2003), Figure 1, for the
    polytope; Boyd & Vandenberghe, Convex optimization (2004), section 11.4, for phase I.

    Returns:
        The centre; None if none was found, or none exists: then a weighted mean of errors, which
        exceeds the error at every point of the cube, proves it.
    """
    x = np.full(Q.shape[1], 0.5)
    bound = 2 * float(np.abs(Q @ x - answers).max(initial=error))
    price = 2 * sum(Q.shape) / bound
    for _ in range(_NEWTON_STEPS):
        direction, decrement = _newton(Q, answers, bound, x, price)
        step = _longest(Q, answers, bound, x, direction)
        x, bound = x + step * direction[:-1], bound + step * float(direction[-1])
        if np.abs(Q @ x - answers).max(initial=0) < error:
            return _centre(Q, answers, error, x)
        if _least_bound(Q, answers, bound, x) > error:
            return None
        if decrement < _NEAR:
            price *= _DEARER
    return None


def _centre(Q: FloatArray, answers: FloatArray, bound: float, x: FloatArray) -> FloatArray:
    """Find the analytic centre of a polytope from an interior point."""
    for _ in range(_NEWTON_STEPS):
        direction, decrement = _newton(Q, answers, bound, x)
        if decrement < _CENTRED:
            break
        x = x + _longest(Q, answers, bound, x, np.append(direction, 0)) * direction
    return x


def _longest(
    Q: FloatArray, answers: FloatArray, bound: float, x: FloatArray, direction: FloatArray
) -> float:
    """Return the share of a step, at most 1, that keeps a tenth of the way to the nearest bound."""
    off, moved = Q @ x - answers, Q @ direction[:-1]
    room = np.concatenate([bound - off, bound + off, x, 1 - x])
    used = np.concatenate(
        [moved - direction[-1], -moved - direction[-1], -direction[:-1], direction[:-1]]
    )
    return float(1 / max(1.0, (used / room).max(initial=0) / 0.9))


def _newton(
    Q: FloatArray, answers: FloatArray, bound: float, x: FloatArray, price: float | None = None
) -> tuple[FloatArray, float]:
    """Return the Newton step of minus the logarithms of all distances, and its decrement.

    Args:
        Q: (m × n) queries.
        answers: (m,) answers to the queries.
        bound: Bound of |Qx − a|.
        x: (n,) a point inside.
        price: Price of the bound, if the bound is the last unknown; default: the bound is fixed.
    """
    off, n = Q @ x - answers, len(x)
    above, below = 1 / (bound - off), 1 / (bound + off)
    gradient = np.append(Q.T @ (above - below) + 1 / (1 - x) - 1 / x, -(above + below).sum())
    hessian = np.empty((n + 1, n + 1))
    hessian[:n, :n] = (Q.T * (above**2 + below**2)) @ Q
    hessian[np.arange(n), np.arange(n)] += 1 / (1 - x) ** 2 + 1 / x**2
    hessian[:n, n] = hessian[n, :n] = Q.T @ (below**2 - above**2)
    hessian[n, n] = (above**2 + below**2).sum()
    free = n if price is None else n + 1
    gradient[n] += price or 0
    factor = linalg.cho_factor(hessian[:free, :free])
    direction: FloatArray = -linalg.cho_solve(factor, gradient[:free])
    return direction, max(-float(gradient[:free] @ direction), 0.0) ** 0.5


def _least_bound(Q: FloatArray, answers: FloatArray, bound: float, x: FloatArray) -> float:
    """Bound from below the largest error of any point of the cube, by a weighted mean."""
    off = Q @ x - answers
    signed = 1 / (bound - off) - 1 / (bound + off)
    total = float((1 / (bound - off) + 1 / (bound + off)).sum())
    return float(np.minimum(Q.T @ signed, 0).sum() - signed @ answers) / total
