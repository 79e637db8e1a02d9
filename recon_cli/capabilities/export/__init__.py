"""An office's own workbooks and tables again: with what follows from them, or with stars."""

from recon_cli.stage import Command

COMMAND = Command(
    "export",
    __name__,
    "Write the published workbooks and tables again: marked, or with suppressed counts.",
)
