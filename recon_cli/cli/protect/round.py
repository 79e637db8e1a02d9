"""``recon protect round``."""

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


@click.command(cls=ConfiguredCommand, sections=("round",))
@run_options
@counts_file_option
@force_option
def command(options: RunOptions, *, to: Path | None, force: bool) -> None:
    """Round the counts of records to multiples of a base.

    Writes rounded/ (a tidy publication, its protection.yaml and, with round.geounits, the list of
    all units, as recon ingest reads them);
    accuracy, the whole manifest and the secret key, which later tables need, are in private/round/.

    \b
    Example:
      recon protect round -c nation.yaml
      recon protect round --set round.base=5 --work work/rr5
    """  # noqa: D301 - click wants the character itself
    run_and_print("round", options.setting(round__to=to), force=force)


def print_round(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and what is known to undo it."""
    from recon_cli.plurals import plural  # noqa: PLC0415 - slow imports when needed

    people = plural(run.release.record).replace("_", " ")
    totals, copies = outcome.manifest.totals, outcome.manifest.notes["copies"]
    many = f"{copies['cells']:,} cells, {copies['margins']:,} different, one {copies['most']} times"
    show(
        title_of(outcome),
        [
            ("law", str(outcome.manifest.notes["law"])),
            (people, f"{totals['people']:,}"),
            ("cells above zero", f"{totals['cells']:,}"),
            ("  changed", share(totals["changed"], totals["cells"])),
            ("  published as zero", share(totals["false_zeros"], totals["cells"])),
            ("  published twice or more", share(totals["repeated"], totals["cells"])),
            ("    not alike", share(totals["fixed"], totals["repeated"])),
            (f"copies in a {run.release.geography.unit.name}", many),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, totals["people"], people)),
        ],
    )
