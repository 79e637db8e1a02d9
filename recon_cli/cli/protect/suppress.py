"""``recon protect suppress``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    ConfiguredCommand,
    RunOptions,
    counts_file_option,
    force_option,
    run_options,
)
from recon_cli.cli._output import seconds, share, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from pathlib import Path

    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("suppress",))
@run_options
@counts_file_option
@force_option
def command(options: RunOptions, *, to: Path | None, force: bool) -> None:
    """Suppress small counts, and those that would give them away.

    Counts under a threshold, or that few people dominate, are primary cells. Complementary ones are
    added, over all tables and levels of a region, until for each primary cell other records are
    known that have all published counts and another count there. Writes
    suppressed/ (a tidy publication and its protection.yaml, as recon ingest reads them);
    accuracy and the whole manifest are in private/suppress/. The choice of cells follows from the
    counts and the seed.

    \b
    Example:
      recon protect suppress -c clinic.yaml
      recon protect suppress --set suppress.zeros=hide
    """  # noqa: D301 - click wants the character itself
    run_and_print("suppress", options.setting(suppress__to=to), force=force)


def print_suppress(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and what published zeros mean."""
    from recon_cli.plurals import plural  # noqa: PLC0415 - slow imports when needed

    people = plural(run.release.record).replace("_", " ")
    totals, notes = outcome.manifest.totals, outcome.manifest.notes
    suppressed, primary = totals["suppressed"], totals["primary"]
    facts = [
        (people, f"{totals['people']:,}"),
        ("counts above zero", f"{totals['cells']:,}"),
        ("suppressed", f"{suppressed:,}"),
        (f"  primary, below {notes['below']} or dominated", share(primary, suppressed)),
        ("  complementary", share(suppressed - primary, suppressed)),
        ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
    ]
    if notes["zeros"] == "publish":
        facts.append(("warning", "zeros are published, so every flag says at least 1"))
    show(title_of(outcome), facts)
