"""Elements of SVG as text; every text in them is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import escape

from recon_cli.report.palette import Look

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


def number(value: float) -> str:
    """A number of pixels; a tenth is enough.

    >>> number(3.0), number(3.14159)
    ('3', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, said: str, kind: str) -> str:
    """A text; ``kind`` are its classes."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{escape(said)}</text>'


def lines(said: Sequence[str], x: float, y: float, kind: str) -> Iterator[str]:
    """Texts below each other."""
    for at, line in enumerate(said):
        yield text(x, y + at * LINE, line, kind)


def wrapped(said: str, width: float) -> list[str]:
    """A title in lines that are about as wide as there is room."""
    found: list[str] = []
    for word in said.split():
        if found and (len(found[-1]) + 1 + len(word)) * _TITLE_LETTER <= width:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def shortened(said: str, width: float) -> str:
    """A text, cut off where it would not fit."""
    most = max(2, int((width - 10) / LETTER))
    return said if len(said) <= most else f"{said[: most - 1]}…"


def shape(look: Look, x: float, y: float, *, is_fine: bool = False) -> str:
    """A mark; its colour is that of what it stands in."""
    size = _FINE if is_fine else _MARK
    place = f'transform="translate({number(x)} {number(y)}) scale({size})"'
    return f'<path stroke="none" {place} d="{_SHAPES[look.shape]}"/>'


def rectangle(box: tuple[float, float, float, float], colour: str, about: str = "") -> str:
    """A rectangle, and what is said when it is pointed at."""
    size = " ".join(
        f'{name}="{number(value)}"'
        for name, value in zip(("x", "y", "width", "height"), box, strict=True)
    )
    return f'<rect class="{colour}" stroke-width="0" {size}>{title(about)}</rect>'


def title(about: str) -> str:
    """What is said when an element is pointed at."""
    return f"<title>{escape(about)}</title>" if about else ""
