"""``recon lab``: a module for each command."""

from __future__ import annotations

import click

from recon_cli.cli import Commands


@click.group(cls=Commands, path="recon lab", package=__name__)
def command() -> None:
    """Compare synthetic people with real ones, and test reconstruction theory.

    \b
    Example:
      recon lab calibrate -c configs/nation.yaml
      recon lab dinur-nissim --bits 100 --queries 1x,4x --noise gaussian:5
    """  # noqa: D301 - click wants the character itself
