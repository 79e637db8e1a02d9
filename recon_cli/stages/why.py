"""What of a geounit `recon show` explains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Why:
    """Which rows, and whether counts, are explained.

    Attributes:
        numbers: Row numbers; None for the first few.
        everyone: All rows with certain people.
        first: How many a few are.
        counts: Whether the sums are looked for that recovered counts are: seconds a count.
    """

    numbers: tuple[int, ...] | None = None
    everyone: bool = False
    first: int = 3
    counts: bool = True

    @property
    def is_asked(self) -> bool:
        """Whether some rows in particular, or all, are asked for."""
        return self.everyone or self.numbers is not None
