"""Documents of any kind as sheets: rows and columns of text with their origin."""

from recon_cli.sources.tabular.sheet import Sheet
from recon_cli.sources.tabular.text import first_line, whole_text
from recon_cli.sources.tabular.workbook import (
    documents_of_sheets,
    hidden_lines,
    hidden_sheets,
    read_sheet,
    unread_sheets,
)

__all__ = [
    "Sheet",
    "documents_of_sheets",
    "first_line",
    "hidden_lines",
    "hidden_sheets",
    "read_sheet",
    "unread_sheets",
    "whole_text",
]
