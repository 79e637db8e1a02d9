"""``recon protect``: a command for each of `recon_cli.protections`."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import click

from recon_cli.cli._options import (
    OUTPUT_FILE,
    ConfiguredCommand,
    RunOptions,
    force_option,
    run_options,
)
from recon_cli.cli._output import Fact, seconds, share, show, show_table, title_of
from recon_cli.cli._stage import run_and_print
from recon_cli.protections import PROTECTIONS

if TYPE_CHECKING:
    from recon_cli.pipeline.protecting import ProtectionStage
    from recon_cli.pipeline.run import Run, StageOutcome


class ProtectCommands(click.Group):
    """A command for each protection, made of what its stage declares."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names."""
        return list(PROTECTIONS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one protection."""
        return _command(cmd_name) if cmd_name in PROTECTIONS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Their purposes; none of their modules is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.purpose) for name, each in PROTECTIONS.items()])


def _command(name: str) -> click.Command:
    from recon_cli.config.keys import keys_of  # noqa: PLC0415 - slow imports when needed

    stage = _stage_of(name)
    meanings = {key.name: key.meaning for key in keys_of(stage.section)}

    def run(options: RunOptions, *, force: bool, **given: Any) -> None:
        settings = {f"{name}__{key}": value for key, value in given.items()}
        run_and_print(name, options.setting(**settings), force=force)

    command = force_option(run)
    for key in stage.options:
        kind = OUTPUT_FILE if key == "to" else None
        meaning = meanings[key].replace("``", "")
        command = click.option(f"--{key}", type=kind, help=meaning)(command)
    text = f"{PROTECTIONS[name].purpose}\n\n{inspect.cleandoc(stage.__doc__ or '')}"
    made = click.command(name, cls=ConfiguredCommand, sections=(name,), help=text)
    return made(run_options(command))


def _stage_of(name: str) -> type[ProtectionStage[Any, Any]]:
    module, _, kind = PROTECTIONS[name].stage.partition(":")
    found: type[ProtectionStage[Any, Any]] = getattr(importlib.import_module(module), kind)
    return found


@click.group(cls=ProtectCommands)
def command() -> None:
    """Protect records or their counts before they are published.

    \b
    Example:
      recon protect swap -c nation.yaml
      recon protect round -c nation.yaml
      recon protect suppress -c clinic.yaml
    """  # noqa: D301 - click wants the character itself


def print_protection(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished protection."""
    manifest, protection = outcome.manifest, _stage_of(outcome.stage.short_name)(run)
    table = protection.table(manifest)
    if table is not None:
        show_table(*table)
    facts: list[Fact] = [(label, _said(value)) for label, value in protection.facts(manifest)]
    people = manifest.totals["people"]
    taken = seconds(manifest.run.wall_seconds, people, protection.people)
    show(title_of(outcome), [*facts, ("seconds", taken)])


def _said(value: str | int | tuple[int, int]) -> str:
    if isinstance(value, tuple):
        return share(*value)
    return f"{value:,}" if isinstance(value, int) else value
