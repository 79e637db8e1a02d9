"""Pydantic's errors as lines that a person can act on, for schemas and run configs."""

from __future__ import annotations

import difflib
from typing import Any, Final, ForwardRef, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Tag, ValidationError

#: Most findings that are listed; the remaining ones are counted.
MOST_FINDINGS: Final = 20
#: Names of types that YAML and Python spell differently.
_SHAPES: Final = {
    "dict_type": "must be keys with values, `{key: value}`",
    "model_type": "must be keys with values, `{key: value}`",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
}


def describe(error: ValidationError, model: type[BaseModel], *within: str) -> str:
    """Format errors as ``key.path: what is wrong``, and unknown keys with the valid ones.

    Args:
        error: The error from validating ``model``.
        model: The outermost model.
        within: The keys that lead to it.
    """
    lines: list[str] = []
    for finding in error.errors(include_url=False)[:MOST_FINDINGS]:
        path = _path((*within, *finding["loc"]))
        if finding["type"] == "extra_forbidden":
            lines.append(_unknown_key(path, str(finding["loc"][-1]), _owner(model, finding["loc"])))
        elif finding["type"] == "missing":
            lines.append(f"{path}: missing")
        else:
            said = finding["msg"].removeprefix("Value error, ")
            what = _SHAPES.get(finding["type"], said.replace("Input should", "must", 1))
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
    """Return the model that refused the last part of ``loc``, as far as the path tells."""
    owner: Any = model
    for part in loc[:-1]:
        owner = _below(owner, part)
    return _model_of(owner)


def _below(annotation: Any, part: int | str) -> Any:
    """Return the type below a key or an index: of a model, a list, a mapping, or a tagged union."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if part in (name, field.alias):
                said: Any = field.annotation
                if isinstance(said, ForwardRef):  # cells in cells
                    return get_type_hints(annotation, include_extras=True)[name]
                return said
        return None
    arguments = get_args(annotation)
    if get_origin(annotation) in (list, tuple, dict):
        return arguments[-1] if get_origin(annotation) is dict else arguments[0]
    if any(isinstance(each, Tag) and each.tag == part for each in arguments):
        return arguments[0]
    return next((found for each in arguments if (found := _below(each, part)) is not None), None)


def _model_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_of(inner) for inner in get_args(annotation))
    return next((each for each in found if each is not None), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
