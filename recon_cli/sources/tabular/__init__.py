"""Files of any kind as sheets: rows and columns of text that know where they come from."""

from recon_cli.sources.tabular.documents import Document, document_of, open_documents
from recon_cli.sources.tabular.json_text import read_json
from recon_cli.sources.tabular.sheet import Sheet
from recon_cli.sources.tabular.sheets import documents_of_sheets, hidden_sheets, read_sheet
from recon_cli.sources.tabular.text import first_line, whole_text

__all__ = [
    "Document",
    "Sheet",
    "document_of",
    "documents_of_sheets",
    "first_line",
    "hidden_sheets",
    "open_documents",
    "read_json",
    "read_sheet",
    "whole_text",
]
