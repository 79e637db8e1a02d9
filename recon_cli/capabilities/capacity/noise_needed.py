"""How much noise the counts of a release would need, by three criteria.

One criterion is a simulation: records are decoded from counts with Gaussian noise, to find how much
noise makes decoding pointless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import wrightomega

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.capacity.assessment import ReleaseCapacity
from recon_cli.capabilities.capacity.indistinguishable import Farthest, hiding_sd

#: Iterations of the splitting.
_ITERATIONS = 60
#: Weight of agreement between the two halves of the splitting; counts move by ones.
_PENALTY = 3.0
ANY_ATTACKER, ZEROS_KNOWN, ENTROPY, DECODER = (
    "any attacker",
    "any attacker who knows the zeros",
    "entropy",
    "our decoder",
)
ALL_LEVELS = "all levels"


@dataclass(frozen=True)
class DecoderTrial:
    """The result of decoding simulated units.

    Attributes:
        sd: Standard deviations of the noise, sorted.
        right: For each noise the share of people whose histogram cell was found.
        baseline: This share if only each unit's number of people is known.
        people: Number of simulated people.
    """

    sd: tuple[float, ...]
    right: tuple[float, ...]
    baseline: float
    people: int

    def noise_for_gain(self, gain: float) -> float | None:
        """Return the least tried noise from which on the gain stays below ``gain``; or None."""
        enough = None
        for sd, right in reversed(list(zip(self.sd, self.right, strict=True))):
            if right >= (1 + gain) * self.baseline:
                break
            enough = sd
        return enough


def try_decoder(
    A: sparse.csr_array, p: FloatArray, people: IntArray, sd: tuple[float, ...], seed: int
) -> DecoderTrial:
    """Draw records from the prior, publish them with noise, and decode them.

    Args:
        A: Sparse (rows × histogram cells) of a unit's counts.
        p: (histogram cells,) probabilities that the attacker knows, too.
        people: (units,) numbers of people, known to the attacker.
        sd: Standard deviation of the noise of each count.
        seed: Seed of records and noise, which differ by unit.
    """
    used = np.flatnonzero(p > 0)
    A, p = sparse.csr_array(A[:, used]).astype(np.float64), p[used] / p[used].sum()
    draws = [np.random.default_rng([seed, unit]) for unit in range(len(people))]
    truth = np.column_stack(
        [rng.multinomial(n, p) for rng, n in zip(draws, people.tolist(), strict=True)]
    )
    noise = np.column_stack([rng.standard_normal(A.shape[0]) for rng in draws])
    mean = np.outer(p, people)
    exact, fit = A @ truth, _Fit.of(A)
    right = [
        _share(_whole(fit.decode(exact + each * noise, mean, each), people), truth) for each in sd
    ]
    baseline = _share(_whole(mean, people), truth)
    return DecoderTrial(tuple(sd), tuple(right), baseline, int(people.sum()))


@dataclass(frozen=True)
class _Fit:
    """Least squares of counts, prepared once for all units and noises.

    Attributes:
        A: Sparse (rows × histogram cells).
        basis: (rank × histogram cells) orthonormal; its rows span those of ``A``.
        shrink: (rank,) factor of each coordinate, from agreement between the halves.
    """

    A: sparse.csr_array
    basis: FloatArray
    shrink: FloatArray

    @classmethod
    def of(cls, A: sparse.csr_array) -> _Fit:
        values, vectors = np.linalg.eigh((A @ A.T).toarray())
        keep = values > 1e-9 * values.max(initial=0)
        values, vectors = values[keep], vectors[:, keep]
        return cls(A, (A.T @ (vectors / np.sqrt(values))).T, values / (values + _PENALTY))

    def decode(self, y: FloatArray, mean: FloatArray, sd: float) -> FloatArray:
        """Minimise ½‖Ax − y‖² + sd²·KL(x ‖ mean): (histogram cells × units), by splitting.

        Source: Boyd et al., Alternating direction method of multipliers (2011), section 6.
        """
        fixed = self.A.T @ y
        scale = sd**2 / _PENALTY
        z, dual = mean.copy(), np.zeros_like(mean)
        for _ in range(_ITERATIONS):
            x = fixed / _PENALTY + z - dual
            x -= self.basis.T @ (self.shrink[:, None] * (self.basis @ x))
            z = scale * wrightomega((x + dual) / scale + np.log(mean / scale))
            dual += x - z
        return z


def _whole(x: FloatArray, people: IntArray) -> IntArray:
    """Round to whole people, as many as each unit has, by largest remainders."""
    scaled = x * (people / np.maximum(x.sum(axis=0), 1e-300))
    found: IntArray = np.floor(scaled).astype(np.int64)
    order = np.argsort(found - scaled, axis=0, kind="stable")
    for unit, missing in enumerate((people - found.sum(axis=0)).tolist()):
        found[order[:missing, unit], unit] += 1
    return found


def _share(guess: IntArray, truth: IntArray) -> float:
    return float(np.minimum(guess, truth).sum() / max(int(truth.sum()), 1))


def noise_needed(
    capacity: ReleaseCapacity,
    after_zeros: Farthest,
    trial: DecoderTrial,
    *,
    right: Sequence[float],
    shares: Sequence[float],
    gain: float,
) -> pl.DataFrame:
    """Tabulate the standard deviation that each count needs, by criterion.

    Args:
        after_zeros: The farthest two records of a unit that its own zeros leave.
        right: Probabilities with which an attacker may distinguish two records.
        shares: Shares of the records' bits that may be revealed.
        gain: Largest gain of our decoder.

    Returns:
        ``figure``, ``counts`` (whose: a level's or all levels'), ``parameter`` (of ``right``,
        ``shares`` or ``gain``) and ``sd``, null where none that was tried is enough.
    """
    finest = capacity.levels[0].level
    distances = [
        (ANY_ATTACKER, ALL_LEVELS, capacity.farthest),
        (ANY_ATTACKER, finest, capacity.farthest_in_unit),
        (ZEROS_KNOWN, finest, after_zeros),
    ]
    rows: list[tuple[str, str, float, float | None]] = []
    for share in right:
        for figure, counts, far in distances:
            rows.append((figure, counts, share, hiding_sd(far.squared, share)))
    for share in shares:
        rows.append((ENTROPY, ALL_LEVELS, share, capacity.noise_for_share(share)))
        rows.append((ENTROPY, finest, share, capacity.levels[0].noise_for_share(share)))
    rows.append((DECODER, finest, gain, trial.noise_for_gain(gain)))
    schema = {
        "figure": pl.String,
        "counts": pl.String,
        "parameter": pl.Float64,
        "sd": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort(
        "figure", "counts", "parameter", maintain_order=True
    )
