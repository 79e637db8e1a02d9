"""SVG elements as text, all of it escaped, and placement of point labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import escape

from recon_cli.page.charts import Look

#: Pixels of a letter, on average, of text and of titles; of a line.
LETTER: Final = 7.4
_TITLE_LETTER, LINE = 7.0, 17
_MARK, _FINE = 4.5, 1.2
_SHAPES = {
    "square": "M-1-1h2v2h-2z",
    "diamond": "M0-1.3l1.3 1.3-1.3 1.3-1.3-1.3z",
    "cross": "M-.4-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z",
    "triangle-up": "M0-1.2l1.2 2.1h-2.4z",
    "triangle-down": "M0 1.2l1.2-2.1h-2.4z",
    "circle": "M-1.1 0a1.1 1.1 0 1 0 2.2 0a1.1 1.1 0 1 0-2.2 0z",
}

#: Height of a name; radius of the mark that it names; gap between them.
_HEIGHT, _NAMED_MARK, _GAP = 13.0, 6.0, 3.0
#: Steps up and down from beside the point, in pixels, near ones first.
_STEPS: Final = tuple(sorted(range(-96, 97, 6), key=lambda step: (abs(step + 6), step)))
#: Steps to the side, in the same order.
_SIDES: Final = (8, 28, 48, 80)
#: A name that is farther from its point is joined to it by a line.
_NEAR: Final = 16.0

Box = tuple[float, float, float, float]


def number(value: float) -> str:
    """Format a number of pixels, to a tenth.

    >>> number(3.0), number(3.14159)
    ('3', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, said: str, kind: str) -> str:
    """Write a text with the classes ``kind``."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{escape(said)}</text>'


def lines(said: Sequence[str], x: float, y: float, kind: str) -> Iterator[str]:
    """Write texts one below another.

    >>> list(lines(["one"], 0, 10, "ink"))
    ['<text class="ink" x="0" y="10">one</text>']
    """
    for at, line in enumerate(said):
        yield text(x, y + at * LINE, line, kind)


def wrapped(said: str, width: float) -> list[str]:
    """Wrap a title to lines of about a given width."""
    found: list[str] = []
    for word in said.split():
        if found and (len(found[-1]) + 1 + len(word)) * _TITLE_LETTER <= width:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def shortened(said: str, width: float) -> str:
    """Shorten a text to a width."""
    most = max(2, int((width - 10) / LETTER))
    return said if len(said) <= most else f"{said[: most - 1]}…"


def shape(look: Look, x: float, y: float, *, is_fine: bool = False) -> str:
    """Draw a mark, in the colour of its parent."""
    size = _FINE if is_fine else _MARK
    place = f'transform="translate({number(x)} {number(y)}) scale({size})"'
    return f'<path stroke="none" {place} d="{_SHAPES[look.shape]}"/>'


def rectangle(box: tuple[float, float, float, float], colour: str, about: str = "") -> str:
    """Draw a rectangle, with a text shown on hovering."""
    size = " ".join(
        f'{name}="{number(value)}"'
        for name, value in zip(("x", "y", "width", "height"), box, strict=True)
    )
    return f'<rect class="{colour}" stroke-width="0" {size}>{title(about)}</rect>'


def title(about: str) -> str:
    """Write the text that is shown on hovering over an element."""
    return f"<title>{escape(about)}</title>" if about else ""


@dataclass(frozen=True)
class PlacedLabel:
    """A label at its position.

    Attributes:
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
    """Place labels beside their points: to the right and above, or at the nearest free position.

    Args:
        points: Pixels across and down, and the name.
        plot: Left, top, right and bottom of where names may stand.
    """
    marks: list[Box] = [
        (x - _NAMED_MARK, y - _NAMED_MARK, x + _NAMED_MARK, y + _NAMED_MARK) for x, y, _ in points
    ]
    taken: list[Box] = []
    placed = []
    for x, y, text in points:
        tried = sorted(_candidates(x, y, text), key=lambda each: _distance(each, x, y))
        inside = [each for each in tried if _fits(each, plot)] or [
            PlacedLabel(text, x + _SIDES[0], y - 6, at_end=False)
        ]
        free = (e for e in inside if not any(_meet(_box(e), box) for box in (*marks, *taken)))
        chosen = next(free, None) or min(inside, key=lambda e: _overlap(_box(e), taken))
        taken.append(_box(chosen))
        is_far = _distance(chosen, x, y) > _NEAR
        placed.append(replace(chosen, point=(x, y)) if is_far else chosen)
    return placed


def _candidates(x: float, y: float, text: str) -> Iterator[PlacedLabel]:
    for step in _STEPS:
        for side in _SIDES:
            yield PlacedLabel(text, x + side, y + step, at_end=False)
            yield PlacedLabel(text, x - side, y + step, at_end=True)


def _distance(label: PlacedLabel, x: float, y: float) -> float:
    """Return the distance from a label's nearer end to its point, slightly more on the left."""
    return math.hypot(label.x - x, label.y - 4 - y) + (1.0 if label.at_end else 0.0)


def _overlap(box: Box, taken: Sequence[Box]) -> float:
    return sum(
        (min(box[2], other[2]) - max(box[0], other[0]))
        * (min(box[3], other[3]) - max(box[1], other[1]))
        for other in taken
        if _meet(box, other)
    )


def _box(label: PlacedLabel) -> Box:
    long = len(label.text) * LETTER * 0.9 + _GAP
    left = label.x - long if label.at_end else label.x
    return left, label.y - _HEIGHT + 3, left + long, label.y + 3


def _fits(label: PlacedLabel, plot: Box) -> bool:
    left, top, right, bottom = _box(label)
    return left >= plot[0] and top >= plot[1] and right <= plot[2] and bottom <= plot[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
