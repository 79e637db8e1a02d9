"""Vega-Lite specifications → pictures, without a browser and without a network."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import vl_convert

#: Pixels of a PNG for one of the specification.
_SCALE = 2.0
#: A hundredth of a pixel is enough.
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class Picture:
    """A chart on white paper.

    Attributes:
        svg: As SVG text.
        png: As PNG bytes.
    """

    svg: str
    png: bytes


def render_picture(spec: dict[str, Any]) -> Picture:
    """The picture of a chart."""
    svg = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    shorter = _LONG_NUMBER.sub(lambda number: f"{float(number.group()):.2f}", svg)
    return Picture(shorter, vl_convert.svg_to_png(shorter, scale=_SCALE))


@cache
def chart_library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that needs nothing else."""
    return vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;")
