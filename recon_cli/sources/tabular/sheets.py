"""A document as a sheet, whatever its kind."""

from __future__ import annotations

from recon_cli.sources.tabular.documents import Document
from recon_cli.sources.tabular.sheet import Sheet
from recon_cli.sources.tabular.text import text_sheet
from recon_cli.sources.tabular.workbook import workbook_sheet


def read_sheet(document: Document, sheet: str | None = None) -> Sheet:
    """Read delimited text or a workbook.

    Args:
        document: What to read.
        sheet: Of a workbook: the name of the sheet.

    Raises:
        ConfigError: The sheet has to be named, or workbooks cannot be read here.
        SourceError: The document is empty, damaged or something else.
    """
    if document.is_workbook:
        return workbook_sheet(document, sheet)
    return text_sheet(document)
