"""The command reference, from click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from mdtext import code, fence, table

from recon_cli.cli import main
from recon_cli.console.options import ConfiguredCommand, run_options

#: A paragraph that click leaves as it is.
_RAW = "\b"
#: Options and folders in the prose of help texts.
_CODE = re.compile(r"(?<![`\w/.-])(--[a-z][a-z-]*|[a-z_]+/(?=[\s,.;:)]|$))")


def describe_commands() -> str:
    """Every command: what it does, how it is called, its options."""
    parts = [_shared()]
    parts += [_section(path, command) for path, command in walk()]
    return "\n".join(parts)


def walk() -> Iterator[tuple[str, click.Command]]:
    """Every command and subcommand with the words it is called by, groups before theirs."""
    return _below(click.Context(main, info_name="recon"))


def _below(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise LookupError(f"{context.command_path} {name}: listed, yet not there")
        inner = click.Context(command, info_name=name, parent=context)
        yield inner.command_path, command
        yield from _below(inner)


def shared_options() -> list[click.Option]:
    """The options that every command over a run has."""

    @click.command()
    @run_options
    def probe() -> None:
        """Nothing."""

    return [option for option in probe.params if isinstance(option, click.Option)]


def _shared() -> str:
    return f"## Options of every run\n\n{_options(shared_options())}\n"


def _section(path: str, command: click.Command) -> str:
    words = path.split()
    context = click.Context(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    shared = {option.name for option in shared_options()}
    names = {parameter.name for parameter in command.params}
    options = [each for each in command.params if isinstance(each, click.Option)]
    own = [each for each in options if each.name not in shared or not shared <= names]
    depth = "#" * len(words)
    parts = [f"{depth} {path}\n", _prose(command), _keys(command), fence(usage)]
    if own:
        parts.append(_options(own))
    if shared <= names:
        parts.append("And the [options of every run](#options-of-every-run).\n")
    return "\n".join(parts)


def _options(options: list[click.Option]) -> str:
    rows = [(" ".join(map(code, _spelled(option))), _meaning(option)) for option in options]
    return table(("option", "meaning"), rows)


def _spelled(option: click.Option) -> list[str]:
    names = [*option.opts, *option.secondary_opts]
    if option.is_flag or option.count:
        return names
    metavar = option.make_metavar(click.Context(click.Command("x")))
    return [*names[:-1], f"{names[-1]} {metavar}"]


def _meaning(option: click.Option) -> str:
    text = (option.help or "").strip()
    if option.show_default and option.default is not None:
        text += f" Default {code(option.default)}."
    text = _marked(text)
    return re.sub(r"\s*\[default: ([^\]]*)\]", r" Default: \1.", text)


def _prose(command: click.Command) -> str:
    """The help text: paragraphs as they are, lists as code, config keys as links."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n".join(
        _raw(each) if each.startswith(_RAW) else f"{_marked(each)}\n" for each in paragraphs
    )


def _marked(text: str) -> str:
    """Prose with options and folders in code letters."""
    return _CODE.sub(r"`\1`", text)


def _raw(paragraph: str) -> str:
    lines = paragraph.removeprefix(_RAW).strip("\n").split("\n")
    title, body = lines[0], inspect.cleandoc("\n".join(lines[1:]))
    if not any(line.startswith(" ") for line in lines):
        return f"{_marked(' '.join(lines))}\n"
    if title == "Example:":
        return fence(_prompted(body), "console")
    if title.endswith(":"):
        return f"{title}\n\n{fence(body)}"
    return fence("\n".join(lines))


def _prompted(text: str) -> str:
    """Commands as a terminal shows them."""
    found: list[str] = []
    for line in text.splitlines():
        goes_on = bool(found) and found[-1].endswith("\\")
        found.append(f"> {line}" if goes_on else f"$ {line}")
    return "\n".join(found)


def _keys(command: click.Command) -> str:
    """The sections of the config that a command reads."""
    if not isinstance(command, ConfiguredCommand):
        return ""
    links = [f"[`{name}`](config.md#{name})" for name in command.sections]
    return f"Config: {', '.join(['[top](config.md#top)', *links])}.\n"
