"""Reconstructions of protected releases beside the truth: the study's Tables 11 and 15 to 17."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

#: One row a protection and size of the unit. In percent: records that agree with the truth's, by
#: exact and by coarse columns (Table 11); links that are right, of everybody, of nonmodal and of
#: modal people (Tables 15, 16, 17). Null: withheld, or nobody was linked.
SCORES: Final = pl.Schema(
    {
        "protection": pl.String,
        "block_size": pl.String,
        "agree_exact": pl.Float64,
        "agree_binned": pl.Float64,
        "all": pl.Float64,
        "nonmodal": pl.Float64,
        "modal": pl.Float64,
    }
)
_PRECISION: Final = {"all": "table12_all", "nonmodal": "table13_nonmodal", "modal": "table14_modal"}


def score_table(rates: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Put the rates of all protections side by side.

    Args:
        rates: Of `recon_cli.score.tables.make_rates`, with the protections as sources.
        names: Of the protections, in order.

    Returns:
        Columns of `SCORES`, all sizes first.
    """
    known = rates.filter(pl.col("source").is_in(list(names)))
    sizes = known["block_size"].unique(maintain_order=True).to_list()
    found = pl.DataFrame(
        [(name, size) for size in sizes for name in names],
        schema={"protection": pl.String, "block_size": pl.String},
        orient="row",
    )
    agreement = known.filter(table="table08_agreement")
    measures = {rate: agreement.filter(rate=rate) for rate in ("agree_exact", "agree_binned")}
    measures |= {
        panel: known.filter(table=table, panel=panel, rate="precision")
        for panel, table in _PRECISION.items()
    }
    for name, rows in measures.items():
        column = rows.select(
            pl.col("source").alias("protection"), "block_size", pl.col("pct").alias(name)
        )
        found = found.join(
            column, on=["protection", "block_size"], how="left", maintain_order="left"
        )
    return found.select(SCORES.names()).cast(SCORES)
