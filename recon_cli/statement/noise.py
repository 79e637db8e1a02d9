"""Integer noise: discrete Gaussian, two-sided geometric, and truncated two-sided geometric."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws, ends_of
from recon_cli.frames import OPEN
from recon_cli.statement.law import FLAGGED, Law


def geometric_variance(epsilon: float) -> float:
    """Return the variance of two-sided geometric noise: 2α/(1 − α)², α = e^−ε.

    >>> round(geometric_variance(1.0), 3)
    1.841
    """
    return 1 / (2 * math.sinh(epsilon / 2) ** 2)


#: Decimal places, and digits, that a parameter is published with: a double has them all.
_PLACES, _DIGITS = 12, 15
#: Noise of a smaller ε is wider than any count.
_LEAST_EPSILON: Final = Fraction(1, 1000)


def published(value: Fraction, *, least: bool) -> Fraction:
    """Round a parameter up or down to its published value, used for drawing and accounting.

    >>> float(published(Fraction(10, 9), least=True)), float(published(Fraction(2, 3), least=False))
    (1.111111111112, 0.666666666666)

    Args:
        value: Above 0.
        least: Whether to round up: variances are rounded up, an ε down.
    """
    whole = len(str(int(value))) if value >= 1 else 0
    scale = 10 ** max(min(_PLACES, _DIGITS - whole), 0)
    rounded = math.ceil(value * scale) if least else math.floor(value * scale)
    return Fraction(rounded, scale)


def _as_written(value: object) -> Fraction:
    """Return the exact decimal that is written in a file."""
    if isinstance(value, Fraction):
        return value
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("a number is expected")
    return Fraction(str(value))


def _large_enough(epsilon: Fraction) -> Fraction:
    if epsilon < _LEAST_EPSILON:
        raise ValueError(f"{float(_LEAST_EPSILON)} or more is expected")
    return epsilon


#: A parameter of noise, exactly: floating point never decides what is drawn.
Exactly = Annotated[Fraction, BeforeValidator(_as_written), PlainSerializer(float)]


class _Noise(Law):
    """The count plus symmetric integer noise; published numbers may be negative."""

    @property
    def has_cost(self) -> bool:
        return True

    @property
    def keeps_zeros(self) -> bool:
        return False

    @abstractmethod
    def _offset_cost(self, offset: IntArray) -> FloatArray:
        """Return −log p(offset) up to a constant."""

    @property
    @abstractmethod
    def _reach(self) -> int:
        """Return an offset beyond which the total probability is below 1e-17."""

    def fits(self, published: IntArray) -> BoolArray:
        found: BoolArray = np.not_equal(published, FLAGGED)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [0, ∞): noise proves nothing."""
        return np.zeros_like(published), np.full_like(published, OPEN)

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log p(c − n)."""
        return np.where(counts >= 0, self._offset_cost(published - counts), np.inf)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Add to each count the quantile of its random word: for study, not for a release."""
        offsets = np.arange(-self._reach, self._reach + 1)
        ends = ends_of(np.exp(-self._offset_cost(offsets)).tolist())
        counts, _ = np.broadcast_arrays(counts, draws.words)
        return counts + offsets[draws.choose(np.zeros_like(counts), lambda _: ends)]


class Gaussian(_Noise):
    """Discrete Gaussian noise: p(v) ∝ exp(−v²/(2 variance)).

    Attributes:
        variance: Variance of the noise before it is made discrete.
    """

    name: ClassVar[str] = "gaussian"

    variance: Annotated[Exactly, Field(gt=0)]

    @property
    def noise_variance(self) -> float:
        return float(self.variance)

    def _offset_cost(self, offset: IntArray) -> FloatArray:
        return offset.astype(np.float64) ** 2 / (2 * float(self.variance))

    @property
    def _reach(self) -> int:
        return math.ceil(9 * math.sqrt(self.variance)) + 1


class _Geometric(_Noise):
    epsilon: Annotated[Exactly, AfterValidator(_large_enough)]

    def _offset_cost(self, offset: IntArray) -> FloatArray:
        return np.abs(offset) * float(self.epsilon)

    @property
    def _reach(self) -> int:
        return math.ceil(40 / self.epsilon) + 1


class Geometric(_Geometric):
    """Two-sided geometric noise: p(v) ∝ exp(−ε|v|).

    Attributes:
        epsilon: ε, from 0.001, for counts that change by one between neighbours.
    """

    name: ClassVar[str] = "geometric"

    @property
    def noise_variance(self) -> float:
        return geometric_variance(float(self.epsilon))


class TruncatedGeometric(_Geometric):
    """Two-sided geometric noise, truncated to a range that holds the true count.

    Each published number is as likely as without the range, except its ends, which are likelier by
    the same factor for every true count: so the cost is that of the noise.

    Attributes:
        epsilon: ε, from 0.001, for counts that change by one between neighbours.
        within: The least and the greatest count, known to all.

    Source: Ghosh, Roughgarden & Sundararajan (2012).
    """

    name: ClassVar[str] = "truncated_geometric"

    within: Annotated[tuple[Annotated[int, Field(ge=0)], int], Field(strict=False)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.within
        if high <= low:
            raise ValueError(f"within: expected the least count, then a greater one, not {high}")
        return self

    def _holds(self, numbers: IntArray) -> BoolArray:
        low, high = self.within
        found: BoolArray = (numbers >= low) & (numbers <= high)
        return found

    def fits(self, published: IntArray) -> BoolArray:
        return self._holds(published)

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return the range: noise proves nothing more."""
        low, high = self.within
        return np.full_like(published, low), np.full_like(published, min(high, OPEN))

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log p(c − n) in the range."""
        return np.where(self._holds(counts), super().cost(published, counts), np.inf)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Add to each count the quantile of its random word, and clip the sum to the range."""
        if not self._holds(counts).all():
            raise ValueError(f"within: a count outside of {list(self.within)}")
        return super().publish(counts, draws).clip(*self.within)

    def tested(self, published: IntArray, missed: float) -> tuple[IntArray, IntArray]:
        """Compute confidence intervals: the counts that neither of two one-sided tests rejects.

        A count n is rejected if numbers from c on, or up to c, have a probability of at most half
        of ``missed`` under n. The interval is likely, never proven.

        Args:
            published: Numbers of the range.
            missed: Probability with which an interval may miss the true count.
        """
        low, high = self.within
        alpha = math.exp(-float(self.epsilon))
        reach = math.ceil(math.log((1 + alpha) * missed / 2) / math.log(alpha)) - 1
        return np.maximum(published - reach, low), np.minimum(published + reach, high)
