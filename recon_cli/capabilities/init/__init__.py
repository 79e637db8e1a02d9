"""A first config for files that somebody has: what they are, and the text that says so."""

from recon_cli.stage import Command

COMMAND = Command("init", __name__, "Write a commented config for published files.")
