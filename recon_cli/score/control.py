"""Disclosure control of our own output: small classes merged or withheld, counts rounded.

A class is published for every panel of a family (all, modal, nonmodal) or for none, and never is
a single class withheld: it would be the total less the others. What this does not protect
against is the comparison of two runs or of two families.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from recon_cli.score.sizes import Sizes

#: The ends of intervals, see `recon_cli.score.rates.ROW`.
_ENDS = ("low", "high", "least", "most")


@dataclass(frozen=True)
class Control:
    """What is done to small numbers.

    Attributes:
        threshold: A class with fewer people than this in any panel is small; 0: none is.
        small: What happens to small classes.
        digits: Significant digits that counts are rounded to; None keeps them.
    """

    threshold: int = 0
    small: Literal["merge", "withhold"] = "withhold"
    digits: int | None = None


def label_classes(people: pl.DataFrame, sizes: Sizes, control: Control) -> pl.DataFrame:
    """Name the classes of one family against one file, and say which are withheld.

    Args:
        people: ``size`` and ``people``, the smallest count of any panel.
        sizes: The size classes.
        control: What is done to small ones.

    Returns:
        ``size`` (Int8), ``block_size``, ``rank`` (for sorting) and ``withheld``.
    """
    counts = dict(people.select("size", "people").iter_rows())
    present = sorted(counts)
    groups = [[each] for each in present]
    if control.threshold and control.small == "merge":
        groups = _merged(present, counts, control.threshold)
    withheld: set[int] = set()
    if control.threshold:
        totals = {group[0]: sum(counts[each] for each in group) for group in groups}
        withheld = _withheld(totals, control.threshold)
    rows = [
        (each, sizes.label(group[0], group[-1]), group[0], group[0] in withheld)
        for group in groups
        for each in group
    ]
    return pl.DataFrame(
        rows,
        schema={"size": pl.Int8, "block_size": pl.String, "rank": pl.Int8, "withheld": pl.Boolean},
        orient="row",
    )


def _merged(present: Sequence[int], counts: dict[int, float], threshold: int) -> list[list[int]]:
    """Classes joined with the next until none is small; the last joins the one before."""
    groups: list[list[int]] = []
    held: list[int] = []
    for each in present:
        held.append(each)
        if sum(counts[one] for one in held) >= threshold:
            groups.append(held)
            held = []
    if held:
        groups = [*groups[:-1], [*groups[-1], *held]] if groups else [held]
    return groups


def _withheld(totals: dict[int, float], threshold: int) -> set[int]:
    small = {each for each, count in totals.items() if count < threshold}
    others = sorted((count, each) for each, count in totals.items() if each not in small)
    if len(small) == 1 and others:
        small.add(others[0][1])
    return small


def withhold(rows: pl.DataFrame) -> pl.DataFrame:
    """Take the numbers out of the rows that are ``withheld``."""
    numbers = [name for name in ("count", "of", "pct", *_ENDS) if name in rows.columns]
    return rows.with_columns(
        pl.when(~pl.col("withheld")).then(name).alias(name) for name in numbers
    )


def rounded(rows: pl.DataFrame, digits: int | None) -> pl.DataFrame:
    """Round counts to significant digits; rates are worked out again, to one decimal."""
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
