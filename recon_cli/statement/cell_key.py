"""Cell-key perturbation: the keys of a cell's records determine the offset of its count.

A p-table states which offset a key gives, and with what probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self

import numpy as np
import polars as pl
from pydantic import Field, ValidationInfo, field_validator, model_validator

from recon_cli.arrays import BoolArray, FloatArray, IntArray
from recon_cli.chance import Draws, ends_of
from recon_cli.errors import ConfigError
from recon_cli.frames import OPEN
from recon_cli.statement.law import Law

#: Tolerance of the sum of a row's probabilities: tables are printed with few digits.
_TOLERANCE: Final = 1e-4
_NEWTON_STEPS: Final = 200
#: Last count that has a row in an ONS table, and the number of last rows that repeat after it.
_ONS_LAST, _ONS_REPEATED = 750, 250


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """A step function for each count, from cell keys in [0, 1) to offsets.

    Attributes:
        widths: (rows × steps) width of each step, in proportion.
        offsets: (rows × steps) number that is added to the count.
        repeated: Number of last rows that counts beyond the table use in turn.
    """

    widths: FloatArray
    offsets: IntArray
    repeated: int = 1

    def __post_init__(self) -> None:
        """Refuse rows that are not distributions, and negative counts.

        Raises:
            ConfigError: A row is refused; the message names it.
        """
        total = self.widths.sum(axis=1)
        wrong = (np.abs(total - 1) > _TOLERANCE) | (self.widths < 0).any(axis=1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ConfigError(
                f"p-table: the probabilities of count {row} must add up to 1, found "
                f"{total[row]:.6g}"
            )
        below = ((self._counts + self.offsets < 0) & (self.widths > 0)).any(axis=1)
        if below.any():
            raise ConfigError(f"p-table: count {int(np.argmax(below))} may become negative")

    @property
    def _counts(self) -> IntArray:
        return np.arange(len(self.widths))[:, None]

    @classmethod
    def of_probabilities(cls, probabilities: FloatArray, least: int) -> Self:
        """Build a table from (rows × offsets) probabilities, with offsets from ``least`` on."""
        offsets = np.arange(least, least + probabilities.shape[1])
        return cls(probabilities, np.broadcast_to(offsets, probabilities.shape).astype(np.int64))

    @cached_property
    def least(self) -> int:
        """Return the least offset of any row."""
        return int(self.offsets.min())

    @cached_property
    def probabilities(self) -> FloatArray:
        """Return the (rows × offsets from the least to the greatest) matrix p(offset | count)."""
        widths = self.widths / self.widths.sum(axis=1, keepdims=True)
        shape = (len(widths), int(self.offsets.max()) - self.least + 1)
        table = np.zeros(shape)
        np.add.at(
            table, (np.broadcast_to(self._counts, widths.shape), self.offsets - self.least), widths
        )
        return table

    @property
    def keeps_zeros(self) -> bool:
        """Report whether a count of zero always keeps its value."""
        row = self.rows_of(np.array(0))
        return not ((self.offsets[row] != 0) & (self.widths[row] > 0)).any()

    def rows_of(self, counts: IntArray) -> IntArray:
        height = len(self.widths)
        turn = height - self.repeated + (counts - height) % self.repeated
        return np.where(counts < height, counts, turn)

    def probability(self, counts: IntArray, published: IntArray) -> FloatArray:
        """Return p(published | counts), 0 for counts below 0."""
        counts, published = np.broadcast_arrays(counts, published)
        column = published - counts - self.least
        inside = (counts >= 0) & (column >= 0) & (column < self.probabilities.shape[1])
        row = self.rows_of(np.maximum(counts, 0))
        return np.where(inside, self.probabilities[row, np.where(inside, column, 0)], 0.0)

    def preimages(self, published: IntArray) -> tuple[BoolArray, IntArray, IntArray]:
        """Test if any count gives each published number; return also its least and greatest."""
        width = self.probabilities.shape[1]
        offsets = np.arange(self.least, self.least + width)
        counts = published[..., None] - offsets
        possible = self.probability(counts, published[..., None]) > 0
        low = np.where(possible, counts, OPEN).min(axis=-1)
        high = np.where(possible, counts, -1).max(axis=-1)
        return np.asarray(possible.any(axis=-1)), low, high

    def offsets_at(self, counts: IntArray, draws: Draws) -> IntArray:
        counts, _ = np.broadcast_arrays(counts, draws.words)
        rows = self.rows_of(counts)
        step = draws.choose(rows, lambda row: ends_of(self.widths[row].tolist()))
        found: IntArray = self.offsets[rows, step]
        return found


def maximum_entropy(most: int, variance: float, small: int = 0) -> PerturbationTable:
    """Compute the p-table of maximum entropy with mean 0 and a given variance.

    The row of count n has the offsets v from −most to most for which n + v is 0 or greater than
    ``small``; 0 stays 0. p(v) ∝ exp(a v + b v²), with a and b from Newton's method on the dual.

    Args:
        most: Greatest offset D.
        variance: V.
        small: Counts 1 to ``small`` are never published (js).

    Raises:
        ConfigError: Some row has no such distribution.

    >>> table = maximum_entropy(most=2, variance=1.0)
    >>> table.probability(np.array([10, 10]), np.array([9, 11])).round(3).tolist()
    [0.245, 0.245]
    """
    offsets = np.arange(-most, most + 1)
    rows = []
    for count in range(most + small + 2):
        possible = (count + offsets == 0) | (count + offsets > small)
        row = np.zeros(len(offsets))
        if count == 0:
            row[most] = 1.0
        else:
            row[possible] = _row(offsets[possible].astype(np.float64), variance, count)
        rows.append(row)
    return PerturbationTable.of_probabilities(np.array(rows), -most)


def _row(offsets: FloatArray, variance: float, count: int) -> FloatArray:
    """Compute probabilities p ∝ exp(a v + b v²) with Σ p v = 0 and Σ p v² = variance."""
    moments = np.stack([offsets, offsets**2])
    target = np.array([0.0, variance])
    weights = np.zeros(2)

    def dual(at: FloatArray) -> tuple[float, FloatArray]:
        exponent = at @ moments
        top = exponent.max()
        mass = np.exp(exponent - top)
        return float(top + np.log(mass.sum()) - at @ target), mass / mass.sum()

    value, p = dual(weights)
    for _ in range(_NEWTON_STEPS):
        gradient = moments @ p - target
        if np.abs(gradient).max() < 1e-12:
            return p
        hessian = (moments * p) @ moments.T - np.outer(moments @ p, moments @ p)
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-12:
            new, found = dual(weights + size * step)
            if new <= value + 1e-4 * size * float(gradient @ step) or abs(new - value) < 1e-15:
                break
            size /= 2
        weights = weights + size * step
        value, p = new, found
    if np.abs(moments @ p - target).max() < 1e-6:
        return p
    raise ConfigError(
        f"p-table: no offsets for count {count} have mean 0 and variance {variance:g}"
    )


def read_perturbation_table(path: Path) -> PerturbationTable:
    """Read a p-table in CSV, of R's ptable (``i, j, p``) or the ONS (``pcv, ckey, pvalue``).

    Raises:
        ConfigError: It cannot be read, has other columns, or is no p-table.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        separator = ";" if ";" in text.partition("\n")[0] else ","
        frame = pl.read_csv(text.encode(), separator=separator)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise ConfigError(f"{path}: cannot be read as a p-table: {reason[0]}") from error
    try:
        if {"i", "j", "p"} <= set(frame.columns):
            return _of_ptable(frame)
        if {"pcv", "ckey", "pvalue"} <= set(frame.columns):
            return _of_ons(frame)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    raise ConfigError(
        f"{path}: expected the columns i, j, p or pcv, ckey, pvalue of a p-table, found "
        f"{', '.join(frame.columns)}"
    )


def _of_ptable(frame: pl.DataFrame) -> PerturbationTable:
    """Read rows in which count i becomes j with probability p."""
    counts, targets = (frame[name].cast(pl.Int64).to_numpy() for name in ("i", "j"))
    if set(counts.tolist()) != set(range(len(set(counts.tolist())))):
        raise ConfigError("p-table: the counts i must be 0, 1, 2, …")
    offsets = targets - counts
    table = np.zeros((int(counts.max()) + 1, int(offsets.max() - offsets.min()) + 1))
    np.add.at(table, (counts, offsets - offsets.min()), frame["p"].cast(pl.Float64).to_numpy())
    return PerturbationTable.of_probabilities(table, int(offsets.min()))


def _of_ons(frame: pl.DataFrame) -> PerturbationTable:
    """Read rows in which a count pcv with cell key ckey gets the offset pvalue; others get 0."""
    counts, keys, values = (
        frame[name].cast(pl.Int64).to_numpy() for name in ("pcv", "ckey", "pvalue")
    )
    width, height = int(keys.max()) + 1, int(counts.max()) + 1
    offsets = np.zeros((height, width), dtype=np.int64)
    offsets[counts, keys] = values
    repeated = _ONS_REPEATED if height == _ONS_LAST + 1 else 1
    return PerturbationTable(np.full(offsets.shape, 1 / width), offsets, repeated)


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
        if self.max is not None and self.variance is not None:
            return maximum_entropy(self.max, self.variance, len(self.never))
        return read_perturbation_table(self.table or Path())

    @property
    def has_cost(self) -> bool:
        return True

    @property
    def keeps_zeros(self) -> bool:
        return self.perturbation.keeps_zeros

    def fits(self, published: IntArray) -> BoolArray:
        return self.perturbation.preimages(published)[0]

    def intervals(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Return the least and the greatest n with p(n → c) > 0."""
        _, low, high = self.perturbation.preimages(published)
        return low, np.minimum(high, OPEN)

    def cost(self, published: IntArray, counts: IntArray) -> FloatArray:
        """Return −log p(n → c)."""
        with np.errstate(divide="ignore"):
            return -np.log(self.perturbation.probability(counts, published)) + 0.0

    def publish(self, counts: IntArray, draws: Draws) -> IntArray:
        """Add the offset of the cell key to each count."""
        return counts + self.perturbation.offsets_at(counts, draws)
