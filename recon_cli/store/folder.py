"""Reading published stage folders: the data that the manifest recorded, or an error."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from recon_cli.errors import StageError
from recon_cli.stage import Stage
from recon_cli.store.files import digest
from recon_cli.store.manifest import MANIFEST, FileEntry, Manifest, PartitionRow, read_manifest
from recon_cli.store.piece import EVERYWHERE, Span, place_of
from recon_cli.store.staging import intact

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Folder:
    """A published folder whose manifest agrees with those of its siblings."""

    path: Path
    manifest: Manifest

    @property
    def partitions(self) -> tuple[str, ...]:
        """List the partitions, as sorted geoid prefixes."""
        return tuple(row.partition for row in self.manifest.partitions)

    @property
    def command(self) -> str:
        return f"recon {self.manifest.stage}"

    def digest(self, partition: str) -> str:
        """Return the digest of a partition's data, for the recipes of stages that read it."""
        return self._row_of(partition).digest

    def read(
        self,
        partition: str,
        span: Span = EVERYWHERE,
        columns: Sequence[str] | None = None,
    ) -> pl.DataFrame:
        """Read the rows of a partition, or those in ``span`` by the first geoid column.

        ``columns`` selects columns; names that the folder lacks are skipped.

        Raises:
            StageError: There is no such partition, or its files are not as recorded.
        """
        import polars as pl  # slow to load, and not needed to read a manifest

        row = self._row_of(partition)
        home = self.path / f"{self.manifest.partition_level}={partition}"
        names = sorted(row.files)
        inside = [n for n in names if span.meets(row.files[n].first, row.files[n].last)]
        parts = []
        for name in inside or names[:1]:
            part = pl.scan_parquet(io.BytesIO(self._bytes(home / name, row.files[name])))
            names = part.collect_schema().names()
            if span != EVERYWHERE:
                part = part.filter(span.holds(place_of(names)))
            if columns is not None:
                part = part.select(each for each in names if each in columns)
            parts.append(part.collect())
        return pl.concat(parts, rechunk=True)

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """Read one partition after the other; see `read`."""
        return (self.read(name, columns=columns) for name in self.partitions)

    def read_extra(self, name: str) -> bytes:
        """Read a file beside the partitions.

        Raises:
            StageError: It is missing or not as recorded.
        """
        recorded = self.manifest.extras.get(name)
        if recorded is None:
            raise StageError(f"{self.path} has no {name}; run `{self.command} --force`")
        return self._bytes(self.path / name, recorded)

    def is_whole(self) -> bool:
        """Report whether every recorded file exists with its recorded size."""
        level = self.manifest.partition_level
        return all(
            intact(self.path / f"{level}={row.partition}" / name, file, deep=False)
            for row in self.manifest.partitions
            for name, file in row.files.items()
        ) and all(
            intact(self.path / name, file, deep=False)
            for name, file in self.manifest.extras.items()
        )

    def _row_of(self, partition: str) -> PartitionRow:
        row = self.manifest.by_partition.get(partition)
        if row is None:
            raise StageError(
                f"{self.path} has no partition {self.manifest.partition_level}={partition}"
            )
        return row

    def _bytes(self, path: Path, recorded: FileEntry) -> bytes:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StageError(
                f"{path} cannot be read ({error.strerror}); run `{self.command} --force`"
            ) from error
        if len(data) != recorded.size or digest(data) != recorded.sha256:
            raise StageError(
                f"{path} is not the file that was published: {recorded.size:,} bytes with digest "
                f"{recorded.sha256[:12]} expected, {len(data):,} with {digest(data)[:12]} found; "
                f"run `{self.command} --force`"
            )
        return data


def open_folder(work: Path, stage: Stage, folder: str) -> Folder:
    """Open a folder that ``stage`` published in ``work``.

    Raises:
        StageError: It is missing, damaged, or half of an interrupted publication; the message
            names the command that makes it.
    """
    return _open(work / folder, stage.command, stage.folders)


def read_partition(
    stage_folder: Path,
    partition: str,
    span: Span = EVERYWHERE,
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Read the rows of one partition of a published folder; see `Folder.read`.

    Raises:
        StageError: The folder or the partition is missing or damaged.
    """
    return _open(stage_folder, _GUESS, ()).read(partition, span, columns)


def partitions(stage_folder: Path) -> tuple[str, ...]:
    """List the partitions of a published folder, sorted."""
    return _open(stage_folder, _GUESS, ()).partitions


_GUESS = "recon <the stage that makes it>"


def _open(path: Path, command: str, expected: tuple[str, ...]) -> Folder:
    manifest = read_manifest(path, command=command)
    command = f"recon {manifest.stage}"
    work = path.parents[len(PurePath(manifest.folder).parts) - 1]
    for name in {*manifest.folders, *expected} - {manifest.folder}:
        sibling = read_manifest(work / name, command=command)
        if sibling.key != manifest.key:
            raise StageError(
                f"{manifest.folder}/ and {name}/ in {work} come from different runs "
                f"(a publication was interrupted); run `{command}` again"
            )
    return Folder(path, manifest)


def manifests_in(work: Path) -> tuple[dict[Path, Manifest], tuple[StageError, ...]]:
    """Read the manifests of all folders, sorted by creation; collect errors of unreadable ones."""
    found: dict[Path, Manifest] = {}
    damage: list[StageError] = []
    for path in sorted(work.glob(f"*/{MANIFEST}")):
        try:
            found[path.parent] = read_manifest(path.parent, command="the stage that makes it")
        except StageError as error:
            damage.append(error)

    def made(folder: Path) -> tuple[str, int]:
        """Return the second of creation, then the file time to break ties."""
        return found[folder].run.created, (folder / MANIFEST).stat().st_mtime_ns

    return {folder: found[folder] for folder in sorted(found, key=made)}, tuple(damage)
