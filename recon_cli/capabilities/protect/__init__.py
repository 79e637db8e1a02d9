"""Share what all protections of records and of counts have in common."""

from recon_cli.stage import Command

COMMAND = Command("protect", __name__, "Protect records or their counts before they are published.")
