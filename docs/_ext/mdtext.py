"""Small pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recon_cli.markdown import markdown_table


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of words."""
    return markdown_table(header, rows, text_columns=len(header))


def fence(text: str, language: str = "text") -> str:
    """A code block."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def code(text: object) -> str:
    """Text in code letters."""
    return f"`{text}`"


def plain(text: str) -> str:
    """Double backticks of docstrings as Markdown's single ones."""
    return text.replace("``", "`")


def first_line(docstring: str) -> str:
    """What a docstring says before its first empty line."""
    return plain(" ".join(docstring.strip().split("\n\n")[0].split()))
