"""``recon plan``: its stages, and a module for each further command."""

from __future__ import annotations

import click

from recon_cli.cli import Commands


@click.group(cls=Commands, path="recon plan", package=__name__)
def command() -> None:
    """Judge tables: their information, the cost of noise, the remaining risk, and cures.

    \b
    Example:
      recon plan capacity -c al.yaml
      recon plan frontier -c al.yaml
      recon plan risk expected --rho block=0.0992 --prior 1/2
    """  # noqa: D301 - click wants the character itself
