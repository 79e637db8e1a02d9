"""The files of a report: the page, the Markdown, and every chart as SVG and PNG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import vl_convert

from recon_cli.report.charts import Chart
from recon_cli.report.document import ReportDocument
from recon_cli.report.drawing import NARROW, WIDE, draw, page_style, svg_file
from recon_cli.report.headline import Headline
from recon_cli.report.markup import to_text, without_links
from recon_cli.report.page import render_page


def report_files(document: ReportDocument, page: str) -> dict[str, bytes]:
    """File name → bytes: the page (called ``page``), it as Markdown, charts as SVG and PNG."""
    pictures = {figure.name: render_picture(figure.chart) for figure in document.figures}
    files = {
        page: html_page(document).encode(),
        str(Path(page).with_suffix(".md")): markdown_page(document).encode(),
    }
    for name, picture in pictures.items():
        files[f"chart-{name}.svg"] = picture.svg.encode()
        files[f"chart-{name}.png"] = picture.png
    return files


def report_notes(document: ReportDocument) -> dict[str, list[str]]:
    """What the manifest tells of a report: its headline without marks, and what is missing."""
    return {"headline": _plain(document.headline), "missing": _gaps(document)}


def _plain(headline: Headline) -> list[str]:
    return [to_text(sentence) for sentence in headline.sentences]


def _gaps(document: ReportDocument) -> list[str]:
    return [
        f"{section.title}: {gap.why}" for section in document.sections for gap in section.missing
    ]


def html_page(document: ReportDocument) -> str:
    """The page: text, charts for a wide and a narrow window, tables; no scripts."""
    charts = {
        figure.name: (draw(figure.chart, WIDE), draw(figure.chart, NARROW))
        for figure in document.figures
    }
    return render_page("report.html.j2", document=document, charts=charts, chart_style=page_style())


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


def markdown_page(document: ReportDocument) -> str:
    """The page as Markdown; its pictures are ``chart-<name>.png`` in the same folder."""
    text = render_page("report.md.j2", document=document)
    return re.sub(r"\n{3,}", "\n\n", without_links(text))
