"""``recon protect``: one module a protection."""

from __future__ import annotations

import click

from recon_cli.cli._group import ModuleCommands


@click.group(cls=ModuleCommands, package=__name__)
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml
      recon protect suppress -c clinic.yaml
    """  # noqa: D301 - click wants the character itself
