"""Curves over a scale of numbers: what is computed as a line, what was simulated as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from recon_cli.report.charts import ROWS, Panel
from recon_cli.report.palette import BLUE, GREY, ORANGE, Series

_ROOM = 52
_HEIGHT = 230
_DASH = "line of "


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        title: What it shows, with its unit.
        low, high: Its ends; None to let the data decide.
        is_log: Equal ratios are equally long.
        mark: Format of its labels, as in d3.
    """

    title: str
    low: float | None = None
    high: float | None = None
    is_log: bool = False
    mark: str = "~g"

    def scale(self) -> alt.Scale:
        """As Vega-Lite has it."""
        kind: Literal["log", "linear"] = "log" if self.is_log else "linear"
        if self.low is None or self.high is None:
            return alt.Scale(type=kind, nice=False)
        return alt.Scale(type=kind, domain=[self.low, self.high], nice=False, clamp=True)


def line_series(names: Sequence[str], *, measured: Sequence[str] = ()) -> list[Series]:
    """A look for each curve: what is computed in blue and grey, what was measured in orange."""
    dashes = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3))
    shapes = ("circle", "square", "triangle-up", "diamond")
    looks = []
    for at, name in enumerate(names):
        colours = ORANGE if name in measured else (*BLUE, *GREY)
        looks.append(Series(name, colours[at % len(colours)], shapes[at % 4], dashes[at // 2 % 4]))
    return looks


def curves(
    title: str, panel: str, looks: Sequence[Series], x: Scale, y: Scale, *, points: Sequence[str]
) -> Panel:
    """Curves of several series. The rows are those of `curve_row`.

    Args:
        title: Over the panel.
        panel: Which of the rows.
        looks: The series.
        x: Horizontal scale.
        y: Vertical scale.
        points: Series drawn as points, with an interval from ``low`` to ``high`` where it is given.
    """
    names = [look.name for look in looks]
    chosen = alt.Chart(alt.NamedData(name=ROWS)).transform_filter(f"datum.panel === '{panel}'")
    listed = "[" + ", ".join(f"'{name}'" for name in points) + "]"
    colour = alt.Color(
        "source:N", scale=alt.Scale(domain=names, range=[look.colour for look in looks])
    )
    across = alt.X("x:Q", title=x.title, scale=x.scale(), axis=alt.Axis(format=x.mark, tickCount=6))
    up = alt.Y(
        "y:Q",
        title=y.title,
        scale=y.scale(),
        axis=alt.Axis(format=y.mark, tickCount=5, minExtent=_ROOM - 8, maxExtent=_ROOM - 8),
    )
    tooltip = [
        alt.Tooltip("source:N", title="series"),
        alt.Tooltip("x:Q", title=x.title, format=".4~g"),
        alt.Tooltip("y:Q", title=y.title, format=".4~g"),
    ]
    lines = chosen.transform_filter(f"indexof({listed}, datum.source) < 0")
    line = lines.mark_line(strokeWidth=1.8).encode(
        x=across,
        y=up,
        color=colour,
        tooltip=tooltip,
        strokeDash=alt.StrokeDash(
            "dash:N",
            scale=alt.Scale(
                domain=[f"{_DASH}{look.name}" for look in looks],
                range=[list(look.dash) for look in looks],
            ),
            legend=None,
        ),
    )
    layers: list[Any] = [line]
    if points:
        seen = chosen.transform_filter(f"indexof({listed}, datum.source) >= 0")
        interval = seen.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=1.3)
        layers.append(interval.encode(x=across, y=alt.Y("low:Q"), y2="high:Q", color=colour))
        dot = seen.mark_point(size=38, filled=True, opacity=0.9)
        layers.append(dot.encode(x=across, y=up, color=colour, tooltip=tooltip))
    chart = alt.layer(*layers).properties(title=title, height=_HEIGHT)
    return Panel(chart, _ROOM, tuple(names))


def curve_row(
    panel: str,
    source: str,
    x: float,
    y: float,
    interval: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """One point of a curve, with an interval where it was measured."""
    low, high = interval or (None, None)
    return {
        "panel": panel,
        "source": source,
        "dash": f"{_DASH}{source}",
        "x": float(x),
        "y": float(y),
        "low": low,
        "high": high,
    }
