"""Formats for the exchange of statistics: SDMX-CSV, Eurostat's TSV, JSON-stat."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document, read_json
from recon_cli.sources.formats.assignment import Category
from recon_cli.sources.formats.count_sheet import (
    CountColumn,
    CountSheet,
    DimensionColumns,
    Format,
    alone,
    cell_text,
)
from recon_cli.sources.formats.header import HeadedSheet
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet, first_line, read_sheet
from recon_cli.sources.tabular.sheet import ROW, sheet_of_rows
from recon_cli.sources.tabular.text import text_sheet

_VALUE: Final = "OBS_VALUE"
#: Columns of SDMX-CSV that are no dimensions, in versions 1 and 2 and in Eurostat's own form.
_OTHERS: Final = (
    _VALUE, "DATAFLOW", "LAST UPDATE", "STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION",
    "DECIMALS", "UNIT_MULT",
)  # fmt: skip
_FLAGS: Final = ("CONF_STATUS", "OBS_FLAG", "OBS_STATUS")
_PLACES: Final = ("geo", "ref_area", "geography", "area", "region")
#: Separator of a code and its label in one cell; and suffix of the header of a column of labels.
_BOTH: Final = ": "
_LABEL: Final = " (label)"
_TIME: Final = "\\TIME_PERIOD"
_FLAGGED: Final = r"^([0-9]+) [a-z]{1,3}$"
_CUBE_PLACES: Final = ("geo", "geography", "region", "area")
_MOST_VALUES: Final = 20_000_000
_DIGITS: Final = 10
_SHOWN: Final = 60


def _is_sdmx_csv(document: Document) -> bool:
    line = first_line(document)
    return _VALUE in line and line.startswith(("DATAFLOW", "STRUCTURE"))


def _with_labels_apart(sheet: Sheet) -> Sheet:
    """Split codes from labels, into columns called ``SEX`` and ``SEX (label)``.

    The standard has both in one cell, ``SEX: Sex`` over ``F: Female``, or a column of labels behind
    each column of codes (SDMX-CSV 2.0, ``labels=both`` and ``labels=name``).
    """
    first = sheet.head[0]
    both = [at for at, header in enumerate(first) if _BOTH in header]
    headers = [header.partition(_BOTH)[0] for header in first]
    if not both and "STRUCTURE_NAME" in first and "ACTION" in first:
        for at in range(first.index("ACTION") + 2, len(first), 2):
            headers[at] = f"{headers[at - 1]}{_LABEL}"
    if not both:
        return replace(sheet, head=(tuple(headers), *sheet.head[1:]))
    headers += [f"{headers[at]}{_LABEL}" for at in both]

    def parted(row: Sequence[str]) -> tuple[str, ...]:
        codes = [cell.partition(_BOTH)[0] if at in both else cell for at, cell in enumerate(row)]
        return (*codes, *(row[at].partition(_BOTH)[2] for at in both))

    def batches() -> Iterator[pl.DataFrame]:
        pair = {at: pl.col(str(at)).str.splitn(_BOTH, 2).struct for at in both}
        codes = [pair[at].field("field_0").alias(str(at)) for at in both]
        labels = [
            pair[at].field("field_1").alias(str(sheet.width + i)) for i, at in enumerate(both)
        ]
        for batch in sheet.batches():
            yield batch.with_columns(*codes, *labels)

    head = (tuple(headers), *map(parted, sheet.head[1:]))
    return replace(sheet, head=head, width=sheet.width + len(both), batches=batches)


def _read_sdmx_csv(
    document: Document, _beside: Sequence[Document], said: FileMapping
) -> CountSheet:
    """Read a column for each dimension, by name."""
    table = HeadedSheet.within(_with_labels_apart(read_sheet(document)), _VALUE)
    headers = table.headers
    lower = [header.casefold() for header in headers]
    chosen = said.place.casefold() if said.place else None
    place = next((lower.index(name) for name in (chosen, *_PLACES) if name in lower), None)
    if place is None:
        raise SourceError(
            f"{table.sheet.label}: none of the columns {', '.join(_PLACES)}; which is the place? "
            "mapping.place"
        )
    flags = tuple(headers.index(name) for name in _FLAGS if name in headers)
    dimensions = tuple(
        DimensionColumns(header, i, table.column(f"{header}{_LABEL}"))
        for i, header in enumerate(headers)
        if header
        and header not in _OTHERS
        and not header.endswith(_LABEL)
        and i not in (place, *flags)
    )
    return table.roles(place, (table.count(_VALUE),), dimensions, flags)


def _is_eurostat_tsv(document: Document) -> bool:
    return _TIME in first_line(document).partition("\t")[0]


def _read_eurostat_tsv(
    document: Document, _beside: Sequence[Document], _said: FileMapping
) -> CountSheet:
    r"""Read dimensions packed into the first column, columns of periods, and flags behind counts.

    The first row is ``freq,sex,age,unit,geo\TIME_PERIOD``, then the periods; ``12 p`` is 12 with a
    flag, ``:`` is not available, ``: c`` confidential. The period is a dimension like the others.
    """
    sheet = text_sheet(document, "\t")
    packed, *periods = sheet.head[0]
    if not packed.endswith(_TIME):
        raise SourceError(f"{sheet.label}: expected a first column that ends in {_TIME!r}")
    names = tuple(packed.removesuffix(_TIME).split(","))
    place = len(names) - 1
    headers = (*names, "TIME_PERIOD", _VALUE)
    dimensions = tuple(
        DimensionColumns(header, i) for i, header in enumerate(headers[:-1]) if i != place
    )
    return CountSheet(
        _unpacked(sheet, len(names), periods),
        1,
        headers,
        (place,),
        cell_text(place),
        (CountColumn(len(names) + 1, headers[-1]),),
        dimensions,
        number=_FLAGGED,
    )


def _unpacked(sheet: Sheet, names: int, periods: Sequence[str]) -> Sheet:
    """Unpack the dimensions, period and count to columns; yield the rows once for each period."""

    def batches() -> Iterator[pl.DataFrame]:
        for batch in sheet.batches():
            fields = pl.col("0").str.split(",").list
            dimensions = [fields.get(i, null_on_oob=True).alias(str(i)) for i in range(names)]
            for column, period in enumerate(periods, start=1):
                yield batch.select(
                    ROW,
                    *dimensions,
                    pl.lit(period).alias(str(names)),
                    pl.col(str(column)).alias(str(names + 1)),
                )

    head = tuple(
        (*(*row[0].split(","), *[""] * names)[:names], periods[-1], row[-1]) for row in sheet.head
    )
    return replace(sheet, head=head, width=names + 2, batches=batches)


def _is_json_stat(document: Document) -> bool:
    """Test for a JSON object with ``dimension`` or ``value``."""
    start = document.start()
    if not start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return False
    return b'"dimension"' in start or b'"value"' in start


def _read_json_stat(
    document: Document, _beside: Sequence[Document], said: FileMapping
) -> CountSheet:
    """Read a cube in row-major order: a row per value, with code and label of each dimension.

    Real files of version 1 list more dimensions than sizes: those that have no place in ``size``
    have one category.
    """
    cube = _cube(document)
    names, categories = _dimensions(cube, document.label)
    place = _place(cube, names, said, document.label)
    values = _values(cube, [len(each) for each in categories], document.label)
    header = [each for name in names for each in (name, f"{name} label")]
    rows = [
        [*itertools.chain.from_iterable(combination), str(value)]
        for combination, value in zip(itertools.product(*categories), values, strict=True)
        if value is not None
    ]
    sheet = sheet_of_rows(document.label, [[*header, "value"], *rows])
    dimensions = tuple(
        DimensionColumns(name, 2 * i, 2 * i + 1) for i, name in enumerate(names) if i != place
    )
    return CountSheet(
        sheet,
        1,
        (*header, "value"),
        (2 * place,),
        cell_text(2 * place),
        (CountColumn(2 * len(names), "value"),),
        dimensions,
    )


def _cube(document: Document) -> dict[str, object]:
    found = read_json(document)
    if isinstance(found, dict) and "value" not in found and len(found) == 1:
        found = next(iter(found.values()))  # version 1: wrapped in a name
    if not isinstance(found, dict) or not {"value", "dimension"} <= set(found):
        raise SourceError(f"{document.label}: expected JSON-stat with `dimension` and `value`")
    return found


def _dimensions(cube: dict[str, object], label: str) -> tuple[list[str], list[list[Category]]]:
    """Return the names of dimensions, and code and label of every category, in order."""
    dimension = _object(cube["dimension"], "dimension", label)
    given = _list(cube.get("id", dimension.get("id")), "id", label)
    names = [_text(name, "id", label) for name in given]
    sizes = [
        _size(size, label) for size in _list(cube.get("size", dimension.get("size")), "size", label)
    ]
    every = {name: _categories(dimension, name, label) for name in names}
    if len(every) < len(names):
        raise SourceError(f"{label}: `id` names a dimension twice: {', '.join(names)}")
    if sizes == [len(categories) for categories in every.values()]:
        return names, list(every.values())
    # Sizes that are those of the dimensions with several categories, in order, will do.
    large = [name for name in names if len(every[name]) > 1]
    if [size for size in sizes if size > 1] != [len(every[name]) for name in large]:
        raise SourceError(
            f"{label}: sizes {sizes} are not those of the dimensions "
            + ", ".join(f"{name} ({len(every[name])})" for name in names)
        )
    return names, list(every.values())


def _categories(dimension: dict[str, object], name: str, label: str) -> list[Category]:
    where = f"dimension.{name}"
    given = _object(dimension.get(name), where, label)
    category = _object(given.get("category"), f"{where}.category", label)
    labels = _object(category.get("label", {}), f"{where}.category.label", label)
    index = category.get("index", list(labels))
    if isinstance(index, dict):
        if sorted(map(str, index.values())) != sorted(map(str, range(len(index)))):
            raise SourceError(
                f"{label}: {where}.category.index: expected the places 0 to {len(index) - 1}, each "
                f"once, found {_shown(list(index.values()))}"
            )
        codes: list[object] = sorted(index, key=lambda code: int(str(index[code])))
    else:
        codes = _list(index, f"{where}.category.index", label)
    words = [_text(code, f"{where}.category.index", label) for code in codes]
    if len(set(words)) < len(words) or not words:
        raise SourceError(
            f"{label}: {where}.category.index: expected each code once, found {_shown(words)}"
        )
    if strange := next((code for code in labels if code not in words), None):
        raise SourceError(
            f"{label}: {where}.category.label: {_shown(strange)} is no code of the index"
        )
    return [
        (word, _text(labels.get(word, word), f"{where}.category.label", label)) for word in words
    ]


def _object(given: object, name: str, label: str) -> dict[str, object]:
    if not isinstance(given, dict):
        raise SourceError(f"{label}: expected an object as `{name}`, found {_shown(given)}")
    return given


def _list(given: object, name: str, label: str) -> list[object]:
    if not isinstance(given, list):
        raise SourceError(f"{label}: expected a list as `{name}`, found {_shown(given)}")
    return given


def _text(given: object, name: str, label: str) -> str:
    """Return a code or a label; a number is its digits."""
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise SourceError(f"{label}: expected texts in `{name}`, found {_shown(given)}")
    return str(given)


def _size(given: object, label: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int):
        raise SourceError(f"{label}: expected whole numbers in `size`, found {_shown(given)}")
    return given


def _shown(given: object) -> str:
    text = "nothing" if given is None else repr(given)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _place(cube: dict[str, object], names: list[str], said: FileMapping, label: str) -> int:
    dimension = _object(cube["dimension"], "dimension", label)
    roles = _object(cube.get("role", dimension.get("role", {})), "role", label)
    places = _list(roles.get("geo", []), "role.geo", label)
    candidates = [said.place, *(_text(each, "role.geo", label) for each in places), *_CUBE_PLACES]
    lower = [name.casefold() for name in names]
    for name in candidates:
        if name is not None and name.casefold() in lower:
            return lower.index(name.casefold())
    raise SourceError(
        f"{label}: which of the dimensions {', '.join(names)} is the place? mapping.place"
    )


def _values(cube: dict[str, object], sizes: list[int], label: str) -> list[object]:
    """Return the value or status of every cell, None where there is neither."""
    size = math.prod(sizes)
    if size > _MOST_VALUES:
        raise SourceError(f"{label}: {size:,} cells, more than {_MOST_VALUES:,}")
    values: list[object] = [None] * size
    for key in ("status", "value"):
        for at, value in _by_place(cube.get(key), key, size, label):
            if isinstance(value, list | dict):
                raise SourceError(f"{label}: {key} {at}: expected one, found {_shown(value)}")
            if value is not None and (key == "value" or values[at] is None):
                values[at] = value
    return values


def _by_place(given: object, key: str, size: int, label: str) -> Iterator[tuple[int, object]]:
    """Yield places and values, from a list of all values or an object with some of them."""
    if isinstance(given, dict):
        for at, value in given.items():
            if not (at.isascii() and at.isdigit() and int(at[:_DIGITS]) < size):
                raise SourceError(f"{label}: {key} {_shown(at)}: expected one from 0 to {size - 1}")
            if str(int(at)) != at:
                raise SourceError(f"{label}: {key} {_shown(at)}: expected {int(at)} so written")
            yield int(at), value
    elif isinstance(given, list) and len(given) == size:
        yield from enumerate(given)
    elif isinstance(given, list):
        raise SourceError(f"{label}: expected {size} cells in `{key}`, found {len(given)}")
    elif given is not None or key == "value":
        raise SourceError(f"{label}: expected `{key}` of each cell, found {_shown(given)}")


SDMX_CSV: Final = Format("sdmx-csv", "SDMX-CSV", _is_sdmx_csv, alone(_read_sdmx_csv))
EUROSTAT_TSV: Final = Format(
    "eurostat-tsv", "Eurostat TSV", _is_eurostat_tsv, alone(_read_eurostat_tsv)
)
JSON_STAT: Final = Format("json-stat", "JSON-stat", _is_json_stat, alone(_read_json_stat))
