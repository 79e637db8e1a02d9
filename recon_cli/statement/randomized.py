"""Counts of randomised answers."""

from __future__ import annotations

from functools import cache
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws, ends_of
from recon_cli.statement.law import Law

Share = Annotated[float, Field(ge=0, le=1)]


class Randomized(Law):
    """Randomised response: each person of a known number answers at random whether he is counted.

    The reported count is a sum of two independent binomial counts: B(n, inside) from those who are
    counted, and B(people − n, outside) from those who are not.

    Attributes:
        people: Number of people who were asked.
        inside: Probability that a counted person is reported as counted.
        outside: Probability that another person is reported as counted; below ``inside``.

    Source: Warner (1965).
    """

    name: ClassVar[str] = "randomized"

    people: Annotated[int, Field(ge=0)]
    inside: Share
    outside: Share

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.outside < self.inside:
            raise ValueError("outside: expected a probability below that of inside")
        return self

    @property
    def has_cost(self) -> bool:
        """Report whether any answer is random."""
        return self.inside < 1 or self.outside > 0

    @property
    def keeps_zeros(self) -> bool:
        """Report whether nobody outside is ever reported."""
        return self.people == 0 or self.outside == 0

    def fits(self, published: IntArray) -> BoolArray:
        found: BoolArray = (published >= 0) & (published <= self.people)
        return found

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return [0, people]; from c if nobody outside is reported, to c if everybody inside is."""
        low = published if self.outside == 0 else np.zeros_like(published)
        high = published if self.inside == 1 else np.full_like(published, self.people)
        return low, high

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log p(c | n)."""
        published, counts = np.broadcast_arrays(published, counts)
        p = np.zeros(counts.shape)
        possible = self.fits(published) & self.fits(counts)
        for count in np.unique(counts[possible]).tolist():
            here = possible & (counts == count)
            p[here] = self.probabilities(count)[published[here]]
        with np.errstate(divide="ignore"):
            return -np.log(p) + 0.0

    def probabilities(self, count: int) -> FloatArray:
        """Return the (people + 1,) probabilities of the reported counts, for a true count."""
        return reported_probabilities(self.people, self.inside, self.outside, count)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Draw reported counts: each is the quantile of its random word."""
        return draws.choose(counts, lambda count: ends_of(self.probabilities(count).tolist()))


@cache
def reported_probabilities(people: int, inside: float, outside: float, count: int) -> FloatArray:
    """Compute the (people + 1,) probabilities of the reported counts; read-only. Eq. (reported).

    Args:
        people: N, the number of people who were asked.
        inside: s, the probability that a counted person is reported as counted.
        outside: t, the probability that another person is reported as counted.
        count: n, the true count.
    """
    found: FloatArray = np.convolve(_binomial(count, inside), _binomial(people - count, outside))
    return found


def _binomial(draws: int, p: float) -> FloatArray:
    """Return the (draws + 1,) probabilities of 0, 1, …."""
    found = np.zeros(draws + 1)
    if p in {0, 1}:
        found[round(p) * draws] = 1
        return found
    hits = np.arange(draws + 1)
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, draws + 1)))])
    ways = factorial[-1] - factorial - factorial[::-1]
    found[:] = np.exp(ways + hits * np.log(p) + hits[::-1] * np.log1p(-p))
    return found
