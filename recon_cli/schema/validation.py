"""Pydantic's findings as one line a person can act on. Used for schemas and run configs."""

from __future__ import annotations

import difflib
from typing import Any, Final

from pydantic import BaseModel, ValidationError

#: Findings that are told; the remaining ones are counted.
MOST_FINDINGS: Final = 20


def describe(error: ValidationError, model: type[BaseModel]) -> str:
    """The findings as ``key.path: what is wrong``, unknown keys with the valid ones.

    Args:
        error: What validation of ``model`` raised.
        model: The outermost model.
    """
    lines: list[str] = []
    for finding in error.errors(include_url=False)[:MOST_FINDINGS]:
        path = _path(finding["loc"])
        if finding["type"] == "extra_forbidden":
            lines.append(_unknown_key(path, str(finding["loc"][-1]), _owner(model, finding["loc"])))
        elif finding["type"] == "missing":
            lines.append(f"{path}: missing")
        else:
            what = finding["msg"].replace("Input should", "must", 1)
            lines.append(f"{path}: {what} (found {_short(finding['input'])})")
    if (more := error.error_count() - MOST_FINDINGS) > 0:
        lines.append(f"and {more:,} more")
    return "; ".join(dict.fromkeys(lines))


def _path(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").isalnum() or part == "[key]":
            text += f".{part}"
    return text.lstrip(".") or "(top)"


def _unknown_key(path: str, key: str, owner: type[BaseModel] | None) -> str:
    if owner is None:
        return f"{path}: unknown key"
    valid = [field.alias or name for name, field in owner.model_fields.items()]
    near = difflib.get_close_matches(key, valid, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{path}: unknown key (valid keys: {', '.join(valid)}){hint}"


def _owner(model: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model that refused the last part of ``loc``, as far as the path tells."""
    owner: type[BaseModel] | None = model
    for part in loc[:-1]:
        if isinstance(part, int):
            continue  # of a list: the models in it are those of its key
        if owner is None or part not in owner.model_fields:
            return None
        owner = _model_of(owner.model_fields[part].annotation)
    return owner


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_of(inner)
        if found is not None:
            return found
    return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
