"""Numbers in parentheses among counts: the numbers, or something in place of what is withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.zeros import Cell
from recon_cli.sources.read.choices import NUMBERS, WITHHELD
from recon_cli.sources.read.numbers import inside

#: Cells that sums have to bear out.
_FEWEST: Final = 2


@dataclass
class Parentheses:
    """Weigh what sums tell of numbers in parentheses.

    Attributes:
        agreeing: Cells that are in a sum that holds if they are the numbers.
        broken: How many sums do not.
    """

    agreeing: set[Cell] = field(default_factory=set)
    broken: int = 0

    def weigh(self, values: FloatArray, is_inside: Sequence[bool], cells: Sequence[Cell]) -> None:
        """Weigh one sum, its total first; NaN in it tells nothing."""
        whole, *parts = values.tolist()
        difference = whole - sum(parts)
        if difference == 0:
            self.agreeing |= {cell for cell, own in zip(cells, is_inside, strict=True) if own}
        elif difference == difference:  # noqa: PLR0124 - no number
            self.broken += 1

    @property
    def are_numbers(self) -> bool:
        """Test whether sums bear out that they are the numbers."""
        return not self.broken and len(self.agreeing) >= _FEWEST

    def question(self, example: str, times: int) -> OpenQuestion:
        """Ask what they are.

        Args:
            example: One of them.
            times: How many counts are printed so.
        """
        many = f"{times:,} counts are" if times > 1 else "a count is"
        told = "sums say that it is not the number" if self.broken else "no sum tells"
        number = inside(example)
        return OpenQuestion(
            f"{many} printed in parentheses, such as {example!r}: {told}; is it {number}, or "
            "withheld?",
            {
                f"{example!r} is {number}": f"--parentheses {NUMBERS}",
                "what is in parentheses is withheld": f"--parentheses {WITHHELD}",
            },
        )
