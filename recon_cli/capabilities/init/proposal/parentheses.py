"""Numbers in parentheses among counts: whether they are counts, or stand for withheld ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.zeros import Cell
from recon_cli.sources.read.choices import NUMBERS, WITHHELD
from recon_cli.sources.read.numbers import inside

#: Fewest cells that sums have to confirm.
_FEWEST: Final = 2


@dataclass
class Parentheses:
    """The evidence of sums on whether numbers in parentheses are counts.

    Attributes:
        agreeing: Cells in parentheses of sums that hold if such numbers are counts.
        broken: Number of sums that do not hold then.
    """

    agreeing: set[Cell] = field(default_factory=set)
    broken: int = 0

    def weigh(self, values: FloatArray, is_inside: Sequence[bool], cells: Sequence[Cell]) -> None:
        """Add the evidence of one sum, its total first; a sum with a NaN has none."""
        whole, *parts = values.tolist()
        difference = whole - sum(parts)
        if difference == 0:
            self.agreeing |= {cell for cell, own in zip(cells, is_inside, strict=True) if own}
        elif difference == difference:  # noqa: PLR0124 - no number
            self.broken += 1

    @property
    def are_numbers(self) -> bool:
        """Test whether sums confirm that numbers in parentheses are counts."""
        return not self.broken and len(self.agreeing) >= _FEWEST

    def question(self, example: str, times: int) -> OpenQuestion:
        """Return the question whether numbers in parentheses are counts.

        Args:
            example: A number in parentheses.
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
