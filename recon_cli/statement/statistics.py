"""Laws of printed statistics: how they were rounded, or that they were withheld.

These laws apply to texts, not to counts: a statement with one names only tables of statistics.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.chance import Draws
from recon_cli.frames import OPEN
from recon_cli.statement.law import Law
from recon_cli.statement.printed import Ends, Ties, printed_ends


class StatisticLaw(Law):
    """A law of printed statistics, such as medians; it publishes no counts."""

    @property
    def keeps_zeros(self) -> bool:
        return False

    def fits(self, published: IntArray) -> BoolArray:
        return np.zeros(np.shape(published), dtype=bool)

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        return np.zeros_like(published), np.full_like(published, OPEN)

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:  # noqa: ARG002
        raise ValueError(f"{self.name}: a law of statistics publishes no counts")


class Printed(StatisticLaw):
    """The statistic was rounded to decimals.

    Attributes:
        ties: How numbers half way between two printable values were rounded.
        decimals: Decimals that were rounded to, where the files have lost trailing zeros.
        decimal: The decimal sign.
        no_base: Text in place of the statistic of a group without people.
    """

    name: ClassVar[str] = "printed"

    ties: Ties = "unknown"
    decimals: Annotated[int, Field(ge=0, le=12)] | None = None
    decimal: Literal[".", ","] = "."
    no_base: str | None = None

    def ends(self, text: str) -> Ends | None:
        """Return the interval that a text proves; None if the group has nobody.

        Raises:
            ValueError: The text is no number.

        >>> Printed(decimal=",", no_base="-").ends("34,6")
        Ends(least=691, most=693, over=20, is_least_open=False, is_most_open=False)
        """
        if text == self.no_base:
            return None
        return printed_ends(self.plain(text), self.ties, self.decimals)

    def plain(self, text: str) -> str:
        """Return a text with a decimal point."""
        if self.decimal == ".":
            return text
        if "." in text:
            raise ValueError(f"expected a decimal comma, found {text!r}")
        return text.replace(",", ".")


class Withheld(StatisticLaw):
    """The statistic is not published: its marker proves nothing."""

    name: ClassVar[str] = "withheld"

    def reading(self, marker: str) -> Withheld:  # noqa: ARG002
        """Return this law: any marker may stand for a withheld statistic."""
        return self
