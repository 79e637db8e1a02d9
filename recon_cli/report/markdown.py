"""The same report as Markdown: text, tables, and the pictures beside it."""

from __future__ import annotations

from recon_cli.report.document import Document
from recon_cli.report.page import render_text


def markdown_page(document: Document) -> str:
    """The page; its pictures are ``chart-<name>.png`` in the same folder."""
    return render_text("report.md.j2", document=document)
