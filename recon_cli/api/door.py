"""The door of the Python API: frames of pandas become frames of polars."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import polars as pl

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def accepts_pandas(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Let a function take frames of pandas wherever it takes frames of polars."""

    @wraps(function)
    def with_polars(*given: Arguments.args, **named: Arguments.kwargs) -> Returned:
        return function(*map(as_polars, given), **{key: as_polars(v) for key, v in named.items()})

    return with_polars


def accept_pandas(names: dict[str, Any]) -> None:
    """Replace the functions among a module's names by versions that accept pandas frames, too."""
    for name, value in names.items():
        if inspect.isfunction(value) and not name.startswith("_"):
            names[name] = accepts_pandas(value)


def as_polars(value: Any) -> Any:
    """Convert a frame of pandas, or all frames in a list or mapping; return anything else as it is.

    A missing value becomes null, and whole numbers stay whole beside missing ones, which pandas
    turns into floats.
    """
    if isinstance(value, Mapping) and any(map(_is_pandas, value.values())):
        return {name: as_polars(each) for name, each in value.items()}
    if isinstance(value, list | tuple) and any(map(_is_pandas, value)):
        return [as_polars(each) for each in value]
    if not _is_pandas(value):
        return value
    if hasattr(value, "columns"):
        return pl.DataFrame([_column(value[name]) for name in value.columns])
    return _column(value)


def _is_pandas(value: object) -> bool:
    kind = type(value)
    is_frame = kind.__name__ in {"DataFrame", "Series"}
    return is_frame and kind.__module__.partition(".")[0] == "pandas"


def _column(series: Any) -> pl.Series:
    values = [
        None if missing else value
        for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)
    ]
    has_missing, floats = None in values, [each for each in values if isinstance(each, float)]
    if has_missing and floats and all(each.is_integer() for each in floats):
        values = [int(each) if isinstance(each, float) else each for each in values]
    return pl.Series(str(series.name), values)
