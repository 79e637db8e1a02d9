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
        is_list: Whether rows are alike, so that a reader may sort and filter them; else their
            order says something, as that of sums and classes does.
        pages: Of each row the page that its first cell leads to, empty for none; or nothing.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int
    is_list: bool = False
    pages: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The sheet as Markdown."""
        return f"## {self.title}\n\n{markdown_table(self.header, self.rows, self.text_columns)}"
