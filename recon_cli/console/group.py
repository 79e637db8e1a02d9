"""Groups of commands, and how they find them.

Most stages' commands are made from their declarations in `recon_cli.pipeline.stages`. ``--help``
imports none of them: their first sentences stand here or in the declarations.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from typing import Any

import click

from recon_cli.pipeline.stages import COMMANDS, STAGES
from recon_cli.stage import undisturbed

#: Command of no capability → what it does, as its own help begins.
_PURPOSES: Mapping[str, str] = {
    "recon plan": "Judge tables before any attack: their information, the cost of noise, the "
    "remaining risk.",
    "recon data": "Generate records and tables for trials, and list the packaged release schemas.",
    "recon data releases": "List the packaged release schemas, or show one.",
    "recon lab": "Test the tool itself, and the theory behind it.",
}


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
            package: The package with its modules; without one, all its commands are of stages.
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
        """Import a command, or make it from its stage's declaration."""
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
            UsageError: There is none; with what may have been meant, in whatever group it is.
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


def _command_of(module: str) -> click.Command:
    command: click.Command = importlib.import_module(module).command
    return command


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
