"""The formats that can be read, the most particular first."""

from __future__ import annotations

import re
from typing import Final

from recon_cli.sources.documents import Document
from recon_cli.sources.formats import (
    census_api,
    data_census_gov,
    eurostat_tsv,
    factfinder,
    json_stat,
    long,
    nhgis,
    nomis,
    ons,
    sdmx_csv,
    statcan,
    wide,
)
from recon_cli.sources.formats.form import Format

FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        census_api.FORMAT,
        json_stat.FORMAT,
        data_census_gov.FORMAT,
        factfinder.FORMAT,
        nhgis.FORMAT,
        nomis.FORMAT,
        eurostat_tsv.FORMAT,
        sdmx_csv.FORMAT,
        ons.BULK,
        ons.FILTERED,
        statcan.FORMAT,
        long.FORMAT,
        wide.FORMAT,
    )
}

#: Files that publishers put beside the counts.
_COMPANION: Final = re.compile(
    r".*(metadata|codebook|readme|read_me|table-notes).*|.*\.(txt|md|pdf|html?|xml|ya?ml|docx?|do|sas|sps)"
    r"|\..*|sha256sums.*",
    re.IGNORECASE,
)


def is_companion(document: Document) -> bool:
    """Whether a document is about counts and has none itself, by its name."""
    return _COMPANION.fullmatch(document.name) is not None


def recognise_format(document: Document) -> Format:
    """The format of a document: the first that recognises it."""
    return next(each for each in FORMATS.values() if each.recognises(document))
