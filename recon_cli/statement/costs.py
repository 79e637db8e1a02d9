"""Costs of published counts, which make some true counts likelier than others.

A cost is −log p(published | count) of one published number. Every law's costs are convex on the
integers, or are replaced by their lower convex hull, so that the least sum is a linear program
with segments of one person. They are whole multiples of 1/`SCALE`, so sums are exact.

See *cost* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.frames import OPEN
from recon_cli.statement.law import Law
from recon_cli.statement.protection import Protection
from recon_cli.statement.stored_counts import StoredCounts

#: Costs are whole multiples of 1/SCALE.
SCALE: Final = 10_000
#: Counts on either side of the likeliest one whose costs are told apart; beyond, each further
#: person costs what the last one did.
REACH: Final = 16


@dataclass(frozen=True)
class CountCosts:
    """Costs of the cells of many geounits.

    A *kind* is a law with a published number; its costs are the same wherever it is published.

    Attributes:
        likeliest: For each kind the least of its likeliest counts.
        slopes: (kinds × 2 `REACH`) cost of each further person, in 1/`SCALE`, from `REACH` below
            the likeliest count; sorted.
        kind: Sparse (geounits × cells): 1 + kind of the stored rows that have a cost.
        stored: Sparse (geounits × cells): 1 where a row is stored.
        absent: (levels × cells) kind of a published zero without a row, −1 without a cost.
        level: For each geounit its row in `absent`.
    """

    likeliest: IntArray
    slopes: IntArray
    kind: sparse.csr_array
    stored: sparse.csr_array
    absent: IntArray
    level: IntArray

    def slopes_at(self, kind: IntArray, counts: IntArray) -> IntArray:
        """Return the cost of one more person at some counts of some kinds, in 1/`SCALE`."""
        at = counts - self.likeliest[kind] + REACH
        slopes: IntArray = self.slopes[kind, np.clip(at, 0, 2 * REACH - 1)]
        return slopes

    def of(self, geounits: IntArray) -> IntArray:
        """Return (geounits × cells) kinds, −1 for cells whose counts are all equally likely."""
        stored = self.stored[geounits].toarray() > 0
        return np.where(
            stored, self.kind[geounits].toarray() - 1, self.absent[self.level[geounits]]
        )


def count_costs(stored: StoredCounts, protection: Protection) -> CountCosts | None:
    """Compute the costs of protected counts; None if there are none.

    A row with an interval of its own has no cost, nor has a flag.
    """
    laws = protection.laws
    if not any(law.has_cost for law in laws):
        return None
    kinds: dict[tuple[int, int], int] = {}

    def of_zero(table: str, level: str) -> int:
        number = protection.number(table, level)
        has_cost = laws[number].has_cost and bool(laws[number].fits(np.array(0)))
        return kinds.setdefault((number, 0), len(kinds)) if has_cost else -1

    absent = stored.by_table(of_zero)
    distinct = stored.frame.select("law", "count").unique(maintain_order=True)
    numbered = [
        kinds.setdefault((law, count), len(kinds))
        if law is not None and count is not None and laws[law].has_cost
        else -1
        for law, count in distinct.iter_rows()
    ]
    distinct = distinct.with_columns(_kind=pl.Series(numbered, dtype=pl.Int64))
    kind = stored.frame.join(
        distinct, on=["law", "count"], how="left", nulls_equal=True, maintain_order="left"
    )["_kind"]
    at = (stored.row, stored.column)
    if not kinds:
        return None
    likeliest, slopes = zip(*(_slopes(laws[law], count) for law, count in kinds), strict=True)
    return CountCosts(
        likeliest=np.array(likeliest, dtype=np.int64),
        slopes=np.stack(slopes),
        kind=sparse.csr_array((kind.to_numpy() + 1, at), shape=stored.shape),
        stored=sparse.csr_array((np.ones(len(kind), dtype=np.int64), at), shape=stored.shape),
        absent=absent,
        level=stored.level,
    )


def _slopes(law: Law, published: int) -> tuple[int, IntArray]:
    """Return the least of the likeliest counts of a published number, and the slopes around it."""
    low, high = (int(end) for end in law.intervals(np.array(published)))
    near = max(low, published - 2 * REACH)
    counts = np.arange(near, min(high, near + 4 * REACH, OPEN) + 1)
    cost = law.cost(np.array(published), counts)
    likeliest = int(counts[np.argmin(cost)])
    inside = np.abs(counts - likeliest) <= REACH
    counts, slope = counts[inside], _hull_slopes(cost[inside])
    rounded = np.rint(slope * SCALE).astype(np.int64)
    below = rounded[: likeliest - int(counts[0])]
    above = rounded[likeliest - int(counts[0]) :]
    first = below[:1] if len(below) else np.zeros(1, dtype=np.int64)
    last = above[-1:] if len(above) else np.zeros(1, dtype=np.int64)
    return likeliest, np.concatenate(
        [
            np.repeat(first, REACH - len(below)),
            below,
            above,
            np.repeat(last, REACH - len(above)),
        ]
    )


def _hull_slopes(cost: FloatArray) -> FloatArray:
    """Return the slopes of the lower convex hull of finite costs at neighbouring counts."""
    corners: list[int] = []
    for at in np.flatnonzero(np.isfinite(cost)).tolist():
        while len(corners) > 1:
            left, middle = corners[-2:]
            rise = (cost[at] - cost[left]) * (middle - left) / (at - left)
            if cost[middle] - cost[left] <= rise:
                break
            corners.pop()
        corners.append(at)
    hull = np.interp(np.arange(len(cost)), corners, cost[corners])
    slopes: FloatArray = np.diff(hull)
    return slopes
