"""``recon data``: a module for each command."""

from __future__ import annotations

import click

from recon_cli.cli import Commands


@click.group(cls=Commands, path="recon data", package=__name__)
def command() -> None:
    """Generate records and tables for trials, and list the packaged release schemas.

    \b
    Example:
      recon data synth -c nation.yaml --people 1000000
      recon data attacker -c nation.yaml
      recon data tabulate people.csv --release sf1_2010 --to al2010.sf1.zip
      recon data releases
    """  # noqa: D301 - click wants the character itself
