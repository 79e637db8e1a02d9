"""The geographic header, in chunks: record numbers, levels and geoids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.legacy.header import Spans, SpansOf
from recon_cli.sources.legacy.layout import Layout
from recon_cli.sources.legacy.lines import ZERO, LineBlock, LineReader, Stream, record_numbers


@dataclass(frozen=True)
class Records:
    """Consecutive records of the header.

    Attributes:
        all_logrecno: LOGRECNO of every record, sorted.
        logrecno: LOGRECNO of the records at levels of the layout, sorted; the following are
            parallel to it.
        level: Index of the level in ``layout.summary_levels``.
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
        self._header = layout.header
        self._lines = LineReader(stream, chunk_records * layout.header.about_size)
        self._codes = list(layout.summary_levels.values())

    def chunks(self) -> Iterator[Records]:
        """Yield consecutive records, about ``chunk_records`` at a time.

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

    def _records(self, block: LineBlock, previous: int) -> Records:
        spans = self._header.spans(block, self.label)
        logrecno = record_numbers(block, *spans("LOGRECNO"), previous, self.label)
        level = self._levels(block, spans)
        kept = np.flatnonzero(level >= 0)
        geoids = np.empty(len(kept), dtype="S18")
        for index, code in enumerate(self._codes):
            mine = np.flatnonzero(level[kept] == index)
            if len(mine):
                geoids[mine] = self._geoids(block, spans, kept[mine], code)
        geoid = pl.Series("geoid", geoids.astype("U18").tolist(), dtype=pl.String)
        return Records(
            logrecno,
            logrecno[kept],
            level[kept],
            kept + block.line,
            geoid,
            geoid_keys(geoid, level[kept]),
        )

    def _levels(self, block: LineBlock, spans: SpansOf) -> NDArray[np.int64]:
        """Return the index of each record's level, -1 for records to skip.

        A record with a geographic component describes only a part of its geounit, such as the urban
        part, so it is skipped like a summary level without tables.
        """
        code = _text(block, spans("SUMLEV"))
        component = _text(block, spans("GEOCOMP"))
        whole = (component == b"00") | (component == b"")
        level = np.full(len(code), -1, np.int64)
        for index, wanted in enumerate(self._codes):
            level[(code == wanted.encode()) & whole] = index
        return level

    def _geoids(
        self, block: LineBlock, spans: SpansOf, rows: NDArray[np.int64], code: str
    ) -> NDArray[np.bytes_]:
        """Assemble geoids of records of one level from their fields."""
        parts = []
        for field, digits in self._header.geoid_fields(code):
            starts, stops = (edge[rows] for edge in spans(field))
            part = block.data[np.minimum(starts[:, None] + np.arange(digits), len(block.data) - 1)]
            bad = ((part < ZERO) | (part > ZERO + 9)).any(axis=1) | (stops - starts != digits)
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                first, last = (int(edge[rows[at]]) for edge in spans("LOGRECNO"))
                raise SourceError(
                    f"{self.label}: line {block.line + int(rows[at])}, "
                    f"LOGRECNO {block.text(first, last)}: "
                    f"expected {digits} digits in {field} ({self._header.place(field)}), "
                    f"found {block.text(int(starts[at]), int(stops[at]))!r}"
                )
            parts.append(part)
        geoids = np.ascontiguousarray(np.concatenate(parts, axis=1))
        return geoids.view(f"S{geoids.shape[1]}").ravel()


def geoid_keys(geoids: pl.Series, level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the geoid's digits, padded to 15 so that a state's keys are a range, then level."""
    return geoids.str.pad_end(15, "0").cast(pl.Int64).to_numpy() * 8 + level


def _text(block: LineBlock, spans: Spans) -> NDArray[np.bytes_]:
    """Return one field of every line, without trailing blanks."""
    starts, stops = spans
    width = max(int((stops - starts).max(initial=0)), 1)
    at = starts[:, None] + np.arange(width)
    if (stops - starts == width).all():
        data = block.data[at]
    else:
        inside = at < stops[:, None]
        data = np.where(inside, block.data[np.where(inside, at, 0)], ord(" ")).astype(np.uint8)
    return np.char.rstrip(np.ascontiguousarray(data).view(f"S{width}").ravel())
