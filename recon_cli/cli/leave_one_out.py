"""``recon leave-one-out``."""

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


@click.command(cls=ConfiguredCommand, sections=("leave_one_out",))
@run_options
@click.option("--people", type=int, help="How many people to draw, about; default all.")
@click.option("--within", help="Only people of geounits whose geoids begin so.")
@shard_option
@force_option
def command(
    options: RunOptions, *, people: int | None, within: str | None, shard: str | None, force: bool
) -> None:
    """Leave each of some people out of the counts, and compare what is then concluded about them.

    Writes leave_one_out/: what the attack says of each person with his or her answer in the
    counts, and what it says without. The difference is what publishing that answer gave away; the
    rest follows from the answers of others. It takes the records that were tabulated.

    \b
    Example:
      recon leave-one-out -c nation.yaml --people 1000
      recon leave-one-out --within 01841
    """  # noqa: D301 - click wants the character itself
    options = options.sharded(shard, force=force)
    options = options.setting(leave_one_out__people=people, leave_one_out__within=within)
    run_and_print("leave-one-out", options, force=force)


def print_leave_one_out(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    import polars as pl  # noqa: PLC0415 - slow imports when needed

    from recon_cli.stages.leave_one_out_scores import read_differences  # noqa: PLC0415
    from recon_cli.stages.run_words import words_of_run  # noqa: PLC0415

    words = words_of_run(run)
    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    unknown = statuses.get("open", 0) + statuses.get("quarantined", 0)
    facts: list[Fact] = [
        ("learnt", ", ".join(manifest.notes["gains"])),
        (f"{words.people} left out", f"{totals['people']:,}"),
        ("  distinct runs", f"{totals['records']:,}"),
        ("  not known", share(unknown, totals["people"])),
        ("undecided", share(statuses.get("partial", 0), totals["people"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], words.people)),
    ]
    show(title_of(outcome), facts)
    ends = (pl.col(name).round(1).cast(pl.String).fill_null("–") for name in ("low", "high"))
    table = (
        read_differences(run.work)
        .filter(block_size="All")
        .select(
            pl.col("panel").map_elements(words.panel, return_dtype=pl.String),
            "measure",
            pl.col("people").cast(pl.Int64),
            "pct",
            "pct_without",
            "difference",
            pl.concat_str(*ends, separator="–"),
        )
    )
    show_table(table, ["who", "measure", words.people, "with %", "without %", "points", "interval"])
