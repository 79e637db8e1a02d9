"""Noisy measurement files as the Census Bureau publishes them, read into a publication."""

from recon_cli.stage import Command

COMMAND = Command(
    "data noisy", __name__, "Convert published noisy measurement files to tidy tables."
)
