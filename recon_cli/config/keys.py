"""The keys of a config, with defaults and meanings, for help texts and the reference."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from recon_cli.config.model import Top
from recon_cli.config.sections import SECTIONS

_ENTRY = re.compile(r"^ {4}(\w+): (.*)$")


@dataclass(frozen=True)
class Key:
    """One key.

    Attributes:
        default: The default as text; empty if there is none.
        meaning: Its description in the model's docstring.
        is_required: Whether it has no default.
    """

    name: str
    default: str
    meaning: str
    is_required: bool


def keys_of(model: type[BaseModel]) -> Iterator[Key]:
    """Yield the keys of a section, or of a model within one, in the order of declaration."""
    said = meanings_of(model)
    for name, field in model.model_fields.items():
        required = field.is_required()
        default = (
            ""
            if required
            else _default(field.get_default(call_default_factory=True, validated_data={}))
        )
        yield Key(field.alias or name, default, said.get(name, ""), required)


def named_keys(section: str) -> Iterator[Key]:
    """Yield the keys of a section under their full names, such as ``claims.share``."""
    for key in keys_of(SECTIONS[section]):
        yield Key(f"{section}.{key.name}", key.default, key.meaning, key.is_required)


def top_keys() -> Iterator[Key]:
    """Yield the top-level keys."""
    return keys_of(Top)


def meanings_of(model: type[BaseModel]) -> dict[str, str]:
    """Map each key to its description under ``Attributes:`` in the docstring of its model."""
    said: dict[str, str] = {}
    for each in reversed(model.__mro__):
        _, _, rest = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in rest.splitlines():
            if entry := _ENTRY.match(line):
                name = entry[1]
                said[name] = entry[2]
            elif name and line.startswith("     "):
                said[name] += f" {line.strip()}"
    return {name: about for name, about in said.items() if name in model.model_fields}


def _default(value: object) -> str:
    if value is None or value is PydanticUndefined or value == {}:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, Path):
        return value.as_posix()
    return str(value)
