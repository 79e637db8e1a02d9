"""The ``recon`` command: finds its subcommands and turns failures into messages and exit codes.

A module ``init.py`` in this package whose ``command`` is a click command is ``recon init``, one in
its folder ``plan/`` a command of ``recon plan``; those of most stages are made from what
`recon_cli.pipeline.stages` declares. ``--help`` imports none of them: what a command does is said
here, or where its stage is declared.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
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
    fill_streams,
    stoppable,
)
from recon_cli.errors import ReconError, Unpublished
from recon_cli.pipeline.stages import STAGES
from recon_cli.resources import as_shortage, collect_seldom
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
HEADINGS: Mapping[str, Sequence[str]] = {
    "Begin": ("init", "fetch"),
    "Run": ("run", "status", "purge"),
    "Stages": ("ingest", "reconstruct", "solvar", "link", "score", "report"),
    "Ask": (
        *("show", "verify", "audit", "slivers", "claims", "joint", "check", "prove"),
        *("contributions", "leave-one-out", "attribute", "confidence", "estimate"),
    ),
    "Protect": ("protect", "compare", "account", "export"),
    "More": ("plan", "data", "lab"),
}
#: Group → its commands that are no stages → what each does, as its own help begins.
_PURPOSES: Mapping[str, Mapping[str, str]] = {
    "recon": {
        "init": "Write a commented config for published files.",
        "fetch": "Download published files from the publisher's site.",
        "run": "Run every stage that the config has a section for, in order.",
        "status": "Show the status of every stage of a work folder.",
        "purge": "Remove what a run made from its work folder.",
        "show": "Show one geounit: its tables, its people, and why records are certain.",
        "verify": "Compare the records with every published cell.",
        "check": "Judge the published tables by the rules of the config: broken, kept or "
        "undecided.",
        "protect": "Protect records or their counts before they are published.",
        "account": "Add up what all products of the same people spend.",
        "export": "Write the published workbooks and tables again: marked, or with suppressed "
        "counts.",
        "plan": "Judge tables before any attack: what they carry, what noise costs, what it "
        "leaves.",
        "data": "Make records and tables to try things on, and list the packaged release schemas.",
        "lab": "Measure the tool itself, and show why it works.",
    },
    "recon plan": {"risk": "State what noisy counts let an adversary believe about a person."},
    "recon data": {"releases": "List the packaged release schemas, or show one."},
    "recon lab": {
        "calibrate": "Compare synthetic populations with the published one.",
        "dinur-nissim": "Reconstruct random bits from noisy sums of random subsets.",
    },
}


class Commands(click.Group):
    """Commands by module name, and by the stages whose commands are in this group.

    A public module of the package is a command. Where a stage has no module, its command is made
    from its declaration.
    """

    def __init__(self, *args: Any, path: str, package: str = "", **settings: Any) -> None:
        """Make a group.

        Args:
            path: What a user types, as ``recon plan``.
            package: Where its modules are; without, all its commands are of stages.
        """
        super().__init__(*args, **settings)
        self.path = path
        self.modules = _command_names(package) if package else ()
        self.package = package
        self.stages = {
            name: stage
            for stage in STAGES
            for group, _, name in [stage.command.rpartition(" ")]
            if group == path
        }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Those of stages in the order of a run, then those of other modules."""
        return [*self.stages, *(name for name in self.modules if name not in self.stages)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of one module, or of a stage that has none."""
        if cmd_name in self.modules:
            name = cmd_name.replace("-", "_")
            command: click.Command = importlib.import_module(f"{self.package}.{name}").command
            return command
        if cmd_name in self.stages:
            made: click.Command = load("recon_cli.cli._stage:stage_command")(self.stages[cmd_name])
            return made
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of the first word.

        Raises:
            UsageError: There is none; with what may have been meant, in whatever group it is.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            near = _near(error.command_name)
            raise click.UsageError(error.message + near, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, first sentences whole; click cuts them off to fit one line."""
        for title, names in self.sections(self.list_commands(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([(name, self.purpose(name)) for name in names])

    def purpose(self, name: str) -> str:
        """The first sentence of a command's help, for which nothing is imported."""
        stage = self.stages.get(name)
        return _PURPOSES[self.path][name] if stage is None else stage.purpose

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Heading → the commands below it."""
        return {"Commands": list(names)}


class Recon(Commands):
    """The whole: turns failures of its subcommands into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All of them, by name."""
        return sorted(super().list_commands(ctx))

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """By what a person wants, in this order; what is in no list comes last."""
        known = {name for listed in HEADINGS.values() for name in listed}
        found = {title: [n for n in listed if n in names] for title, listed in HEADINGS.items()}
        found["Other"] = [name for name in names if name not in known]
        return {title: listed for title, listed in found.items() if listed}

    def main(self, *args: Any, **settings: Any) -> Any:
        """The whole process, as click runs it."""
        collect_seldom()
        fill_streams()
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
        except OSError as error:
            shortage = as_shortage(error)  # of --help or --version: no subcommand ran
            if shortage is None:
                raise
            click.echo(f"error: {shortage}", err=True)
            drop_output()
            sys.exit(shortage.exit_code)

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
                drop_output()
                ctx.exit(shortage.exit_code)
            traceback_text = load("recon_cli.tracebacks:traceback_text")
            click.echo(traceback_text(defect), err=True, nl=False)
            ctx.exit(1)


@cache
def _command_names(package: str) -> tuple[str, ...]:
    modules = pkgutil.iter_modules(sys.modules[package].__path__)
    names = (module.name for module in modules if not module.name.startswith("_"))
    return tuple(sorted(name.replace("_", "-") for name in names))


def _near(name: str) -> str:
    """What to type in place of a name that is no command here."""
    longest_first = sorted(_typed(main), key=lambda words: -len(words.split()))
    typed = {words.split()[-1]: words for words in longest_first}
    close = [name] if name in typed else get_close_matches(name, typed, n=1)
    return f" Did you mean `recon {typed[close[0]]}`?" if close else ""


def _typed(group: click.Group, path: str = "") -> Iterator[str]:
    """What is typed after ``recon`` for every command, those of groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        words = f"{path} {name}".strip()
        yield words
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _typed(command, words)


def _say(ctx: click.Context, text: str) -> None:
    """Tell people, unless stderr is for programs."""
    if not ctx.meta.get(MACHINE, False):
        click.echo(text, err=True)


@click.group(
    name="recon",
    cls=Recon,
    path="recon",
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
