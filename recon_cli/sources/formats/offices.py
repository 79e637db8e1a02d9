"""Tables of national offices: ONS (bulk files and filtered ones), Nomis, Statistics Canada."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import (
    CountColumn,
    CountSheet,
    DimensionColumns,
    Format,
    alone,
)
from recon_cli.sources.formats.header import HeadedSheet, first_line_has
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import first_line

_ONS_PLACE: Final = "geography code"
_ONS_NAMES: Final = ("", "date", "geography", _ONS_PLACE)
_ONS_DIMENSION: Final = re.compile(r"(.+ \(\d+ categories\)) Code")
_ONS_VALUE: Final = "Observation"
_NOMIS_PLACE: Final = "GEOGRAPHY_CODE"
_NOMIS_VALUE: Final = "OBS_VALUE"
_NOMIS_NO_DIMENSIONS: Final = ("GEOGRAPHY", "OBS_STATUS")
_NOMIS_KIND: Final = "GEOGRAPHY_TYPE"
_NOMIS_MEASURES: Final = "MEASURES"
#: The measure that is a count; others are percentages of it.
_NOMIS_COUNT: Final = "20100"
_STATCAN_PLACE: Final = "ALT_GEO_CODE"
_STATCAN_LABEL: Final = "CHARACTERISTIC_NAME"
_STATCAN_COUNT: Final = re.compile(r"C\d+_COUNT_(TOTAL|MEN|WOMEN)\+?", re.IGNORECASE)
#: Columns that are named like counts, except the bounds of confidence intervals.
_STATCAN_LIKE_COUNT: Final = re.compile(r"C\d+_COUNT_(?!.*_CI_)", re.IGNORECASE)
_STATCAN_WORDS: Final = {"TOTAL": "total", "MEN": "male", "WOMEN": "female"}


def _is_ons_bulk(document: Document) -> bool:
    return first_line(document).startswith("date,geography,geography code,")


def _read_ons_bulk(
    document: Document, _beside: Sequence[Document], _said: FileMapping
) -> CountSheet:
    """Read columns by labels: ``Sex: Males; Age: Aged 65 and over; measures: Value``."""
    table = HeadedSheet.of(document, _ONS_PLACE)
    counts = tuple(
        CountColumn(i, header, parts=_label_parts(header))
        for i, header in enumerate(table.headers)
        if header not in _ONS_NAMES
    )
    return table.roles(table.headers.index(_ONS_PLACE), counts)


def _label_parts(header: str) -> tuple[str, ...]:
    pairs = [each.strip() for each in header.split(";")]
    return tuple(
        word.strip()
        for pair in pairs
        if not pair.casefold().startswith("measures:")
        for word in pair.split(":")
        if word.strip()
    )


def _is_ons_filtered(document: Document) -> bool:
    """Test for the headers ``… (n categories) Code`` and ``Observation``."""
    line = first_line(document)
    return line.endswith(_ONS_VALUE) and _ONS_DIMENSION.search(line) is not None


def _read_ons_filtered(
    document: Document, _beside: Sequence[Document], _said: FileMapping
) -> CountSheet:
    """Read a row for each count: the place first, then code and label of each dimension."""
    table = HeadedSheet.of(document, _ONS_VALUE)
    dimensions = tuple(
        DimensionColumns(match[1], i, table.column(match[1]))
        for i, header in enumerate(table.headers)
        if (match := _ONS_DIMENSION.fullmatch(header))
    )
    return table.roles(0, (table.count(_ONS_VALUE),), dimensions)


def _read_nomis(document: Document, _beside: Sequence[Document], _said: FileMapping) -> CountSheet:
    """Read a row for each count; a dimension is a column with a ``…_NAME`` beside it."""
    table = HeadedSheet.of(document, _NOMIS_PLACE, _NOMIS_VALUE)
    dimensions = tuple(
        DimensionColumns(header, i, label)
        for i, header in enumerate(table.headers)
        if (label := table.column(f"{header}_NAME")) is not None
        and header not in _NOMIS_NO_DIMENSIONS
    )
    measures = table.column(_NOMIS_MEASURES)
    roles = table.roles(
        table.headers.index(_NOMIS_PLACE),
        (table.count(_NOMIS_VALUE),),
        dimensions,
        where={} if measures is None else {measures: (_NOMIS_COUNT,)},
    )
    return replace(roles, kind=table.column(_NOMIS_KIND))


def _read_statcan(
    document: Document, _beside: Sequence[Document], _said: FileMapping
) -> CountSheet:
    """Read a row for each characteristic, with columns for total, men and women.

    The characteristic is a dimension; ``mapping.where`` chooses among its values.
    """
    table = HeadedSheet.of(document, _STATCAN_PLACE, _STATCAN_LABEL)
    counts = tuple(
        CountColumn(i, header, parts=(_STATCAN_WORDS[match[1].upper()],))
        for i, header in enumerate(table.headers)
        if (match := _STATCAN_COUNT.fullmatch(header))
    )
    for at, header in enumerate(table.headers):
        if _STATCAN_LIKE_COUNT.match(header) and not _STATCAN_COUNT.fullmatch(header):
            raise SourceError(
                f"{table.sheet.where(table.at + 1, at)}: {header!r} is no name of a column of "
                "counts, as C1_COUNT_TOTAL; mend the header, or take the column away"
            )
    label = DimensionColumns(_STATCAN_LABEL, table.headers.index(_STATCAN_LABEL))
    return table.roles(table.headers.index(_STATCAN_PLACE), counts, (label,))


ONS_BULK: Final = Format("ons-bulk", "ONS bulk download", _is_ons_bulk, alone(_read_ons_bulk))
ONS_FILTERED: Final = Format(
    "ons-filtered", "ONS filtered table", _is_ons_filtered, alone(_read_ons_filtered)
)
NOMIS: Final = Format(
    "nomis", "Nomis API", first_line_has(_NOMIS_PLACE, _NOMIS_VALUE), alone(_read_nomis)
)
STATCAN: Final = Format(
    "statcan-profile",
    "Statistics Canada census profile",
    first_line_has(_STATCAN_PLACE, _STATCAN_LABEL),
    alone(_read_statcan),
)
