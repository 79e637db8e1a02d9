"""``recon run``."""

from __future__ import annotations

import click

from recon_cli.cli import ingest, reconstruct
from recon_cli.cli._options import RunOptions, force_option, run_options


@click.command()
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Published tables in, verified microdata out: ingest, then reconstruct.

    What is done and unchanged is skipped, and it says so. The records are verified against every
    published cell before they are published.

    \b
    Example:
      recon run -c al.yaml

    \b
    Config keys: those of `recon ingest` and
    `recon reconstruct`.
    """  # noqa: D301 - click wants the character itself
    for stage in (ingest, reconstruct):
        stage.perform(options, force=force)
