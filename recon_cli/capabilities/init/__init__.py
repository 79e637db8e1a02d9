"""Recognise published files, and write a first config for them."""

from recon_cli.stage import Command

COMMAND = Command("init", __name__, "Write a commented config for published files.")
