"""``recon claims``."""

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
from recon_cli.cli._output import Fact, people_of, seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("claims",))
@run_options
@shard_option
@force_option
def command(options: RunOptions, *, shard: str | None, force: bool) -> None:
    """Find what is true of people in every solution, on any of their columns.

    Writes claims/ (exactly, or at least, so many people of a unit have these values on these
    columns), claim_units/ (one row per unit) and disclosures/ (people whose other columns are
    settled by a few). All subsets of the published columns are asked, and every claim is proven;
    `recon prove` writes the proofs.

    \b
    Example:
      recon claims -c al.yaml
      recon claims --set claims.unit_seconds=10
    """  # noqa: D301 - click wants the character itself
    run_and_print("claims", options.sharded(shard, force=force), force=force)


def print_claims(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.evaluate.fresh import WorkFolder  # noqa: PLC0415
    from recon_cli.pipeline.stages import RECONSTRUCT  # noqa: PLC0415
    from recon_cli.plurals import plural  # noqa: PLC0415
    from recon_cli.stages.answers import read_disclosures  # noqa: PLC0415

    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    people = plural(run.release.record)
    uncounted = WorkFolder(run.work).open(RECONSTRUCT).manifest.totals["uncounted"]
    facts: list[Fact] = [
        ("columns", ", ".join(manifest.notes["columns"]) or "none"),
        (people, people_of(totals, is_counted=not uncounted)),
        (plural(run.release.geography.unit.name).replace("_", " "), f"{totals['units']:,}"),
        ("claims", f"{totals['claims']:,}"),
        ("  exact", share(totals["exact_claims"], totals["claims"])),
        ("  maximal", share(totals["maximal"], totals["claims"])),
        (f"  of one {run.release.record}", share(totals["singletons"], totals["claims"])),
        *_on_tables_alone(run, totals),
        *[("proven if", f"counts are {law}") for law in manifest.notes["laws"]],
        ("undecided", f"{totals['undecided']:,}"),
        ("complete", share(statuses.get("complete", 0), totals["units"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    show_table(
        read_disclosures(run.work), ["columns known", "identity", "attribute", "inferential"]
    )


def _on_tables_alone(run: Run, totals: Mapping[str, int]) -> list[Fact]:
    """Where the release assumes something."""
    if not run.release.has_assumptions:
        return []
    return [("  on tables alone", share(totals["on_tables_alone"], totals["claims"]))]
