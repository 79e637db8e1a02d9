"""Add up the privacy loss of all noisy products about the same people."""

from recon_cli.stage import Command

COMMAND = Command(
    "account", __name__, "Add up the privacy loss of all products about the same people."
)
