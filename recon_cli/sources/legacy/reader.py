"""The legacy sources: state files of Summary File 1, redistricting data and DHC.

A state is a geographic header and segments, all sorted by record number. They are read in lockstep,
so memory depends on the chunk, not on the state: only eight bytes for each geounit are kept, to
detect duplicates.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import GEOUNITS
from recon_cli.publication import GeounitBatch
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.legacy.geography import GeographyReader, Records
from recon_cli.sources.legacy.layout import (
    Inventory,
    Layout,
    legacy_layout,
    states_of,
    take_inventory,
)
from recon_cli.sources.legacy.lines import open_members, open_stream
from recon_cli.sources.legacy.segments import NOT_SHOWN, SegmentReader

CHUNK_RECORDS: Final = 20_000

#: Bytes of a segment that are read at once for every record of a chunk, within these limits.
_SEGMENT_BYTES: Final = 100
_LEAST_READ: Final = 1 << 12
_MOST_READ: Final = 1 << 21


class LegacySource:
    """Opened legacy state files; see `open_legacy`."""

    def __init__(
        self, release: Release, layout: Layout, paths: tuple[Path, ...], chunk_records: int
    ) -> None:
        self._layout = layout
        self._paths = paths
        self._chunk_records = chunk_records
        self._cells = CellIndex.of(release)
        self._coverage = [_pattern(release, layout, level) for level in layout.summary_levels]
        self._incomplete: dict[tuple[int, tuple[int, ...]], int] = {}
        for path in paths:
            with open_members(path) as members:
                take_inventory(members, path, layout)

    @property
    def coverage(self) -> Coverage:
        """Return a pattern for each level, finest first, then those with hidden cells."""
        return tuple(self._coverage)

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield one batch for each chunk of the header that has geounits."""
        seen = _SeenGeounits()
        for path in self._paths:
            with open_members(path) as members:
                yield from self._state(take_inventory(members, path, self._layout), seen, path)

    def _state(
        self, inventory: Inventory, seen: _SeenGeounits, path: Path
    ) -> Iterator[GeounitBatch]:
        read_size = min(max(self._chunk_records * _SEGMENT_BYTES, _LEAST_READ), _MOST_READ)
        with ExitStack() as stack:
            header = stack.enter_context(open_stream(inventory.geography))
            geography = GeographyReader(header, self._layout, self._chunk_records)
            segments = [
                SegmentReader(
                    stack.enter_context(open_stream(inventory.segments[segment.number])),
                    segment,
                    self._layout,
                    self._cells,
                    read_size,
                )
                for segment in self._layout.segments
            ]
            for records in geography.chunks():
                seen.add(path, records, geography.label)
                batch = self._batch(records, segments)
                if len(batch.geounits):
                    yield batch
            for reader in segments:
                reader.finish()

    def _batch(self, records: Records, segments: list[SegmentReader]) -> GeounitBatch:
        parts = [counts for segment in segments for counts in segment.read(records)]
        none = np.empty(0, np.int64)
        row = np.concatenate([none, *(part.row for part in parts)])
        ordinal = np.concatenate([none, *(part.ordinal for part in parts)])
        value = np.concatenate([none, *(part.value for part in parts)])
        shown = value != NOT_SHOWN
        counts = self._cells.counts(records.geoid, row[shown], ordinal[shown], value[shown])
        pattern = records.level.copy()
        for geounit, cells in _by_row(row[~shown], ordinal[~shown]):
            pattern[geounit] = self._without(int(pattern[geounit]), cells)
        levels = pl.Series(list(self._layout.summary_levels), dtype=pl.String)
        geounits = pl.DataFrame(
            {
                "geoid": records.geoid,
                "level": levels.gather(records.level),
                "pattern": pattern.astype(np.int16),
            },
            schema=GEOUNITS,
        )
        return GeounitBatch(geounits, counts)

    def _without(self, level: int, hidden: tuple[int, ...]) -> int:
        """Return the index of a level's pattern without the hidden cells, given by ordinal."""
        known = self._incomplete.get((level, hidden))
        if known is not None:
            return known
        complete = self._coverage[level]
        names = {(self._cells.table_name(each), int(self._cells.cell_of[each])) for each in hidden}
        cells = {
            table: tuple(number for number in numbers if (table, number) not in names)
            for table, numbers in complete.cells.items()
        }
        pattern = CoveragePattern(complete.level, {t: some for t, some in cells.items() if some})
        self._coverage.append(pattern)
        self._incomplete[level, hidden] = len(self._coverage) - 1
        return len(self._coverage) - 1


def _pattern(release: Release, layout: Layout, level: str) -> CoveragePattern:
    """Return every cell that the layout has for a level."""
    kept = {placement.table.name for each in layout.segments for placement in each.placements}
    complete = CoveragePattern.complete(release, level).cells
    return CoveragePattern(level, {name: cells for name, cells in complete.items() if name in kept})


def _by_row(
    row: NDArray[np.int64], ordinal: NDArray[np.int64]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the distinct rows, each with its sorted ordinals."""
    order = np.lexsort((ordinal, row))
    rows, starts = np.unique(row[order], return_index=True)
    for at, cells in zip(rows, np.split(ordinal[order], starts[1:]), strict=False):
        yield int(at), tuple(cells.tolist())


def open_legacy(
    release: Release,
    paths: Sequence[Path | str],
    *,
    layout: str | None = None,
    tables: Collection[str] | None = None,
    chunk_records: int = CHUNK_RECORDS,
) -> LegacySource:
    """Open legacy state files.

    Args:
        paths: State zips, folders of them, or folders with a state's members.
        layout: Name of the layout, such as ``sf1-legacy``; None for the one of the release.
        tables: Names of the tables to read; segments without any of them need not be there.
            Default all.
        chunk_records: Approximate number of header records that are read at once.

    Raises:
        ConfigError: No paths, the release has no such layout, or a table has no place in it.
    """
    if not paths:
        raise ConfigError("legacy files: expected the path of at least one state zip or folder")
    if chunk_records < 1:
        raise ConfigError(f"legacy files: chunk_records must be 1 or more, found {chunk_records}")
    kept = legacy_layout(release, layout)
    if tables is not None:
        kept = kept.only(tables)
    states = tuple(state for path in paths for state in states_of(Path(path)))
    return LegacySource(release, kept, states, chunk_records)


class _SeenGeounits:
    """The geounits read so far, as sorted runs of integer keys.

    Runs of one path are merged when they have the same size, so there are few, and the keys of a
    state are a range, so that other states' runs need no look-up.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Path, NDArray[np.int64]]] = []

    def add(self, path: Path, records: Records, label: str) -> None:
        """Record the geounits of a chunk, and refuse duplicates."""
        if not len(records.key):
            return
        keys = np.sort(records.key)
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            raise _occurs_twice(int(twice[0]), records, label, path)
        for earlier, run in self._runs:
            if run[0] > keys[-1] or run[-1] < keys[0]:
                continue
            at = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            twice = keys[run[at] == keys]
            if len(twice):
                raise _occurs_twice(int(twice[0]), records, label, earlier)
        self._runs.append((path, keys))
        self._merge()

    def _merge(self) -> None:
        while len(self._runs) > 1:
            (earlier, big), (path, small) = self._runs[-2:]
            if earlier != path or len(big) > 2 * len(small):
                return
            self._runs[-2:] = [(path, np.sort(np.concatenate([big, small])))]


def _occurs_twice(key: int, records: Records, label: str, earlier: Path) -> SourceError:
    at = int(np.flatnonzero(records.key == key)[-1])
    return SourceError(
        f"{label}: line {records.line[at]}, LOGRECNO {records.logrecno[at]:07}: "
        f"geoid {records.geoid[at]} occurs twice, first in {earlier}"
    )
