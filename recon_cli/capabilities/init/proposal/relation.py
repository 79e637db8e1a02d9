"""A relation among lines of a table: a sum or a ratio, with its support."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recon_cli.capabilities.init.proposal.evidence import Support


class Axis(StrEnum):
    """The lines of a table among which a relation holds."""

    COLUMNS = "columns"
    ROWS = "rows"


class Kind(StrEnum):
    """The kind of a line, as far as its numbers show."""

    COUNT = "count"
    STATISTIC = "statistic"
    UNRELATED = "unrelated"


@dataclass(frozen=True)
class Relation:
    """A line of a table, and the lines whose sum or quotient it is.

    Attributes:
        line: The position of the line in the grid.
        of: The parts of a sum, in order; part and base of a ratio.
        per: What a ratio is printed per: 100 for a percentage; 0 for a sum.
        step: Distance between the parts of a sum; 0 where totals among them are skipped.
        is_rounded: Whether it holds within rounding only.
        rivals: Other parts that fit the numbers of a sum about as well.
    """

    axis: Axis
    line: int
    of: tuple[int, ...]
    support: Support
    per: float = 0.0
    step: int = 1
    is_rounded: bool = False
    rivals: tuple[tuple[int, ...], ...] = ()

    @property
    def is_sum(self) -> bool:
        """Test whether the relation is a sum, and not a ratio."""
        return not self.per
