"""JSON-stat 1 and 2: a cube of values in row-major order, with codes and labels.

Real files of version 1 list more dimensions than sizes: those that have no place in ``size`` have
one category.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recon_cli.errors import SourceError
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Document
from recon_cli.sources.tabular.sheet import sheet_of_rows

_PLACES: Final = ("geo", "geography", "region", "area")
_MOST_VALUES: Final = 20_000_000


def recognises(document: Document) -> bool:
    """A JSON object with ``dimension`` and ``value``."""
    start = document.start()
    if not start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return False
    return b'"dimension"' in start or b'"value"' in start


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """A row a value, with code and label of each dimension.

    Raises:
        SourceError: It is no such object, or says that it has another number of values.
    """
    cube = _cube(document)
    names, categories = _dimensions(cube, document.label)
    place = _place(cube, names, mapping, document.label)
    values = _values(cube, [len(each) for each in categories], document.label)
    header = [each for name in names for each in (name, f"{name} label")]
    rows = [
        [word for pair in combination for word in pair] + [values[i]]
        for i, combination in enumerate(itertools.product(*categories))
        if values[i] is not None
    ]
    sheet = sheet_of_rows(document.label, [[*header, "value"], *_as_text(rows)])
    dimensions = tuple(
        DimensionColumns(name, 2 * i, 2 * i + 1) for i, name in enumerate(names) if i != place
    )
    return CountSheet(
        sheet,
        1,
        (*header, "value"),
        (2 * place,),
        from_text(2 * place),
        (CountColumn(2 * len(names), "value"),),
        dimensions,
    )


def _as_text(rows: list[list[Any]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def _cube(document: Document) -> dict[str, Any]:
    try:
        found = json.loads(document.read().decode("utf-8-sig"))
    except ValueError as error:
        raise SourceError(f"{document.label}: expected JSON, {error}") from error
    if isinstance(found, dict) and "value" not in found and len(found) == 1:
        found = next(iter(found.values()))  # version 1: wrapped in a name
    if not isinstance(found, dict) or not {"value", "dimension"} <= set(found):
        raise SourceError(f"{document.label}: expected JSON-stat with `dimension` and `value`")
    return found


def _dimensions(cube: dict[str, Any], label: str) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """Names, and code and label of every category, in order; those of one category last."""
    dimension = cube["dimension"]
    names = [str(name) for name in cube.get("id", dimension.get("id", ()))]
    sizes = list(cube.get("size", dimension.get("size", ())))
    try:
        every = {name: _categories(dimension[name]["category"]) for name in names}
    except (KeyError, TypeError) as error:
        raise SourceError(f"{label}: a dimension without categories: {error}") from error
    if len(sizes) == len(names):
        wrong = [name for name, size in zip(names, sizes, strict=True) if len(every[name]) != size]
        if not wrong:
            return names, list(every.values())
    # Sizes that are those of the dimensions with several categories, in order, will do.
    large = [name for name in names if len(every[name]) > 1]
    if [size for size in sizes if size > 1] != [len(every[name]) for name in large]:
        raise SourceError(
            f"{label}: sizes {sizes} are not those of the dimensions "
            + ", ".join(f"{name} ({len(every[name])})" for name in names)
        )
    return names, list(every.values())


def _categories(category: dict[str, Any]) -> list[tuple[str, str]]:
    labels = category.get("label", {})
    index = category.get("index", list(labels))
    codes = sorted(index, key=index.__getitem__) if isinstance(index, Mapping) else index
    return [(str(code), str(labels.get(code, code))) for code in codes]


def _place(cube: dict[str, Any], names: list[str], mapping: FileMapping, label: str) -> int:
    roles = cube.get("role", cube["dimension"].get("role", {}))
    candidates = [mapping.place, *roles.get("geo", ()), *_PLACES]
    lower = [name.casefold() for name in names]
    for name in candidates:
        if name is not None and name.casefold() in lower:
            return lower.index(name.casefold())
    raise SourceError(
        f"{label}: which of the dimensions {', '.join(names)} is the place? mapping.place"
    )


def _values(cube: dict[str, Any], sizes: list[int], label: str) -> list[object]:
    """Value or status of every cell, None where there is neither."""
    size = math.prod(sizes)
    if size > _MOST_VALUES:
        raise SourceError(f"{label}: {size:,} cells, more than {_MOST_VALUES:,}")
    values: list[object] = [None] * size
    for key in ("status", "value"):
        given = cube.get(key) or {}
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        if isinstance(given, str):
            raise SourceError(f"{label}: expected `{key}` of each cell, found {given!r}")
        if isinstance(given, list) and len(given) != size:
            raise SourceError(f"{label}: expected {size} cells in `{key}`, found {len(given)}")
        for at, value in pairs:
            if not 0 <= int(at) < size:
                raise SourceError(f"{label}: {key} {at}: expected one from 0 to {size - 1}")
            if value is not None and (key == "value" or values[int(at)] is None):
                values[int(at)] = value
    return values


FORMAT: Final = Format("json-stat", "JSON-stat", recognises, read)
