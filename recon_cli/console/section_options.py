"""The keys of a config section as options of its command: each is declared once, in the section."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Final

import click

from recon_cli.config import SECTIONS
from recon_cli.config.keys import Key, keys_of
from recon_cli.console.options import OUTPUT_FILE, GivenPath, RunOptions

#: Options that all commands of runs have.
_TAKEN: Final = frozenset(
    {"config", "work", "set", "workers", "verbose", "quiet", "shard", "force"}
)
#: Key of a file to write; other paths are read.
_WRITTEN: Final = "to"


#: Types of the items of a list.
_ITEMS: Final = ("string", "integer", "number")
#: Type in a JSON schema → that of an option.
_PLAIN: Final[Mapping[str, click.ParamType[Any]]] = {
    "boolean": click.BOOL,
    "integer": click.INT,
    "number": click.FLOAT,
    "string": click.STRING,
}


class SectionOption(click.Option):
    """An option that sets a key of a section."""


class Words(click.ParamType[Any]):
    """Names or numbers, separated by commas; one name without a comma stays text."""

    name = "LIST"

    def __init__(self, *, of_numbers: bool) -> None:
        self.of_numbers = of_numbers

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split text at its commas."""
        words = [word.strip() for word in str(value).split(",") if word.strip()]
        if not self.of_numbers:
            return words if "," in str(value) else value
        try:
            return [json.loads(word) for word in words]
        except ValueError:
            self.fail(f"{value!r} are no numbers", param, ctx)


def section_options(section: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each key of a section that a command line can express.

    The command gets the options of the run, in which the typed keys are set. This decorator is
    applied first, next to the function.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def made(options: RunOptions, **given: Any) -> None:
            keys = {name: given.pop(name) for name in [*given] if name.startswith(f"{section}__")}
            command(options.setting(**keys), **given)

        decorated: Callable[..., None] = made
        for option in reversed([*_options(section)]):
            decorated = option(decorated)
        return decorated

    return decorate


def _options(section: str) -> Iterator[Callable[[Callable[..., None]], Callable[..., None]]]:
    model = SECTIONS[section]
    kinds = model.model_json_schema()["properties"]
    for key in keys_of(model):
        kind = None if key.name in _TAKEN else _kind(key, kinds[key.name])
        if kind is None:
            continue
        name = key.name.replace("_", "-")
        spelled = f"--{name}/--no-{name}" if kind is click.BOOL else f"--{name}"
        yield click.option(
            f"{section}__{key.name}",
            spelled,
            cls=SectionOption,
            type=kind,
            default=None,
            help=_help(key),
        )


def _help(key: Key) -> str:
    usual = key.default.strip("[]").replace(", ", ",")
    default = f"  [default: {usual}]" if usual else ""
    return f"{key.meaning.replace('``', '')}{default}"


def _kind(key: Key, schema: Mapping[str, Any]) -> click.ParamType[Any] | None:
    """Return the click type for the JSON schema of a key; None where it has several parts."""
    kinds = schema.get("anyOf", [schema])
    if any("$ref" in each or each.get("type") == "object" for each in kinds):
        return None
    found = [_simple(key, each) for each in sorted(kinds, key=lambda each: "items" not in each)]
    return next((kind for kind in found if kind is not None), None)


def _simple(key: Key, schema: Mapping[str, Any]) -> click.ParamType[Any] | None:
    match schema:
        case {"type": "array"}:
            item = schema.get("items", {}).get("type")
            return Words(of_numbers=item != "string") if item in _ITEMS else None
        case {"enum": list(values)}:
            return click.Choice(values)
        case {"const": value}:
            return click.Choice([value])
        case {"format": "path"}:
            return OUTPUT_FILE if key.name == _WRITTEN else GivenPath()
        case {"type": "integer", "minimum": least}:
            return click.IntRange(min=least)
    return _PLAIN.get(schema.get("type", ""))
