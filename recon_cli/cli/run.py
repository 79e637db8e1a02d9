"""``recon run``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from recon_cli.console.options import (
    MERGE,
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.console.run_log import RunLog, log_to
from recon_cli.console.stage_command import run_and_print
from recon_cli.pipeline.order import dependencies, select, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import plan, run_stages
from recon_cli.pipeline.stages import STAGES
from recon_cli.progress import JsonLinesReporter
from recon_cli.stage import load
from recon_cli.store import Stage


@click.command(cls=ConfiguredCommand)
@run_options
@click.option("--from", "first", metavar="STAGE", help="Begin with this stage.")
@click.option("--until", "last", metavar="STAGE", help="End with this stage.")
@click.option("--only", metavar="STAGE", help="This stage alone.")
@click.option(
    "--merge", metavar="STAGE", help="Publish this stage, whose shards are done; work on no piece."
)
@click.option("--dry-run", is_flag=True, help="Show what would run, and why; change nothing.")
@click.option(
    "--log-json",
    is_flag=False,
    flag_value="-",
    metavar="[FILE]",
    help="Progress as JSON lines, added to FILE or on stderr.",
)
@force_option
def command(
    options: RunOptions,
    *,
    first: str | None,
    last: str | None,
    only: str | None,
    merge: str | None,
    dry_run: bool,
    log_json: str | None,
    force: bool,
) -> None:
    """Run every stage that the config has a section for, in order.

    A bare `solvar:` is a section, too. The order follows from what the stages read and make:
    STAGES. A stage that is up to date is skipped; --force runs the chosen stages again. If the
    command is killed, the same command continues from there and makes the same files.

    For job arrays: each job works on one shard of a stage with --shard, on any machine that sees
    the work folder; then one process merges them with --merge. It reports pieces that are missing,
    and computes what concerns all of them: the tables of solvar, the modes of link.

    Not part of a run: `recon fetch`, `recon verify` (reconstruct compares every cell before it
    publishes) and `recon lab calibrate` (it makes populations of its own).

    \b
    Example:
      recon run -c al.yaml
      recon run -c al.yaml --dry-run
      recon run -c al.yaml --from solvar --force
      recon run -c al.yaml --merge reconstruct
      recon run -c al.yaml --log-json al.log

    \b
    Exit codes: the failed stage's (1 to 10, see the
    README); 130 interrupted, 143 terminated, 141
    when nobody reads stdout any more.

    \b
    --log-json: an object a line, with event and time
    (UTC). Events and what else they have:
      run_started     version, config, work, stages
      stage_started   stage, index, of
      progress        stage, units, units_total,
                      people, people_total, statuses,
                      seconds, people_per_second,
                      seconds_left, memory_mb
      partition_done  stage, partition, seconds,
                      peak_mb
      note            text
      stage_done      stage, seconds, folders, rows,
                      partitions, statuses, totals
      stage_skipped   as stage_done: up to date
      stage_failed    stage, error, message, exit_code
      run_done        exit_code, seconds, done, skipped
    Nothing else is written to stderr, but for an
    error message when FILE is given.
    """  # noqa: D301 - click wants the character itself
    if merge is not None:
        if first or last or only or dry_run or log_json or force:
            raise click.UsageError("--merge goes with no other choice of stages, nor --force")
        _merge(options, merge)
        return
    run = options.run(force=force)
    configured = stages_of(run.config)
    chosen = select(configured, first, last, only)
    if dry_run:
        load("recon_cli.console.plan_table:print_plan")(
            plan(run, chosen, dependencies(configured, run.config)), force=force
        )
    elif log_json is None:
        _run(run, options, chosen, None)
    else:
        with log_to(None if log_json == "-" else Path(log_json)) as events:
            _run(run, options, chosen, events)


command.help = (command.help or "").replace("STAGES", ", ".join(each.short_name for each in STAGES))


def _merge(options: RunOptions, stage: str) -> None:
    """Publish a stage whose shards are all done."""
    known = [each.short_name for each in STAGES if each.can_shard]
    if stage not in known:
        raise click.BadParameter(
            f"{stage!r} is not one of {', '.join(known)}", param_hint="--merge"
        )
    run_and_print(stage, replace(options, shard=MERGE), force=False)


def _run(
    run: Run, options: RunOptions, stages: Sequence[Stage], events: JsonLinesReporter | None
) -> None:
    """Run stages, print the summary of each, and a total at the end."""
    log = RunLog(run, options, events)
    log.run_started(stages)
    run_stages(stages, run, log)
    log.run_done()
    if options.verbosity >= 0:
        log.print_total()
