"""Small pieces of Markdown."""

from __future__ import annotations

import re
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


def attributes(docstring: str) -> dict[str, str]:
    """The ``Attributes:`` of a docstring: name → what is said of it, on one line."""
    _, found, rest = docstring.partition("Attributes:\n")
    said: dict[str, str] = {}
    name = ""
    for line in rest.splitlines() if found else []:
        entry = re.match(r"^ {4}(?: {4})?(\w+): (.*)$", line)
        if entry and not line.startswith(" " * 9):
            name = entry[1]
            said[name] = entry[2]
        elif name and line.strip():
            said[name] += f" {line.strip()}"
        elif not line.strip() and name and not rest:
            break
    return {name: plain(text) for name, text in said.items()}


def plain(text: str) -> str:
    """Double backticks of docstrings as Markdown's single ones."""
    return text.replace("``", "`")


def first_line(docstring: str) -> str:
    """What a docstring says before its first empty line."""
    return plain(" ".join(docstring.strip().split("\n\n")[0].split()))
