"""Draw a `Chart` as SVG at a given width; colours are classes that the page or file defines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from recon_cli.page import svg
from recon_cli.page.charts import (
    Chart,
    ChartRow,
    Curve,
    CurvePanel,
    CurvePoint,
    Look,
    Mark,
    Panel,
    Scale,
    colour_style,
)

#: Pixels of a bar with the space around it and without; of a point; between the rows of points.
_BAR, _BAR_INK, _POINT, _ROW_GAP = 24, 17, 16, 8
#: Pixels beside the scale, for numbers; under it, for ticks and title; of the narrowest label.
_NUMBERS, _SCALE, _LEAST_LABEL = 56, 40, 48


@dataclass(frozen=True)
class RowPlot:
    """A panel at its position.

    Attributes:
        title_lines: Lines that are kept free for its title.
    """

    panel: Panel
    width: float
    title_lines: int

    @property
    def height(self) -> float:
        """Return the total height in pixels."""
        return self._head + sum(self._heights) + _SCALE

    def drawn(self) -> Iterator[str]:
        """Yield its SVG elements."""
        yield from svg.lines(svg.wrapped(self.panel.title, self.width), 0, 13, "title ink")
        bottom = self._head + sum(self._heights)
        for tick in _percent_ticks(self.panel.top):
            x = self._x(tick)
            yield f'<path class="line" d="M{svg.number(x)} {self._head}V{bottom}"/>'
            yield svg.text(x, bottom + 15, f"{tick:g}", "soft middle")
        middle = self._left + self._scale / 2
        yield svg.text(middle, bottom + 31, self.panel.axis, "soft middle")
        y = self._head
        for row, height in zip(self.panel.rows, self._heights, strict=True):
            label = svg.shortened(row.label, self._left)
            yield svg.text(self._left - 10, y + height / 2 + 4, label, "soft end")
            yield from self._bar(row, y) if self.panel.is_bars else self._points(row, y, height)
            y += height

    @property
    def _left(self) -> float:
        """Return the start of the scale, to the right of the labels."""
        longest = max((len(row.label) for row in self.panel.rows), default=0)
        return min(max(_LEAST_LABEL, longest * svg.LETTER + 12), self.width * 0.45)

    @property
    def _scale(self) -> float:
        """Return the length of the scale in pixels."""
        return self.width - self._left - _NUMBERS

    @property
    def _heights(self) -> list[int]:
        if self.panel.is_bars:
            return [_BAR] * len(self.panel.rows)
        gap = _ROW_GAP if any(len(row.marks) > 1 for row in self.panel.rows) else 4
        return [len(row.marks) * _POINT + gap for row in self.panel.rows]

    @property
    def _head(self) -> int:
        """Return the height above the first row, in pixels."""
        return self.title_lines * svg.LINE + 6

    def _x(self, value: float) -> float:
        share = min(max(value / self.panel.top, 0), 1) if self.panel.top else 0
        return self._left + share * self._scale

    def _bar(self, row: ChartRow, y: float) -> Iterator[str]:
        top = y + (_BAR - _BAR_INK) / 2
        yield svg.rectangle((self._left, top, self._scale, _BAR_INK), "line")
        start = 0.0
        for mark in row.marks:
            if mark.value > 0:
                x, end = self._x(start), self._x(start + mark.value)
                width = max(end - x - 0.5, 0.5)
                yield svg.rectangle((x, top, width, _BAR_INK), mark.look.colour, mark.about)
            start += mark.value
        yield svg.text(self.width, y + _BAR / 2 + 4, row.text, "ink end")

    def _points(self, row: ChartRow, y: float, height: float) -> Iterator[str]:
        y += (height - len(row.marks) * _POINT) / 2
        for mark in row.marks:
            middle = y + _POINT / 2
            yield from self._point(mark, middle)
            yield svg.text(self.width, middle + 4, mark.text, "ink end")
            y += _POINT

    def _point(self, mark: Mark, y: float) -> Iterator[str]:
        yield f'<g class="{mark.look.colour}">{svg.title(mark.about)}'
        if mark.interval is not None:
            low, high = (svg.number(self._x(end)) for end in mark.interval)
            yield f'<path stroke-width="1.6" d="M{low} {svg.number(y)}H{high}"/>'
        yield svg.shape(mark.look, self._x(mark.value), y) + "</g>"


def _percent_ticks(top: float) -> list[float]:
    """List round values from 0 to the end of a scale.

    >>> _percent_ticks(100), _percent_ticks(30), _percent_ticks(7)
    ([0, 25, 50, 75, 100], [0, 10, 20, 30], [0, 2, 4, 6])
    """
    if top == 100:
        return [0, 25, 50, 75, 100]
    step = next(s for s in (1, 2, 5, 10, 20, 25, math.ceil(top)) if top / s <= 5)
    return [step * at for at in range(math.floor(top / step) + 1)]


_AXIS, _MARGIN, _TICKS = 56, 12, 40
_DASHES: Final = ("none", "6 3", "2 2", "8 3 2 3")


def stroke(look: Look) -> str:
    """Write the attributes of a line with this look."""
    return f'stroke-width="1.8" style="fill: none" stroke-dasharray="{_DASHES[look.dash]}"'


@dataclass(frozen=True)
class CurvePlot:
    """A panel of curves at its position; see `recon_cli.page.drawing.RowPlot`."""

    panel: CurvePanel
    width: float
    title_lines: int

    @property
    def height(self) -> float:
        """Return the total height in pixels."""
        return self._top + self.panel.height + _TICKS

    def drawn(self) -> Iterator[str]:
        """Yield its SVG elements."""
        yield from svg.lines(svg.wrapped(self.panel.title, self.width), 0, 13, "title ink")
        left, right = _AXIS, self.width - _MARGIN
        yield svg.text(0, self._top - 8, self.panel.y.title, "soft")
        for tick in _ticks(self.panel.y, self._values("y")):
            y = svg.number(self._y(tick))
            yield f'<path class="line" d="M{left} {y}H{svg.number(right)}"/>'
            yield svg.text(left - 8, self._y(tick) + 4, f"{tick:g}", "soft end")
        bottom = self._top + self.panel.height
        for tick in _ticks(self.panel.x, self._values("x")):
            yield svg.text(self._x(tick), bottom + 15, f"{tick:g}", "soft middle")
        yield svg.text((left + right) / 2, bottom + 31, self.panel.x.title, "soft middle")
        for curve in self.panel.curves:
            yield f'<g class="{curve.look.colour}">'
            yield from self._line(curve) if curve.is_line else self._marks(curve)
            yield "</g>"
        yield from self._labels()

    @property
    def _top(self) -> float:
        return self.title_lines * svg.LINE + 24

    def _values(self, axis: str) -> list[float]:
        return [getattr(p, axis) for curve in self.panel.curves for p in curve.points]

    def _x(self, value: float) -> float:
        share = _share(self.panel.x, self._values("x"), value)
        return _AXIS + share * (self.width - _AXIS - _MARGIN)

    def _y(self, value: float) -> float:
        return self._top + (1 - _share(self.panel.y, self._values("y"), value)) * self.panel.height

    def _line(self, curve: Curve) -> Iterator[str]:
        places = " ".join(
            f"{svg.number(self._x(point.x))},{svg.number(self._y(point.y))}"
            for point in curve.points
        )
        name = svg.title(curve.look.name)
        yield f'<polyline points="{places}" {stroke(curve.look)}>{name}</polyline>'

    def _marks(self, curve: Curve) -> Iterator[str]:
        for point in curve.points:
            x = svg.number(self._x(point.x))
            yield f"<g>{svg.title(_about(curve, point))}"
            if point.interval is not None:
                low, high = (svg.number(self._y(end)) for end in point.interval)
                yield f'<path stroke-width="1.3" d="M{x} {low}V{high}"/>'
            if point.box is not None:
                low, high = (svg.number(self._y(end)) for end in point.box)
                yield f'<path stroke-width="9" d="M{x} {low}V{high}"/>'
                middle = svg.number(self._y(point.y))
                left, right = (svg.number(self._x(point.x) + by) for by in (-8, 8))
                yield f'<path stroke-width="2.4" d="M{left} {middle}H{right}"/></g>'
            else:
                place = self._x(point.x), self._y(point.y)
                yield svg.shape(curve.look, *place, is_fine=curve.is_fine) + "</g>"

    def _labels(self) -> Iterator[str]:
        """Yield the names of points, placed without overlap."""
        named = [
            (self._x(point.x), self._y(point.y), point.label)
            for curve in self.panel.curves
            for point in curve.points
            if point.label
        ]
        plot = (_AXIS, self._top - 18, self.width, self._top + self.panel.height)
        for label in svg.place_labels(named, plot):
            if label.point is not None:
                ends = [svg.number(value) for value in (*label.point, label.x, label.y - 4)]
                yield f'<path class="line" d="M{ends[0]} {ends[1]}L{ends[2]} {ends[3]}"/>'
            yield svg.text(label.x, label.y, label.text, "soft end" if label.at_end else "soft")


def _about(curve: Curve, point: CurvePoint) -> str:
    return f"{point.label or curve.look.name}: {point.y:.4g} at {point.x:.4g}"


def _ends(scale: Scale, values: list[float]) -> tuple[float, float]:
    low = min(values, default=0.0) if scale.low is None else scale.low
    high = max(values, default=1.0) if scale.high is None else scale.high
    return low, high


def _share(scale: Scale, values: list[float], value: float) -> float:
    """Return the relative position of a value between the ends, 0 to 1."""
    low, high = _ends(scale, values)
    value = min(max(value, low), high)
    if high <= low:
        return 0.5
    if scale.is_log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _ticks(scale: Scale, values: list[float]) -> list[float]:
    """List round values between the ends: 1, 2, 5, 10 … on a logarithmic scale.

    >>> _ticks(Scale("%", 0, 100), [])
    [0, 20, 40, 60, 80, 100]
    >>> _ticks(Scale("sd", 0.5, 20, is_log=True), [])
    [0.5, 1, 2, 5, 10, 20]
    """
    low, high = _ends(scale, values)
    if high <= low:
        return [low]
    if scale.is_log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = (1, 2, 5) if high / low < 1_000 else (1,)
        found = [float(f"{step}e{power}") for power in powers for step in steps]
    else:
        size = 10.0 ** math.floor(math.log10((high - low) / 2))
        step = next(m * size for m in (1, 2, 5, 10, 20) if (high - low) / (m * size) <= 6)
        first = math.ceil(low / step - 1e-9)
        found = [round(step * (first + at), 12) for at in range(8)]
    inside = [tick for tick in found if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
    return [int(tick) if tick == int(tick) else tick for tick in inside]


#: Pixels: of a drawing on a screen or on paper, and on a phone; between panels.
WIDE, NARROW = 720, 350
_GAP = 32
#: Text in place of a chart without a single value.
NOTHING = "Nothing is drawn: every number is withheld or unknown."
_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


def draw(chart: Chart, width: int) -> Markup:
    """Draw a chart as an SVG element, to stand in a page with `page_style`.

    Args:
        width: In pixels; panels go below each other where they have too little room.
    """
    if chart.is_empty:
        return _framed([svg.text(0, 14, NOTHING, "soft")], width, 24)
    columns = max(min(chart.columns, len(chart.panels)), 1) if width >= WIDE else 1
    room = (width - _GAP * (columns - 1)) / columns
    panels = [panel for panel in chart.panels if isinstance(panel, CurvePanel)]
    drawn_as_lines = {curve.look for panel in panels for curve in panel.curves if curve.is_line}
    parts, y = _legend(chart.legend, drawn_as_lines, width)
    for start in range(0, len(chart.panels), columns):
        beside = chart.panels[start : start + columns]
        lines = max(len(svg.wrapped(panel.title, room)) for panel in beside)
        plots = [_plot(panel, room, lines) for panel in beside]
        for at, plot in enumerate(plots):
            place = f"{svg.number(at * (room + _GAP))} {svg.number(y)}"
            parts += [f'<g transform="translate({place})">', *plot.drawn(), "</g>"]
        y += max(plot.height for plot in plots) + _GAP * 0.6
    return _framed(parts, width, y)


def _framed(parts: Sequence[str], width: int, height: float) -> Markup:
    end = svg.number(height)
    size = f'viewBox="0 0 {width} {end}" width="{width}" height="{end}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {size}>'
    return Markup(f"{head}{''.join(parts)}</svg>")  # noqa: S704 - all texts in it are escaped


def svg_file(chart: Chart) -> str:
    """Draw a chart as an SVG file on a white background."""
    head, rest = draw(chart, WIDE).split(">", 1)
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f"{head}><style>{_style()}{colour_style(dark=False)}</style>{paper}{rest}"


def page_style() -> Markup:
    """Write the CSS of a page with charts; printed pages always use light colours."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{colour_style(dark=True)}\n}}"
    return Markup(f"{_style()}{colour_style(dark=False)}\n{dark}")  # noqa: S704 - our own


def _style() -> str:
    """Write the CSS that does not depend on colours."""
    return (
        f".chart text[class] {{ font: 12px {_FONT}; stroke: none; }}\n"
        ".chart text.title[class] { font-weight: 600; }\n"
        ".chart .end { text-anchor: end; } .chart .middle { text-anchor: middle; }\n"
    )


def _plot(panel: Panel | CurvePanel, width: float, title_lines: int) -> RowPlot | CurvePlot:
    if isinstance(panel, CurvePanel):
        return CurvePlot(panel, width, title_lines)
    return RowPlot(panel, width, title_lines)


def _legend(looks: Sequence[Look], lines: Collection[Look], width: int) -> tuple[list[str], float]:
    """Draw the names of marks and lines above the panels, and return where they end."""
    if not looks:
        return [], 0.0
    parts, x, y = [], 0.0, 10.0
    for look in looks:
        name = svg.shortened(look.name, width - 20)
        mark_width = 32 if look in lines else 18
        long = mark_width + len(name) * svg.LETTER
        if x and x + long > width:
            x, y = 0.0, y + 20
        mark = svg.shape(look, x + 6, y)
        if look in lines:
            mark = f'<path d="M{svg.number(x)} {svg.number(y)}h26" {stroke(look)}/>'
        said = svg.text(x + mark_width, y + 4, name, "ink")
        parts.append(f'<g class="{look.colour}">{mark}</g>{said}')
        x += long + 18
    return parts, y + 22
