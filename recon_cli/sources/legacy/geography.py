"""The geographic header, chunk by chunk: record numbers, levels and geoids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.archive import Stream
from recon_cli.sources.legacy.header import (
    GEOCOMP,
    GEOID_FIELDS,
    LOGRECNO,
    RECORD_LENGTH,
    SUMLEV,
    field_name,
)
from recon_cli.sources.legacy.layout import Layout
from recon_cli.sources.legacy.lines import NEWLINE, RETURN, ZERO, Block, LineReader, record_numbers


@dataclass(frozen=True)
class Records:
    """Consecutive records of the header.

    Attributes:
        all_logrecno: LOGRECNO of every record, rising.
        logrecno: LOGRECNO of the records at levels of the layout, rising; the following are
            parallel to it.
        level: Index of the level in ``layout.summary_levels``.
        line: Line number in the header.
        geoid: Their geoids, text.
        key: The geoids as integers, unique over levels; see `geoid_keys`.
    """

    all_logrecno: NDArray[np.int64]
    logrecno: NDArray[np.int64]
    level: NDArray[np.int64]
    line: NDArray[np.int64]
    geoid: pl.Series
    key: NDArray[np.int64]


class GeographyReader:
    """Reads the header from a stream."""

    def __init__(self, stream: Stream, layout: Layout, chunk_records: int) -> None:
        self.label = stream.label
        self._lines = LineReader(stream, chunk_records * (RECORD_LENGTH + 1))
        self._fields = [GEOID_FIELDS[code] for code in layout.summary_levels.values()]
        self._codes = list(layout.summary_levels.values())

    def chunks(self) -> Iterator[Records]:
        """Consecutive records, about ``chunk_records`` at a time.

        Raises:
            SourceError: A line is too short, or a record number or geoid is malformed.
        """
        previous = -1
        kept = 0
        while (block := self._lines.next_block()) is not None:
            records = self._records(block, previous)
            previous = int(records.all_logrecno[-1])
            kept += len(records.geoid)
            yield records
        if not kept:
            raise SourceError(
                f"{self.label}: expected records of summary levels {', '.join(self._codes)}, "
                f"found none in {'an empty member' if previous < 0 else 'the member'}"
            )

    def _records(self, block: Block, previous: int) -> Records:
        starts = _line_starts(block, self.label)
        logrecno = record_numbers(
            block, starts + LOGRECNO.start, starts + LOGRECNO.stop, previous, self.label
        )
        level = self._levels(block, starts)
        kept = np.flatnonzero(level >= 0)
        geoids = np.empty(len(kept), dtype="S18")
        for index, fields in enumerate(self._fields):
            mine = np.flatnonzero(level[kept] == index)
            if len(mine):
                geoids[mine] = self._geoids(block, starts, kept[mine], fields)
        geoid = pl.Series("geoid", geoids.astype("U18").tolist(), dtype=pl.String)
        return Records(
            logrecno,
            logrecno[kept],
            level[kept],
            kept + block.line,
            geoid,
            geoid_keys(geoid, level[kept]),
        )

    def _levels(self, block: Block, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Index of each record's level, -1 for records to skip.

        A record with a geographic component describes only a part of its geounit, such as the
        urban part, so it is skipped like a summary level without tables.
        """
        code = _text(block, starts, SUMLEV)
        component = _text(block, starts, GEOCOMP)
        whole = (component == b"00") | (component == b"")
        level = np.full(len(starts), -1, np.int64)
        for index, wanted in enumerate(self._codes):
            level[(code == wanted.encode()) & whole] = index
        return level

    def _geoids(
        self,
        block: Block,
        starts: NDArray[np.int64],
        rows: NDArray[np.int64],
        fields: tuple[slice, ...],
    ) -> NDArray[np.bytes_]:
        """Geoids of records of one level, from the fields that make them up."""
        columns = np.concatenate([np.arange(field.start, field.stop) for field in fields])
        digits = block.data[starts[rows][:, None] + columns]
        bad = (digits < ZERO) | (digits > ZERO + 9)
        if bad.any():
            row, at = (int(i) for i in np.argwhere(bad)[0])
            name = field_name(int(columns[at]))
            field = next(f for f in fields if f.start <= columns[at] < f.stop)
            start = int(starts[rows[row]])
            raise SourceError(
                f"{self.label}: line {block.line + int(rows[row])}, "
                f"LOGRECNO {block.text(start + LOGRECNO.start, start + LOGRECNO.stop)}: "
                f"expected digits in {name} (characters {field.start + 1} to {field.stop}), "
                f"found {block.text(start + field.start, start + field.stop)!r}"
            )
        return np.ascontiguousarray(digits).view(f"S{len(columns)}").ravel()


def geoid_keys(geoids: pl.Series, level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Digits of the geoid, filled up to 15 so that a state's keys are a range, then the level."""
    return geoids.str.pad_end(15, "0").cast(pl.Int64).to_numpy() * 8 + level


def _line_starts(block: Block, label: str) -> NDArray[np.int64]:
    """Where each line starts; refuses lines that are shorter than a record."""
    stops = np.flatnonzero(block.data == NEWLINE)
    starts = np.concatenate([[0], stops[:-1] + 1])
    lengths = stops - starts
    short = np.flatnonzero(lengths <= RECORD_LENGTH)
    if len(short):
        # A line of exactly 500 bytes counts as short only when its last one is a CR.
        trimmed = lengths[short] - (block.data[np.maximum(stops[short] - 1, 0)] == RETURN)
        wrong = np.flatnonzero((trimmed < RECORD_LENGTH) | (lengths[short] == 0))
        if len(wrong):
            at = int(wrong[0])
            raise SourceError(
                f"{label}: line {block.line + int(short[at])}: expected a header record of "
                f"{RECORD_LENGTH} characters, found {max(int(trimmed[at]), 0)}"
            )
    return starts


def _text(block: Block, starts: NDArray[np.int64], field: slice) -> NDArray[np.bytes_]:
    """One field of every line, trailing blanks removed."""
    columns = np.arange(field.start, field.stop)
    text = np.ascontiguousarray(block.data[starts[:, None] + columns]).view(f"S{len(columns)}")
    return np.char.rstrip(text.ravel())
