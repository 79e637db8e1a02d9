"""``recon prove``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
    shard_option,
)
from recon_cli.cli._output import Fact, seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("prove",))
@run_options
@shard_option
@force_option
def command(options: RunOptions, *, shard: str | None, force: bool) -> None:
    """Write proofs of what was found that anybody can check with Python alone.

    Writes proofs/: for each region the published counts and a proof as two texts, a copy of
    reconcheck.py, which reads them, and a row for each statement with what came of it: certified
    (the checker accepts a derivation), shown (solutions show it), confirmed (the run proves it, and
    no derivation was found), open. The checker is run on all of it before it is published.

    \b
    Example:
      recon prove -c al.yaml
      python3 -I -S reconcheck.py 01073005103.tables 01073005103.proof
    """  # noqa: D301 - click wants the character itself
    run_and_print("prove", options.sharded(shard, force=force), force=force)


def print_prove(run: Run, outcome: StageOutcome) -> None:  # noqa: ARG001
    """Print the summary of a finished stage."""
    from recon_cli.evaluate.checked import checked_sentence  # noqa: PLC0415
    from recon_cli.plurals import plural  # noqa: PLC0415

    manifest = outcome.manifest
    total = manifest.totals["statements"]
    facts: list[Fact] = [
        (status, share(manifest.statuses.get(status, 0), total))
        for status in ("certified", "shown", "confirmed", "open")
    ]
    facts += [
        ("texts", f"{manifest.notes['text_bytes'] / 1000:,.0f} KB"),
        ("seconds", seconds(manifest.run.wall_seconds, total, plural("statement"))),
    ]
    show(title_of(outcome), facts)
    click.echo(f"  {checked_sentence(manifest)}")
