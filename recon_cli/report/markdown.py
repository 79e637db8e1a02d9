"""The same report as Markdown: text, tables, and the pictures beside it."""

from __future__ import annotations

import re

from recon_cli.report.document import ReportDocument
from recon_cli.report.page import render_page


def markdown_page(document: ReportDocument) -> str:
    """The page; its pictures are ``chart-<name>.png`` in the same folder."""
    text = render_page("report.md.j2", document=document)
    return re.sub(r"\n{3,}", "\n\n", text)
