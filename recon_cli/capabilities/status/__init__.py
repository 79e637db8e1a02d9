"""The status of every stage of a work folder."""

from recon_cli.stage import Command

COMMAND = Command("status", __name__, "Show the status of every stage of a work folder.")
