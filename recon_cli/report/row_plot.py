"""A panel of rows on a scale in percent, drawn: bars, or points with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from recon_cli.report import svg
from recon_cli.report.charts import ChartRow, Mark, Panel

#: Pixels of a bar with the space around it and without; of a point; between the rows of points.
_BAR, _BAR_INK, _POINT, _ROW_GAP = 24, 17, 16, 8
#: Beside the scale, for numbers; under it, for ticks and its title; the narrowest label.
_NUMBERS, _SCALE, _LEAST_LABEL = 56, 40, 48


@dataclass(frozen=True)
class RowPlot:
    """A panel in its place.

    Attributes:
        panel: What is drawn.
        width: Pixels that it has.
        title_lines: Lines that are kept free for its title.
    """

    panel: Panel
    width: float
    title_lines: int

    @property
    def height(self) -> float:
        """Pixels of all."""
        return self._head + sum(self._heights) + _SCALE

    def drawn(self) -> Iterator[str]:
        """Its elements."""
        yield from svg.lines(svg.wrapped(self.panel.title, self.width), 0, 13, "title ink")
        bottom = self._head + sum(self._heights)
        for tick in ticks(self.panel.top):
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
        """Where the scale begins, to the right of the labels."""
        longest = max((len(row.label) for row in self.panel.rows), default=0)
        return min(max(_LEAST_LABEL, longest * svg.LETTER + 12), self.width * 0.45)

    @property
    def _scale(self) -> float:
        """Pixels of the scale."""
        return self.width - self._left - _NUMBERS

    @property
    def _heights(self) -> list[int]:
        """Of every row."""
        if self.panel.is_bars:
            return [_BAR] * len(self.panel.rows)
        gap = _ROW_GAP if any(len(row.marks) > 1 for row in self.panel.rows) else 4
        return [len(row.marks) * _POINT + gap for row in self.panel.rows]

    @property
    def _head(self) -> int:
        """Pixels over the first row."""
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


def ticks(top: float) -> list[float]:
    """Round values from 0 to the end of a scale.

    >>> ticks(100), ticks(30), ticks(7)
    ([0, 25, 50, 75, 100], [0, 10, 20, 30], [0, 2, 4, 6])
    """
    if top == 100:
        return [0, 25, 50, 75, 100]
    step = next(s for s in (1, 2, 5, 10, 20, 25, math.ceil(top)) if top / s <= 5)
    return [step * at for at in range(math.floor(top / step) + 1)]
