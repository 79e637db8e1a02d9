"""Disclosure control of our own output: small classes merged or withheld, counts rounded.

A class is published for every panel of a family (all, modal, nonmodal) or for none, and in no panel
is a single class withheld: it would be the total less the others. This does not protect against the
comparison of two runs or of two families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.sums import Sums
from recon_cli.page.sizes import ALL, Sizes

#: The ends of intervals, see `recon_cli.capabilities.score.rates.ROW`.
_ENDS = ("low", "high", "least", "most")


@dataclass(frozen=True)
class Control:
    """The treatment of small numbers.

    Attributes:
        threshold: A class is small if some panel has people in it, but fewer than this; 0 for
            never.
        small: Treatment of small classes.
        digits: Significant digits that counts are rounded to; None keeps them.
    """

    threshold: int = 0
    small: Literal["merge", "withhold"] = "withhold"
    digits: int | None = None


def label_panels(
    panels: Sequence[Sums], measure: str, sizes: Sizes, control: Control
) -> list[pl.DataFrame]:
    """Label the classes of one family against one file: all together, and each.

    Args:
        panels: Sums by ``size`` and other keys.

    Returns:
        Two frames as from `label_classes`, the first with one name for all classes; no frame if
        there are no people.
    """
    by_size = [panel.by("size") for panel in panels]
    keys = pl.concat([each.keys for each in by_size]).unique().sort("size")
    if keys.is_empty():
        return []
    counts: FloatArray = np.array([each.aligned(keys).of(measure)[:, 0] for each in by_size])
    whole = keys.with_columns(
        block_size=pl.lit(ALL),
        rank=pl.lit(-1, dtype=pl.Int8),
        withheld=pl.lit(_is_small(counts.sum(axis=1), control.threshold)),
    )
    return [whole, label_classes(keys["size"].to_list(), counts, sizes, control)]


def label_classes(
    present: Sequence[int], people: FloatArray, sizes: Sizes, control: Control
) -> pl.DataFrame:
    """Name the classes of one family against one file, and mark those to withhold.

    Args:
        present: The existing classes, sorted.
        people: (panels × classes) numbers of people; a panel with none reveals nothing.

    Returns:
        ``size`` (Int8), ``block_size``, ``rank`` (for sorting) and ``withheld``.
    """
    groups = [[at] for at in range(len(present))]
    if control.small == "merge":
        groups = _merged(people, control.threshold)
    totals = np.stack([people[:, group].sum(axis=1) for group in groups], axis=1)
    withheld = _withheld(totals, control.threshold)
    rows = [
        (present[at], sizes.label(present[group[0]], present[group[-1]]), present[group[0]], held)
        for group, held in zip(groups, withheld, strict=True)
        for at in group
    ]
    return pl.DataFrame(
        rows,
        schema={"size": pl.Int8, "block_size": pl.String, "rank": pl.Int8, "withheld": pl.Boolean},
        orient="row",
    )


def _is_small(panels: FloatArray, threshold: int) -> bool:
    """Test whether any panel has people, but too few."""
    return bool(((panels > 0) & (panels < threshold)).any())


def _merged(people: FloatArray, threshold: int) -> list[list[int]]:
    """Merge classes with the next until none is small; the last joins those before."""
    groups: list[list[int]] = []
    held: list[int] = []
    for at in range(people.shape[1]):
        held.append(at)
        if not _is_small(people[:, held].sum(axis=1), threshold):
            groups.append(held)
            held = []
    while held and groups and _is_small(people[:, held].sum(axis=1), threshold):
        held = [*groups.pop(), *held]
    return [*groups, held] if held else groups


def _withheld(totals: FloatArray, threshold: int) -> list[bool]:
    """Mark each group that is small, or that hides the only small group of a panel."""
    withheld = np.array([_is_small(panels, threshold) for panels in totals.T])
    before = None
    while before != (before := int(withheld.sum())):
        for panel in totals:
            others = np.flatnonzero(~withheld & (panel > 0))
            if len(others) and (withheld & (panel > 0)).sum() == 1:
                withheld[others[panel[others].argmin()]] = True
    return [bool(each) for each in withheld]


def withhold(rows: pl.DataFrame) -> pl.DataFrame:
    """Remove the numbers from the rows that are ``withheld``."""
    numbers = [name for name in ("count", "of", "pct", *_ENDS) if name in rows.columns]
    return rows.with_columns(
        pl.when(~pl.col("withheld")).then(name).alias(name) for name in numbers
    )


def rounded(rows: pl.DataFrame, digits: int | None) -> pl.DataFrame:
    """Round counts to significant digits; recompute rates to one decimal."""
    if digits is None:
        return rows
    counts = rows.with_columns(
        pl.col("count").round_sig_figs(digits), pl.col("of").round_sig_figs(digits)
    )
    rate = pl.when(pl.col("of") > 0).then(100 * pl.col("count") / pl.col("of"))
    return counts.with_columns(
        pl.min_horizontal(rate, pl.when(rate.is_not_null()).then(100.0)).round(1).alias("pct"),
        pl.col([name for name in _ENDS if name in rows.columns]).round(1),
    )
