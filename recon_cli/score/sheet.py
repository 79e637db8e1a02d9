"""A table of text under a header, as Markdown too."""

from __future__ import annotations

from dataclasses import dataclass

from recon_cli.markdown import markdown_table


@dataclass(frozen=True)
class ResultTable:
    """Rows of text under a header.

    Attributes:
        title: Its heading.
        header: Column names.
        rows: Cells, as many as columns.
        text_columns: How many columns, from the left, are words and not numbers.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int

    def markdown(self) -> str:
        """The sheet as Markdown."""
        return f"## {self.title}\n\n{markdown_table(self.header, self.rows, self.text_columns)}"
