"""What the commands of stages have in common: run one stage, print its summary."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from recon_cli.cli._options import RunOptions
from recon_cli.protections import PROTECTIONS

if TYPE_CHECKING:
    from recon_cli.pipeline.run import Run, StageOutcome
    from recon_cli.store import Stage

    Summary = Callable[[Run, StageOutcome], None]


def run_and_print(short_name: str, options: RunOptions, *, force: bool) -> None:
    """Run a stage and print its summary.

    Raises:
        ReconError: What the stage raised.
    """
    from recon_cli.pipeline.execution import run_stage  # noqa: PLC0415 - slow imports when needed
    from recon_cli.pipeline.stages import stage_named  # noqa: PLC0415

    stage, run = stage_named(short_name), options.run(force=force)
    outcome = run_stage(stage, run)
    if options.verbosity >= 0:
        print_summary(run, outcome)


def print_summary(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage, and last that it is not for publication if so."""
    summary_of(outcome.stage)(run, outcome)
    if outcome.manifest.publishable is False:
        print_for_study()


def print_for_study() -> None:
    """Print that what was made is not for publication."""
    click.secho("  not for publication: chance follows from a study_seed", bold=True)


def summary_of(stage: Stage) -> Summary:
    """What prints a stage's summary: ``print_attacker`` of the module of `recon synth attacker`."""
    words = stage.name.replace("-", "_").split()
    module = importlib.import_module(f"recon_cli.cli.{words[0]}")
    name = "protection" if stage.short_name in PROTECTIONS else words[-1]
    summary: Summary = getattr(module, f"print_{name}")
    return summary
