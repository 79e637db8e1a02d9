"""Which column of a table has the places, and their geoids from the ways to name a place."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.sources.formats.count_sheet import cell_text
from recon_cli.sources.formats.mapping import FileMapping
from recon_cli.sources.tabular import Sheet

#: Columns of the Census Bureau's API whose codes are together a geoid.
NESTED = ("state", "county", "tract", "block group", "block")
#: Headers of columns with geoids, in small letters.
GEOIDS: Final = (
    "geoid", "geo_id", "geocode", "geography code", "geography_code", "geo code", "area code",
    "area_code", "fips", "code", "geo", "ref_area", "id", "area",
)  # fmt: skip
#: Headers of columns with names of places; two of them in one table may be places in places.
_NAMES: Final = frozenset((
    "place", "places", "location", "site", "area name", "geography", "region", "country", "state",
    "province", "county", "district", "municipality", "borough", "city", "town", "village",
    "parish", "ward", "zone", "neighbourhood", "neighborhood", "community", "school", "hospital",
    "clinic", "practice", "unit", "area", "local authority", "authority", "establishment",
    "locality", "cluster", "trust", "division", "court", "court area", "police force", "force",
    "college", "nursery", "station", "care home", "home", "branch", "office", "lsoa", "msoa",
    "output area", "postcode", "constituency",
))  # fmt: skip


#: What a header says beside what its places are.
_FILLER: Final = re.compile(
    r"\b(the|of|name|names|title|code|codes|id|no|number|urn|gss|ons|fips)\b|[^\w\s]", re.IGNORECASE
)
_CODE: Final = re.compile(r".*\b(code|id|urn|gss|fips|estab)\b.*|.*geoid.*", re.IGNORECASE)


def is_code_header(header: str) -> bool:
    """Whether a header says that its column has codes.

    >>> [is_code_header(text) for text in ("Ward code", "URN", "Ward", "Decode")]
    [True, True, False, False]
    """
    return _CODE.fullmatch(header) is not None


def place_noun(header: str) -> str:
    """What a header calls its places: ``ward`` of ``Ward name`` and of ``Ward code``."""
    return " ".join(_FILLER.sub(" ", header.casefold()).replace("_", " ").split())


def is_place_header(header: str) -> bool:
    """Whether a header says that its column has places.

    >>> [is_place_header(text) for text in ("School name", "Local authority", "Boys")]
    [True, True, False]
    """
    noun = place_noun(header)
    return noun in _NAMES or noun.removesuffix("s") in _NAMES or header.casefold() in GEOIDS


def place_column(sheet: Sheet, headers: Sequence[str], header: int, mapping: FileMapping) -> int:
    """The column with the places: the one that is named, or told by its header or its words.

    Args:
        header: Index of the last header row.

    Raises:
        SourceError: It has to be named.
    """
    if mapping.place is not None:
        if mapping.place not in headers:
            raise SourceError(
                f"{sheet.where(header + 1)}: no column {mapping.place!r} (mapping.place); found "
                + ", ".join(map(repr, filter(None, headers)))
            )
        return headers.index(mapping.place)
    found = guessed_place(headers)
    if found is None and _has_names(sheet.head[header + 1 :]):
        return 0
    if found is None:
        raise SourceError(
            f"{sheet.where(header + 1)}: which of the columns "
            f"{', '.join(map(repr, filter(None, headers)))} has the places? name it Place, or say "
            f"mapping.place (`recon init --place {shlex.quote(headers[0])}` if it is the first)"
        )
    return found


def guessed_place(headers: Sequence[str]) -> int | None:
    """The column whose header alone says that it has the places."""
    lower = [each.casefold() for each in headers]
    coded = next((lower.index(name) for name in GEOIDS if name in lower), None)
    if coded is not None:
        return coded
    named = [i for i, each in enumerate(lower) if each in _NAMES]
    return named[0] if len(named) == 1 else None


def _has_names(body: Sequence[Sequence[str]]) -> bool:
    """Whether the first column has words, another one in every row."""
    first = [row[0] for row in body if any(row)]
    words = [cell for cell in first if len(cell) > 1 and not cell[0].isdigit()]
    return len(first) > 1 and len(words) == len(first) == len(set(words))


def are_digits(texts: pl.Series) -> pl.Series:
    """Which texts are digits alone, 20 at most: read as numbers, a fifth of the time of a pattern.

    False where there is no text.
    """
    is_number = texts.cast(pl.UInt64, strict=False).is_not_null()
    return is_number & ~texts.str.starts_with("+").fill_null(value=False)


def from_geo_id(column: int) -> pl.Expr:
    """``1000000US340210001001000``: what follows ``US``, of a whole geounit (variant 0000)."""
    text = cell_text(column)
    is_whole = text.str.contains("^[0-9]{3}0000US[0-9]*$")  # a fifth of the time of `extract`
    return pl.when(is_whole).then(text.str.slice(len("1000000US"))).otherwise(text)


def from_gisjoin(column: int) -> pl.Expr:
    """``G34002100001001000``: NHGIS puts a 0 after state and county.

    State G+3, county G+7, tract G+13, block group G+14, block G+17 characters.
    """
    text = cell_text(column)
    parts = text.str.extract_groups("^G([0-9]{2})0(?:([0-9]{3})0([0-9]{0,10}))?$")
    joined = pl.concat_str(
        parts.struct[0], parts.struct[1].fill_null(""), parts.struct[2].fill_null("")
    )
    return pl.coalesce(joined, text)


def from_nested(columns: dict[str, int]) -> pl.Expr:
    """Codes of state, county, tract and block, one a column.

    A block's first digit is its block group, so that column is passed over.
    """
    names = [name for name in NESTED if name in columns]
    if "block" in names:
        names = [name for name in names if name != "block group"]
    return pl.concat_str(*(cell_text(columns[name]) for name in names))
