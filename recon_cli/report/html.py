"""A report as one HTML file: text, charts for a wide and a narrow window, tables; no scripts."""

from __future__ import annotations

from recon_cli.report.document import ReportDocument
from recon_cli.report.drawing import NARROW, WIDE, draw, page_style
from recon_cli.report.page import render_page


def html_page(document: ReportDocument) -> str:
    """The page."""
    charts = {
        figure.name: (draw(figure.chart, WIDE), draw(figure.chart, NARROW))
        for figure in document.figures
    }
    return render_page("report.html.j2", document=document, charts=charts, chart_style=page_style())
