"""The table of spellings that are accepted for the last time."""

from __future__ import annotations

from recon_cli.api.reconstruction import FORMER_AUDIT
from recon_cli.capabilities.ingest.options import FORMER_SOURCES
from recon_cli.cli import FORMER_COMMANDS
from recon_cli.markdown import markdown_table


def describe_former() -> str:
    """Return a row for each spelling."""
    every = (*FORMER_SOURCES, *FORMER_COMMANDS, *FORMER_AUDIT.values())
    rows = [[f"`{each.spelling}`", f"`{each.now}`", each.since] for each in every]
    return markdown_table(["spelling", "now", "last version"], rows, 3)
