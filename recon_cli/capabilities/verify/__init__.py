"""Compare reconstructed records with every published cell."""

from recon_cli.stage import Command

COMMAND = Command("verify", __name__, "Compare the records with every published cell.")
