"""Charts as data: rows of bars or points in percent, curves, colours and marks.

`recon_cli.page.drawing` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import polars as pl

from recon_cli.page.words import percent, size_label

#: Class of a mark in a drawing → its colour on white paper, on a dark screen. What was
#: reconstructed is blue, a guess orange, a confidential file grey.
COLOURS: Final = MappingProxyType(
    {
        "ink": ("#1b1f24", "#e6e9ec"),
        "soft": ("#57606a", "#a3adb8"),
        "line": ("#d5dae0", "#363d45"),
        "blue-1": ("#0b5cad", "#74b3f2"),
        "blue-2": ("#3f8fd8", "#4583c4"),
        "blue-3": ("#062f5b", "#cbe3fb"),
        "orange-1": ("#b3470e", "#f0a26b"),
        "orange-2": ("#c97a14", "#b9781f"),
        "orange-3": ("#6b2703", "#ffd9bd"),
        "grey-1": ("#3d454d", "#d0d6dc"),
        "grey-2": ("#848d97", "#838d97"),
        "grey-3": ("#a0a8b0", "#5f6972"),
    }
)
BLUE, ORANGE, GREY = (
    tuple(name for name in COLOURS if name.startswith(hue)) for hue in ("blue", "orange", "grey")
)


@dataclass(frozen=True)
class Look:
    """The colour, shape and line style of a mark.

    Attributes:
        colour: A class of `COLOURS`.
        shape: ``square``, ``circle``, ``diamond``, ``cross``, ``triangle-up``, ``triangle-down``.
        dash: Dash pattern of its line: 0 for solid, or one of three.
    """

    name: str
    colour: str
    shape: str = "square"
    dash: int = 0


def colour_style(*, dark: bool) -> str:
    """Write the CSS of the colours.

    >>> colour_style(dark=False).splitlines()[0]
    '.chart .ink { fill: #1b1f24; stroke: #1b1f24; }'
    """
    return "\n".join(
        f".chart .{name} {{ fill: {shades[dark]}; stroke: {shades[dark]}; }}"
        for name, shades in COLOURS.items()
    )


@dataclass(frozen=True)
class Scale:
    """The scale of an axis.

    Attributes:
        title: Quantity, with its unit.
        low, high: Its ends; None to let the data decide.
        is_log: Whether the scale is logarithmic.
    """

    title: str
    low: float | None = None
    high: float | None = None
    is_log: bool = False


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve.

    Attributes:
        interval: Interval of ``y``, if it was measured.
        label: Written beside a mark.
        box: Part of the interval that has the middle half of the values behind a mark.
    """

    x: float
    y: float
    interval: tuple[float, float] | None = None
    label: str = ""
    box: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A series of points.

    Attributes:
        points: From left to right.
        is_line: Whether they are joined; else each is a mark with its interval.
        is_fine: Whether marks are small, as of many points.
    """

    look: Look
    points: tuple[CurvePoint, ...]
    is_line: bool = True
    is_fine: bool = False


@dataclass(frozen=True)
class CurvePanel:
    """A plot of curves.

    Attributes:
        height: Height of the plot, in pixels.
    """

    title: str
    x: Scale
    y: Scale
    curves: tuple[Curve, ...]
    height: int = 230

    @property
    def looks(self) -> tuple[Look, ...]:
        """List the looks that the legend names."""
        return tuple(curve.look for curve in self.curves)

    @property
    def texts(self) -> tuple[str, ...]:
        return ()


def curve_looks(names: Sequence[str], *, measured: Sequence[str] = ()) -> list[Look]:
    """Assign a look to each curve: blue and grey if computed, orange if measured."""
    shapes = ("circle", "square", "triangle-up", "diamond")
    looks = []
    for at, name in enumerate(names):
        colours = ORANGE if name in measured else (*BLUE, *GREY)
        looks.append(Look(name, colours[at % len(colours)], shapes[at % 4], dash=at // 2 % 4))
    return looks


def lines(series: Mapping[str, pl.DataFrame]) -> tuple[Curve, ...]:
    """Make a line from each frame of two columns."""
    return tuple(
        Curve(look, tuple(CurvePoint(x, y) for x, y in frame.iter_rows()))
        for look, frame in zip(curve_looks(list(series)), series.values(), strict=True)
    )


@dataclass(frozen=True)
class Mark:
    """A part of a bar, or a point.

    Attributes:
        value: Value in percent; for a bar the length of the part.
        text: The value as it is written beside it; empty for none.
        interval: Interval of a point: its ends, in percent.
        about: Text that is shown on hovering.
    """

    look: Look
    value: float
    text: str = ""
    interval: tuple[float, float] | None = None
    about: str = ""


@dataclass(frozen=True)
class ChartRow:
    """The marks beside one label.

    Attributes:
        marks: The parts of a bar from left to right, or points below each other.
        text: Text to the right of a bar.
    """

    label: str
    marks: tuple[Mark, ...]
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """A plot of rows.

    Attributes:
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
        """List the looks that the legend names."""
        return tuple(dict.fromkeys(mark.look for row in self.rows for mark in row.marks))

    @property
    def texts(self) -> tuple[str, ...]:
        every = [text for row in self.rows for text in (row.text, *(m.text for m in row.marks))]
        return tuple(text for text in every if text)


@dataclass(frozen=True)
class Chart:
    """Panels that share a legend.

    Attributes:
        columns: Number of panels side by side, where there is room.
    """

    panels: tuple[Panel | CurvePanel, ...]
    columns: int = 2

    @property
    def legend(self) -> tuple[Look, ...]:
        """List the looks of the legend; a single look needs none."""
        found = dict.fromkeys(look for panel in self.panels for look in panel.looks)
        return tuple(found) if len(found) > 1 else ()

    @property
    def is_empty(self) -> bool:
        """Report whether there is no value to draw."""
        return not any(panel.looks for panel in self.panels)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(text for panel in self.panels for text in panel.texts)


def bars(
    title: str,
    rows: Sequence[tuple[str, Mapping[str, float | None]]],
    segments: Mapping[str, Look],
    *,
    number: str,
    axis: str,
) -> Panel:
    """Draw horizontal stacked bars by size class, with a number beside each.

    Args:
        rows: Size class, and shares in percent by key; a class whose ``number`` is not known is
            left out.
        segments: The keys that are drawn, from left to right.
        number: The key whose share is written out.
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
