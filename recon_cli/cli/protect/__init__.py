"""``recon protect``: a command for each of `recon_cli.protections`."""

from __future__ import annotations

import click

from recon_cli.cli import Commands


@click.group(cls=Commands, path="recon protect")
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml
      recon protect suppress -c clinic.yaml
    """  # noqa: D301 - click wants the character itself
