"""Where the names of points stand, so that none lies over another or over a mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import hypot
from typing import Final

from recon_cli.report import svg

_HEIGHT, _MARK, _GAP = 13.0, 6.0, 3.0
#: Steps up and down from beside the point, in pixels, near ones first.
_STEPS: Final = tuple(sorted(range(-96, 97, 6), key=lambda step: (abs(step + 6), step)))
#: Steps to the side, likewise.
_SIDES: Final = (8, 28, 48, 80)
#: A name that is farther from its point is joined to it by a line.
_NEAR: Final = 16.0

Box = tuple[float, float, float, float]


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
    return hypot(label.x - x, label.y - 4 - y) + (1.0 if label.at_end else 0.0)


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
