"""Geographic headers for the writer, in both forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.header import DIGITS, DelimitedHeader, FixedHeader
from recon_cli.sources.legacy.layout import Layout

Fields = Mapping[str, pl.Series | str]

#: Where the parts of a geoid begin; a block's number begins with its block group's.
_STARTS: Final = {"STATE": 0, "COUNTY": 2, "TRACT": 5, "BLKGRP": 11, "BLOCK": 11}


def header_text(units: pl.DataFrame, state: str, layout: Layout) -> bytes:
    """Header records.

    Args:
        units: Columns ``geoid, level, logrecno, population``, null where it is not published.
        state: Postal abbreviation.
        layout: Form of the header, and codes of the levels.

    Raises:
        SourceError: A value does not fit into its field.
    """
    fields = _fields(units, state, layout)
    if isinstance(layout.header, FixedHeader):
        return _fixed(fields, units.height, layout.header)
    return _delimited(fields, units.height)


def _fields(units: pl.DataFrame, state: str, layout: Layout) -> Fields:
    """Summary level, record number, the geoid and its parts, name and population."""
    codes = units["level"].replace_strict(layout.summary_levels, return_dtype=pl.String)
    parts = _parts(units["geoid"])
    return {
        "FILEID": layout.file_id,
        "STUSAB": state,
        "SUMLEV": codes,
        "GEOVAR": "00",
        "GEOCOMP": "00",
        "CHARITER": "000",
        "CIFSN": "00",
        "LOGRECNO": units["logrecno"].cast(pl.String).str.zfill(7),
        "GEOID": codes + "0000US" + units["geoid"],
        "GEOCODE": units["geoid"],
        **parts.to_dict(),
        "NAME": _names(parts),
        "POP100": units["population"].cast(pl.String).fill_null(""),
    }


def _parts(geoids: pl.Series) -> pl.DataFrame:
    """State, county, tract, block group and block of each geoid; empty where it ends before."""
    geoid = pl.col(geoids.name)
    columns = []
    for name, start in _STARTS.items():
        part = geoid.str.slice(start, DIGITS[name])
        is_whole = part.str.len_chars() == DIGITS[name]
        columns.append(pl.when(is_whole).then(part).otherwise(pl.lit("")).alias(name))
    return geoids.to_frame().select(columns)


def _names(parts: pl.DataFrame) -> pl.Series:
    """The name that the census gives a geounit, empty for those above tracts."""
    tract = pl.col("TRACT").str.slice(0, 4).str.strip_chars_start("0")
    tract = (tract + "." + pl.col("TRACT").str.slice(4)).str.strip_suffix(".00")
    name = (
        pl.when(pl.col("BLOCK") != "")
        .then("Block " + pl.col("BLOCK"))
        .when(pl.col("BLKGRP") != "")
        .then("Block Group " + pl.col("BLKGRP"))
        .when(pl.col("TRACT") != "")
        .then("Census Tract " + tract)
        .otherwise(pl.lit(""))
    )
    return parts.select(name=name).to_series()


def _fixed(fields: Fields, height: int, header: FixedHeader) -> bytes:
    """Fixed-width records: a matrix of spaces, filled field by field."""
    text = np.full((height, header.record_length + 1), ord(" "), np.uint8)
    text[:, -1] = ord("\n")
    for name, place in header.fields.items():
        if name in fields:
            _fill(text, place, fields[name], right=name == "POP100")
    return text.tobytes()


def _fill(text: NDArray[np.uint8], place: slice, values: pl.Series | str, *, right: bool) -> None:
    """Write one field of every record between blanks; refuses what is too wide."""
    width = place.stop - place.start
    if isinstance(values, str):
        text[:, place] = np.frombuffer(values.ljust(width).encode("latin-1"), np.uint8)
        return
    wide = values.filter(values.str.len_chars() > width)
    if len(wide):
        at = f"characters {place.start + 1} to {place.stop}"
        raise SourceError(f"{wide[0]!r} does not fit into {at} of a header record")
    padded = values.str.pad_start(width) if right else values.str.pad_end(width)
    joined = "".join(padded.to_list()).encode("latin-1")
    text[:, place] = np.frombuffer(joined, np.uint8).reshape(len(values), width)


def _delimited(fields: Fields, height: int) -> bytes:
    """Records of columns, those without a value empty."""
    by_column = {column: name for name, column in DelimitedHeader.fields.items()}
    columns = []
    for column in range(DelimitedHeader.columns):
        value = fields.get(by_column.get(column, ""), "")
        series = pl.Series([value] * height, dtype=pl.String) if isinstance(value, str) else value
        columns.append(series.alias(str(column)))
    written = pl.DataFrame(columns).write_csv(
        include_header=False, separator=DelimitedHeader.separator, quote_style="never"
    )
    return written.encode("utf-8")
