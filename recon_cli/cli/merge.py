"""``recon merge``."""

from __future__ import annotations

from dataclasses import replace

import click

from recon_cli.cli._options import MERGE, ConfiguredCommand, RunOptions, run_options
from recon_cli.cli._stage import run_and_print
from recon_cli.pipeline.stages import STAGES


@click.command(cls=ConfiguredCommand)
@click.argument("stage", metavar="STAGE")
@run_options
def command(options: RunOptions, *, stage: str) -> None:
    """Publish a stage whose shards are all done.

    STAGE is reconstruct, solvar or link. For job arrays: each job works on one shard of a stage
    with --shard, on any machine that sees the work folder; then one process merges them. It
    computes no piece itself: if pieces are missing, it reports that. What concerns all pieces it
    does compute: the tables of solvar, the modes of link.

    Example:
      recon reconstruct -c al.yaml --shard 1/2
      recon reconstruct -c al.yaml --shard 2/2
      recon merge reconstruct -c al.yaml
    """
    known = [each.short_name for each in STAGES if each.can_shard]
    if stage not in known:
        raise click.BadParameter(f"{stage!r} is not one of {', '.join(known)}", param_hint="STAGE")
    run_and_print(stage, replace(options, shard=MERGE), force=False)
