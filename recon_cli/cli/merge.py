"""``recon merge``."""

from __future__ import annotations

from dataclasses import replace

import click

from recon_cli.cli import link, reconstruct, solvar
from recon_cli.cli._options import MERGE, RunOptions, run_options

_STAGES = {"reconstruct": reconstruct, "solvar": solvar, "link": link}


@click.command()
@click.argument("stage", type=click.Choice(list(_STAGES)))
@run_options
def command(options: RunOptions, *, stage: str) -> None:
    """Publish a stage whose shards are all done.

    For job arrays: each job does one share of a stage with --shard, on any machine that sees the
    work folder; then one process merges. It works on no piece: if some are missing, it says so.
    What is about all of them it does work out: the tables of solvar, the modes of link.

    \b
    Example:
      recon reconstruct -c al.yaml --shard 1/2
      recon reconstruct -c al.yaml --shard 2/2
      recon merge reconstruct -c al.yaml

    \b
    Config keys: those of the stage; they must be the
    same for all shards.
    """  # noqa: D301 - click wants the character itself
    _STAGES[stage].perform(replace(options, shard=MERGE), force=False)
