"""Leave-one-out results by size of the unit: attacks with people's answers and without.

See *leave-one-out* in docs/glossary.md.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.control import label_panels
from recon_cli.capabilities.score.intervals import gain_interval, ratio
from recon_cli.capabilities.score.rates import PEOPLE, Rules
from recon_cli.capabilities.score.sums import Sums, resample, weighted
from recon_cli.page.sizes import Sizes

#: Columns to compare: measure with the person's answers → without them.
MEASURES: Final = {
    "chance": "chance_without",
    "settled": "settled_without",
    "certain": "certain_without",
}
#: A row is one measure of one class of people; percentages, their difference in points.
DIFFERENCE: Final = {
    **dict.fromkeys(("panel", "block_size", "measure"), pl.String),
    **dict.fromkeys(("people", "pct", "pct_without", "difference"), pl.Float64),
    **dict.fromkeys(("low", "high", "undecided"), pl.Float64),
    "withheld": pl.Boolean,
}
_COLUMNS = tuple(name for pair in MEASURES.items() for name in pair)


def sum_left_out(
    rows: pl.DataFrame, place: str, sizes: Sizes, *, partition: str, resamples: int, seed: int
) -> Sums:
    """Sum one partition by size class and modal status, with resamples of geounits.

    Args:
        rows: As from `capabilities.leave_one_out.question.leave_out`; rows without a result are
            skipped.
        place: The geoid column.
        partition: Its name; its resamples depend on it alone.
        resamples: Number of resamples (Poisson bootstrap).
    """
    known = rows.filter(pl.col("status").is_in(["complete", "partial"]))
    units = known.select(pl.col(place).unique().sort()).with_row_index("_unit")
    weights = resample(units.height, resamples, seed=seed, partition=partition)
    people = pl.col("people").cast(pl.Float64)
    frame = known.join(units, on=place).select(
        "_unit",
        "modal",
        people.alias("people"),
        sizes.number(pl.col("population")).alias("size"),
        *((pl.col(name).cast(pl.Float64).fill_null(0.0) * people).alias(name) for name in _COLUMNS),
        *(
            (pl.any_horizontal(pl.col(*pair).is_null()) * people).alias(f"undecided_{pair[0]}")
            for pair in MEASURES.items()
        ),
    )
    measures = ("people", *_COLUMNS, *(f"undecided_{name}" for name in MEASURES))
    return weighted(frame, ("size", "modal"), measures, weights)


def left_out_differences(sums: Sums, rules: Rules) -> pl.DataFrame:
    """Compare each measure with people in the counts and without (`DIFFERENCE`).

    Geounits are resampled together for both, so that effects common to both do not widen the
    interval: Eq. (gain) of docs/method.md. Undecided conclusions count as not drawn.

    Args:
        sums: As from `sum_left_out`.
        rules: Coverage, size classes, disclosure control.
    """
    panels = {name: sums.where(condition) for name, condition in PEOPLE.items()}
    rows: list[tuple[object, ...]] = []
    for labels in label_panels(list(panels.values()), "people", rules.sizes, rules.control):
        for panel, people in panels.items():
            keys = people.keys.join(labels, on="size", how="left", maintain_order="left")
            grouped = Sums(keys, people.measures, people.values).by(
                "rank", "block_size", "withheld"
            )
            for measure in MEASURES:
                rows += _rows(panel, measure, grouped, rules)
    frame = pl.DataFrame(rows, schema=DIFFERENCE, orient="row")
    shown = [name for name in DIFFERENCE if DIFFERENCE[name] == pl.Float64]
    return frame.with_columns(pl.when(~pl.col("withheld")).then(name).alias(name) for name in shown)


def _rows(panel: str, measure: str, grouped: Sums, rules: Rules) -> list[tuple[object, ...]]:
    people = grouped.of("people")
    ours, theirs = grouped.of(measure), grouped.of(MEASURES[measure])
    low, high = gain_interval((ours, people), (theirs, people), rules.kind, rules.coverage)
    numbers: list[FloatArray] = [
        people[:, 0],
        ratio(ours, people)[:, 0],
        ratio(theirs, people)[:, 0],
        ratio(ours, people)[:, 0] - ratio(theirs, people)[:, 0],
        low,
        high,
        grouped.of(f"undecided_{measure}")[:, 0],
    ]
    return [
        (panel, size, measure, *(None if np.isnan(n[at]) else float(n[at]) for n in numbers), held)
        for at, (size, held) in enumerate(grouped.keys.select("block_size", "withheld").iter_rows())
    ]
