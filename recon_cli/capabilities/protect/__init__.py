"""Shared parts of all protections of records and of counts."""

from recon_cli.stage import Command

COMMAND = Command("protect", __name__, "Protect records or their counts before they are published.")
