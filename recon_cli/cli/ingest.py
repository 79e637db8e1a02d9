"""``recon ingest``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import ConfiguredCommand, RunOptions, force_option, run_options
from recon_cli.cli._output import seconds, show, title_of, unlisted_facts
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("ingest",))
@run_options
@force_option
def command(options: RunOptions, *, force: bool) -> None:
    """Read published files into the work folder.

    Writes tables/ (every non-zero published count) and geounits/.

    \b
    Example:
      recon ingest -c al.yaml
      recon ingest --set ingest.paths=[al2010.sf1.zip]
    """  # noqa: D301 - click wants the character itself
    run_and_print("ingest", options, force=force)


def print_ingest(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    from recon_cli.plurals import plural  # noqa: PLC0415

    manifest, noun = outcome.manifest, plural(run.release.record)
    people, cells = manifest.totals["people"], manifest.totals["cells"]
    partly = "at least " if manifest.totals.get("partly_counted") else ""
    levels = [level.name for level in run.release.geography.levels]
    show(
        title_of(outcome),
        [
            ("release", run.release.name),
            (
                noun,
                f"{partly}{people:,}"
                if people or not (cells or partly)
                else "not published exactly",
            ),
            *(
                (plural(name).replace("_", " "), f"{manifest.statuses[name]:,}")
                for name in levels
                if name in manifest.statuses
            ),
            *unlisted_facts(manifest, plural(run.release.geography.unit.name)),
            ("non-zero cells", f"{cells:,}"),
            ("seconds", seconds(manifest.run.wall_seconds, people, noun)),
        ],
    )
