"""One segment, read in step with the geographic header: the non-zero counts of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.errors import SourceError
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.legacy.geography import Records
from recon_cli.sources.legacy.layout import LOGRECNO_COLUMN, Layout, Segment
from recon_cli.sources.legacy.lines import (
    MAX_COUNT,
    NEWLINE,
    RETURN,
    ZERO,
    LineBlock,
    LineReader,
    Stream,
    parse_numbers,
    record_numbers,
    separator_table,
)

#: In place of a count that the file has as ``.``: the cell is not published for the geounit.
NOT_SHOWN: Final = -1

_CIFSN_COLUMN: Final = 3
_DOT: Final = ord(".")


@dataclass(frozen=True)
class ColumnRun:
    """Neighbouring columns: ``first`` holds the cell with ordinal ``ordinals[0]``, and so on."""

    first: int
    ordinals: NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Levels that have the same tables in a segment.

    Attributes:
        levels: Indices into ``layout.summary_levels``.
    """

    levels: tuple[int, ...]
    runs: tuple[ColumnRun, ...]


def column_groups(segment: Segment, layout: Layout, cells: CellIndex) -> tuple[Group, ...]:
    """Return the columns of ``segment`` that each level needs, for levels that need any."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, level in enumerate(layout.summary_levels):
        names = tuple(placement.table.name for placement in segment.tables_at(level))
        if names:
            groups.setdefault(names, []).append(index)
    return tuple(
        Group(tuple(levels), _runs(segment, names, cells)) for names, levels in groups.items()
    )


def _runs(segment: Segment, names: tuple[str, ...], cells: CellIndex) -> tuple[ColumnRun, ...]:
    """Merge adjacent tables to one run: fewer runs take fewer array operations."""
    runs: list[ColumnRun] = []
    for placement in segment.placements:
        if placement.table.name not in names:
            continue
        offset = cells.offsets[placement.table.name]
        ordinals = np.arange(offset, offset + len(placement.table.cells))
        if runs and runs[-1].first + len(runs[-1].ordinals) == placement.first:
            last = runs.pop()
            runs.append(ColumnRun(last.first, np.concatenate([last.ordinals, ordinals])))
        else:
            runs.append(ColumnRun(placement.first, ordinals))
    return tuple(runs)


@dataclass(frozen=True)
class SegmentRows:
    """Consecutive records of a segment.

    Attributes:
        stops: Row by column: position of the separator after each cell.
        logrecno: LOGRECNO of each row, sorted.
    """

    block: LineBlock
    stops: NDArray[np.int64]
    logrecno: NDArray[np.int64]
    line: int

    def split(self, count: int) -> tuple[SegmentRows, SegmentRows]:
        """Split off the first ``count`` rows."""
        return (
            SegmentRows(self.block, self.stops[:count], self.logrecno[:count], self.line),
            SegmentRows(self.block, self.stops[count:], self.logrecno[count:], self.line + count),
        )


@dataclass(frozen=True)
class SegmentCounts:
    """Counts that are not zero: index of the geounit in the chunk, ordinal of the cell, value.

    A cell that is not shown has the value `NOT_SHOWN`.
    """

    row: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    value: NDArray[np.int64]


class SegmentReader:
    """Reads one segment from a stream, a chunk of the header at a time."""

    def __init__(
        self, stream: Stream, segment: Segment, layout: Layout, cells: CellIndex, read_size: int
    ) -> None:
        self.label = stream.label
        self._lines = LineReader(stream, read_size)
        self._segment = segment
        self._separator = layout.header.separator
        self._can_hide = layout.header.separator != ","
        self._cells = cells
        self._groups = column_groups(segment, layout, cells)
        self._levels = [level for group in self._groups for level in group.levels]
        self._pending: SegmentRows | None = None
        self._previous = -1

    def read(self, records: Records) -> Iterator[SegmentCounts]:
        """Yield the counts of one chunk of the header.

        Raises:
            SourceError: A record is malformed, missing, or unknown to the header.
        """
        seen: list[NDArray[np.int64]] = []
        for rows in self._rows_until(int(records.all_logrecno[-1])):
            self._check_known(rows, records)
            place = _places(records.logrecno, rows.logrecno)
            kept = np.flatnonzero(place >= 0)
            seen.append(rows.logrecno[kept])
            for group in self._groups:
                index = kept[np.isin(records.level[place[kept]], group.levels)]
                for run in group.runs:
                    yield self._counts(rows, index, place[index], run, records)
        self._check_complete(seen, records)

    def finish(self) -> None:
        """Refuse records after the last one of the header."""
        rows = self._take_rows()
        if rows is not None:
            raise self._unknown(rows, 0)

    def _rows_until(self, last: int) -> Iterator[SegmentRows]:
        """Yield rows up to LOGRECNO ``last``; further rows are kept for the next chunk."""
        while True:
            rows = self._take_rows()
            if rows is None:
                return
            count = int(np.searchsorted(rows.logrecno, last, "right"))
            if count < len(rows.logrecno):
                now, self._pending = rows.split(count)
                if count:
                    yield now
                return
            yield rows

    def _take_rows(self) -> SegmentRows | None:
        """Take kept rows, else the next ones of the stream."""
        rows, self._pending = self._pending, None
        return rows if rows is not None else self._next_rows()

    def _next_rows(self) -> SegmentRows | None:
        block = self._lines.next_block()
        if block is None:
            return None
        stops = separator_table(block, self._separator, self._segment.columns, self.label)
        logrecno = record_numbers(
            block,
            stops[:, LOGRECNO_COLUMN - 1] + 1,
            stops[:, LOGRECNO_COLUMN],
            self._previous,
            self.label,
        )
        if self._previous < 0:
            self._check_file_number(block, stops)
        self._previous = int(logrecno[-1])
        return SegmentRows(block, stops, logrecno, block.line)

    def _check_file_number(self, block: LineBlock, stops: NDArray[np.int64]) -> None:
        """Check that the first record names this segment; an empty column is accepted."""
        start, stop = int(stops[0, _CIFSN_COLUMN - 1]) + 1, int(stops[0, _CIFSN_COLUMN])
        text = block.text(start, stop).strip()
        if text and (not text.isdecimal() or int(text) != self._segment.number):
            raise SourceError(
                f"{self.label}: line 1: expected segment number (CIFSN) "
                f"{self._segment.number:02}, found {text!r}"
            )

    def _check_known(self, rows: SegmentRows, records: Records) -> None:
        unknown = np.flatnonzero(_places(records.all_logrecno, rows.logrecno) < 0)
        if len(unknown):
            raise self._unknown(rows, int(unknown[0]))

    def _unknown(self, rows: SegmentRows, at: int) -> SourceError:
        return SourceError(
            f"{self.label}: line {rows.line + at}: LOGRECNO {rows.logrecno[at]:07} "
            "is not in the geography member"
        )

    def _check_complete(self, seen: list[NDArray[np.int64]], records: Records) -> None:
        needed = np.isin(records.level, self._levels)
        logrecno = np.concatenate([np.empty(0, np.int64), *seen])
        missing = np.flatnonzero(needed & (_places(logrecno, records.logrecno) < 0))
        if len(missing):
            at = int(missing[0])
            raise SourceError(
                f"{self.label}: no record with LOGRECNO {records.logrecno[at]:07}, expected one "
                f"for geoid {records.geoid[at]} (line {records.line[at]} of the geography member)"
            )

    def _counts(
        self,
        rows: SegmentRows,
        index: NDArray[np.int64],
        place: NDArray[np.int64],
        run: ColumnRun,
        records: Records,
    ) -> SegmentCounts:
        """Return the non-zero counts of rows ``index`` in the columns of ``run``."""
        data = rows.block.data
        edges = rows.stops[index, run.first - 1 : run.first + len(run.ordinals)]
        starts, stops = edges[:, :-1] + 1, edges[:, 1:]
        # Nearly all cells are a lone zero; only the others need to be parsed.
        row, column = np.nonzero((stops - starts != 1) | (data[starts] != ZERO))
        start, stop = starts[row, column], stops[row, column]
        if run.first + len(run.ordinals) == self._segment.columns:
            stop = stop - ((data[stop] == NEWLINE) & (data[stop - 1] == RETURN))
        value = parse_numbers(data, start, stop - start)
        hidden = (stop - start == 1) & (data[start] == _DOT) & self._can_hide
        bad = np.flatnonzero(((value < 0) & ~hidden) | (value > MAX_COUNT))
        if len(bad):
            at = int(bad[0])
            where, ordinal = int(row[at]), int(run.ordinals[column[at]])
            text = rows.block.text(int(start[at]), int(stop[at]))
            raise SourceError(
                f"{self.label}: line {rows.line + int(index[where])}, "
                f"LOGRECNO {rows.logrecno[index[where]]:07}, "
                f"geoid {records.geoid[int(place[where])]}, "
                f"{self._cells.name(ordinal)}: "
                f"expected a whole number from 0 to {MAX_COUNT}, found {_shown(text)}"
            )
        value = np.where(hidden, NOT_SHOWN, value)
        keep = value != 0  # a zero may also be spelled 00 or end in a CR
        return SegmentCounts(place[row[keep]], run.ordinals[column[keep]], value[keep])


def _places(among: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each wanted number in a sorted array, -1 if absent."""
    if not len(among):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(among, wanted), len(among) - 1)
    return np.where(among[at] == wanted, at, -1)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 30 else f"{text[:29]}…") if text else "nothing"
