"""Charts of rates: a point with its interval for every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recon_cli.page.charts import BLUE, GREY, ORANGE, ChartRow, Look, Mark, Panel
from recon_cli.page.words import percent, size_label


def looks_by_kind(
    confidential: Sequence[str], reconstructed: Sequence[str], guessed: Sequence[str]
) -> list[Look]:
    """Assign a look to every source: hue by kind, shape by position within its kind."""
    kinds = (
        (confidential, GREY, ("square", "diamond")),
        (reconstructed, BLUE, ("circle", "cross")),
        (guessed, ORANGE, ("triangle-up", "triangle-down")),
    )
    return [
        Look(name, colours[at % 3], shapes[at % len(shapes)])
        for names, colours, shapes in kinds
        for at, name in enumerate(names)
    ]


def rates(
    title: str, rows: pl.DataFrame, sizes: Sequence[str], looks: Sequence[Look], *, axis: str
) -> Panel:
    """Draw rates by size class: a point with its interval for every source, one below another.

    Args:
        rows: As from `recon_cli.capabilities.score.tables.make_rates`, one rate against one file.
        sizes: Classes from top to bottom.
    """
    found = {(row["block_size"], row["source"]): row for row in _with_value(rows)}
    drawn = []
    for size in sizes:
        there = [(look, found[size, look.name]) for look in looks if (size, look.name) in found]
        if there:
            marks = tuple(_point(look, row) for look, row in there)
            drawn.append(ChartRow(size_label(size), marks))
    return Panel(title, axis, tuple(drawn), is_bars=False)


def dots(title: str, rows: pl.DataFrame, looks: Sequence[Look], *, axis: str) -> Panel:
    """Draw one rate of every source as a point with its interval, each on its own line.

    Args:
        rows: As for `rates`, of one size class.
        looks: The sources, from top to bottom.
    """
    found = {row["source"]: row for row in _with_value(rows)}
    drawn = [
        ChartRow(look.name, (_point(look, found[look.name]),))
        for look in looks
        if look.name in found
    ]
    return Panel(title, axis, tuple(drawn), is_bars=False)


def _with_value(rows: pl.DataFrame) -> list[dict[str, Any]]:
    return rows.filter(pl.col("pct").is_not_null()).to_dicts()


def _point(look: Look, row: Mapping[str, Any]) -> Mark:
    interval = None if row["low"] is None else (row["low"], row["high"])
    about = f"{look.name}: {percent(row['pct'])}%, {row['count']:,.0f} of {row['of']:,.0f}"
    if interval is not None:
        about += f", interval {percent(interval[0])} to {percent(interval[1])}"
    return Mark(look, row["pct"], f"{percent(row['pct'])}%", interval, about)
