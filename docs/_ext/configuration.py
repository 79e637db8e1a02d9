"""The config reference, from the models that check a config."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from mdtext import code, first_line, plain, table
from pydantic import BaseModel

from recon_cli.config.keys import keys_of
from recon_cli.config.model import Section, Top
from recon_cli.config.sections import SECTIONS

#: Kind of JSON Schema → what people call it.
_WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true, false"}


#: Kinds of a schema's values: any of them is just a value.
_SCALAR = {"string", "integer", "boolean"}


def describe_config() -> str:
    """Every key of every section: type, default, meaning."""
    parts = ["## Top\n", "Beside the sections.\n", describe_model(Top)]
    for name, model in SECTIONS.items():
        names = {inner.__name__: f"keys of `{_path(name, key)}`" for key, inner in _inner(model)}
        purpose = _purpose(sys.modules[model.__module__].__doc__ or "")
        parts += [f"## {name}\n", f"{purpose}\n", describe_model(model, names)]
        for field, inner in _inner(model):
            path = _path(name, field)
            own = {key: each for key, each in _inner(inner) if not issubclass(each, Section)}
            names = {each.__name__: f"keys of `{path}.{key}`" for key, each in own.items()}
            parts.append(_described(path, inner, names))
            parts += [_described(f"{path}.{key}", each, {}) for key, each in own.items()]
    return "\n".join(parts)


def _described(path: str, model: type[BaseModel], names: Mapping[str, str]) -> str:
    purpose = first_line(model.__doc__ or "")
    return f"### {path}\n\n{purpose}\n\n{describe_model(model, names)}"


def describe_model(model: type[BaseModel], names: Mapping[str, str] | None = None) -> str:
    """A table of a model's keys.

    Args:
        model: The model.
        names: What the models within it are called; default their own names.
    """
    schema = model.model_json_schema()
    if "$ref" in schema:  # a model that can hold itself
        schema = schema["$defs"][model.__name__]
    rows = []
    for key in keys_of(model):
        default = code(key.default) if key.default else "–"
        kind = kind_of(schema["properties"][key.name], names or {})
        said = "required" if key.is_required else default
        rows.append((code(key.name), kind, said, plain(key.meaning)))
    return table(("key", "type", "default", "meaning"), rows)


def kind_of(schema: dict[str, Any] | bool, names: Mapping[str, str]) -> str:
    """A JSON schema in words: ``whole number from 1``, ``list: text``, ``name → path``.

    Args:
        schema: The schema; ``True`` allows anything.
        names: See `describe_model`.
    """
    match schema:
        case bool():
            return "anything"
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return names.get(name, name)
        case {"anyOf": list(kinds)} | {"oneOf": list(kinds)}:
            types = {each.get("type") for each in kinds}
            if types == _SCALAR:
                return "value"
            words = [kind_of(each, names) for each in kinds if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
        case {"enum": list(values)}:
            return ", ".join(map(code, values))
    return _plain_kind(schema, names)


def _plain_kind(schema: dict[str, Any], names: Mapping[str, str]) -> str:
    match schema:
        case {"const": value}:
            return code(value)
        case {"type": "array"}:
            return f"list: {kind_of(schema.get('items', True), names)}"
        case {"type": "object"}:
            inner = [*schema.get("patternProperties", {}).values()]
            return f"name → {kind_of(inner[0] if inner else schema['additionalProperties'], names)}"
        case {"format": "path"}:
            return "path"
        case {"type": str(kind)}:
            return _WORDS[kind] + _limits(schema) if "pattern" not in schema else "name"
    return "anything"


def _limits(schema: dict[str, Any]) -> str:
    words = {
        "minimum": "from {}",
        "exclusiveMinimum": "above {}",
        "maximum": "to {}",
        "exclusiveMaximum": "below {}",
    }
    found = [words[key].format(f"{schema[key]:g}") for key in words if key in schema]
    return f" {', '.join(found)}" if found else ""


def _inner(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Models within a section, by the key that holds them."""
    for name, field in model.model_fields.items():
        for part in (field.annotation, *_arguments(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield name, part


def _arguments(annotation: Any) -> Iterator[Any]:
    for part in getattr(annotation, "__args__", ()):
        yield part
        yield from _arguments(part)


def _path(section: str, key: str) -> str:
    return f"{section}.{key}.NAME"


def _purpose(docstring: str) -> str:
    """What the module of a section says of it: ``ingest:`` which published files …."""
    text = first_line(docstring).rpartition("`")[2].strip()
    return text[:1].upper() + text[1:]
