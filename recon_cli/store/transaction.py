"""Publishing a stage atomically, whatever instant the process is killed at.

Publication is a journal and renames. Once ``_commit.json`` is on disk the new folders are decided:
each is renamed into place, after the one that it replaces was moved aside. A kill in between leaves
the journal, and the next process that opens the stage completes it. Before the journal exists the
old folders are untouched and the finished partitions are kept for the next run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recon_cli.errors import StageError
from recon_cli.resources import Usage, peak_mb
from recon_cli.stage import Stage, manifests_folder
from recon_cli.store import files
from recon_cli.store.files import held_lock
from recon_cli.store.folder import Folder, open_folder
from recon_cli.store.manifest import (
    MANIFEST,
    FileEntry,
    FolderEntry,
    Manifest,
    PartitionEntry,
    RunFacts,
    compose,
    read_entry,
    whole_name,
)
from recon_cli.store.piece import Piece
from recon_cli.store.recipe import Recipe
from recon_cli.store.staging import COMMIT, Staging, intact
from recon_cli.store.study import NOT_FOR_PUBLICATION, WHY_NOT

STAGING = ".staging"
#: Digits of the stage key in the name of its staging folder.
KEY_DIGITS = 16


@dataclass
class Transaction:
    """One run of a stage, from existing partitions to publication.

    Attributes:
        staging: Staging folder; may be sent to workers.
        current: The published manifest of the stage's first folder, when it is up to date.
        done: Name → entry of the partitions and pieces that earlier or interrupted runs finished.
    """

    work: Path
    recipe: Recipe
    staging: Staging
    current: Manifest | None
    done: Mapping[str, PartitionEntry]
    _started: float = field(default_factory=time.perf_counter)
    _cpu: float = field(default_factory=time.process_time)

    def is_done(self, piece: Piece) -> bool:
        """Report whether a piece, or the partition that it belongs to, is finished already."""
        return piece.name in self.done or piece.partition in self.done

    @property
    def is_published(self) -> bool:
        """Report whether the same output is published already, and is made again by request."""
        return up_to_date(self.work, self.recipe) is not None

    def stopped(self, counted: str) -> Transaction:
        """Return the same stage, to be published with only what was decided when it was stopped.

        Args:
            counted: Name of its units, in the plural.
        """
        recipe = replace(self.recipe, stopped=counted)
        staging = staging_of(self.work, recipe)
        _discard(*([staging.root] if staging.root.exists() else []))
        for entry in self.staging.finished().values():
            key = recipe.partition_key(entry.partition)
            staging.reuse(entry.model_copy(update={"key": key}), self.staging.new)
        return replace(self, recipe=recipe, staging=staging, done=staging.finished())

    def publish(
        self,
        pieces: Iterable[Piece],
        *,
        notes: Mapping[str, Any] | None = None,
        totals: Mapping[str, int] | None = None,
        usages: Iterable[Usage] = (),
        workers: int = 0,
    ) -> Manifest:
        """Publish the stage's folders together.

        Args:
            pieces: All pieces of the stage; each must be finished.
            notes: Further entries of the manifest; values that JSON can express.
            totals: Counts beside those of the pieces.
            usages: Cost of each partition.
            workers: Number of processes that made them; 0 for this one alone.

        Returns:
            The manifest of the stage's first folder.

        Raises:
            StageError: A partition is not finished, or the disk refused.
        """
        entries = self._entries(pieces)
        facts = self._facts(entries, list(usages), workers)
        self._remove_unlisted(entries)
        if self.recipe.is_study:
            for folder in self.recipe.stage.folders:
                self.staging.write_extra(folder, NOT_FOR_PUBLICATION, WHY_NOT)
        outside = {name: _entry_of(path) for name, path in self.recipe.outside.items()}
        for folder in self.recipe.stage.folders:
            manifest = compose(
                self.recipe,
                folder,
                entries,
                extras=self._extras(folder),
                outside=outside,
                notes=notes or {},
                totals=totals or {},
                run=facts,
            )
            self._write_manifest(manifest)
        files.sync_tree(self.staging.root)
        journal = {"folders": list(self.recipe.stage.folders), "key": self.recipe.key}
        files.write_bytes(self.staging.root / COMMIT, files.json_bytes(journal))
        complete_publication(self.work, self.staging.root, self.recipe.stage)
        # A stage that was stopped goes on from what is staged.
        stopped = self.recipe.stopped
        _discard(*([self.staging.root] if stopped else stagings(self.work, self.recipe.stage)))
        return open_folder(self.work, self.recipe.stage, self.recipe.stage.folders[0]).manifest

    def _write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest beside the data; for a public folder, only the public part of it."""
        stage, place = self.recipe.stage, self.staging.new / manifest.folder
        if manifest.folder in stage.public:
            whole = self.staging.new / manifests_folder(stage.name) / whole_name(place)
            files.write_bytes(whole, manifest.document())
            manifest = manifest.as_public(stage.public)
        files.write_bytes(place / MANIFEST, manifest.document())

    def _entries(self, pieces: Iterable[Piece]) -> list[PartitionEntry]:
        """Return the entries of finished partitions, sorted by name."""
        finished = self.staging.finished()
        parts: dict[str, list[PartitionEntry]] = {}
        for piece in sorted(pieces, key=lambda piece: (piece.partition, piece.number)):
            entry = finished.get(piece.partition) or finished.get(piece.name)
            if entry is None:
                raise StageError(
                    f"{self.recipe.stage.name}: partition {piece.name} is not finished"
                )
            parts.setdefault(piece.partition, []).append(entry)
        return [
            each[0] if each[0].piece is None else PartitionEntry.joined(each)
            for each in parts.values()
        ]

    def _facts(self, entries: list[PartitionEntry], usages: list[Usage], workers: int) -> RunFacts:
        cpu = time.process_time() - self._cpu
        in_workers = usages if workers else []
        return RunFacts(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            wall_seconds=round(time.perf_counter() - self._started, 3),
            cpu_seconds=round(cpu + sum(usage.cpu_seconds for usage in in_workers), 3),
            peak_mb=peak_mb(),
            worker_peak_mb=max((usage.peak_mb for usage in in_workers), default=0.0),
            workers=workers,
            reused_partitions=sum(entry.partition in self.done for entry in entries),
            partition_seconds={entry.partition: entry.seconds for entry in entries},
        )

    def _remove_unlisted(self, entries: list[PartitionEntry]) -> None:
        """Remove files of an interrupted run that this run does not publish."""
        level = self.recipe.partition_level
        for folder in self.recipe.stage.folders:
            for path in sorted((self.staging.new / folder).glob(f"{files.UNFINISHED}*")):
                files.remove(path)
            wanted = {f"{level}={e.partition}": set(e.folders[folder].files) for e in entries}
            for path in sorted((self.staging.new / folder).glob(f"{level}=*")):
                if path.name not in wanted:
                    files.remove(path)
                    continue
                for file in sorted(path.iterdir()):
                    if file.name not in wanted[path.name]:
                        files.remove(file)

    def _extras(self, folder: str) -> dict[str, FileEntry]:
        home = self.staging.new / folder
        with files.disk(home):
            files.make_folder(home)
            found = [path for path in sorted(home.iterdir()) if path.is_file()]
        return {path.name: _entry_of(path) for path in found if path.name != MANIFEST}


@contextmanager
def transaction(work: Path, recipe: Recipe, *, force: bool = False) -> Iterator[Transaction]:
    """Open a stage for writing; no other process can until the block ends.

    An interrupted publication is completed first. Finished partitions of an interrupted run, and
    published ones, are reused if they were made from the same inputs.

    Raises:
        StageError: Another process has the stage open, or the disk refused.
    """
    home = _unfinished(work)
    with held_lock(home / f"{recipe.stage.name}.lock", recipe.stage.command):
        recover(work, recipe.stage)
        staging = staging_of(work, recipe)
        current = None
        if force:
            _discard(*stagings(work, recipe.stage))
        else:
            current = up_to_date(work, recipe)
            if current is None:
                _reuse_finished(work, staging)
        done = staging.finished() if current is None else {}
        yield Transaction(work, recipe, staging, current, done)


@contextmanager
def shared_transaction(work: Path, recipe: Recipe, *, force: bool = False) -> Iterator[Transaction]:
    """Open a stage beside other processes that work on other pieces; none of them publishes.

    Raises:
        StageError: A process has the stage to itself, the disk refused, or ``force`` is given,
            which would undo what the others do.
    """
    if force:
        raise StageError(f"{recipe.stage.name}: --force would undo the other shards' work")
    home = _unfinished(work)
    with held_lock(home / f"{recipe.stage.name}.lock", recipe.stage.command, alone=False):
        staging = staging_of(work, recipe)
        current = up_to_date(work, recipe)
        done = staging.finished() if current is None else {}
        yield Transaction(work, recipe, staging, current, done)


def up_to_date(work: Path, recipe: Recipe) -> Manifest | None:
    """Return the published manifest if the stage is complete and made from ``recipe``."""
    try:
        folders = [open_folder(work, recipe.stage, name) for name in recipe.stage.folders]
    except StageError:
        return None
    whole = all(folder.manifest.key == recipe.key and folder.is_whole() for folder in folders)
    if whole and not changed_outside(folders[0].manifest, recipe):
        return folders[0].manifest
    return None


def changed_outside(manifest: Manifest, recipe: Recipe) -> list[str]:
    """List the files outside the work folder that differ from what the stage wrote."""
    return [
        name
        for name, path in sorted(recipe.outside.items())
        if name not in manifest.outside or not intact(path, manifest.outside[name], deep=True)
    ]


def recover(work: Path, stage: Stage) -> None:
    """Complete the publication that a killed process began, and remove what it left behind."""
    for root in stagings(work, stage):
        if (root / COMMIT).is_file():
            complete_publication(work, root, stage)
            _discard(root)
    for trash in sorted((work / STAGING).glob(f"trash-{stage.name}-*")):
        files.remove(trash)


def complete_publication(work: Path, root: Path, stage: Stage) -> None:
    """Rename the new folders into place; may be repeated after a kill at any instant."""
    for folder in stage.moved:
        new, old, place = root / "new" / folder, root / "old" / folder, work / folder
        if not new.exists():
            continue
        if place.exists():
            files.remove(old)
            files.move(place, old)
        files.move(new, place)


def _reuse_finished(work: Path, staging: Staging) -> None:
    """Reuse finished partitions with the same key from other runs of the stage."""
    recipe = staging.recipe
    wanted = {name: recipe.partition_key(name) for name in recipe.partitions}
    for entry in staging.finished().values():
        if entry.piece is None:
            wanted.pop(entry.partition, None)
    for entry, source in reusable_entries(work, staging):
        fits = wanted.get(entry.partition) == entry.key and staging.reuse(entry, source)
        if fits and entry.piece is None:
            del wanted[entry.partition]


def reusable_entries(work: Path, staging: Staging) -> Iterator[tuple[PartitionEntry, Path]]:
    """Yield the partitions that other runs of the stage finished, with their folders."""
    for root in stagings(work, staging.recipe.stage):
        if root != staging.root:
            for mark in sorted((root / "done").glob("*.json")):
                entry = read_entry(mark)
                if entry is not None:
                    yield entry, root / "new"
    try:
        published = [
            open_folder(work, staging.recipe.stage, f) for f in staging.recipe.stage.folders
        ]
    except StageError:
        return
    for partition in published[0].partitions:
        yield _entry(published, partition), work


def _entry(published: list[Folder], partition: str) -> PartitionEntry:
    """Convert a published partition to the mark of a new staging folder."""
    rows = {folder.manifest.folder: folder.manifest.by_partition[partition] for folder in published}
    first = rows[published[0].path.name]
    return PartitionEntry(
        partition=partition,
        key=first.key,
        folders={
            name: FolderEntry(rows=row.rows, digest=row.digest, files=row.files)
            for name, row in rows.items()
        },
        statuses=first.statuses,
        totals=first.totals,
        seconds=published[0].manifest.run.partition_seconds.get(partition, 0.0),
    )


def _entry_of(path: Path) -> FileEntry:
    with files.disk(path):
        return FileEntry(size=path.stat().st_size, sha256=files.file_digest(path))


def staging_of(work: Path, recipe: Recipe) -> Staging:
    """Return the staging folder of ``recipe``."""
    name = f"{recipe.stage.name}-{recipe.key[:KEY_DIGITS]}"
    return Staging(work / STAGING / name, recipe)


def stagings(work: Path, stage: Stage) -> list[Path]:
    """List the staging folders of all unpublished runs of the stage."""
    pattern = f"{stage.name}-{'[0-9a-f]' * KEY_DIGITS}"
    return [path for path in sorted((work / STAGING).glob(pattern)) if path.is_dir()]


def _discard(*roots: Path) -> None:
    """Remove staging folders; each is renamed first, so that a half-removed one is never reused."""
    for root in roots:
        trash = root.with_name(f"trash-{root.name}-{os.getpid()}")
        files.remove(trash)
        files.move(root, trash)
        files.remove(trash)


def _unfinished(work: Path) -> Path:
    """Return the folder of staging folders; make the work folder if needed."""
    home = work / STAGING
    try:
        files.make_folder(home)
    except OSError as error:
        why = error.strerror or error
        raise StageError(f"the work folder {work} cannot be made or written to: {why}") from error
    return home
