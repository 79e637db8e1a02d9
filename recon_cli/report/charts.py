"""Altair charts: frames of a few sums in, Vega-Lite specifications out.

Every chart is a row or a grid of panels, so that a page can set it in as many columns as it has
room for: ``usermeta`` says how many at most, and how wide what surrounds each panel's plot is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from recon_cli.report.palette import INK, LINE, PAPER, Series, theme
from recon_cli.report.words import percent, size_label

Spec = dict[str, Any]

#: Pixels of one bar with the space around it.
BAR = 24
#: Width of a whole chart on paper, in pixels, and the space between two panels.
_PAPER_WIDTH = 760
_GAP = 28
#: Room for the labels of the vertical axis, and beside bars for their numbers.
_SCALE_ROOM = 42
_CLASS_ROOM = 64
_NUMBER_ROOM = 52
_DASH = "line of "
#: What panels call their chart's data.
ROWS = "rows"


@dataclass(frozen=True)
class Panel:
    """One plot of a chart.

    Attributes:
        chart: The plot; its data are the chart's.
        room: Pixels beside it for labels.
        legend: The names in its legend.
    """

    chart: alt.LayerChart | alt.FacetChart
    room: int
    legend: tuple[str, ...]


@dataclass(frozen=True)
class BarSegment:
    """One part of stacked bars.

    Attributes:
        key: Its column in the frame, in percent.
        label: In the legend.
        colour: On white paper.
    """

    key: str
    label: str
    colour: str


def assemble(rows: Sequence[dict[str, Any]], panels: Sequence[Panel], columns: int) -> Spec:
    """Panels over shared rows as one specification, laid out for paper.

    Args:
        rows: The data.
        panels: In reading order.
        columns: How many stand side by side where there is room.
    """
    columns = min(columns, len(panels))
    plots = [
        panel.chart.properties(width=(_PAPER_WIDTH - _GAP * (columns - 1)) // columns - panel.room)
        for panel in panels
    ]
    # without Altair's own checks of every part, which take longer than drawing it
    spec: Spec = alt.concat(*plots, columns=columns).to_dict(validate=False)
    del spec["$schema"]  # an address, in a page that has none
    rooms = [panel.room for panel in panels]
    return {
        **spec,
        "datasets": {ROWS: list(rows)},
        "config": theme(),
        "usermeta": {"columns": columns, "gap": _GAP, "rooms": rooms, "words": _longest(panels)},
    }


def _longest(panels: Sequence[Panel]) -> int:
    """Letters of the longest name in a legend; 0 without one."""
    return max((len(name) for panel in panels for name in panel.legend), default=0)


def bars(
    title: str,
    sizes: Sequence[str],
    segments: Sequence[BarSegment],
    *,
    number: str,
    axis: str,
) -> Panel:
    """Horizontal stacked bars by size class, with a number beside each.

    The rows have ``size``, the columns of the segments, and ``number`` with its text.

    Args:
        title: Over the panel.
        sizes: Classes from top to bottom.
        segments: From left to right.
        number: The column of the number, in percent; ``<number>_text`` is how it is written.
        axis: Title of the scale.
    """
    there = _plot().transform_filter(f"isValid(datum.{number})")
    y = alt.Y(
        "size:N",
        sort=list(sizes),
        title=None,
        axis=alt.Axis(minExtent=_CLASS_ROOM - 10, maxExtent=_CLASS_ROOM - 10),
    )
    track = there.mark_bar(color=LINE, height={"band": 0.72}).encode(
        x=alt.datum(0), x2=alt.datum(100), y=y
    )
    numbers = there.mark_text(align="right", dx=_NUMBER_ROOM - 2, color=INK, fontSize=11).encode(
        x=alt.datum(100), y=y, text=f"{number}_text:N"
    )
    chart = alt.layer(track, _stacked(there, segments, y, axis), numbers)
    labels = tuple(segment.label for segment in segments)
    return Panel(
        chart.properties(title=title, height={"step": BAR}),
        _CLASS_ROOM + _NUMBER_ROOM,
        labels if len(labels) > 1 else (),
    )


def _stacked(there: alt.Chart, segments: Sequence[BarSegment], y: alt.Y, axis: str) -> alt.Chart:
    """The bars; panels of one chart share a legend, and a single kind of bar needs none."""
    keys = [segment.key for segment in segments]
    labels = [segment.label for segment in segments]
    colours = [segment.colour for segment in segments]
    colour = alt.Color(
        "segment:N",
        scale=alt.Scale(domain=labels, range=colours),
        legend=alt.Legend(symbolType="square"),
    )
    names = ", ".join(f"'{key}': '{label}'" for key, label in zip(keys, labels, strict=True))
    found: alt.Chart = (
        there.transform_fold([*keys], as_=["key", "value"])
        .transform_calculate(segment=f"({{{names}}})[datum.key]")
        .transform_calculate(at=f"indexof({keys}, datum.key)")
        .mark_bar(stroke=PAPER, strokeWidth=1, height={"band": 0.72})
        .encode(
            x=alt.X(
                "value:Q",
                title=axis,
                stack="zero",
                scale=alt.Scale(domain=[0, 100], nice=False),
                axis=alt.Axis(values=[0, 25, 50, 75, 100], format=".0f"),
            ),
            y=y,
            color=colour if len(segments) > 1 else alt.value(colours[0]),
            order=alt.Order("at:Q"),
            tooltip=[
                alt.Tooltip("size:N", title="people"),
                alt.Tooltip("segment:N", title="part"),
                alt.Tooltip("value:Q", title="%", format=".1f"),
            ],
        )
    )
    return found


def steps(title: str, columns: dict[str, Series], *, axis: str, top: float, height: int) -> Panel:
    """Lines over percentiles. The rows have ``percentile`` and the columns.

    Args:
        title: Over the panel.
        columns: Column → how it is drawn.
        axis: Title of the horizontal axis.
        top: Upper end of the scale, in percent.
        height: Of the plot, in pixels.
    """
    names = ", ".join(f"'{key}': '{series.name}'" for key, series in columns.items())
    looks = list(columns.values())
    base = (
        _plot()
        .transform_filter("isValid(datum.percentile)")
        .transform_fold(list(columns), as_=["key", "value"])
        .transform_calculate(source=f"({{{names}}})[datum.key]")
        .transform_calculate(dash=f"'{_DASH}' + datum.source")
        .encode(
            x=alt.X(
                "percentile:Q",
                title=axis,
                scale=alt.Scale(domain=[0, 100], nice=False),
                axis=alt.Axis(values=[0, 25, 50, 75, 100]),
            ),
            y=_scale(1.04 * top),
            **_look(looks),
            tooltip=[
                alt.Tooltip("percentile:Q"),
                alt.Tooltip("source:N", title="measure"),
                alt.Tooltip("value:Q", title="%", format=".2f"),
            ],
        )
    )
    chart = alt.layer(
        base.mark_line(strokeWidth=1.8), base.mark_point(size=34, filled=True, opacity=1)
    )
    return Panel(
        chart.properties(title=title, height=height),
        _SCALE_ROOM,
        tuple(each.name for each in looks),
    )


def rates(
    title: str, where: dict[str, str], sizes: Sequence[str], looks: Sequence[Series], *, axis: str
) -> Panel:
    """Rates by size class: a point and its interval for every source, joined by a faint line.

    The rows have ``size``, ``source``, ``value``, ``low``, ``high``, ``count`` and ``of``.

    Args:
        title: Over the panel.
        where: Which of the rows, by column.
        sizes: Classes from left to right.
        looks: The sources.
        axis: Title of the horizontal axis.
    """
    chosen = _plot().transform_filter(
        " && ".join(f"datum.{name} === '{value}'" for name, value in where.items())
    )
    x = alt.X(
        "size:N",
        sort=list(sizes),
        title=axis,
        scale=alt.Scale(type="band", paddingInner=0.25, paddingOuter=0.12),
        axis=alt.Axis(labelAngle=0, labelOverlap=False, ticks=False),
    )
    offset = alt.XOffset("source:N", sort=[each.name for each in looks])
    tooltip = [
        alt.Tooltip("source:N"),
        alt.Tooltip("size:N", title="people"),
        alt.Tooltip("value:Q", title="%", format=".1f"),
        alt.Tooltip("interval:N"),
        alt.Tooltip("counts:N", title="of"),
    ]
    look = _look(looks)
    line = chosen.mark_line(strokeWidth=1.2, opacity=0.5).encode(
        x=x, xOffset=offset, y=_scale(100), color=look["color"], strokeDash=look["strokeDash"]
    )
    interval = chosen.mark_rule(strokeWidth=1.2, opacity=0.8).encode(
        x=x, xOffset=offset, y=alt.Y("low:Q"), y2="high:Q", color=look["color"]
    )
    point = chosen.mark_point(size=42, filled=True, opacity=1).encode(
        x=x,
        xOffset=offset,
        y=_scale(100),
        color=look["color"],
        shape=look["shape"],
        tooltip=tooltip,
    )
    chart = alt.layer(line, interval, point).properties(title=title, height=190)
    return Panel(chart, _SCALE_ROOM, tuple(each.name for each in looks))


def dots(title: str, where: dict[str, str], looks: Sequence[Series], *, axis: str) -> Panel:
    """One rate of every source as a point on a line of its own, with its interval.

    The rows are those of `rates`.

    Args:
        title: Over the panel.
        where: Which of the rows, by column.
        looks: The sources, from top to bottom.
        axis: Title of the scale.
    """
    chosen = _plot().transform_filter(
        " && ".join(f"datum.{name} === '{value}'" for name, value in where.items())
    )
    room = 78
    y = alt.Y(
        "source:N",
        sort=[each.name for each in looks],
        title=None,
        axis=alt.Axis(minExtent=room - 10, maxExtent=room - 10, grid=True),
    )
    x = alt.X(
        "value:Q",
        title=axis,
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(values=[0, 25, 50, 75, 100]),
    )
    look = _look(looks, legend=False)
    interval = chosen.mark_rule(strokeWidth=1.6).encode(
        y=y, x=alt.X("low:Q"), x2="high:Q", color=look["color"]
    )
    point = chosen.mark_point(size=60, filled=True, opacity=1).encode(
        y=y,
        x=x,
        color=look["color"],
        shape=look["shape"],
        tooltip=[
            alt.Tooltip("source:N"),
            alt.Tooltip("value:Q", title="%", format=".1f"),
            alt.Tooltip("interval:N"),
            alt.Tooltip("counts:N", title="of"),
        ],
    )
    number = chosen.mark_text(align="right", dx=_NUMBER_ROOM - 2, color=INK, fontSize=11).encode(
        y=y, x=alt.datum(100), text="text:N"
    )
    chart = alt.layer(interval, point, number).properties(title=title, height={"step": 22})
    return Panel(chart, room + _NUMBER_ROOM, ())


def rate_rows(
    rates_of: pl.DataFrame, panels: Sequence[str], looks: Sequence[Series]
) -> list[dict[str, Any]]:
    """Rates as the rows of a chart: only what is drawn or said when it is pointed at.

    Args:
        rates_of: As from `recon_cli.score.tables.make_rates`.
        panels: Columns that tell panels apart.
        looks: The sources that are drawn.
    """
    rows = []
    names = [each.name for each in looks]
    drawn = rates_of.filter(pl.col("pct").is_not_null() & pl.col("source").is_in(names))
    for row in drawn.iter_rows(named=True):
        span = "" if row["low"] is None else f"{row['low']:.1f} to {row['high']:.1f}"
        rows.append(
            {
                **{name: row[name] for name in panels},
                "source": row["source"],
                "dash": f"{_DASH}{row['source']}",
                "size": size_label(row["block_size"]),
                "value": _round(row["pct"]),
                "text": f"{percent(row['pct'])}%",
                "low": _round(row["low"]),
                "high": _round(row["high"]),
                "interval": span,
                "counts": f"{row['count']:,.0f} of {row['of']:,.0f}",
            }
        )
    return rows


def with_number(shares: dict[str, float | None], number: str) -> dict[str, Any]:
    """A row of `bars`: shares in percent, and the text of the one that is written out."""
    rounded = {name: _round(value) for name, value in shares.items()}
    return {**rounded, f"{number}_text": f"{percent(shares[number])}%"}


def _plot() -> alt.Chart:
    """A plot of the rows that are given to `assemble`."""
    return alt.Chart(alt.NamedData(name=ROWS))


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _scale(top: float) -> alt.Y:
    return alt.Y(
        "value:Q",
        title=None,
        scale=alt.Scale(domain=[0, top], nice=False),
        axis=alt.Axis(
            tickCount=4,
            labelExpr="datum.label + '%'",
            minExtent=_SCALE_ROOM - 6,
            maxExtent=_SCALE_ROOM - 6,
        ),
    )


def _look(looks: Sequence[Series], *, legend: bool = True) -> dict[str, Any]:
    """Encodings of the source; equal titles make one legend of them."""
    names = [each.name for each in looks]
    shown = alt.Legend() if legend else None
    return {
        "color": alt.Color(
            "source:N",
            scale=alt.Scale(domain=names, range=[each.colour for each in looks]),
            legend=shown,
        ),
        "shape": alt.Shape(
            "source:N",
            scale=alt.Scale(domain=names, range=[each.shape for each in looks]),
            legend=shown,
        ),
        # by names of their own, so that the legend does not draw points with dashed outlines
        "strokeDash": alt.StrokeDash(
            "dash:N",
            scale=alt.Scale(
                domain=[f"{_DASH}{name}" for name in names],
                range=[list(each.dash) for each in looks],
            ),
            legend=None,
        ),
    }
