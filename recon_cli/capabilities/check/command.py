"""``recon check``."""

from __future__ import annotations

import time
from pathlib import Path

import click

from recon_cli.capabilities.check.options import Verdict, verdict_of
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.capabilities.check.verdicts import check_json, check_junit, verdict_lines
from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.console.options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    GivenPath,
    RunOptions,
    run_options,
)
from recon_cli.store.files import require_writable, write_named

#: Exit codes of verdicts, apart from those of errors.
BROKEN, UNDECIDED = 20, 21


@click.command(cls=ConfiguredCommand, sections=("check",))
@run_options
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop the stages after this time.")
@click.option(
    "--json",
    "json_file",
    type=GivenPath(dir_okay=False, allow_dash=True),
    help="Write the verdicts as JSON; - writes them alone, to stdout.",
)
@click.option("--junit", "junit_file", type=OUTPUT_FILE, help="Write the verdicts as JUnit XML.")
@click.option("--show-counts", is_flag=True, help="Show examples: places and counts.")
@click.pass_context
def command(
    context: click.Context,
    options: RunOptions,
    *,
    seconds: float | None,
    json_file: Path | None,
    junit_file: Path | None,
    show_counts: bool,
) -> None:
    """Check the published tables against your rules: kept, broken or undecided.

    Runs the stages that the rules need, as `recon run` does. A rule is broken if more violations
    are proven than it allows, and kept if no more are possible; work unfinished after --seconds
    leaves rules undecided. Since logs may be published, places and counts are only shown with
    --show-counts.

    \b
    Example:
      recon check -c ward.yaml
      recon check --seconds 600 --json check.json

    \b
    Exit codes: 0 all rules are kept, 20 one is
    broken, 21 none is broken and one is undecided;
    else a stage's, 1 to 11.
    """  # noqa: D301 - click wants the character itself
    started = time.monotonic()

    is_printed = str(json_file) == "-"
    for path in (None if is_printed else json_file, junit_file):
        if path is not None:
            require_writable(path)
    options = options.setting(check__seconds=seconds)
    given = GivenConfig(
        options.config, options.settings, options.work, options.workers, show_counts
    )
    judged = check(given, started)
    if junit_file is not None:
        write_named(junit_file, check_junit(judged, show_counts=show_counts))
    document = check_json(judged, show_counts=show_counts)
    if is_printed:
        click.echo(document, nl=False)
    elif json_file is not None:
        write_named(json_file, document)
    verdict: Verdict = verdict_of(judged)
    if options.verbosity >= 0 and not is_printed:
        click.secho(f"check: {verdict}", bold=True)
        for line in verdict_lines(judged, show_counts=show_counts):
            click.echo(line)
        click.echo(f"Proven by {proven_by(WorkFolder(given.run().work))}.")
        broken = [
            each for each in judged if each.verdict == "broken" and not each.grounds.candidate
        ]
        if any(each.rule.name == "recovered" for each in broken):
            click.echo("`recon plan cure` estimates what would leave no withheld count recovered.")
    context.exit({"kept": 0, "broken": BROKEN, "undecided": UNDECIDED}[verdict])
