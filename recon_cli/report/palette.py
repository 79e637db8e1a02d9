"""Colours and marks of charts: few hues, each with a meaning, told apart by shape too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

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
    """How something is drawn.

    Attributes:
        name: In the legend.
        colour: A class of `COLOURS`.
        shape: ``square``, ``circle``, ``diamond``, ``cross``, ``triangle-up``, ``triangle-down``.
        dash: Of its line, if it is one: 0 for none, or which of three.
    """

    name: str
    colour: str
    shape: str = "square"
    dash: int = 0


def looks_by_kind(
    confidential: Sequence[str], reconstructed: Sequence[str], guessed: Sequence[str]
) -> list[Look]:
    """A look for every source: hue by kind, shape by place among its kind."""
    kinds = (
        (confidential, GREY, ("square", "diamond")),
        (reconstructed, BLUE, ("circle", "cross")),
        (guessed, ORANGE, ("triangle-up", "triangle-down")),
    )
    return [
        Look(name, colours[at % 3], shapes[at % len(shapes)])
        for names, colours, shapes in kinds
        for at, name in enumerate(names)
    ]


def colour_style(*, dark: bool) -> str:
    """CSS of the colours.

    >>> colour_style(dark=False).splitlines()[0]
    '.chart .ink { fill: #1b1f24; stroke: #1b1f24; }'
    """
    return "\n".join(
        f".chart .{name} {{ fill: {shades[dark]}; stroke: {shades[dark]}; }}"
        for name, shades in COLOURS.items()
    )
