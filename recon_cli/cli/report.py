"""``recon report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.cli._output import Fact, seconds, show, title_of
from recon_cli.cli._stage import run_and_print

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome


@click.command(cls=ConfiguredCommand, sections=("report",))
@run_options
@click.option("--title", help="Title of the report.  [default: the release's title]")
@click.option("--to", type=OUTPUT_FILE, help="Write the HTML to this file too.")
@force_option
def command(options: RunOptions, *, title: str | None, to: Path | None, force: bool) -> None:
    """Write the results as one page that reads offline.

    Writes report/: report.html (charts, tables, provenance, nothing fetched), report.md, and
    every chart as SVG and PNG. It begins with a verdict and the rule that it follows, shows what
    the work folder holds and, for the rest, which command makes it. Sums only, but for the worst
    places, which have pages of their own (report.places=0 leaves them out).

    \b
    Example:
      recon report -c al.yaml
      recon report --title "Alabama, 2010" --to al.html
    """  # noqa: D301 - click wants the character itself
    run_and_print("report", options.setting(report__title=title, report__to=to), force=force)


def print_report(run: Run, outcome: StageOutcome) -> None:
    """Print the headline and where the page is."""
    from recon_cli.stages.report import page_of  # noqa: PLC0415 - slow imports when needed

    notes = outcome.manifest.notes
    facts: list[Fact] = [("headline", sentence) for sentence in notes["headline"]]
    facts += [("left out", gap) for gap in notes["missing"]]
    facts += [
        ("page", os.path.normpath(page_of(run))),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(outcome), facts)
