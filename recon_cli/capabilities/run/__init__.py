"""Running every stage of a config, in order."""

from recon_cli.stage import Command

COMMAND = Command("run", __name__, "Run every stage that the config has a section for, in order.")
