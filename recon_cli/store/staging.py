"""Staging folders, in which a stage's output grows partition by partition until it is published.

``.staging/<stage>-<key>/`` holds ``new/`` (the folders to publish), ``done/`` (a mark for every
finished partition), ``begun/`` (results of unfinished ones), during publication ``old/`` (the
replaced folders) and ``_commit.json`` (publication has begun and must be completed).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.store import files
from recon_cli.store.manifest import FileEntry, FolderEntry, PartitionEntry, read_entry
from recon_cli.store.piece import Piece
from recon_cli.store.recipe import Recipe

if TYPE_CHECKING:
    import polars as pl

COMMIT = "_commit.json"


@dataclass(frozen=True)
class Staging:
    """The staging folder of a stage. Pickles, so that each worker writes its own partitions.

    Attributes:
        root: The stage's own folder under ``.staging``.
    """

    root: Path
    recipe: Recipe

    @property
    def new(self) -> Path:
        """Return the folder with the folders to publish."""
        return self.root / "new"

    def partition_folder(self, folder: str, partition: str) -> Path:
        """Return the folder of a partition, such as ``new/tables/county=01073``."""
        return self.new / folder / f"{self.recipe.partition_level}={partition}"

    def parts(self, folder: str, partitions: Iterable[str]) -> Iterator[pl.DataFrame]:
        """Read what was written of some partitions of a folder, one after the other."""
        import polars as pl  # slow to load, and not needed to read a manifest

        for name in partitions:
            files = self.partition_folder(folder, name) / "*.parquet"
            yield pl.read_parquet(files, hive_partitioning=False)

    def mark(self, name: str) -> Path:
        """Return the file that marks a partition, or a piece of one, as finished."""
        return self.root / "done" / f"{name}.json"

    def trace(self, piece: Piece) -> Path:
        """Return the file in which a worker notes the geounit it is about to solve."""
        return self.root / "at" / piece.name

    def begun(self, piece: Piece) -> Path:
        """Return the folder with the partial results of an unfinished piece."""
        return self.root / "begun" / piece.name

    def write(
        self,
        piece: Piece,
        frames: Mapping[str, pl.DataFrame],
        *,
        statuses: Mapping[str, int] | None = None,
        totals: Mapping[str, int] | None = None,
        started: float | None = None,
    ) -> PartitionEntry:
        """Write a finished piece: one frame for each folder of the stage, then its mark.

        Args:
            piece: A partition, or a part of it.
            frames: Folder → rows, without the partition column.
            statuses: Counts by outcome.
            totals: Further counts that add up.
            started: `time.perf_counter` when the work on it began.
        """
        folders = {}
        for name in self.recipe.stage.folders:
            file = write_part(self, piece.partition, name, piece.part, frames[name])
            folders[name] = FolderEntry.of(frames[name].height, {piece.part: file})
        entry = PartitionEntry(
            partition=piece.partition,
            piece=None if piece.of == 1 else piece.number,
            of=piece.of,
            key=self.recipe.partition_key(piece.partition),
            folders=folders,
            statuses=dict(statuses or {}),
            totals=dict(totals or {}),
            seconds=0.0 if started is None else round(time.perf_counter() - started, 4),
        )
        self.finish(entry)
        return entry

    def finish(self, entry: PartitionEntry) -> None:
        """Mark the partition of ``entry`` as finished."""
        files.write_bytes(self.mark(_name(entry)), files.json_bytes(entry.model_dump(mode="json")))

    def write_extra(self, folder: str, name: str, data: bytes) -> None:
        """Write a file beside the partitions of ``folder``."""
        files.write_bytes(self.new / folder / name, data)

    def write_extras(self, folder: str, named: Mapping[str, bytes]) -> None:
        """Write several files: name → content."""
        for name, data in named.items():
            self.write_extra(folder, name, data)

    def finished(self) -> dict[str, PartitionEntry]:
        """Map names of finished partitions and pieces to their entries."""
        found = {}
        for path in sorted((self.root / "done").glob("*.json")):
            entry = read_entry(path)
            if entry is not None and path.stem == _name(entry) and self._holds(entry):
                found[path.stem] = entry
        return found

    def reuse(self, entry: PartitionEntry, source: Path) -> bool:
        """Take over a partition from ``source``; return False if its files differ from the record.

        Args:
            source: A folder that holds the stage's folders.
        """
        level = self.recipe.partition_level
        for folder, content in entry.folders.items():
            origin = source / folder / f"{level}={entry.partition}"
            target = self.partition_folder(folder, entry.partition)
            for name, file in content.files.items():
                if not intact(origin / name, file, deep=True):
                    return False
                files.link(origin / name, target / name)
            files.sync_folder(target)
        self.finish(entry)
        return True

    def _holds(self, entry: PartitionEntry) -> bool:
        return entry.key == self.recipe.partition_key(entry.partition) and all(
            intact(self.partition_folder(folder, entry.partition) / name, file, deep=True)
            for folder, content in entry.folders.items()
            for name, file in content.files.items()
        )


def intact(path: Path, recorded: FileEntry, *, deep: bool) -> bool:
    """Test whether a file is as recorded: by size, and if ``deep`` by its bytes too."""
    try:
        if path.stat().st_size != recorded.size:
            return False
        return not deep or files.file_digest(path) == recorded.sha256
    except OSError:
        return False


@dataclass
class PartWriter:
    """Appends part files to partitions, for a stage that meets a partition more than once."""

    staging: Staging
    _parts: dict[tuple[str, str], dict[str, FileEntry]] = field(default_factory=dict)
    _rows: dict[tuple[str, str], int] = field(default_factory=dict)

    def append(self, partition: str, folder: str, frame: pl.DataFrame) -> None:
        """Write the next part file of a partition."""
        parts = self._parts.setdefault((partition, folder), {})
        name = f"part-{len(parts):05d}.parquet"
        parts[name] = write_part(self.staging, partition, folder, name, frame)
        self._rows[partition, folder] = self._rows.get((partition, folder), 0) + frame.height

    def partitions(self) -> list[str]:
        """List the partitions with at least one part, sorted."""
        return sorted({partition for partition, _ in self._parts})

    def has(self, partition: str, folder: str) -> bool:
        return (partition, folder) in self._parts

    def rows(self, partition: str, folder: str) -> int:
        """Count the rows that a partition has in ``folder`` so far."""
        return self._rows.get((partition, folder), 0)

    def read(self, partition: str, folder: str, columns: list[str]) -> pl.DataFrame:
        import polars as pl  # slow to load, and not needed to read a manifest

        home = self.staging.partition_folder(folder, partition)
        parts = self._parts[partition, folder]
        return pl.concat([pl.read_parquet(home / name, columns=columns) for name in parts])

    def finish(
        self,
        partition: str,
        *,
        statuses: Mapping[str, int] | None = None,
        totals: Mapping[str, int] | None = None,
        started: float | None = None,
    ) -> PartitionEntry:
        """Mark a partition as finished; it must have a part in every folder of the stage."""
        entry = PartitionEntry(
            partition=partition,
            key=self.staging.recipe.partition_key(partition),
            folders={
                folder: FolderEntry.of(
                    self._rows[partition, folder], self._parts[partition, folder]
                )
                for folder in self.staging.recipe.stage.folders
            },
            statuses=dict(statuses or {}),
            totals=dict(totals or {}),
            seconds=0.0 if started is None else round(time.perf_counter() - started, 4),
        )
        self.staging.finish(entry)
        return entry


def write_part(
    staging: Staging, partition: str, folder: str, name: str, frame: pl.DataFrame
) -> FileEntry:
    """Write one part file, and return its entry with the range of its geoids."""
    data = files.parquet_bytes(frame)
    files.write_bytes(staging.partition_folder(folder, partition) / name, data)
    geoids = next((frame[c] for c in frame.columns if c.startswith("geoid")), None)
    if geoids is None or not len(geoids):
        return FileEntry(size=len(data), sha256=files.digest(data))
    first, last = str(geoids.min()), str(geoids.max())
    return FileEntry(size=len(data), sha256=files.digest(data), first=first, last=last)


def _name(entry: PartitionEntry) -> str:
    number = entry.piece or 0
    return Piece(entry.partition, number, entry.of).name
