"""Charts as files: SVG, and PNG of it, without a browser and without a network."""

from __future__ import annotations

from dataclasses import dataclass

import vl_convert

from recon_cli.report.charts import Chart
from recon_cli.report.drawing import svg_file

#: Pixels of a PNG for one of the drawing.
_SCALE = 2.0


@dataclass(frozen=True)
class Picture:
    """A chart on white paper.

    Attributes:
        svg: As SVG text.
        png: As PNG bytes.
    """

    svg: str
    png: bytes


def render_picture(chart: Chart) -> Picture:
    """The picture of a chart."""
    svg = svg_file(chart)
    return Picture(svg, vl_convert.svg_to_png(svg, scale=_SCALE))
