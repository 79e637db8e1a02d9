"""``recon report``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions, force_option, run_options
from recon_cli.cli._output import Fact, seconds, show, title_of
from recon_cli.pipeline.steps import Files, Step

if TYPE_CHECKING:
    from recon_cli.config import RunConfig
    from recon_cli.stages import StageOutcome


@click.command()
@run_options
@click.option("--title", help="Title of the report.  [default: the release's title]")
@click.option("--to", type=click.Path(path_type=Path), help="Write the HTML to this file too.")
@force_option
def command(options: RunOptions, *, title: str | None, to: Path | None, force: bool) -> None:
    """Write the results as one page that reads offline.

    Writes report/: report.html (charts, tables, provenance, nothing fetched), report.md, and
    every chart as SVG and PNG. It shows what the work folder holds and, for the rest, which
    command makes it. Sums only: no row about a geounit or a person.

    \b
    Example:
      recon report -c al.yaml
      recon report --title "Alabama, 2010" --to al.html

    \b
    Config keys:
      release, work
      report.title  default the release's title
      report.to     a file that gets a copy of the HTML
      score.sizes   size classes
    """  # noqa: D301 - click wants the character itself
    perform(options.setting(report__title=title, report__to=to), force=force)


def perform(options: RunOptions, *, force: bool) -> StageOutcome:
    """Run the stage; print the headline and where the page is."""
    from recon_cli.stages.report import report  # noqa: PLC0415 - imports altair

    written = report(options.run(force=force))
    if options.verbosity < 0:
        return written.outcome
    facts: list[Fact] = [("headline", sentence) for sentence in written.headline]
    facts += [("left out", gap) for gap in written.missing]
    facts += [
        ("page", os.path.normpath(written.page)),
        ("seconds", seconds(written.outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(written.outcome), facts)
    return written.outcome


def _files(config: RunConfig) -> Files:
    """The copy of the page, where one is asked for."""
    from recon_cli.config.sections.report import Report  # noqa: PLC0415 - imports pydantic

    copy = config.section(Report).to
    return Files(makes=() if copy is None else (copy,))


#: It shows every folder that there is, so it comes last.
STEP = Step(
    "report",
    "report",
    (
        *("persons", "comrcl", "hdf", "tabulated", "tables", "microdata"),
        *("solvar", "links", "score"),
    ),
    ("report",),
    perform,
    _files,
)
