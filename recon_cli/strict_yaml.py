"""YAML text to plain data, refusing anything ambiguous and keeping line numbers.

All YAML files of users are read here: configs, schemas, settings of `recon data synth` and `recon
protect`. libyaml parses if PyYAML was built with it. Refused are duplicate keys and anchors, tags,
plain words that YAML 1.1 and 1.2 read differently, and anything larger or deeper than any config:
limits are checked before anything is built.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from recon_cli.errors import ConfigError, ReconError

#: Keys and list positions from the top.
Loc = tuple[int | str, ...]

#: Limits of a text; an alias counts as all that it stands for.
_MOST_BYTES: Final = 8_000_000
_MOST_VALUES: Final = 100_000
_MOST_LEVELS: Final = 64
#: Above this length errors have libyaml's wording: the parser in Python is slow.
_SHORT: Final = 100_000
#: Plain words whose value depends on the version of YAML: truth, base 60, base 8, digits that
#: are grouped, dates.
_AMBIGUOUS: Final = re.compile(
    r"[Yy]es|YES|[Nn]o|NO|[Oo]n|ON|[Oo]ff|OFF"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"
    r"|[-+]?0[0-9_]+|[-+]?0b[01_]+"
    r"|[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?|[-+]?[0-9]+\.[0-9]*_[0-9_]*"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt\s].*)?"
)
_NO_EXTENT: Final = (1, 1)
_MERGE: Final = "tag:yaml.org,2002:merge"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: What plain words are, by their first character. Ours: ``1e-10`` is a number as in YAML 1.2 and
#: JSON; in YAML 1.1, where numbers with an exponent have a point and a sign, it is text.
_FLOAT: Final = "tag:yaml.org,2002:float"
_EXPONENT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$")
_RESOLVERS: Final = {
    first: [*found, *([(_FLOAT, _EXPONENT)] if first and first in "-+.0123456789" else [])]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class YamlDocument:
    """A parsed text with its line numbers.

    Attributes:
        data: Mappings, lists and scalars; None for an empty text.
        root: Their nodes, with positions in the text.
    """

    data: Any
    root: yaml.Node | None = None

    def line(self, loc: Sequence[int | str]) -> int | None:
        """Return the line, from 1, of the deepest part of ``loc`` that exists, or None."""
        node, line = self.root, None
        for part in loc:
            found = None if node is None else _entry(node, part)
            if found is None:
                return line
            line, node = found
        return line


def parse_yaml(text: str, *, source: str, error: type[ReconError] = ConfigError) -> YamlDocument:
    """Parse YAML.

    Raises:
        ReconError: Of type ``error``: it is not YAML, or has a duplicate key.

    >>> parse_yaml("a: [1, 2]", source="text").data
    {'a': [1, 2]}
    """
    try:
        _check_events(text, source, error)
        loader = _LOADER(text)
        loader.yaml_implicit_resolvers = _RESOLVERS
        root = loader.get_single_node()
        if root is None:
            return YamlDocument(None)
        for path, line, first in _duplicates(root, loader):
            dotted = ".".join(str(part) for part in path)
            raise error(f"{source}:{line}: {dotted}: duplicate key, first on line {first}")
        return YamlDocument(loader.construct_document(root), root)
    except yaml.YAMLError as problem:
        raise error(f"{source}{_explain(text, problem)}") from problem
    except UnicodeEncodeError as problem:
        raise error(f"{source}: not UTF-8 text") from problem
    except ValueError as problem:  # all that remains: Python reads no number of 4,300 digits
        raise error(f"{source}: not valid YAML: a number with too many digits") from problem


def _check_events(text: str, source: str, error: type[ReconError]) -> None:
    """Refuse ambiguous or too large text, before anything is built from it."""
    extent = _Extent()
    for event in yaml.parse(text, Loader=_LOADER):
        match event:
            case yaml.ScalarEvent():
                wrong = _wrong_anchor(event, extent) or _wrong_scalar(event)
                extent.open(event.anchor)
                extent.close()
            case yaml.AliasEvent():
                wrong = _wrong_alias(event, extent)
                extent.repeat(event.anchor)
            case yaml.CollectionStartEvent():
                wrong = _wrong_anchor(event, extent)
                extent.open(event.anchor)
            case yaml.CollectionEndEvent():
                extent.close()
                continue
            case _:
                continue
        if wrong := wrong or extent.excess:
            line = "" if event.start_mark is None else f":{event.start_mark.line + 1}"
            raise error(f"{source}{line}: {wrong}")


def _wrong_anchor(event: yaml.ScalarEvent | yaml.CollectionStartEvent, extent: _Extent) -> str:
    if event.anchor in extent.anchors:
        return f"anchor &{event.anchor} is there already; rename one"
    return "" if event.tag is None else f"tag {event.tag}: write the value without a tag"


def _wrong_alias(event: yaml.AliasEvent, extent: _Extent) -> str:
    is_within = extent.anchors.get(event.anchor, _NO_EXTENT) is None
    return f"*{event.anchor} is part of what it stands for" if is_within else ""


def _wrong_scalar(event: yaml.ScalarEvent) -> str:
    is_plain = event.implicit[0] and not event.style
    if not is_plain or not _AMBIGUOUS.fullmatch(event.value):
        return ""
    shown = event.value[:40]
    return (
        f"{shown}: text, or a number, date or truth value? Versions of YAML differ; write text in "
        f"quotes ('{shown}'), a number in plain digits, a truth value as true or false"
    )


class _Extent:
    """The size and depth of a text while it is read.

    Attributes:
        values: Number of values so far, with those of aliases.
        levels: Deepest level so far.
        anchors: Anchor → values and levels of its content; None while the content is being read.
    """

    def __init__(self) -> None:
        self.values = 0
        self.levels = 0
        self.anchors: dict[str | None, tuple[int, int] | None] = {}
        self._open: list[tuple[str | None, int]] = []  # its anchor, and the values before it
        self._heights = [0]  # of what is open, and below it of the whole

    @property
    def excess(self) -> str:
        """Describe the exceeded limit; empty if there is none."""
        if self.values > _MOST_VALUES:
            return (
                f"more than {_MOST_VALUES:,} values, an alias counted as all that it stands for; "
                "leave out what is not needed"
            )
        if self.levels > _MOST_LEVELS:
            return f"nested deeper than {_MOST_LEVELS} levels; no key is so deep"
        return ""

    def open(self, anchor: str | None) -> None:
        """Record the start of a value."""
        if anchor is not None:
            self.anchors[anchor] = None
        self._open.append((anchor, self.values))
        self._heights.append(0)
        self.values += 1
        self.levels = max(self.levels, len(self._open))

    def close(self) -> None:
        """Record the end of the last open value."""
        anchor, before = self._open.pop()
        height = self._heights.pop() + 1
        self._heights[-1] = max(self._heights[-1], height)
        if anchor is not None:
            self.anchors[anchor] = self.values - before, height

    def repeat(self, anchor: str | None) -> None:
        """Record an alias; one without anchor is refused when the text is built."""
        values, height = self.anchors.get(anchor) or _NO_EXTENT
        self.values += values
        self._heights[-1] = max(self._heights[-1], height)
        self.levels = max(self.levels, len(self._open) + height)


def _explain(text: str, problem: yaml.YAMLError) -> str:
    """Describe line and problem as the Python parser does, which is the same everywhere."""
    if len(text) <= _SHORT:
        try:
            deque(yaml.parse(text, Loader=yaml.SafeLoader), maxlen=0)
        except yaml.YAMLError as plainer:
            problem = plainer
    if isinstance(problem, yaml.reader.ReaderError):
        line = text.count("\n", 0, problem.position) + 1
        return f":{line}: not valid YAML: {problem.reason}"
    mark = getattr(problem, "problem_mark", None)
    where = "" if mark is None else f":{mark.line + 1}"
    return f"{where}: not valid YAML: {getattr(problem, 'problem', None) or problem}"


def read_text(path: Path) -> str:
    """Read a YAML file.

    Raises:
        ConfigError: The file cannot be read, is not UTF-8, or is larger than any config.
    """
    try:
        if (size := path.stat().st_size) > _MOST_BYTES:
            raise ConfigError(f"{path}: {size:,} bytes, more than {_MOST_BYTES:,}: is it YAML?")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text (byte {error.start})") from error


def _duplicates(root: yaml.Node, loader: Any) -> Iterator[tuple[Loc, int, int]]:
    """Yield path and line of every duplicate key, and the line of its first occurrence."""
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
    """Return line and value of a key or list item."""
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        items = node.value
        return (items[part].start_mark.line + 1, items[part]) if part < len(items) else None
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):  # what a merge adds comes first
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key.start_mark.line + 1, value
    return None
