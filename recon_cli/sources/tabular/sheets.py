"""A document as sheets, whatever its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recon_cli.errors import SourceError
from recon_cli.sources.tabular.documents import Document
from recon_cli.sources.tabular.sheet import Sheet
from recon_cli.sources.tabular.text import text_sheet
from recon_cli.sources.tabular.workbook import open_workbook, workbook_sheet


def documents_of_sheets(document: Document, names: Sequence[str]) -> tuple[Document, ...]:
    """One document for each sheet of a workbook that has several; the document itself of others.

    Args:
        document: Any.
        names: The sheets, as far as it has them; all that are not hidden if empty.

    Raises:
        ConfigError: Workbooks cannot be read here.
        SourceError: The workbook is damaged, or has none of the sheets.
    """
    if not document.is_workbook:
        return (document,)
    book = open_workbook(document)
    own = [name for name in names if name in book.sheets]
    if names and not own:
        known = ", ".join(map(repr, book.sheets))
        raise SourceError(f"{document.label}: no sheet {names[0]!r} with cells (sheets: {known})")
    if len(book.sheets) <= 1:
        return (document,)
    chosen = own or [name for name in book.sheets if name not in book.hidden]
    return tuple(
        replace(document, name=f"{document.name}, sheet {name}", sheet=name) for name in chosen
    )


def hidden_sheets(document: Document) -> tuple[str, ...]:
    """The sheets with cells that a reader of a workbook does not see."""
    if not document.is_workbook:
        return ()
    book = open_workbook(document)
    return tuple(name for name in book.sheets if name in book.hidden)


def read_sheet(document: Document, sheet: str | None = None) -> Sheet:
    """Read delimited text or a sheet of a workbook.

    Args:
        sheet: Of a workbook: the name of the sheet, unless the document is one.

    Raises:
        ConfigError: The sheet has to be named, or workbooks cannot be read here.
        SourceError: The document is empty, damaged or something else.
    """
    if document.is_workbook:
        return workbook_sheet(document, document.sheet or sheet)
    return text_sheet(document)
