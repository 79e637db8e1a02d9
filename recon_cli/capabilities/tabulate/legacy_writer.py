"""Writing of published counts as a legacy state zip, the inverse of the reader.

The same counts give the same bytes: records are sorted and zip members carry no clock time.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.frames import COUNTS
from recon_cli.schema import Release
from recon_cli.schema.states import STATES
from recon_cli.sources.legacy.header import DIGITS, DelimitedHeader, FixedHeader
from recon_cli.sources.legacy.layout import KEY_COLUMNS, Layout, Segment, legacy_layout
from recon_cli.sources.legacy.lines import NEWLINE
from recon_cli.store.files import written_whole

#: Field → its values, or the one that all records have.
Fields = Mapping[str, pl.Series | str]

_CHUNK: Final = 20_000
_ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)
#: A member whose size may pass this needs the 64-bit zip form, to be chosen before writing.
_ZIP64_FROM: Final = 1 << 31
_WIDEST_CELL: Final = 11
#: Start of each part of a geoid; a block's number begins with its block group's.
_STARTS: Final = {"STATE": 0, "COUNTY": 2, "TRACT": 5, "BLKGRP": 11, "BLOCK": 11}
#: Separator of the files → the first census that wrote such files.
_YEARS: Final = {",": "2010", "|": "2020"}


def write_legacy(
    release: Release,
    geounits: pl.DataFrame,
    counts: pl.DataFrame,
    path: Path,
) -> Path:
    """Write one state's published counts.

    Every table that the release publishes for a geounit's level is filled in, zeros included.
    The other columns of a segment stay empty.

    Args:
        geounits: Columns ``geoid, level``; levels without tables are ignored.
        counts: Columns of `COUNTS`; zero counts may be left out.
        path: The zip to write, or a folder to write it to as ``al2010.sf1.zip``.

    Returns:
        The zip that was written; a failure leaves none.

    Raises:
        SourceError: The geounits are not those of one state, or a count has no place.
    """
    layout = legacy_layout(release)
    layout.require(release.table_by_name)
    year = _YEARS[layout.header.separator]
    units = _sorted_units(geounits, layout, release)
    state = _state(units)
    positioned = position_counts(counts, geounits, units, layout)
    stem, suffix = state.lower(), layout.suffix
    target = path / f"{stem}{year}.{suffix}.zip" if path.is_dir() else path
    with (
        written_whole(target) as aside,
        zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        name = f"{stem}geo{year}.{suffix}"
        _write_member(archive, name, _header_chunks(units, state, positioned, release, layout))
        for segment in layout.segments:
            name = f"{stem}{segment.number:05}{year}.{suffix}"
            size = units.height * segment.columns * _WIDEST_CELL
            chunks = _segment_chunks(units, state, positioned, segment, layout)
            _write_member(archive, name, chunks, large=size >= _ZIP64_FROM)
    return target


def _write_member(
    archive: zipfile.ZipFile, name: str, chunks: Iterator[bytes], *, large: bool = False
) -> None:
    info = zipfile.ZipInfo(name, _ZIP_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3  # the same on every platform
    info.external_attr = 0o644 << 16
    with archive.open(info, "w", force_zip64=large) as member:
        for chunk in chunks:
            member.write(chunk)


def _sorted_units(geounits: pl.DataFrame, layout: Layout, release: Release) -> pl.DataFrame:
    """Return ``geoid, level, logrecno``: tract, its block groups, each with its blocks.

    A parent's geoid is a prefix of its children's, so sorting by text gives that order.
    """
    units = (
        geounits.select("geoid", "level")
        .filter(pl.col("level").is_in(list(layout.summary_levels)))
        .sort("geoid")
        .with_row_index("logrecno", offset=1)
    )
    if units.is_empty():
        raise SourceError(
            f"nothing to write: no geounits of levels {', '.join(layout.summary_levels)}"
        )
    digits = pl.col("level").replace_strict(
        {name: level.digits for name, level in release.geography.by_name.items()}
    )
    bad = units.filter(
        ~pl.col("geoid").str.contains(r"^[0-9]+$") | (pl.col("geoid").str.len_chars() != digits)
    )
    if len(bad):
        geoid, level = bad.row(0)[1:3]
        wanted = release.geography.by_name[level].digits
        raise SourceError(f"geoid {geoid!r}: expected {wanted} digits at level {level!r}")
    twice = units.filter(pl.col("geoid").is_duplicated())
    if len(twice):
        raise SourceError(f"geoid {twice['geoid'][0]} is duplicated among the geounits")
    return units


def _state(units: pl.DataFrame) -> str:
    """Return the abbreviation of the one state of the geounits."""
    codes = units["geoid"].str.slice(0, DIGITS["STATE"]).unique().sort().to_list()
    if len(codes) != 1:
        raise SourceError(f"a legacy file holds one state, found states {', '.join(codes)}")
    if codes[0] not in STATES:
        raise SourceError(f"geoid {units['geoid'][0]}: no state has FIPS code {codes[0]!r}")
    return STATES[codes[0]]


def _header_chunks(
    units: pl.DataFrame, state: str, positioned: PositionedCounts, release: Release, layout: Layout
) -> Iterator[bytes]:
    population = _population(units, positioned, release, layout).alias("population")
    described = units.with_columns(population)
    for start in range(0, units.height, _CHUNK):
        chunk = described.slice(start, _CHUNK)
        fields = _header_fields(chunk, state, layout)
        if isinstance(layout.header, FixedHeader):
            yield _fixed_text(layout.header, fields, chunk.height)
        else:
            yield _delimited_text(layout.header, fields, chunk.height)


def _fixed_text(header: FixedHeader, fields: Fields, height: int) -> bytes:
    """Write records: a matrix of spaces, filled field by field.

    Raises:
        SourceError: A value is too wide.
    """
    text = np.full((height, header.record_length + 1), ord(" "), np.uint8)
    text[:, -1] = NEWLINE
    for name, place in header.fields.items():
        width, values = place.stop - place.start, fields.get(name, "")
        if isinstance(values, str):
            text[:, place] = np.frombuffer(values.ljust(width).encode("latin-1"), np.uint8)
            continue
        wide = values.filter(values.str.len_chars() > width)
        if len(wide):
            where = header.place(name)
            raise SourceError(f"{wide[0]!r} does not fit into {where} of a header record")
        right = name == "POP100"
        padded = values.str.pad_start(width) if right else values.str.pad_end(width)
        joined = "".join(padded.to_list()).encode("latin-1")
        text[:, place] = np.frombuffer(joined, np.uint8).reshape(height, width)
    return text.tobytes()


def _delimited_text(header: DelimitedHeader, fields: Fields, height: int) -> bytes:
    """Write records, with empty columns where there is no value."""
    names = {column: name for name, column in header.fields.items()}
    values = [fields.get(names.get(column, ""), "") for column in range(header.columns)]
    records = pl.DataFrame({"height": range(height)}).select(
        (pl.lit(each) if isinstance(each, str) else each).alias(str(column))
        for column, each in enumerate(values)
    )
    written = records.write_csv(
        include_header=False, separator=header.separator, quote_style="never"
    )
    return written.encode("utf-8")


def _header_fields(units: pl.DataFrame, state: str, layout: Layout) -> Fields:
    """Return the fields of records.

    Args:
        units: Columns ``geoid, level, logrecno, population``, null where it is not published.
    """
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
    """Split geoids into state, county, tract, block group and block; empty below their level."""
    geoid = pl.col(geoids.name)
    columns = []
    for name, start in _STARTS.items():
        part = geoid.str.slice(start, DIGITS[name])
        is_whole = part.str.len_chars() == DIGITS[name]
        columns.append(pl.when(is_whole).then(part).otherwise(pl.lit("")).alias(name))
    return geoids.to_frame().select(columns)


def _names(parts: pl.DataFrame) -> pl.Series:
    """Return the census name of each geounit, empty above tracts."""
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


def _population(
    units: pl.DataFrame, positioned: PositionedCounts, release: Release, layout: Layout
) -> pl.Series:
    """Return POP100: the cell that counts everybody; blank at levels without such a cell."""
    columns: dict[str, tuple[Segment, int]] = {}
    for segment in layout.segments:
        for placement in segment.placements:
            for cell in placement.table.cells:
                if cell.masks == release.full and cell.tally is None:
                    column = placement.first + cell.number - 1
                    for level in placement.table.levels:
                        columns.setdefault(level, (segment, column))
    population = np.full(units.height, -1, np.int64)
    levels = units["level"].to_numpy()
    for level, (segment, column) in columns.items():
        low, high = positioned.spans[segment.number]
        mine = positioned.column[low:high] == column
        people = np.zeros(units.height, np.int64)
        people[positioned.row[low:high][mine]] = positioned.value[low:high][mine]
        population = np.where(levels == level, people, population)
    return pl.select(pl.lit(pl.Series(population)).replace(-1, None)).to_series()


def _segment_chunks(
    units: pl.DataFrame,
    state: str,
    positioned: PositionedCounts,
    segment: Segment,
    layout: Layout,
) -> Iterator[bytes]:
    """Yield records of the levels that the segment has tables for."""
    keys = (layout.file_id, state, "000", f"{segment.number:02}")
    for start in range(0, units.height, _CHUNK):
        chunk = units.slice(start, _CHUNK)
        matrix = positioned.matrix(segment, start, start + chunk.height)
        logrecno = chunk["logrecno"].cast(pl.String).str.zfill(7)
        columns = [pl.lit(key).alias(f"key{i}") for i, key in enumerate(keys)]
        wide = chunk.select(*columns, logrecno.alias("logrecno"), "level").with_columns(
            _cell_column(matrix, segment, column) for column in range(KEY_COLUMNS, segment.columns)
        )
        kept = wide.filter(pl.col("level").is_in(sorted(segment.levels))).drop("level")
        yield kept.write_csv(include_header=False, separator=layout.header.separator).encode(
            "latin-1"
        )


def _cell_column(matrix: NDArray[np.int64], segment: Segment, column: int) -> pl.Expr:
    """Return one column, empty for the levels that its table is not published for."""
    for placement in segment.placements:
        if placement.first <= column < placement.stop:
            values = pl.lit(pl.Series(matrix[:, column]))
            published = pl.col("level").is_in(placement.table.levels)
            return pl.when(published).then(values).alias(f"column{column}")
    return pl.lit(None, pl.Int64).alias(f"column{column}")


@dataclass(frozen=True)
class PositionedCounts:
    """Counts at their position in the files, sorted by segment and row.

    Attributes:
        row: Place of the geounit among the sorted units.
        spans: Segment number → where its counts start and end.
    """

    row: NDArray[np.int64]
    column: NDArray[np.int64]
    value: NDArray[np.int64]
    spans: dict[int, tuple[int, int]]

    def matrix(self, segment: Segment, start: int, stop: int) -> NDArray[np.int64]:
        """Return the columns of ``segment`` for units ``start`` to ``stop - 1``, zeros included."""
        low, high = self.spans[segment.number]
        rows = self.row[low:high]
        first, last = (low + int(i) for i in np.searchsorted(rows, [start, stop]))
        matrix = np.zeros((stop - start, segment.columns), np.int64)
        matrix[self.row[first:last] - start, self.column[first:last]] = self.value[first:last]
        return matrix


def position_counts(
    counts: pl.DataFrame, geounits: pl.DataFrame, units: pl.DataFrame, layout: Layout
) -> PositionedCounts:
    """Find each count's segment, row and column, or refuse it."""
    places = pl.DataFrame(
        [
            (level, p.table.name, cell.number, s.number, p.first + cell.number - 1)
            for s in layout.segments
            for p in s.placements
            for level in p.table.levels
            for cell in p.table.cells
        ],
        schema={
            "level": pl.String,
            "table": pl.String,
            "cell": pl.Int16,
            "segment": pl.Int64,
            "column": pl.Int64,
        },
        orient="row",
    )
    ignored = geounits.filter(~pl.col("level").is_in(list(layout.summary_levels)))["geoid"]
    placed = (
        counts.select(COUNTS.names())
        .filter(~pl.col("geoid").is_in(ignored.implode()))
        .join(units, on="geoid", how="left", maintain_order="left")
        .join(places, on=["level", "table", "cell"], how="left", maintain_order="left")
    )
    _refuse_unpositioned(placed)
    placed = placed.sort("segment", "logrecno", "column")
    segment = placed["segment"].to_numpy()
    ends = {
        s.number: (
            int(np.searchsorted(segment, s.number, "left")),
            int(np.searchsorted(segment, s.number, "right")),
        )
        for s in layout.segments
    }
    row = placed["logrecno"].cast(pl.Int64).to_numpy() - 1
    value = placed["count"].cast(pl.Int64).to_numpy()
    return PositionedCounts(row, placed["column"].to_numpy(), value, ends)


def _refuse_unpositioned(placed: pl.DataFrame) -> None:
    for problem, rows in (
        ("is not among the geounits", placed.filter(pl.col("level").is_null())),
        ("is not published there", placed.filter(pl.col("segment").is_null())),
        ("is negative or missing", placed.filter(~pl.col("count").ge(0).fill_null(value=False))),
        ("occurs twice", placed.filter(pl.struct("geoid", "table", "cell").is_duplicated())),
    ):
        if len(rows):
            geoid, table, cell, count = rows.select(COUNTS.names()).row(0)
            raise SourceError(
                f"count {count} of geoid {geoid}, table {table}, cell {cell} {problem}"
            )
