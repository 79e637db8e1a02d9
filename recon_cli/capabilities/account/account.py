"""The total privacy loss of several products about the same people.

Products compose: their ρ add up, and so do their ε if all are pure. One person is a record whose
values change; k people are k such records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.measurements.strategy import Measurement, Strategy, table_sensitivity
from recon_cli.schema import Feature
from recon_cli.statement.noise import Gaussian

#: Values of α − 1 among which the best order α of a Rényi divergence is chosen; each is valid.
_ORDERS: Final = np.geomspace(1e-3, 1e6, 20_001)
#: The grid that privacy losses are rounded up to.
_STEP: Final = 1e-4
#: Probability of the tails of the noise that are left out; it is added to δ.
_TAIL: Final = 1e-18
#: Largest rounding error of a probability computed in doubles; it is added to δ, too.
_WRONG: Final = 1e-13
#: Relative difference allowed between a budget and one over its rounded variance.
_ROUNDED: Final = Fraction(1, 10**6)
#: Beyond this ρ only ρ bounds the posterior, which differs from 1 by less than 1e-14.
_CERTAIN: Final = 32
#: Half-width, in standard deviations, of the computed range of a sum of Gaussian losses.
_FAR: Final = 14


@dataclass(frozen=True)
class Spend:
    """The privacy loss of one person by a query of a level.

    Attributes:
        level: Level of the measured geounits; empty for randomised response.
        query: Name of the query, or of the randomised feature.
        budget: For a change of one record, ρ of a Gaussian mechanism or ε of a pure one; None if
            the loss is unbounded.
        is_pure: Whether the budget is ε.
        variance: Variance of the discrete Gaussian noise of each cell of a histogram, two of
            whose cells a change moves by one; else None.

    Raises:
        ValueError: The variance is not that of the budget.
    """

    level: str
    query: str
    budget: Fraction | None
    is_pure: bool = False
    variance: Fraction | None = None

    def __post_init__(self) -> None:
        if self.variance is None or self.is_pure:
            return
        if self.budget is None or abs(self.budget * self.variance - 1) > _ROUNDED:
            raise ValueError(f"ρ {self.budget} does not fit the variance {self.variance}: 1/σ²")

    @property
    def rho(self) -> Fraction | None:
        """Return ρ of zero-concentrated differential privacy."""
        return pure_rho(self.budget) if self.is_pure and self.budget is not None else self.budget

    @property
    def has_loss(self) -> bool:
        """Report whether the worst distribution of its privacy loss is known."""
        return self.budget is not None and (self.is_pure or self.variance is not None)


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return ρ of a mechanism with ε: ε²/2. Eq. (pure_rho).

    Source: Bun & Steinke (2016), Proposition 1.4.

    >>> pure_rho(Fraction(1))
    Fraction(1, 2)
    """
    return epsilon**2 / 2


def spends_of(
    strategy: Strategy, features: Sequence[Feature], levels: Iterable[str]
) -> list[Spend]:
    """Return the privacy loss of a strategy at some levels, for one record whose values change.

    A strategy's own budget is for its neighbours. If these have one record more or less, the budget
    is multiplied by how much further a changed record moves the counts.
    """
    return [
        _spend_of(level, each, strategy, features)
        for level in levels
        for each in strategy.at(level)
    ]


def _spend_of(
    level: str, measured: Measurement, strategy: Strategy, features: Sequence[Feature]
) -> Spend:
    query, is_pure = measured.query, strategy.mechanism == "geometric"
    factor = Fraction(1)
    if strategy.neighbours == "add-or-remove":
        factor = Fraction(2)  # of a histogram: one count less, one more
        if query.table is not None:
            own = table_sensitivity(query.table, features, replaced=False)
            changed = table_sensitivity(query.table, features, replaced=True)
            pairs = (changed.absolute, own.absolute), (changed.squared, own.squared)
            factor = Fraction(*pairs[0 if is_pure else 1])
    law = measured.law
    variance = law.variance if isinstance(law, Gaussian) and query.table is None else None
    return Spend(level, query.name, measured.budget * factor, is_pure, variance)


@dataclass(frozen=True)
class Total:
    """The total of several privacy losses.

    Attributes:
        rho: ρ; None if the loss is unbounded.
        pure: ε, if all losses are pure; else None.
    """

    rho: Fraction | None
    pure: Fraction | None

    @classmethod
    def of(cls, spends: Sequence[Spend]) -> Total:
        rhos = [each.rho for each in spends]
        budgets = [each.budget for each in spends]
        is_pure = all(each.is_pure for each in spends) and bool(spends)
        return cls(_sum(rhos), _sum(budgets) if is_pure else None)

    def of_people(self, people: int) -> Total:
        """Return the total for this many people together: ρ grows with their square, ε linearly."""
        return Total(
            None if self.rho is None else people**2 * self.rho,
            None if self.pure is None else people * self.pure,
        )

    def epsilon(self, delta: float) -> float:
        """Return ε at δ: the smaller of the two bounds; infinite if there is none."""
        found = [math.inf if self.rho is None else concentrated_epsilon(float(self.rho), delta)]
        return min([*found, *([] if self.pure is None else [float(self.pure)])])


def _sum(values: Sequence[Fraction | None]) -> Fraction | None:
    known = [value for value in values if value is not None]
    return sum(known, Fraction(0)) if len(known) == len(values) else None


def concentrated_epsilon(rho: float, delta: float) -> float:
    """Compute ε at δ of ρ-zCDP, as small as the Rényi divergences prove. Eq. (concentrated).

    Source: Canonne, Kamath & Steinke (2020), Proposition 12. Every order α gives a valid bound, so
    the least over many orders is used.

    >>> f"{concentrated_epsilon(2.5562, 1e-10):.2f}"
    '17.14'
    """
    if not rho:
        return 0.0
    alpha, above = 1 + _ORDERS, _ORDERS
    log_delta = math.log(delta) + np.log(above) - alpha * np.log1p(-1 / alpha)
    return max(float(np.min(alpha * rho - log_delta / above)), 0.0)


def tight_epsilon(spends: Sequence[Spend], delta: float) -> float | None:
    """Compute ε at δ of one record from the distribution of the privacy loss. Eq. (privacy_loss).

    Losses are rounded up to a grid and the distribution of their sum is computed by Fourier
    transforms, so that ε is an upper bound, too. No pure mechanism loses more than randomized
    response with odds e^ε : 1 (Kairouz, Oh & Viswanath 2017, Theorem 3.3).

    Returns:
        None if the loss cannot be bounded: a Gaussian query is not a histogram, so that its worst
        change per cell is unknown, the spending is unbounded, or δ is at most the probability left
        out.
    """
    losses = _losses(spends)
    found = None if losses is None else _composed(losses)
    if found is None or delta <= 2 * found.beyond:
        return None
    return _least_epsilon(found, delta - found.beyond)


def expected_posterior(spends: Sequence[Spend]) -> float | None:
    """Bound the expected posterior of the strongest adversary for the truth. Eq. (all_others).

    This adversary knows all other records, and considers two values of the last one equally likely
    that no exact publication distinguishes. If the distribution of the privacy loss is not known, ρ
    bounds it (Bretagnolle & Huber 1979).

    Returns:
        A probability from 0.5; None if the privacy loss is unbounded.
    """
    rho = Total.of(spends).rho
    if rho is None:
        return None
    bound = (1 + math.sqrt(-math.expm1(-float(rho)))) / 2
    losses = _losses(spends) if rho <= _CERTAIN else None
    if losses is None:
        return bound
    found = _composed(losses)
    believed = found.chances @ (1 / (1 + np.exp(-found.losses)))
    return min(float(believed) + found.beyond, bound)


def _losses(spends: Sequence[Spend]) -> list[tuple[_Loss, int]] | None:
    """Return the losses of one record's change, with multiplicities; None if one is unknown."""
    gaussian: Counter[Fraction] = Counter()
    pure: Counter[Fraction] = Counter()
    for each in spends:
        if not each.has_loss:
            return None
        if each.is_pure and each.budget is not None:
            pure[each.budget] += 1
        elif each.variance is not None:
            gaussian[each.variance] += 2
    losses = [(_gaussian_loss(float(one)), times) for one, times in gaussian.items()]
    return losses + [(_pure_loss(float(one)), times) for one, times in pure.items()]


@dataclass(frozen=True)
class _Loss:
    """The distribution of a privacy loss on the grid.

    Attributes:
        steps: Possible losses in steps of the grid, rounded up.
        low: Least steps of a pure loss; 0 for a Gaussian one, whose sums have a common range.
        high: Greatest steps of a pure loss; 0 for a Gaussian one.
        mean: Mean of the steps of a Gaussian loss; 0 for a pure one.
        variance: Variance proxy of the steps of a Gaussian loss; 0 for a pure one.
        beyond: Probability of the losses that are left out.
    """

    steps: npt.NDArray[np.int64]
    chances: FloatArray
    low: int = 0
    high: int = 0
    mean: float = 0.0
    variance: float = 0.0
    beyond: float = 0.0


def _pure_loss(epsilon: float) -> _Loss:
    true = 1 / (1 + math.exp(-epsilon))
    steps = _up(np.array([-epsilon, epsilon]))
    return _Loss(steps, np.array([1 - true, true]), int(steps[0]), int(steps[1]))


def _gaussian_loss(variance: float) -> _Loss:
    """Return the loss of a cell that changes by one: (1 − 2v)/(2σ²) at noise v."""
    reach = math.ceil(math.sqrt(-2 * variance * math.log(_TAIL / 4))) + 2
    drawn = np.arange(-reach, reach + 1)
    weights = np.exp(-(drawn.astype(float) ** 2) / (2 * variance))
    steps = _up((1 - 2 * drawn) / (2 * variance))
    mean = 1 / (2 * variance) / _STEP
    return _Loss(steps, weights / weights.sum(), mean=mean, variance=2 * mean / _STEP, beyond=_TAIL)


def _up(losses: FloatArray) -> npt.NDArray[np.int64]:
    return np.ceil(losses / _STEP).astype(np.int64)


@dataclass(frozen=True)
class _Composed:
    """The distribution of a sum of losses, rounded up.

    Attributes:
        losses: Sorted.
        beyond: Probability of the losses that are left out, plus the largest error of the sums.
    """

    losses: FloatArray
    chances: FloatArray
    beyond: float


def _composed(losses: Sequence[tuple[_Loss, int]]) -> _Composed:
    """Compute the distribution of the sum of losses, with multiplicities."""
    beyond = _WRONG + sum(each.beyond * times for each, times in losses)
    deviation = math.sqrt(sum(times * each.variance for each, times in losses))
    mean = sum(times * each.mean for each, times in losses)
    count = sum(times for _, times in losses)
    # discrete Gaussian noise is sub-Gaussian with its parameter: beyond 14 there is less than 1e-42
    low = math.floor(mean - _FAR * deviation) + sum(times * each.low for each, times in losses)
    high = math.ceil(mean + _FAR * deviation) + sum(times * each.high for each, times in losses)
    size = 1 << (high - low + count + 2).bit_length()
    transform: npt.NDArray[np.complex128] = np.ones(size // 2 + 1, dtype=np.complex128)
    for each, times in losses:
        base = np.zeros(size)
        np.add.at(base, each.steps % size, each.chances)
        transform *= np.fft.rfft(base) ** times
    steps: npt.NDArray[np.int64] = low + np.arange(size)
    chances = np.clip(np.fft.irfft(transform, size), 0, None)[steps % size]
    return _Composed(np.asarray(steps * _STEP, dtype=np.float64), chances, beyond)


def _least_epsilon(found: _Composed, delta: float) -> float:
    """Find the least ε ≥ 0 with Σ over losses L > ε of (1 − e^(ε−L)) P(L) ≤ δ."""

    def missed(epsilon: float) -> float:
        over = found.losses > epsilon
        return float(found.chances[over] @ -np.expm1(epsilon - found.losses[over]))

    low, high = 0.0, max(float(found.losses[-1]), 0.0)
    if missed(low) <= delta:
        return 0.0
    while high - low > _STEP / 10:
        middle = (low + high) / 2
        low, high = (low, middle) if missed(middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True)
class Product:
    """A product whose noise was drawn, or may have been.

    Attributes:
        id: Unique name, which a killed run keeps when it is resumed.
        stage: Command that made it.
        work: Name of its work folder.
        made_of: The folder or file of the records.
        invariants: Counts that the product publishes exactly.
        notes: Limits of the product's guarantee.
        records: A digest of the records; empty in lines of earlier versions.
    """

    id: str
    stage: str
    work: str
    made_of: str
    spends: tuple[Spend, ...]
    invariants: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    records: str = ""


@dataclass(frozen=True)
class Limit:
    """The limit of the total privacy loss.

    Attributes:
        rho: Limit of ρ; None for no limit.
        epsilon: Limit of ε at ``delta``; None for no limit.
    """

    rho: Fraction | None
    epsilon: float | None
    delta: float

    def broken_by(self, total: Total) -> str | None:
        """Describe what exceeds the limit; None if nothing does."""
        if self.rho is not None and (total.rho is None or total.rho > self.rho):
            found = "no finite ρ" if total.rho is None else f"ρ {float(total.rho):.6g}"
            return f"{found}, above the limit of {float(self.rho):.6g}"
        found_epsilon = total.epsilon(self.delta)
        if self.epsilon is not None and found_epsilon > self.epsilon:
            return (
                f"ε {found_epsilon:.4g} at δ {self.delta:.0e}, above the limit of {self.epsilon:g}"
            )
        return None


def grouped(products: Iterable[Product], by: Literal["level", "query"]) -> Mapping[str, Total]:
    """Sum the privacy loss of all products by level, or by query."""
    parts: dict[str, list[Spend]] = {}
    for product in products:
        for each in product.spends:
            parts.setdefault(getattr(each, by), []).append(each)
    return {name: Total.of(spends) for name, spends in parts.items()}
