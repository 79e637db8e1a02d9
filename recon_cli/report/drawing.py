"""`Chart` → SVG, at a width: colours are classes, so that a page or a file decides on them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from markupsafe import Markup

from recon_cli.report import svg
from recon_cli.report.charts import Chart, Panel
from recon_cli.report.curve_plot import CurvePlot, stroke
from recon_cli.report.curves import CurvePanel
from recon_cli.report.palette import Look, colour_style
from recon_cli.report.row_plot import RowPlot

#: Pixels: of a drawing on a screen or on paper, and on a phone; between panels.
WIDE, NARROW = 720, 350
_GAP = 32
#: In place of a chart without a single value.
NOTHING = "Nothing is drawn: every number is withheld or unknown."
_FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


def draw(chart: Chart, width: int) -> Markup:
    """A chart as an SVG element, to stand in a page with `page_style`.

    Args:
        chart: What is drawn.
        width: In pixels; panels go below each other where they have too little room.
    """
    if chart.is_empty:
        return _framed([svg.text(0, 14, NOTHING, "soft")], width, 24)
    columns = max(min(chart.columns, len(chart.panels)), 1) if width >= WIDE else 1
    room = (width - _GAP * (columns - 1)) / columns
    panels = [panel for panel in chart.panels if isinstance(panel, CurvePanel)]
    drawn_as_lines = {curve.look for panel in panels for curve in panel.curves if curve.is_line}
    parts, y = _legend(chart.legend, drawn_as_lines, width)
    for start in range(0, len(chart.panels), columns):
        beside = chart.panels[start : start + columns]
        lines = max(len(svg.wrapped(panel.title, room)) for panel in beside)
        plots = [_plot(panel, room, lines) for panel in beside]
        for at, plot in enumerate(plots):
            place = f"{svg.number(at * (room + _GAP))} {svg.number(y)}"
            parts += [f'<g transform="translate({place})">', *plot.drawn(), "</g>"]
        y += max(plot.height for plot in plots) + _GAP * 0.6
    return _framed(parts, width, y)


def _framed(parts: Sequence[str], width: int, height: float) -> Markup:
    end = svg.number(height)
    size = f'viewBox="0 0 {width} {end}" width="{width}" height="{end}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {size}>'
    return Markup(f"{head}{''.join(parts)}</svg>")  # noqa: S704 - all texts in it are escaped


def svg_file(chart: Chart) -> str:
    """A chart as a file of its own, on white paper."""
    head, rest = draw(chart, WIDE).split(">", 1)
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f"{head}><style>{_style()}{colour_style(dark=False)}</style>{paper}{rest}"


def page_style() -> Markup:
    """CSS for a page with charts: on paper the colours of paper, whatever the screen prefers."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{colour_style(dark=True)}\n}}"
    return Markup(f"{_style()}{colour_style(dark=False)}\n{dark}")  # noqa: S704 - our own


def _style() -> str:
    """What is the same in any colour."""
    return (
        f".chart text[class] {{ font: 12px {_FONT}; stroke: none; }}\n"
        ".chart text.title[class] { font-weight: 600; }\n"
        ".chart .end { text-anchor: end; } .chart .middle { text-anchor: middle; }\n"
    )


def _plot(panel: Panel | CurvePanel, width: float, title_lines: int) -> RowPlot | CurvePlot:
    if isinstance(panel, CurvePanel):
        return CurvePlot(panel, width, title_lines)
    return RowPlot(panel, width, title_lines)


def _legend(looks: Sequence[Look], lines: Collection[Look], width: int) -> tuple[list[str], float]:
    """The names of marks and lines over the panels, and where it ends."""
    if not looks:
        return [], 0.0
    parts, x, y = [], 0.0, 10.0
    for look in looks:
        name = svg.shortened(look.name, width - 20)
        mark_width = 32 if look in lines else 18
        long = mark_width + len(name) * svg.LETTER
        if x and x + long > width:
            x, y = 0.0, y + 20
        mark = svg.shape(look, x + 6, y)
        if look in lines:
            mark = f'<path d="M{svg.number(x)} {svg.number(y)}h26" {stroke(look)}/>'
        said = svg.text(x + mark_width, y + 4, name, "ink")
        parts.append(f'<g class="{look.colour}">{mark}</g>{said}')
        x += long + 18
    return parts, y + 22
