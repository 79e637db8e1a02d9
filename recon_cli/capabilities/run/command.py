"""``recon run``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from recon_cli.capabilities.run.events import JsonLinesReporter
from recon_cli.capabilities.run.log import RunLog, log_to
from recon_cli.console.options import (
    MERGE,
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.console.stage_command import run_and_print
from recon_cli.errors import ConfigError
from recon_cli.pipeline.order import dependencies, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import plan, run_stages
from recon_cli.pipeline.stages import STAGES
from recon_cli.stage import undisturbed
from recon_cli.store import Stage


@click.command(cls=ConfiguredCommand)
@run_options
@click.option("--from", "first", metavar="STAGE", help="Begin with this stage.")
@click.option("--until", "last", metavar="STAGE", help="End with this stage.")
@click.option("--only", metavar="STAGE", help="Run this stage alone.")
@click.option("--merge", metavar="STAGE", help="Complete this stage, whose shards are all done.")
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

    An empty section, such as `solvar:`, counts: it has the defaults. Each stage runs after those
    that it reads from, so the order is STAGES; tabulate comes after reconstruct if it counts the
    records from there. A stage that is up to date is skipped; --force runs
    the chosen stages again. A run that was killed resumes when it is started again without --force,
    and makes the same files.

    For job arrays: each job runs one shard of a stage, as in `recon solvar --shard 1/8`, on any
    machine that sees the work folder; then one process completes the stage with --merge, which
    reports missing shards and computes what needs all shards, such as the tables of solvar.

    A run does not include `recon fetch`, `recon verify` (reconstruct compares every cell anyway) or
    `recon lab calibrate` (which generates its own populations).

    Example:
      recon run -c al.yaml
      recon run -c al.yaml --dry-run
      recon run -c al.yaml --from solvar --force
      recon run -c al.yaml --merge reconstruct
      recon run -c al.yaml --log-json al.log

    \b
    Exit codes: the failed stage's (1 to 12, see
    docs/files.md); 130 interrupted, 143 terminated,
    141 when the reader of stdout has gone.

    \b
    --log-json: one object per line, with event and time
    (UTC). Events and their other fields:
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
      stage_skipped   (it is up to date) fields of stage_done
      stage_failed    stage, error, message, exit_code
      run_done        exit_code, seconds, done, skipped
    Without FILE, stderr gets these events and nothing
    else; with FILE, only an error message.
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
        with undisturbed():
            from recon_cli.capabilities.run.plan_table import print_plan

        print_plan(plan(run, chosen, dependencies(configured, run.config)), force=force)
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


def select(
    stages: Sequence[Stage], first: str | None, last: str | None, only: str | None
) -> tuple[Stage, ...]:
    """Select the stages from ``first`` to ``last``, both included, or ``only`` one.

    Raises:
        ConfigError: There is no such stage, or nothing is left.
    """
    names = [stage.short_name for stage in stages]
    if only is not None and (first is not None or last is not None):
        raise ConfigError("--only goes with neither --from nor --until")
    for option, name in (("--from", first), ("--until", last), ("--only", only)):
        if name is not None and name not in names:
            raise ConfigError(f"{option}: no stage {name!r} (stages: {', '.join(names)})")
    if only is not None:
        return (stages[names.index(only)],)
    start = 0 if first is None else names.index(first)
    end = len(names) if last is None else names.index(last) + 1
    if start >= end:
        raise ConfigError(f"--from {first} comes after --until {last}")
    return tuple(stages[start:end])
