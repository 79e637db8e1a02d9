"""A report as one HTML file: text, charts that live, pictures for where they cannot, tables."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from markupsafe import Markup

from recon_cli.report.document import ReportDocument
from recon_cli.report.images import Picture, chart_library
from recon_cli.report.page import render_page, template_text
from recon_cli.report.palette import DARK


def html_page(document: ReportDocument, pictures: Mapping[str, Picture]) -> str:
    """The page.

    Args:
        document: The report.
        pictures: Figure's name → its picture.
    """
    return render_page(
        "report.html.j2",
        document=document,
        specs={figure.name: figure.spec for figure in document.figures},
        dark=dict(DARK),
        pictures={name: _inline(picture.svg) for name, picture in pictures.items()},
        library=_script(chart_library()) if document.figures else "",
        script=template_text("charts.js"),
    )


def _script(text: str) -> Markup:
    """A script as it may appear in a page."""
    return Markup(text.replace("</script", "<\\/script"))  # noqa: S704 - from a library


def _inline(svg: str) -> str:
    """The picture as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
