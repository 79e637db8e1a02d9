r"""Eurostat's TSV: the dimensions packed into the first column, a column a period, flags behind.

The first row is ``freq,sex,age,unit,geo\TIME_PERIOD``, then the periods; ``12 p`` is 12 with a
flag, ``:`` is not available, ``: c`` confidential.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, DimensionColumns
from recon_cli.sources.formats.form import Format
from recon_cli.sources.formats.geoids import from_text
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet, first_line
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tabular.text import text_sheet

_TIME: Final = "\\TIME_PERIOD"
_FLAGGED: Final = r"^([0-9]+) [a-z]{1,3}$"
_PERIOD: Final = "TIME_PERIOD"


def recognises(document: Document) -> bool:
    r"""A first column that ends in ``\TIME_PERIOD``."""
    return _TIME in first_line(document).partition("\t")[0]


def read(document: Document, beside: Sequence[Document], mapping: FileMapping) -> CountSheet:  # noqa: ARG001
    """The period is a dimension like the others.

    Raises:
        SourceError: The first column is another.
    """
    sheet = text_sheet(document, "\t")
    packed, *periods = sheet.head[0]
    if not packed.endswith(_TIME):
        raise SourceError(f"{sheet.label}: expected a first column that ends in {_TIME!r}")
    names = tuple(packed.removesuffix(_TIME).split(","))
    place = len(names) - 1
    headers = (*names, _PERIOD, "OBS_VALUE")
    dimensions = tuple(
        DimensionColumns(header, i) for i, header in enumerate(headers[:-1]) if i != place
    )
    return CountSheet(
        _unpacked(sheet, len(names), periods),
        1,
        headers,
        (place,),
        from_text(place),
        (CountColumn(len(names) + 1, headers[-1]),),
        dimensions,
        number=_FLAGGED,
    )


def _unpacked(sheet: Sheet, names: int, periods: Sequence[str]) -> Sheet:
    """A column a dimension, the period, and the count; the rows once for each period."""

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


FORMAT: Final = Format("eurostat-tsv", "Eurostat TSV", recognises, read)
