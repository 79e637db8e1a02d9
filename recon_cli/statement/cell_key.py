"""Cell-key perturbation: the keys of a cell's records decide what is added to its count."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws
from recon_cli.statement.law import Law
from recon_cli.statement.perturbation_table import (
    PerturbationTable,
    maximum_entropy,
    read_perturbation_table,
)


class CellKey(Law):
    """A p-table, by its parameters or from a file.

    Attributes:
        max: Greatest offset D.
        variance: V of the offsets.
        never: Small counts, 1 to some number, that are never published.
        table: A CSV file of R's ptable or of the ONS, in place of the parameters.
    """

    name: ClassVar[str] = "cellkey"

    max: Annotated[int, Field(ge=1, le=50)] | None = None
    variance: Annotated[float, Field(gt=0)] | None = None
    never: Annotated[tuple[int, ...], Field(strict=False)] = ()
    table: Path | None = None

    @field_validator("table", mode="before")
    @classmethod
    def _place(cls, value: object, info: ValidationInfo) -> object:
        base = (info.context or {}).get("base", Path())
        return base / value if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = (self.max is not None, self.variance is not None)
        if not (all(given) if self.table is None else not any((*given, self.never))):
            raise ValueError("expected max and variance, or a table and nothing else")
        if self.never != tuple(range(1, len(self.never) + 1)):
            raise ValueError("never: expected 1, 2, … without a gap")
        return self

    @cached_property
    def perturbation(self) -> PerturbationTable:
        """The p-table.

        Raises:
            ConfigError: It cannot be read, or there is none with these parameters.
        """
        if self.max is not None and self.variance is not None:
            return maximum_entropy(self.max, self.variance, len(self.never))
        return read_perturbation_table(self.table or Path())

    @property
    def has_cost(self) -> bool:
        """Always."""
        return True

    @property
    def keeps_zeros(self) -> bool:
        """Whether the row of zero has no other offset."""
        return self.perturbation.keeps_zeros

    def fits(self, published: IntArray) -> BoolArray:
        """A number that the table can give."""
        return self.perturbation.preimages(published)[0]

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """From the least to the greatest n with p(n → c) > 0."""
        _, low, high = self.perturbation.preimages(published)
        return low, high

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """−log p(n → c)."""
        with np.errstate(divide="ignore"):
            return -np.log(self.perturbation.probability(counts, published)) + 0.0

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """The count and the offset that the cell key gives."""
        return counts + self.perturbation.offsets_at(counts, draws)
