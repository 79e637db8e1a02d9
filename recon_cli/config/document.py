"""YAML text → plain data, with the line of every key, and nothing silently dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from recon_cli.errors import ConfigError

Loc = tuple[int | str, ...]


@dataclass(frozen=True)
class ConfigDocument:
    """A parsed file.

    Attributes:
        data: Its top-level mapping.
        lines: Key path → line, from 1.
    """

    data: dict[str, Any]
    lines: dict[Loc, int]

    def line(self, loc: Sequence[int | str]) -> int | None:
        """The line of the deepest key on the path that the file has; None if it has none."""
        for end in range(len(loc), 0, -1):
            found = self.lines.get(tuple(loc[:end]))
            if found is not None:
                return found
        return None


def parse(text: str, *, source: str) -> ConfigDocument:
    """Parse a config file.

    Args:
        text: Its text.
        source: What messages call it.

    Raises:
        ConfigError: It is not YAML, is empty, is not a mapping, or says a key twice.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError(f"{source}: empty; a config starts with `release:` and `work:`")
        lines: dict[Loc, int] = {}
        _walk(node, (), lines, source)
        data = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}{_where(error)}: not valid YAML: {_problem(error)}") from error
    if not isinstance(data, dict):
        found = type(data).__name__
        raise ConfigError(f"{source}: keys and values are expected at the top, found a {found}")
    return ConfigDocument(data, lines)


def parse_value(text: str) -> Any:
    """The value of ``--set key=value``.

    Raises:
        ConfigError: It is not YAML, or says a key twice.
    """
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _walk(node, (), {}, f"--set {text!r}")
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set: {text!r} is not valid YAML: {_problem(error)}") from error


def _walk(node: yaml.Node, path: Loc, lines: dict[Loc, int], source: str) -> None:
    if isinstance(node, yaml.SequenceNode):
        for i, item in enumerate(node.value):
            lines[*path, i] = item.start_mark.line + 1
            _walk(item, (*path, i), lines, source)
    if not isinstance(node, yaml.MappingNode):
        return
    here: dict[Any, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        if name in here:
            dotted = ".".join(str(part) for part in (*path, name))
            raise ConfigError(f"{source}:{line}: {dotted}: said before, in line {here[name]}")
        here[name] = lines[*path, name] = line
        _walk(value, (*path, name), lines, source)


def _where(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return "" if mark is None else f":{mark.line + 1}"


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error)
