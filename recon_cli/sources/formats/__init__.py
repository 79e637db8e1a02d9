"""Published formats: which columns are place, counts, dimensions and flags."""

from __future__ import annotations

import re
from typing import Final

from recon_cli.sources.documents import Document
from recon_cli.sources.formats import census, exchange, offices
from recon_cli.sources.formats.count_sheet import CountColumn, CountSheet, Format
from recon_cli.sources.formats.mapping import (
    NO_MAPPING,
    DimensionMapping,
    FileMapping,
    ShareMapping,
    StatisticMapping,
)
from recon_cli.sources.formats.sheet import SHEET

__all__ = [
    "FORMATS",
    "NO_MAPPING",
    "CountColumn",
    "CountSheet",
    "DimensionMapping",
    "FileMapping",
    "Format",
    "ShareMapping",
    "StatisticMapping",
    "is_companion",
    "recognise_format",
]

#: Formats by name, the most specific first.
FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        census.CENSUS_API,
        exchange.JSON_STAT,
        census.DATA_CENSUS_GOV,
        census.FACTFINDER,
        census.NHGIS,
        offices.NOMIS,
        exchange.EUROSTAT_TSV,
        exchange.SDMX_CSV,
        offices.ONS_BULK,
        offices.ONS_FILTERED,
        offices.STATCAN,
        SHEET,
    )
}

#: Files that publishers put beside the counts.
_COMPANION: Final = re.compile(
    r".*(metadata|codebook|readme|read_me|table-notes).*|.*\.(txt|md|pdf|html?|xml|ya?ml|docx?|do|sas|sps)"
    r"|\..*|sha256sums.*",
    re.IGNORECASE,
)


def is_companion(document: Document) -> bool:
    """Test by its name whether a document only explains counts in others."""
    return _COMPANION.fullmatch(document.name) is not None


def recognise_format(document: Document) -> Format:
    """Find the first format that recognises a document."""
    return next(each for each in FORMATS.values() if each.recognises(document))
