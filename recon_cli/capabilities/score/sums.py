"""Counts by group, each with its resamples: add, select, roll up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.seeding import generator


@dataclass(frozen=True)
class Sums:
    """Measures summed by group.

    Attributes:
        values: Groups × slots × measures. Slot 0 is the value; the others are its values in
            resamples of geounits, or in draws of links.
    """

    keys: pl.DataFrame
    measures: tuple[str, ...]
    values: FloatArray

    def __post_init__(self) -> None:
        shape = (self.keys.height, len(self.measures))
        if self.values.ndim != 3 or self.values.shape[::2] != shape:
            raise ValueError(f"{shape} groups and measures expected, found {self.values.shape}")

    def of(self, measure: str) -> FloatArray:
        """Return groups × slots of one measure."""
        return self.values[:, :, self.measures.index(measure)]

    def where(self, condition: pl.Expr) -> Sums:
        """Select the groups that meet a condition on the keys; null does not."""
        rows = self.keys.with_row_index("_at").filter(condition)["_at"]
        return Sums(self.keys[rows], self.measures, self.values[rows.to_numpy()])

    def by(self, *columns: str) -> Sums:
        """Sum over the groups that are equal in ``columns``; without columns over all."""
        if not columns:
            total = self.values.sum(axis=0, keepdims=True)
            return Sums(pl.DataFrame({"all": ["All"]}), self.measures, total)
        groups, keys = group_rows(self.keys, columns)
        values = np.zeros((keys.height, *self.values.shape[1:]))
        np.add.at(values, groups, self.values)
        return Sums(keys, self.measures, values)

    def aligned(self, keys: pl.DataFrame) -> Sums:
        """Return one group for every row of ``keys``, which has at least our own columns.

        Missing groups are zero.
        """
        columns = self.keys.columns
        places = keys.select(columns).join(
            self.keys.with_row_index("_at"),
            on=columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["_at"]
        padded = np.concatenate([self.values, np.zeros((1, *self.values.shape[1:]))])
        rows = places.fill_null(self.keys.height).to_numpy()
        return Sums(keys, self.measures, padded[rows])


def concat(parts: Sequence[Sums]) -> Sums:
    """Combine sums of disjoint parts of the data; equal groups are added."""
    keys = pl.concat([part.keys for part in parts])
    values = np.concatenate([part.values for part in parts])
    return Sums(keys, parts[0].measures, values).by(*keys.columns)


def group_rows(
    frame: pl.DataFrame, columns: Sequence[str]
) -> tuple[npt.NDArray[np.int64], pl.DataFrame]:
    """Return the number of every row's group, and the groups, sorted."""
    keys = frame.select(columns).unique().sort(columns, nulls_last=True)
    numbers = frame.select(columns).join(
        keys.with_row_index("_group"),
        on=list(columns),
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["_group"]
    return numbers.cast(pl.Int64).to_numpy(), keys


def weighted(
    frame: pl.DataFrame, by: Sequence[str], measures: Sequence[str], weights: FloatArray
) -> Sums:
    """Sum measures by group under each weighting of the geounits.

    Args:
        frame: ``_unit`` (row of ``weights``), the columns ``by`` and ``measures``.
        measures: Measures to sum; null counts as 0.
        weights: Units × slots.
    """
    from scipy import sparse  # slow to load; `recon status` asks for nothing here

    groups, keys = group_rows(frame, by)
    units = frame["_unit"].to_numpy()
    values = np.empty((keys.height, weights.shape[1], len(measures)))
    for i, measure in enumerate(measures):
        numbers = frame[measure].cast(pl.Float64).fill_null(0.0).to_numpy()
        shape = (keys.height, weights.shape[0])
        values[:, :, i] = sparse.csr_array((numbers, (groups, units)), shape=shape) @ weights
    return Sums(keys, tuple(measures), values)


def resample(units: int, resamples: int, *, seed: int, partition: str) -> FloatArray:
    """Draw weights of geounits, (units × slots): 1, then Poisson(1) for each resample.

    Args:
        partition: Its name: its resamples depend on it alone.
    """
    weights = np.ones((units, 1 + resamples))
    weights[:, 1:] = generator(seed, "bootstrap", partition).poisson(1.0, (units, resamples))
    return weights


def stack(draws: Sequence[Sums]) -> Sums:
    """Stack draws of the same counts as slots: their mean first, then each.

    Args:
        draws: Sums with one slot each; some may lack groups.
    """
    keys = pl.concat([draw.keys for draw in draws])
    keys = keys.unique().sort(keys.columns, nulls_last=True)
    each = np.concatenate([draw.aligned(keys).values for draw in draws], axis=1)
    mean = each.mean(axis=1, keepdims=True)
    return Sums(keys, draws[0].measures, np.concatenate([mean, each], axis=1))
