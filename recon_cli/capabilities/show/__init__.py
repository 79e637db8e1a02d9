"""Show one place: its tables, its people, and why records are certain."""

from recon_cli.stage import Command

COMMAND = Command(
    "show",
    __name__,
    "Show one place: its tables, its people, and why records are certain.",
)
