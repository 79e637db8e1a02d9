"""The files of a report: the page, the Markdown, and every chart as SVG and PNG."""

from __future__ import annotations

from pathlib import Path

from recon_cli.report.document import ReportDocument
from recon_cli.report.headline import Headline
from recon_cli.report.html import html_page
from recon_cli.report.images import render_picture
from recon_cli.report.markdown import markdown_page
from recon_cli.report.markup import to_text


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
