"""Curves over a scale of numbers: what is computed as a line, what was simulated as points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recon_cli.report.palette import BLUE, GREY, ORANGE, Look


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        title: What it shows, with its unit.
        low, high: Its ends; None to let the data decide.
        is_log: Equal ratios are equally long.
    """

    title: str
    low: float | None = None
    high: float | None = None
    is_log: bool = False


@dataclass(frozen=True)
class CurvePoint:
    """A point of a curve.

    Attributes:
        x: On the horizontal scale.
        y: On the vertical one.
        interval: Of ``y``, where it was measured.
        label: Written beside a mark.
        box: Within the interval, of a mark: where half of what it stands for lies.
    """

    x: float
    y: float
    interval: tuple[float, float] | None = None
    label: str = ""
    box: tuple[float, float] | None = None


@dataclass(frozen=True)
class Curve:
    """A series.

    Attributes:
        look: How it is drawn.
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
    """One plot of curves.

    Attributes:
        title: Over it.
        x: The horizontal scale.
        y: The vertical one.
        curves: The series.
        height: Of the plot, in pixels.
    """

    title: str
    x: Scale
    y: Scale
    curves: tuple[Curve, ...]
    height: int = 230

    @property
    def looks(self) -> tuple[Look, ...]:
        """What its legend names."""
        return tuple(curve.look for curve in self.curves)

    @property
    def texts(self) -> tuple[str, ...]:
        """No number is written out."""
        return ()


def curve_looks(names: Sequence[str], *, measured: Sequence[str] = ()) -> list[Look]:
    """A look for each curve: what is computed in blue and grey, what was measured in orange."""
    shapes = ("circle", "square", "triangle-up", "diamond")
    looks = []
    for at, name in enumerate(names):
        colours = ORANGE if name in measured else (*BLUE, *GREY)
        looks.append(Look(name, colours[at % len(colours)], shapes[at % 4], dash=at // 2 % 4))
    return looks
