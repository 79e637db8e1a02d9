"""``recon check``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import OUTPUT_FILE, ConfiguredCommand, RunOptions, run_options

if TYPE_CHECKING:
    from recon_cli.evaluate.check import Verdict

#: Exit codes of verdicts, apart from those of errors.
BROKEN, UNDECIDED = 20, 21


@click.command(cls=ConfiguredCommand, sections=("check",))
@run_options
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop the stages after this time.")
@click.option("--json", "json_file", type=OUTPUT_FILE, help="Write the verdicts as JSON.")
@click.option("--junit", "junit_file", type=OUTPUT_FILE, help="Write them as JUnit's XML.")
@click.option("--show-counts", is_flag=True, help="Show numbers and examples, not verdicts alone.")
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
    """Judge the published tables by the rules of the config: broken, kept or undecided.

    Runs the stages that the rules need, as `recon run` does; what is not done within --seconds
    is undecided. Broken: more violations are proven than are allowed. Kept: no more are possible.
    Logs get published: numbers and places are only shown with --show-counts.

    \b
    Example:
      recon check -c ward.yaml
      recon check --seconds 600 --json check.json

    \b
    Exit codes: 0 all rules are kept, 20 one is
    broken, 21 none is broken and one is undecided;
    else a stage's, 1 to 11.
    """  # noqa: D301 - click wants the character itself
    end = None if seconds is None else time.monotonic() + seconds
    from recon_cli.evaluate.check import verdict_of  # noqa: PLC0415
    from recon_cli.report.check import (  # noqa: PLC0415 - slow imports
        check_json,
        check_junit,
        reason_lines,
        rule_in_words,
    )
    from recon_cli.stages.check import GivenConfig, check  # noqa: PLC0415
    from recon_cli.store.files import require_writable, write_named  # noqa: PLC0415

    for path in filter(None, (json_file, junit_file)):
        require_writable(path)
    given = GivenConfig(options.config, options.settings, options.work, options.workers)
    judged = check(given, end)
    if json_file is not None:
        write_named(json_file, check_json(judged, show_counts=show_counts))
    if junit_file is not None:
        write_named(junit_file, check_junit(judged, show_counts=show_counts))
    verdict: Verdict = verdict_of(judged)
    if options.verbosity >= 0:
        click.secho(f"check: {verdict}", bold=True)
        for each in judged:
            click.echo(f"  {each.verdict:<9}  {rule_in_words(each)}")
            for line in reason_lines(each, show_counts=show_counts):
                click.echo(f"             {line}")
    context.exit({"kept": 0, "broken": BROKEN, "undecided": UNDECIDED}[verdict])
