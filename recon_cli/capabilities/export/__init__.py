"""An office's own workbooks and tables again: with what follows from them, or with stars."""

from recon_cli.stage import Command

COMMAND = Command(
    "export",
    __name__,
    "Write copies of the published workbooks and tables, with marks or with suppressed counts.",
)
