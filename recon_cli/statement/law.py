"""What a published number states about a true count: an interval that it proves, and a cost.

A law says how an agency made published numbers of true counts. Read backwards, a published number
c proves that the true count n lies in an interval, and gives each n in it a cost, −log p(c | n) up
to a constant. The interval feeds what is proven; the cost only what is likely (docs/method.md,
"Statements").

See *law* in docs/glossary.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws

#: A published number that is a flag: the count is suppressed.
FLAGGED: Final = -(2**62)


class Law(BaseModel, ABC):
    """How published numbers are made of true counts.

    Arrays broadcast against each other, and results have their common shape. Published numbers
    are integers, or `FLAGGED`.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False
    )

    name: ClassVar[str]

    @property
    def has_cost(self) -> bool:
        """Whether some published numbers make one count in their interval likelier than another."""
        return False

    @property
    @abstractmethod
    def keeps_zeros(self) -> bool:
        """Whether a true count of zero is published as zero, whatever chance decides."""

    @abstractmethod
    def fits(self, published: IntArray) -> BoolArray:
        """Whether some true count gives this published number."""

    @abstractmethod
    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """The least and the greatest true count of published numbers that fit.

        Both are counts that give the published number; the greatest is
        `recon_cli.frames.OPEN` where there is none.
        """

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """−log p(published | counts), up to a constant for each published number.

        It is infinite for counts that cannot give the number.
        """
        low, high = self.intervals(published)
        return np.where((counts >= low) & (counts <= high), 0.0, np.inf)

    def threshold(self, high: IntArray) -> IntArray:
        """Counts below it are withheld for being small; 0 where the law names none.

        Args:
            high: The greatest true counts of published numbers that are not exact.
        """
        return np.zeros_like(high)

    @abstractmethod
    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Published numbers for true counts.

        Args:
            counts: At least 0.
            draws: What chance decides; broadcast with the counts.

        Raises:
            ValueError: The law does not say how to publish a count by itself.
        """

    def reading(self, marker: str) -> Law:
        """The law by which ``marker``, published in place of a number, is to be read.

        Raises:
            ValueError: The law publishes numbers only, or the marker says something else.
        """
        raise ValueError(f"the law {self.name!r} publishes numbers only, found {marker!r}")


#: A threshold or a base: above all counts it leaves them without end, and fits 64 bits.
CountLimit = Annotated[int, Field(ge=2, le=10**15)]


class Exact(Law):
    """The published number is the count."""

    name: ClassVar[str] = "exact"

    @property
    def keeps_zeros(self) -> bool:
        """Always."""
        return True

    def fits(self, published: IntArray) -> BoolArray:
        """Any count."""
        return published >= 0

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """[c, c]."""
        return published, published

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """The counts."""
        return np.broadcast_arrays(counts, draws.words)[0].astype(np.int64)
