"""The ``recon`` command, and its groups ``plan``, ``data``, ``lab`` and ``protect``.

Its failures become messages and exit codes. A folder ``data/`` of this package with a click command
``command`` is ``recon data``; a module in it is one of its commands. Most stages' commands are made
from their declarations in `recon_cli.pipeline.stages`. ``--help`` imports none of them: their first
sentences stand here or in the declarations.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, Final

import click

from recon_cli.console.signals import (
    INTERRUPTED,
    MACHINE,
    NO_READER,
    TERMINATED,
    VERBOSITY,
    Terminated,
    drop_output,
    end_at_once,
    fill_streams,
    stoppable,
)
from recon_cli.deprecation import Former, FormerSpelling
from recon_cli.errors import ReconError, Unpublished
from recon_cli.pipeline.stages import COMMANDS, STAGES
from recon_cli.resources import as_shortage, collect_seldom
from recon_cli.stage import undisturbed
from recon_cli.version import __version__


@contextmanager
def private_umask() -> Iterator[None]:
    """Restrict files that libraries make, in this process and its children, to their owner."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def warn_in_one_line(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass the warning about each former spelling used in the block to ``tell``, once."""
    shown = warnings.showwarning
    met: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, FormerSpelling):
            shown(message, category, *where, **more)
        elif str(message) not in met:
            met.add(str(message))
            tell(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", FormerSpelling)
        warnings.showwarning = show
        yield


#: Command without a capability → the first sentence of its help.
_PURPOSES: Mapping[str, str] = {
    "recon plan": "Judge tables: their information, the cost of noise, the remaining risk, and "
    "cures.",
    "recon protect": "Protect records or their counts before they are published.",
    "recon data": "Generate records and tables for trials, and list the packaged release schemas.",
    "recon data releases": "List the packaged release schemas, or show one.",
    "recon lab": "Compare synthetic people with real ones, and test reconstruction theory.",
}
#: Purpose → the commands for it, in the order in which they are used.
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
#: Commands of version 0.2 that moved.
FORMER_COMMANDS: Final = tuple(
    Former(f"recon {before}", f"recon {now}", since="0.3")
    for before, now in (
        ("capacity", "plan capacity"),
        ("frontier", "plan frontier"),
        ("risk", "plan risk"),
        ("synth attacker", "data attacker"),
        ("synth", "data synth"),
        ("tabulate", "data tabulate"),
        ("releases", "data releases"),
        ("calibrate", "lab calibrate"),
        ("experiment dinur-nissim", "lab dinur-nissim"),
        ("merge", "run --merge"),
    )
)


class Commands(click.Group):
    """A group whose commands are its own modules and those that capabilities declare.

    Each public module of the package is a command, and so is the module ``command`` of a
    capability. A stage whose capability has no such module gets a command made from its
    declaration.
    """

    def __init__(self, *args: Any, path: str, package: str = "", **settings: Any) -> None:
        """Make a group.

        Args:
            path: The words that a user types, such as ``recon plan``.
            package: The package with the group's modules; without one, all commands are of stages.
        """
        super().__init__(*args, **settings)
        self.path = path
        self.modules = _command_names(package) if package else ()
        self.package = package
        self.made: dict[str, click.Command | None] = {}
        self.stages = {
            name: stage
            for stage in STAGES
            for group, _, name in [stage.command.rpartition(" ")]
            if group == path
        }
        self.declared = {
            name: command
            for command in COMMANDS
            for group, _, name in [f"recon {command.words}".rpartition(" ")]
            if group == path
        }

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """List commands of stages in the order of a run, then others."""
        return [*self.stages, *self.declared, *self.modules]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command, or make it from its stage's declaration; examples keep their lines."""
        if cmd_name not in self.made:
            command = self.made[cmd_name] = self._command(cmd_name)
            inner = command.commands.values() if isinstance(command, click.Group) else ()
            for each in (*inner, *filter(None, [command])):
                each.help = _with_lists(each.help or "")
        return self.made[cmd_name]

    def _command(self, cmd_name: str) -> click.Command | None:
        if cmd_name in self.modules:
            return _command_of(f"{self.package}.{cmd_name}")
        if cmd_name in self.declared:
            return _command_of(f"{self.declared[cmd_name].package}.command")
        stage = self.stages.get(cmd_name)
        if stage is None:
            return None
        if find_spec(f"{stage.package}.command"):
            return _command_of(f"{stage.package}.command")
        with undisturbed():
            from recon_cli.console.stage_command import stage_command

        return stage_command(stage)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names.

        Raises:
            UsageError: There is no such command; the message suggests a similar one of any group.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            near = _near(ctx.find_root().command, error.command_name)
            raise click.UsageError(error.message + near, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with whole first sentences; click would cut them to one line."""
        for title, names in self.sections(self.list_commands(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([(name, self.purpose(name)) for name in names])

    def purpose(self, name: str) -> str:
        """Return the first sentence of a command's help without importing the command."""
        found = self.stages.get(name) or self.declared.get(name)
        return _PURPOSES[f"{self.path} {name}"] if found is None else found.purpose

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Group command names under headings."""
        return {"Commands": list(names)}


class Recon(Commands):
    """The top-level group, which turns failures of its commands into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(super().list_commands(ctx))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, possibly by a former name."""
        return super().resolve_command(ctx, _as_now(args))

    def sections(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Group command names by `HEADINGS`; names under no heading come under "Ask"."""
        known = {name for listed in HEADINGS.values() for name in listed}
        found = {title: [n for n in listed if n in names] for title, listed in HEADINGS.items()}
        found["Ask"] += [name for name in names if name not in known]
        return {title: listed for title, listed in found.items() if listed}

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the whole process, as click does."""
        collect_seldom()
        fill_streams()
        # Our models need no plugins, and a search for them reads about every installed package.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        # Arrays are small, so that threads of numpy's linear algebra would wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # polars ends the process if memory runs out: let it print one line without a traceback.
        os.environ["RUST_BACKTRACE"] = "0"
        try:
            return super().main(*args, **settings)
        except SystemExit as end:
            with undisturbed():
                from recon_cli.solve.interruption import is_engine_left

            if is_engine_left():
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
            told = partial(_say, ctx)
            with private_umask(), stoppable(), warn_in_one_line(told):
                value = super().invoke(ctx)
                sys.stdout.flush()  # or a reader that is gone would be noticed too late
                return value
        except ReconError as refusal:
            error = as_shortage(refusal) or refusal
            if ctx.meta.get(VERBOSITY, 0) > 1:
                with undisturbed():
                    from recon_cli.tracebacks import traceback_text

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
            with undisturbed():
                from recon_cli.tracebacks import traceback_text

            click.echo(traceback_text(defect), err=True, nl=False)
            ctx.exit(1)


def _command_of(module: str) -> click.Command:
    command: click.Command = importlib.import_module(module).command
    return command


def _with_lists(text: str) -> str:
    """Mark paragraphs with indented lines so that click does not rewrap them."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        f"\b\n{each}" if "\n  " in each and each[0] != "\b" else each for each in parts
    )


@cache
def _command_names(package: str) -> tuple[str, ...]:
    modules = pkgutil.iter_modules(importlib.import_module(package).__path__)
    names = (module.name for module in modules if not module.name.startswith("_"))
    return tuple(sorted(name.replace("_", "-") for name in names))


def _near(root: click.Command, name: str) -> str:
    """Suggest a command for an unknown name."""
    longest_first = sorted(_typed(root), key=lambda words: -len(words.split()))
    typed = {words.split()[-1]: words for words in longest_first}
    close = [name] if name in typed else get_close_matches(name, typed, n=1)
    return f" Did you mean `recon {typed[close[0]]}`?" if close else ""


def _typed(group: click.Command, path: str = "") -> Iterator[str]:
    """Yield the words that a user types for every command, nested ones included."""
    if not isinstance(group, click.Group):
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        words = f"{path} {name}".strip()
        yield words
        command = group.get_command(context, name)
        if command is not None:
            yield from _typed(command, words)


def _as_now(words: list[str]) -> list[str]:
    """Replace former words of a command line by the present ones, with a warning."""
    for former in FORMER_COMMANDS:
        before = former.spelling.split()[1:]
        if words[: len(before)] == before:
            former.warn()
            return [*former.now.split()[1:], *words[len(before) :]]
    return words


def _say(ctx: click.Context, text: str) -> None:
    """Print a message for people, unless stderr is for programs."""
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
    """Find what published tables reveal about people, and prove it.

    Begin with published files. `recon init` recognises them and writes a config:

    \b
      recon init tables.xlsx
      recon run
      recon show

    The config is one YAML file (`recon.yaml` in the current folder, or -c FILE). It has a section
    for each stage, and each stage is also a command:

    \b
      release: sf1_2010
      work: work/al
      ingest:
        source: sf1-legacy
        paths: [al2010.sf1.zip]
      reconstruct:
        tables: block+tract

    """  # noqa: D301 - click wants the character itself
