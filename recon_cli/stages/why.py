"""Which rows of a geounit `recon show` explains."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Why:
    """Which rows are explained.

    Attributes:
        numbers: Row numbers; None for the first few.
        everyone: All rows with certain people.
        first: How many a few are.
    """

    numbers: tuple[int, ...] | None = None
    everyone: bool = False
    first: int = 3

    @property
    def is_asked(self) -> bool:
        """Whether some rows in particular, or all, are asked for."""
        return self.everyone or self.numbers is not None
