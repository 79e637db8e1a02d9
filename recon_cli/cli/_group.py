"""The ``recon`` command: finds its subcommands and turns failures into messages and exit codes.

A module ``init.py`` in this package whose ``command`` is a click command is ``recon init``; those
of most stages are made from what `recon_cli.pipeline.stages` declares.
``--help`` imports none of them: what a command does is said here, or where its stage is declared.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import click

from recon_cli.cli._signals import (
    INTERRUPTED,
    NO_READER,
    TERMINATED,
    Terminated,
    drop_output,
    end_at_once,
    stoppable,
)
from recon_cli.errors import ReconError, Unpublished
from recon_cli.garbage import collect_seldom
from recon_cli.memory_shortage import as_shortage
from recon_cli.pipeline.stages import STAGES
from recon_cli.stage import load
from recon_cli.version import __version__


@contextmanager
def private_umask() -> Iterator[None]:
    """Let what libraries make in this process and its children be for their owner alone, too."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


#: Where a subcommand leaves its verbosity for the error handler.
VERBOSITY = "recon_cli.verbosity"
#: Where it says that only programs read stderr, and have been told.
MACHINE = "recon_cli.machine"

#: What a person wants → the commands for it, in the order in which they are used.
PURPOSES: Mapping[str, Sequence[str]] = {
    "Begin": ("init", "fetch"),
    "Run": ("run", "status", "purge"),
    "Stages": ("ingest", "reconstruct", "solvar", "link", "score", "report"),
    "Ask": (
        *("show", "verify", "audit", "slivers", "claims", "joint", "check", "prove"),
        *("contributions", "leave-one-out", "attribute", "confidence", "estimate"),
    ),
    "Protect": ("protect", "compare", "account", "export"),
    "Plan": ("capacity", "frontier", "risk"),
    "Data": ("synth", "tabulate", "releases"),
    "Lab": ("lab",),
}
#: The stages that are commands; those of groups, their groups know.
_STAGES = {each.name: each for each in STAGES if " " not in each.name}
#: Command → what it does, as its own help begins; that of a stage's, its declaration has.
_PURPOSE: Mapping[str, str] = {
    "init": "Write a commented config for published files.",
    "fetch": "Download published files from the publisher's site.",
    "run": "Run every stage that the config has a section for, in order.",
    "status": "Show the status of every stage of a work folder.",
    "purge": "Remove what a run made from its work folder.",
    "show": "Show one geounit: its tables, its people, and why records are certain.",
    "verify": "Compare the records with every published cell.",
    "check": "Judge the published tables by the rules of the config: broken, kept or undecided.",
    "protect": "Protect records or their counts before they are published.",
    "account": "Add up what all products of the same people spend.",
    "export": "Write the published workbooks and tables again: marked, or with suppressed counts.",
    "risk": "State what noisy counts let an adversary believe about a person.",
    "releases": "List the packaged release schemas, or show one.",
    "lab": "Measure the tool itself, and show why it works.",
    **{name: stage.purpose for name, stage in _STAGES.items()},
}
#: More characters than a first sentence has.
_WHOLE = 200


class ModuleCommands(click.Group):
    """Subcommands by module name: a module without underscore in the package is a command."""

    def __init__(self, *args: Any, package: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names of the public modules of the package."""
        return list(_command_names(self.package))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of one module."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name.replace('-', '_')}")
        found: click.Command = module.command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands, first sentences whole; click cuts them off to fit one line."""
        for title, names in self.sections(self.list_commands(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([(name, self.purpose(ctx, name)) for name in names])

    def purpose(self, ctx: click.Context, name: str) -> str:
        """The first sentence of a command's help."""
        command = self.get_command(ctx, name)
        return command.get_short_help_str(limit=_WHOLE) if command else ""

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Heading → the commands below it."""
        return {"Commands": list(names)}


class Recon(ModuleCommands):
    """The whole: turns failures of its subcommands into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those of modules and those of stages."""
        return sorted({*super().list_commands(ctx), *_STAGES})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module, or of a stage that has none."""
        if cmd_name in _command_names(self.package) or cmd_name not in _STAGES:
            return super().get_command(ctx, cmd_name)
        made: click.Command = load("recon_cli.cli._stage:stage_command")(_STAGES[cmd_name])
        return made

    def purpose(self, ctx: click.Context, name: str) -> str:
        """What is said here, for which nothing is imported."""
        return _PURPOSE.get(name) or super().purpose(ctx, name)

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """By what a person wants, in this order; what is in no list comes last."""
        known = {name for listed in PURPOSES.values() for name in listed}
        found = {title: [n for n in listed if n in names] for title, listed in PURPOSES.items()}
        found["Other"] = [name for name in names if name not in known]
        return {title: listed for title, listed in found.items() if listed}

    def main(self, *args: Any, **settings: Any) -> Any:
        """The whole process, as click runs it."""
        collect_seldom()
        # Ours are no plugins' models: to look for some is to read of every installed package.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        # Threads of numpy's linear algebra wait for each other: arrays are small.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # polars ends the process where memory runs out: in one line, without its own frames.
        os.environ["RUST_BACKTRACE"] = "0"
        try:
            return super().main(*args, **settings)
        except SystemExit as end:
            if load("recon_cli.solve.interruption:is_engine_left")():
                end_at_once(end)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; an expected failure becomes one message and its exit code."""
        try:
            with private_umask(), stoppable():
                value = super().invoke(ctx)
                sys.stdout.flush()  # or a reader that is gone would be noticed too late
                return value
        except ReconError as refusal:
            error = as_shortage(refusal) or refusal
            if ctx.meta.get(VERBOSITY, 0) > 1:
                traceback_text = load("recon_cli.tracebacks:traceback_text")
                click.echo(traceback_text(error), err=True, nl=False)
            _say(ctx, f"error: {error}")
            ctx.exit(error.exit_code)
        except Unpublished as done:
            _say(ctx, str(done))
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            drop_output()
            ctx.exit(NO_READER)
        except KeyboardInterrupt as stopped:
            terminated = isinstance(stopped, Terminated)
            word = "terminated" if terminated else "interrupted"
            _say(ctx, f"{word}; finished partitions are kept, the same command resumes")
            ctx.exit(TERMINATED if terminated else INTERRUPTED)
        except SystemExit:
            raise
        except BaseException as defect:  # noqa: BLE001 - a panic of polars is no Exception
            shortage = as_shortage(defect)
            if shortage is not None:
                _say(ctx, f"error: {shortage}")
                ctx.exit(shortage.exit_code)
            traceback_text = load("recon_cli.tracebacks:traceback_text")
            click.echo(traceback_text(defect), err=True, nl=False)
            ctx.exit(1)


@cache
def _command_names(package: str) -> tuple[str, ...]:
    modules = pkgutil.iter_modules(sys.modules[package].__path__)
    names = (module.name for module in modules if not module.name.startswith("_"))
    return tuple(sorted(name.replace("_", "-") for name in names))


def _say(ctx: click.Context, text: str) -> None:
    """Tell people, unless stderr is for programs."""
    if not ctx.meta.get(MACHINE, False):
        click.echo(text, err=True)


@click.group(
    name="recon",
    cls=Recon,
    package=__package__,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="recon")
def main() -> None:
    """From published tables to the person records they imply, with proof.

    Begin with published files: what they are is found out, and a first config is written.

    \b
      recon init tables.xlsx
      recon run
      recon show

    A run is that one YAML file (`recon.yaml` in the current folder, or -c FILE). Each stage is also
    a command, with a section of its own:

    \b
      release: sf1_2010
      work: work/al
      ingest:
        source: sf1-legacy
        paths: [al2010.sf1.zip]
      reconstruct:
        tables: block+tract

    """  # noqa: D301 - click wants the character itself
