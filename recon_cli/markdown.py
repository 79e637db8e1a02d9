"""Markdown tables and text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int) -> str:
    r"""Write a Markdown table, ending with a line break.

    Args:
        header: Column names.
        rows: Cells, as many as columns.
        text_columns: Number of columns, from the left, that hold words; the others are numbers,
            which are aligned at the right.

    >>> print(markdown_table(["table", "cells"], [["P1|P2", "49"]], 1), end="")
    | table | cells |
    | --- | ---: |
    | P1\|P2 | 49 |
    """
    marks = ["---" if at < text_columns else "---:" for at in range(len(header))]
    lines = [header, marks, *rows]
    return "".join(f"| {' | '.join(map(markdown_cell, line))} |\n" for line in lines)


def markdown_cell(text: str) -> str:
    r"""Escape text for a table cell: on one line, without bars and HTML.

    >>> markdown_cell("a|b\n<c>")
    'a\\|b &lt;c>'
    """
    return markdown_text(" ".join(text.split())).replace("|", "\\|")


def markdown_text(text: str) -> str:
    """Escape text so that nothing is taken for HTML; Markdown marks stay.

    Only what begins a tag or an entity is escaped (CommonMark 0.31, sections 6.2 and 6.6).

    >>> markdown_text("**3 < 4** of <b>A&B</b>")
    '**3 < 4** of &lt;b>A&amp;B&lt;/b>'
    """
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"&(?=[#A-Za-z])", "&amp;", text))
