"""Removing what a run made from its work folder."""

from recon_cli.stage import Command

COMMAND = Command("purge", __name__, "Remove the files that a run made from its work folder.")
