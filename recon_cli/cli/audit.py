"""``recon audit``."""

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
from recon_cli.cli._output import seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("audit",))
@run_options
@shard_option
@force_option
def command(options: RunOptions, *, shard: str | None, force: bool) -> None:
    """Find what the published counts give away of each suppressed, rounded or left out one.

    Writes audit/: for every count that is not published exactly, or left out of a table that has
    others of its place, the least and the greatest that any solution has, over all tables and
    levels together, and whether it is recovered (one count is left), narrowed (those left lie
    closer together than its law requires, or `audit.safety`), or safe (two solutions are known
    that are far enough apart).
    Needs tables/ (`recon ingest`), no reconstruction.

    \b
    Example:
      recon audit -c hospital.yaml
      recon audit --set audit.safety=3
    """  # noqa: D301 - click wants the character itself
    run_and_print("audit", options.sharded(shard, force=force), force=force)


def print_audit(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.stages.audit_summary import read_audit  # noqa: PLC0415

    manifest = outcome.manifest
    cells, statuses = manifest.totals["cells"], manifest.statuses
    left_out = manifest.totals.get("left_out", 0)
    show(
        title_of(outcome),
        [
            ("counts not published exactly", f"{cells:,}"),
            *([("  left out of tables", share(left_out, cells))] if left_out else []),
            ("  recovered", share(statuses.get("recovered", 0), cells)),
            ("  narrowed", share(statuses.get("narrowed", 0), cells)),
            ("  safe", share(statuses.get("safe", 0), cells)),
            ("  undecided", share(statuses.get("undecided", 0), cells)),
            ("interval known exactly", share(manifest.totals["exact"], cells)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
    found = read_audit(run.work, run.release)
    outcomes = ["counts", "recovered", "narrowed", "safe", "undecided", "smallest width"]
    show_table(found.by_table, ["level", "table", *outcomes])
    if not found.by_suppression.is_empty():
        show_table(found.by_suppression, ["suppression", *outcomes])
