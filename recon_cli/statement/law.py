"""Laws: how published numbers are made from true counts.

Read backwards, a published number c proves that the true count n lies in an interval, and gives
each n in it a cost, −log p(c | n) up to a constant. Proofs use the interval; the cost only makes
some solutions likelier (docs/method.md, "Statements").

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
    """A way to make published numbers from true counts.

    Arrays broadcast against each other, and results have their common shape. Published numbers are
    integers, or `FLAGGED`.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False
    )

    name: ClassVar[str]

    @property
    def has_cost(self) -> bool:
        """Report whether some published number makes counts in its interval unequally likely."""
        return False

    @property
    @abstractmethod
    def keeps_zeros(self) -> bool:
        """Report whether a true count of zero is always published as zero."""

    @abstractmethod
    def fits(self, published: IntArray) -> BoolArray:
        """Test whether some true count gives each published number."""

    @abstractmethod
    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least and the greatest true count for published numbers that fit.

        Both are counts that give the published number; the greatest is `recon_cli.frames.OPEN` if
        unbounded.
        """

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log p(published | counts), up to a constant for each published number.

        It is infinite for counts that cannot give the number.
        """
        low, high = self.intervals(published)
        return np.where((counts >= low) & (counts <= high), 0.0, np.inf)

    def threshold(self, high: IntArray) -> IntArray:
        """Return the threshold below which small counts are withheld; 0 if the law has none.

        Args:
            high: The greatest true counts of published numbers that are not exact.
        """
        return np.zeros_like(high)

    @abstractmethod
    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Draw published numbers for true counts.

        Args:
            counts: At least 0.
            draws: Random draws; broadcast with the counts.
        """

    def reading(self, marker: str) -> Law:
        """Return the law for ``marker``, published in place of a number.

        Raises:
            ValueError: The law publishes numbers only, or the marker says something else.
        """
        raise ValueError(f"the law {self.name!r} publishes numbers only, found {marker!r}")


#: A threshold or a base: the greatest is above all counts, and fits 64 bits.
CountLimit = Annotated[int, Field(ge=2, le=10**15)]


class Exact(Law):
    """The published number is the count."""

    name: ClassVar[str] = "exact"

    @property
    def keeps_zeros(self) -> bool:
        return True

    def fits(self, published: IntArray) -> BoolArray:
        return published >= 0

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        return published, published

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        return np.broadcast_arrays(counts, draws.words)[0].astype(np.int64)
