"""Size classes of geounits, by population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.errors import ConfigError

#: Name of the row over all classes.
ALL = "All"


@dataclass(frozen=True)
class Sizes:
    """Size classes by lower bounds of population.

    Attributes:
        lowest: The lowest population of each class, sorted; the last has no upper end.
    """

    lowest: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.lowest or list(self.lowest) != sorted(set(self.lowest)):
            raise ConfigError(f"score.sizes: rising numbers are expected, found {self.lowest}")
        if self.lowest[0] != 1:
            raise ConfigError("score.sizes: the first class starts at 1")

    def number(self, population: pl.Expr) -> pl.Expr:
        """Return the class of a population, from 0 (Int8)."""
        steps = [(population >= low).cast(pl.Int8) for low in self.lowest]
        return (pl.sum_horizontal(steps) - 1).cast(pl.Int8)

    def label(self, first: int, last: int | None = None) -> str:
        """Return the label of a class, or of the classes from ``first`` to ``last``.

        >>> sizes = Sizes((1, 10, 1000))
        >>> sizes.label(0), sizes.label(2), sizes.label(0, 1), sizes.label(1, 2)
        ('1-9', '1,000+', '1-999', '10+')
        """
        end = first if last is None else last
        if end == len(self.lowest) - 1:
            return f"{self.lowest[first]:,}+"
        return f"{self.lowest[first]:,}-{self.lowest[end + 1] - 1:,}"

    def labels(self, classes: Sequence[int]) -> list[str]:
        """Return the labels of single classes."""
        return [self.label(each) for each in classes]
