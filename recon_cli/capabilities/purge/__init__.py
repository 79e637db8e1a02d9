"""Remove a run's files from its work folder."""

from recon_cli.stage import Command

COMMAND = Command("purge", __name__, "Remove a run's files from its work folder.")
