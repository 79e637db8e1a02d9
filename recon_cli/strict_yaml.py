"""YAML text → plain data: a duplicate key is refused, and every key can be found by its line.

Every YAML file that a user can write is read here: configs, schemas, settings of `recon synth`
and `recon protect`. libyaml parses where PyYAML was built with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from recon_cli.errors import ConfigError, ReconError

#: Keys and list positions from the top.
Loc = tuple[int | str, ...]

_MERGE: Final = "tag:yaml.org,2002:merge"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class YamlDocument:
    """A parsed text.

    Attributes:
        data: Mappings, lists and scalars; None for an empty text.
        root: Where they are in the text.
    """

    data: Any
    root: yaml.Node | None = None

    def line(self, loc: Sequence[int | str]) -> int | None:
        """Line of the deepest part of ``loc`` that the text has, from 1; None if it has none."""
        node, line = self.root, None
        for part in loc:
            found = None if node is None else _entry(node, part)
            if found is None:
                return line
            line, node = found
        return line


def parse_yaml(text: str, *, source: str, error: type[ReconError] = ConfigError) -> YamlDocument:
    """Parse YAML.

    Args:
        text: The text.
        source: What messages call it.
        error: What is raised.

    Raises:
        ReconError: Of type ``error``: it is not YAML, or has a duplicate key.
    """
    try:
        loader = _LOADER(text)
        root = loader.get_single_node()
        if root is None:
            return YamlDocument(None)
        for path, line, first in _duplicates(root, loader):
            dotted = ".".join(str(part) for part in path)
            raise error(f"{source}:{line}: {dotted}: duplicate key, first on line {first}")
        return YamlDocument(loader.construct_document(root), root)
    except yaml.YAMLError as problem:
        raise error(f"{source}{_explain(text, problem)}") from problem
    except ValueError as problem:  # a date that does not exist
        raise error(f"{source}: not valid YAML: {problem}") from problem


def _explain(text: str, problem: yaml.YAMLError) -> str:
    """Line and problem; in the words of the parser in Python, which are the same everywhere."""
    try:
        yaml.SafeLoader(text).get_single_data()
    except yaml.YAMLError as plainer:
        problem = plainer
    mark = getattr(problem, "problem_mark", None)
    where = "" if mark is None else f":{mark.line + 1}"
    return f"{where}: not valid YAML: {getattr(problem, 'problem', None) or problem}"


def read_text(path: Path) -> str:
    """The text of a YAML file.

    Raises:
        ConfigError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error


def _duplicates(root: yaml.Node, loader: Any) -> Iterator[tuple[Loc, int, int]]:
    """Path and line of every duplicate key, and the line of its first occurrence."""
    waiting: deque[tuple[Loc, yaml.Node]] = deque([((), root)])
    visited: set[int] = set()  # an alias stands for a node that was visited
    while waiting:
        path, node = waiting.popleft()
        if id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += (((*path, i), item) for i, item in enumerate(node.value))
        elif isinstance(node, yaml.MappingNode):
            lines: dict[Any, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                name = str(key.value)
                if isinstance(key, yaml.ScalarNode):
                    same = name if key.tag == _MERGE else loader.construct_object(key)
                    if same in lines:
                        yield (*path, name), line, lines[same]
                    lines[same] = line
                waiting.append(((*path, name), value))


def _entry(node: yaml.Node, part: int | str) -> tuple[int, yaml.Node] | None:
    """Line and value of a key or list item."""
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        items = node.value
        return (items[part].start_mark.line + 1, items[part]) if part < len(items) else None
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):  # what a merge adds comes first
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark.line + 1, value
    return None
