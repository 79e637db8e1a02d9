"""Colours, marks and type of charts: few hues, each with a meaning, told apart by shape too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

INK, SOFT, LINE, PAPER = "#1b1f24", "#57606a", "#d5dae0", "#ffffff"
#: What was reconstructed is blue, a guess orange, a confidential file grey.
BLUE = ("#0b5cad", "#3f8fd8", "#062f5b")
ORANGE = ("#b3470e", "#c97a14", "#6b2703")
GREY = ("#3d454d", "#848d97", "#a0a8b0")

#: Colour on white paper → the same on a dark screen.
DARK: Mapping[str, str] = MappingProxyType(
    {
        INK: "#e6e9ec",
        SOFT: "#a3adb8",
        LINE: "#363d45",
        PAPER: "#14171a",
        **dict(zip(BLUE, ("#74b3f2", "#4583c4", "#cbe3fb"), strict=True)),
        **dict(zip(ORANGE, ("#f0a26b", "#b9781f", "#ffd9bd"), strict=True)),
        **dict(zip(GREY, ("#d0d6dc", "#838d97", "#5f6972"), strict=True)),
    }
)

_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
_SOLID: tuple[int, ...] = (1, 0)
_DASHES = ((5, 3), (2, 2), (8, 3, 2, 3))


@dataclass(frozen=True)
class Series:
    """How one source is drawn.

    Attributes:
        name: Its name.
        colour: On white paper.
        shape: Of its points.
        dash: Of its line: pixels on and off.
    """

    name: str
    colour: str
    shape: str
    dash: tuple[int, ...]


def draw_series(
    confidential: Sequence[str], reconstructed: Sequence[str], guessed: Sequence[str]
) -> list[Series]:
    """A look for every source: hue by kind, shape and dash by place among its kind."""
    kinds = (
        (confidential, GREY, ("square", "diamond"), ((1, 2), (4, 2, 1, 2))),
        (reconstructed, BLUE, ("circle", "cross"), (_SOLID, (6, 2))),
        (guessed, ORANGE, ("triangle-up", "triangle-down"), _DASHES),
    )
    return [
        Series(name, colours[at % 3], shapes[at % len(shapes)], dashes[at % len(dashes)])
        for names, colours, shapes, dashes in kinds
        for at, name in enumerate(names)
    ]


def theme() -> dict[str, Any]:
    """The Vega-Lite configuration of every chart."""
    return {
        "background": PAPER,
        "font": _FONT,
        "view": {"stroke": None},
        "aria": False,
        "axis": {
            "labelColor": SOFT,
            "titleColor": SOFT,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "titlePadding": 8,
            "domainColor": LINE,
            "tickColor": LINE,
            "gridColor": LINE,
            "gridOpacity": 0.7,
            "labelPadding": 5,
        },
        "axisY": {"domain": False, "ticks": False},
        "axisX": {"grid": False},
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "title": None,
            "labelColor": INK,
            "labelFontSize": 12,
            "labelLimit": 320,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "columnPadding": 18,
            "offset": 12,
        },
        "title": {
            "anchor": "start",
            "color": INK,
            "fontSize": 12.5,
            "fontWeight": 600,
            "offset": 10,
        },
        "concat": {"spacing": 28},
    }
