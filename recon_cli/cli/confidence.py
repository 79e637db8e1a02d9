"""``recon confidence``."""

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
from recon_cli.cli._output import Fact, seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("confidence",))
@run_options
@shard_option
@force_option
def command(options: RunOptions, *, shard: str | None, force: bool) -> None:
    """See how often each record that is not certain appears among sampled solutions.

    Writes confidence/, the rows of microdata/ with a confidence where a record is not certain. It
    is a share of some solutions, not drawn uniformly from all, and never a proof; `recon score`
    compares it with the truth.

    \b
    Example:
      recon confidence -c al.yaml
      recon confidence --set confidence.solutions=400
    """  # noqa: D301 - click wants the character itself
    run_and_print("confidence", options.sharded(shard, force=force), force=force)


def print_confidence(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.plurals import plural  # noqa: PLC0415
    from recon_cli.stages.answers import read_tenths  # noqa: PLC0415

    manifest, people = outcome.manifest, plural(run.release.record)
    totals = manifest.totals
    facts: list[Fact] = [
        (people, f"{totals['people']:,}"),
        ("certain", share(totals["certain"], totals["people"])),
        ("not sampled", f"{totals['not_sampled']:,}"),
        ("solutions", f"{manifest.notes['solutions']}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    show_table(read_tenths(run.work), ["tenth of confidence", "records"])
