"""Where the names of points stand, so that none lies over another or over a mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from recon_cli.report import svg

_HEIGHT: Final = 13.0
_MARK: Final = 6.0
#: Steps down from above the point, in lines; then up.
_STEPS: Final = (-6.0, 12.0, -18.0, 24.0, -30.0, 36.0, -42.0)

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class PlacedLabel:
    """A name in its place.

    Attributes:
        text: The name.
        x, y: Where its text starts, or ends; its base line.
        at_end: Whether it ends at ``x``.
    """

    text: str
    x: float
    y: float
    at_end: bool


def place_labels(points: Sequence[tuple[float, float, str]], plot: Box) -> list[PlacedLabel]:
    """Names beside their points: at the right and above, or where nothing else is.

    Args:
        points: Pixels across and down, and the name.
        plot: Left, top, right and bottom of where names may stand.
    """
    taken: list[Box] = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y, _ in points]
    placed = []
    for x, y, text in points:
        tried = [
            (PlacedLabel(text, x - side * 8, y + step, side > 0), step)
            for step in _STEPS
            for side in (-1, 1)
        ]
        inside = [each for each, _ in tried if _fits(each, plot)] or [tried[0][0]]
        free = (each for each in inside if not any(_meet(_box(each), box) for box in taken))
        chosen = next(free, inside[0])
        taken.append(_box(chosen))
        placed.append(chosen)
    return placed


def _box(label: PlacedLabel) -> Box:
    long = len(label.text) * svg.LETTER * 0.9
    left = label.x - long if label.at_end else label.x
    return left, label.y - _HEIGHT + 3, left + long, label.y + 3


def _fits(label: PlacedLabel, plot: Box) -> bool:
    left, top, right, bottom = _box(label)
    return left >= plot[0] and top >= plot[1] and right <= plot[2] and bottom <= plot[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
