"""The command line: options in, stage call out. One module a command; see `_group`."""

from recon_cli.cli._group import main

__all__ = ["main"]
