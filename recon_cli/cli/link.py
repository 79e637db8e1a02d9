"""``recon link``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
    shard_option,
)
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("link",))
@run_options
@click.option("--draws", type=click.IntRange(min=1), help="Number of random draws that break ties.")
@shard_option
@force_option
def command(options: RunOptions, *, draws: int | None, shard: str | None, force: bool) -> None:
    """Match sources with attacker files, and confirm on the truth.

    Within a block records match on exact keys first, then on the binned ones, each at most once.
    The attacker gains the source's values; the link is confirmed when the truth has the person
    with those values there. Writes links/ (one row per putative match), and the counts that
    `recon score` makes tables of.

    \b
    Example:
      recon link -c al.yaml
      recon link --set link.cef=cef.parquet --draws 5
    """  # noqa: D301 - click wants the character itself
    if draws is not None:
        options = replace(options, settings=(*options.settings, f"link.draws={draws}"))
    options = options.sharded(shard, force=force)
    run_and_print("link", options, force=force)


def print_link(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.stages.run_words import words_of_run  # noqa: PLC0415 - slow imports when needed
    from recon_cli.stages.source_labels import with_labels  # noqa: PLC0415

    manifest = outcome.manifest
    totals, notes, words = manifest.totals, manifest.notes, words_of_run(run)
    people = words.people
    left_out = [(f"  left out, {why}", f"{n:,}") for why, n in sorted(manifest.statuses.items())]
    beyond = [
        (f"  left out, {name}: elsewhere", f"{n:,}")
        for name, n in notes["outside_partitions"].items()
        if n
    ]
    show(
        title_of(outcome),
        [
            ("sources", with_labels(run, manifest, notes["sources"])),
            ("attackers", with_labels(run, manifest, notes["attackers"]) or "none: agreement only"),
            (people, f"{totals['people']:,}"),
            ("  with an id", share(totals["linkable"], totals["people"])),
            (words.units, f"{totals['units']:,}"),
            ("putative links", f"{totals['putative']:,}"),
            ("confirmed", share(totals["confirmed"], totals["putative"])),
            *left_out,
            *beyond,
            ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
