"""Charts as data: rows of bars, or of points with intervals, on a scale in percent.

What is drawn is here; how it is drawn, in `recon_cli.report.drawing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from recon_cli.report.curves import CurvePanel
from recon_cli.report.palette import Look
from recon_cli.report.words import percent, size_label


@dataclass(frozen=True)
class Mark:
    """A part of a bar, or a point.

    Attributes:
        look: How it is drawn.
        value: In percent; of a bar the length of the part.
        text: The value as it is written beside it; empty for none.
        interval: Of a point: its ends, in percent.
        about: What is said when it is pointed at.
    """

    look: Look
    value: float
    text: str = ""
    interval: tuple[float, float] | None = None
    about: str = ""


@dataclass(frozen=True)
class ChartRow:
    """What stands beside one label.

    Attributes:
        label: To its left.
        marks: The parts of a bar from left to right, or points below each other.
        text: What is written to the right of a bar.
    """

    label: str
    marks: tuple[Mark, ...]
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        title: Over it.
        axis: Title of its scale.
        rows: From top to bottom.
        is_bars: Whether the marks of a row are one bar; else each is a point in a line.
        top: The right end of the scale, in percent.
    """

    title: str
    axis: str
    rows: tuple[ChartRow, ...]
    is_bars: bool
    top: float = 100.0

    @property
    def looks(self) -> tuple[Look, ...]:
        """What its legend names."""
        return tuple(dict.fromkeys(mark.look for row in self.rows for mark in row.marks))

    @property
    def texts(self) -> tuple[str, ...]:
        """The numbers that are written out."""
        every = [text for row in self.rows for text in (row.text, *(m.text for m in row.marks))]
        return tuple(text for text in every if text)


@dataclass(frozen=True)
class Chart:
    """Panels that share a legend.

    Attributes:
        panels: In reading order.
        columns: How many stand side by side where there is room.
    """

    panels: tuple[Panel | CurvePanel, ...]
    columns: int = 2

    @property
    def legend(self) -> tuple[Look, ...]:
        """What its marks are; a single kind needs no legend."""
        found = dict.fromkeys(look for panel in self.panels for look in panel.looks)
        return tuple(found) if len(found) > 1 else ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no value to draw."""
        return not any(panel.looks for panel in self.panels)

    @property
    def texts(self) -> tuple[str, ...]:
        """The numbers that are written out."""
        return tuple(text for panel in self.panels for text in panel.texts)


def bars(
    title: str,
    rows: Sequence[tuple[str, Mapping[str, float | None]]],
    segments: Mapping[str, Look],
    *,
    number: str,
    axis: str,
) -> Panel:
    """Horizontal stacked bars by size class, with a number beside each.

    Args:
        title: Over the panel.
        rows: Size class, and shares in percent by key; a class whose ``number`` is not known is
            left out.
        segments: The keys that are drawn, from left to right.
        number: The key whose share is written out.
        axis: Title of the scale.
    """
    drawn = []
    for size, shares in rows:
        if shares[number] is None:
            continue
        marks = [
            Mark(look, value, about=f"{size}: {look.name}, {percent(value)}%")
            for key, look in segments.items()
            if (value := shares[key]) is not None
        ]
        drawn.append(ChartRow(size_label(size), tuple(marks), f"{percent(shares[number])}%"))
    return Panel(title, axis, tuple(drawn), is_bars=True)


def rates(
    title: str, rows: pl.DataFrame, sizes: Sequence[str], looks: Sequence[Look], *, axis: str
) -> Panel:
    """Rates by size class: below each other a point and its interval for every source.

    Args:
        title: Over the panel.
        rows: As from `recon_cli.score.tables.make_rates`, one rate against one file.
        sizes: Classes from top to bottom.
        looks: The sources.
        axis: Title of the scale.
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
    """One rate of every source as a point with its interval, on a line of its own.

    Args:
        title: Over the panel.
        rows: As for `rates`, of one size class.
        looks: The sources, from top to bottom.
        axis: Title of the scale.
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
