"""The command of a stage, made from its declaration: options, help, summary."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Final

import click

from recon_cli.config import SECTIONS
from recon_cli.console.options import (
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
    shard_option,
)
from recon_cli.console.output import Line, show_lines, title_of
from recon_cli.console.section_options import section_options
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.run_stages import run_stage
from recon_cli.pipeline.stages import PROTECTIONS, stage_named
from recon_cli.stage import Stage, undisturbed

Summary = Callable[[Run, StageOutcome], Iterable[Line]]

#: Package whose summary is that of every protection.
PROTECT: Final = "recon_cli.capabilities.protect"


def stage_command(stage: Stage) -> click.Command:
    """Make the command that runs a stage and prints its summary."""

    def run(options: RunOptions, *, force: bool, shard: str | None = None) -> None:
        run_and_print(stage.short_name, options.sharded(shard, force=force), force=force)

    command = force_option(section_options(stage.section)(run))
    if stage.can_shard:
        command = shard_option(command)
    about = (sys.modules[SECTIONS[stage.section].__module__].__doc__ or "").partition("\n\n")[2]
    text = f"{stage.purpose}\n\n{about}"
    name = stage.name.rpartition(" ")[2]
    made = click.command(name, cls=ConfiguredCommand, sections=(stage.section,), help=text)
    return made(run_options(command))


def run_and_print(short_name: str, options: RunOptions, *, force: bool) -> None:
    """Run a stage and print its summary."""
    run = options.run(force=force)
    outcome = run_stage(stage_named(short_name), run)
    if options.verbosity >= 0:
        print_outcome(run, outcome)


def print_outcome(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and a warning if it is not for publication."""
    show_lines(title_of(outcome), summary_of(outcome.stage)(run, outcome))
    if outcome.manifest.publishable is False:
        print_for_study()


def print_for_study() -> None:
    """Print the warning that the result is not for publication."""
    click.secho("  not for publication: chance follows from a study_seed", bold=True)


def summary_of(stage: Stage) -> Summary:
    """Import ``summary`` of a stage's capability."""
    package = PROTECT if stage.short_name in PROTECTIONS else stage.package
    with undisturbed():
        summary: Summary = importlib.import_module(f"{package}.summary").summary
    return summary
