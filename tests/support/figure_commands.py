"""The rows of docs/tables_and_figures.md, and the commands that make what they list."""

from __future__ import annotations

import re

from tests.support.paths import ROOT

ROWS = [
    tuple(cell.strip() for cell in line.split("|")[1:-1])
    for line in (ROOT / "docs" / "tables_and_figures.md").read_text().splitlines()
    if line.startswith(("| Table", "| Figure", "| footnote"))
]
COMMANDS = list(
    dict.fromkeys(text for *_, by in ROWS for text in re.findall(r"`((?:recon|python) [^`]*)`", by))
)


def commands_of(beginning: str) -> list[str]:
    """The commands that begin so."""
    return [line for line in COMMANDS if line.startswith(beginning)]
