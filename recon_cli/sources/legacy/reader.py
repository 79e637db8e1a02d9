"""The ``sf1-legacy`` source: state files as the 2010 Census published them.

A state is a geographic header and segments, all sorted by record number. They are read in
lockstep, so memory depends on the chunk, not on the state: only eight bytes a geounit stay, to
notice a geounit that occurs twice.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import GEOUNITS
from recon_cli.publication import Coverage, CoveragePattern, GeounitBatch
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.legacy.archive import (
    Archive,
    Inventory,
    open_archive,
    open_stream,
    take_inventory,
)
from recon_cli.sources.legacy.geography import GeographyReader, Records
from recon_cli.sources.legacy.layout import legacy_layout
from recon_cli.sources.legacy.segments import SegmentReader

CHUNK_RECORDS: Final = 20_000

#: Bytes of a segment that are read at once for every record of a chunk, within these limits.
_SEGMENT_BYTES: Final = 100
_LEAST_READ: Final = 1 << 12
_MOST_READ: Final = 1 << 21


class LegacySource:
    """Legacy state files, opened; see `open_legacy`."""

    def __init__(self, release: Release, paths: tuple[Path, ...], chunk_records: int) -> None:
        self._layout = legacy_layout(release)
        self._paths = paths
        self._chunk_records = chunk_records
        self._cells = CellIndex.of(release)
        self._coverage = tuple(
            CoveragePattern.complete(release, level) for level in self._layout.summary_levels
        )
        for path in paths:
            with open_archive(path) as archive:
                take_inventory(archive, path, self._layout.segments)

    @property
    def coverage(self) -> Coverage:
        """One complete pattern for each level with tables, finest level first."""
        return self._coverage

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """One batch for each chunk of the header that has geounits.

        Raises:
            SourceError: Names the member, the line or record, and what was expected.
        """
        seen = _SeenGeounits()
        for path in self._paths:
            with open_archive(path) as archive:
                inventory = take_inventory(archive, path, self._layout.segments)
                yield from self._state(archive, inventory, seen, path)

    def _state(
        self, archive: Archive, inventory: Inventory, seen: _SeenGeounits, path: Path
    ) -> Iterator[GeounitBatch]:
        read_size = min(max(self._chunk_records * _SEGMENT_BYTES, _LEAST_READ), _MOST_READ)
        with ExitStack() as stack:
            header = stack.enter_context(open_stream(archive, inventory.geography))
            geography = GeographyReader(header, self._layout, self._chunk_records)
            segments = [
                SegmentReader(
                    stack.enter_context(open_stream(archive, inventory.segments[segment.number])),
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
        counts = self._cells.counts(
            records.geoid,
            np.concatenate([none, *(part.row for part in parts)]),
            np.concatenate([none, *(part.ordinal for part in parts)]),
            np.concatenate([none, *(part.value for part in parts)]),
        )
        levels = pl.Series(list(self._layout.summary_levels), dtype=pl.String)
        geounits = pl.DataFrame(
            {
                "geoid": records.geoid,
                "level": levels.gather(records.level),
                "pattern": records.level.astype(np.int16),
            },
            schema=GEOUNITS,
        )
        return GeounitBatch(geounits, counts)


def open_legacy(
    release: Release, paths: Sequence[Path | str], *, chunk_records: int = CHUNK_RECORDS
) -> LegacySource:
    """Open legacy state files.

    Args:
        release: A release with an ``sf1-legacy`` layout.
        paths: State zips, or folders with a state's members.
        chunk_records: Header records that are read at once, about.

    Raises:
        ConfigError: No paths, or the release has no such layout.
        SchemaError: The layout is inconsistent with the release.
        SourceError: A path is neither zip nor folder, or lacks a member.
    """
    if not paths:
        raise ConfigError("sf1-legacy: expected the path of at least one state zip or folder")
    if chunk_records < 1:
        raise ConfigError(f"sf1-legacy: chunk_records must be 1 or more, found {chunk_records}")
    return LegacySource(release, tuple(Path(path) for path in paths), chunk_records)


class _SeenGeounits:
    """The geounits read so far, as sorted runs of integer keys.

    Runs of one path are merged when they have the same size, so there are few, and the keys of
    a state are a range, so that other states' runs need no look-up.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[Path, NDArray[np.int64]]] = []

    def add(self, path: Path, records: Records, label: str) -> None:
        """Note the geounits of a chunk.

        Raises:
            SourceError: One of them was there before.
        """
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
