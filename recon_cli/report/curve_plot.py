"""A panel of curves, drawn, and where the names of its points stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recon_cli.report import svg
from recon_cli.report.curves import Curve, CurvePanel, CurvePoint, Scale
from recon_cli.report.palette import Look

_LEFT, _RIGHT, _UNDER = 56, 12, 40
_DASHES: Final = ("none", "6 3", "2 2", "8 3 2 3")

#: Of a name; of the mark that it names; between them.
_HEIGHT, _MARK, _GAP = 13.0, 6.0, 3.0
#: Steps up and down from beside the point, in pixels, near ones first.
_STEPS: Final = tuple(sorted(range(-96, 97, 6), key=lambda step: (abs(step + 6), step)))
#: Steps to the side, likewise.
_SIDES: Final = (8, 28, 48, 80)
#: A name that is farther from its point is joined to it by a line.
_NEAR: Final = 16.0

Box = tuple[float, float, float, float]


def stroke(look: Look) -> str:
    """The attributes of a line that looks so."""
    return f'stroke-width="1.8" style="fill: none" stroke-dasharray="{_DASHES[look.dash]}"'


@dataclass(frozen=True)
class CurvePlot:
    """A panel in its place; see `recon_cli.report.row_plot.RowPlot`."""

    panel: CurvePanel
    width: float
    title_lines: int

    @property
    def height(self) -> float:
        """Pixels of all."""
        return self._top + self.panel.height + _UNDER

    def drawn(self) -> Iterator[str]:
        """Its elements."""
        yield from svg.lines(svg.wrapped(self.panel.title, self.width), 0, 13, "title ink")
        left, right = _LEFT, self.width - _RIGHT
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
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

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
        """The names of points, where they do not lie over each other."""
        named = [
            (self._x(point.x), self._y(point.y), point.label)
            for curve in self.panel.curves
            for point in curve.points
            if point.label
        ]
        plot = (_LEFT, self._top - 18, self.width, self._top + self.panel.height)
        for label in place_labels(named, plot):
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
    """Where a value lies between the ends, 0 to 1."""
    low, high = _ends(scale, values)
    value = min(max(value, low), high)
    if high <= low:
        return 0.5
    if scale.is_log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _ticks(scale: Scale, values: list[float]) -> list[float]:
    """Round values between the ends: 1, 2, 5, 10 … on a logarithmic scale.

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


@dataclass(frozen=True)
class PlacedLabel:
    """A name in its place.

    Attributes:
        text: The name.
        x, y: Where its text starts, or ends; its base line.
        at_end: Whether it ends at ``x``.
        point: Where the point is, if it is far; the name is joined to it by a line.
    """

    text: str
    x: float
    y: float
    at_end: bool
    point: tuple[float, float] | None = None


def place_labels(points: Sequence[tuple[float, float, str]], plot: Box) -> list[PlacedLabel]:
    """Names beside their points: at the right and above, or the nearest place that is free.

    Args:
        points: Pixels across and down, and the name.
        plot: Left, top, right and bottom of where names may stand.
    """
    marks: list[Box] = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y, _ in points]
    taken: list[Box] = []
    placed = []
    for x, y, text in points:
        tried = sorted(_candidates(x, y, text), key=lambda each: _distance(each, x, y))
        inside = [each for each in tried if _fits(each, plot)] or [_beside(x, y, text)]
        free = (e for e in inside if not any(_meet(_box(e), box) for box in (*marks, *taken)))
        chosen = next(free, None) or min(inside, key=lambda e: _overlap(_box(e), taken))
        taken.append(_box(chosen))
        is_far = _distance(chosen, x, y) > _NEAR
        placed.append(replace(chosen, point=(x, y)) if is_far else chosen)
    return placed


def _beside(x: float, y: float, text: str) -> PlacedLabel:
    return PlacedLabel(text, x + _SIDES[0], y - 6, at_end=False)


def _candidates(x: float, y: float, text: str) -> Iterator[PlacedLabel]:
    for step in _STEPS:
        for side in _SIDES:
            yield PlacedLabel(text, x + side, y + step, at_end=False)
            yield PlacedLabel(text, x - side, y + step, at_end=True)


def _distance(label: PlacedLabel, x: float, y: float) -> float:
    """How far the nearer end of a name is from its point; a little more at the left."""
    return math.hypot(label.x - x, label.y - 4 - y) + (1.0 if label.at_end else 0.0)


def _overlap(box: Box, taken: Sequence[Box]) -> float:
    return sum(
        (min(box[2], other[2]) - max(box[0], other[0]))
        * (min(box[3], other[3]) - max(box[1], other[1]))
        for other in taken
        if _meet(box, other)
    )


def _box(label: PlacedLabel) -> Box:
    long = len(label.text) * svg.LETTER * 0.9 + _GAP
    left = label.x - long if label.at_end else label.x
    return left, label.y - _HEIGHT + 3, left + long, label.y + 3


def _fits(label: PlacedLabel, plot: Box) -> bool:
    left, top, right, bottom = _box(label)
    return left >= plot[0] and top >= plot[1] and right <= plot[2] and bottom <= plot[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
