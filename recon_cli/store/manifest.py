"""``_manifest.json``: the origin and the content of a folder.

Everything that two equal runs share stands outside ``run``; times and memory stand in it.

See *manifest* in docs/glossary.md.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recon_cli.errors import OtherFormatError, StageError
from recon_cli.progress.tally import clock_time
from recon_cli.schema import Release
from recon_cli.schema.validation import describe
from recon_cli.stage import manifests_folder
from recon_cli.store.files import json_bytes, key_of
from recon_cli.store.recipe import Recipe
from recon_cli.version import FORMAT, __version__

MANIFEST = "_manifest.json"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class FileEntry(_Record):
    """A file: size and digest.

    Attributes:
        size: In bytes.
        first: The lowest geoid in it, where that is known.
        last: The highest geoid in it.
    """

    size: int
    sha256: str
    first: str | None = None
    last: str | None = None


class FolderEntry(_Record):
    """The rows and files of a partition in one folder."""

    rows: int
    digest: str
    files: dict[str, FileEntry]

    @classmethod
    def of(cls, rows: int, files: Mapping[str, FileEntry]) -> Self:
        """Make an entry from files; the partition's digest is made from theirs."""
        digests = {name: file.sha256 for name, file in files.items()}
        return cls(rows=rows, digest=key_of(digests), files=dict(files))


class PartitionEntry(_Record):
    """A finished partition, or a finished piece of one.

    Attributes:
        partition: Its geoid prefix.
        piece: Which piece, from 0; None for a whole partition.
        of: Pieces of the partition.
        key: Digest of all that it was made from.
        folders: Its entry for each folder of the stage.
        statuses: Counts by outcome, the stage's own words.
        totals: Further counts that add up over partitions.
        seconds: Wall time, volatile.
    """

    partition: str
    piece: int | None = None
    of: int = 1
    key: str
    folders: dict[str, FolderEntry]
    statuses: dict[str, int] = Field(default_factory=dict)
    totals: dict[str, int] = Field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def joined(cls, pieces: Sequence[PartitionEntry]) -> PartitionEntry:
        """Combine the pieces of a partition, in order."""
        first = pieces[0]
        folders = {
            name: FolderEntry.of(
                sum(piece.folders[name].rows for piece in pieces),
                {
                    file: entry
                    for piece in pieces
                    for file, entry in piece.folders[name].files.items()
                },
            )
            for name in first.folders
        }
        return cls(
            partition=first.partition,
            key=first.key,
            folders=folders,
            statuses=add_up(piece.statuses for piece in pieces),
            totals=add_up(piece.totals for piece in pieces),
            seconds=round(sum(piece.seconds for piece in pieces), 4),
        )


class PartitionRow(FolderEntry):
    """A partition in the manifest of one folder."""

    partition: str
    key: str = ""
    statuses: dict[str, int] = Field(default_factory=dict)
    totals: dict[str, int] = Field(default_factory=dict)


class RunFacts(_Record):
    """Facts that differ between two equal runs."""

    created: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    worker_peak_mb: float = 0.0
    workers: int = 0
    reused_partitions: int = 0
    partition_seconds: dict[str, float] = Field(default_factory=dict)


class Stopped(_Record):
    """A mark on a stage that was stopped before all was decided.

    Attributes:
        seconds: Wall time until then.
        decided: Number of decided units.
        asked: Number of all units.
        counted: Name of the units, in the plural.
    """

    seconds: float
    decided: int
    asked: int
    counted: str = "counts"

    @property
    def words(self) -> str:
        """Return the sentence that all outputs use for a stopped stage."""
        return (
            f"stopped after {clock_time(self.seconds)}: {self.decided:,} of {self.asked:,} "
            f"{self.counted} decided"
        )


class ReleaseEntry(_Record):
    """Name and digest of the release schema."""

    name: str
    digest: str


class Manifest(_Record):
    """The manifest of one folder.

    Attributes:
        folders: All folders that the stage publishes together.
        key: The stage's key; equal in all of them.
        tool: Version of the program.
        format: Form of the files, `recon_cli.version.FORMAT`.
        release: Schema name and digest.
        config: The settings that matter.
        config_hash: Their digest.
        inputs: Files from outside, shared digests, and each partition's input digests.
        partition_level: Level whose geoid prefixes name the partitions.
        partitions: In order of name.
        extras: Files beside the partitions.
        outside: Files that the stage wrote beyond the work folder.
        rows: Sum over all partitions.
        statuses: Sums by status over all partitions.
        totals: Sums by name over all partitions.
        notes: Further facts for readers.
        publishable: False where random draws follow from a seed, in the stage or in an input.
        identity: Digest of the data, which replaces the key in a folder that is given away.
        stopped: Set where the stage was stopped: the rest is undecided, and the next run goes on.
        run: Facts that differ between two equal runs.
    """

    stage: str
    folder: str
    folders: tuple[str, ...]
    key: str
    tool: str
    format: int
    release: ReleaseEntry
    config: dict[str, Any] = Field(default_factory=dict)
    config_hash: str = ""
    seed: int | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    partition_level: str
    partitions: tuple[PartitionRow, ...]
    extras: dict[str, FileEntry] = Field(default_factory=dict)
    outside: dict[str, FileEntry] = Field(default_factory=dict)
    rows: int
    statuses: dict[str, int] = Field(default_factory=dict)
    totals: dict[str, int] = Field(default_factory=dict)
    notes: dict[str, Any] = Field(default_factory=dict)
    publishable: bool | None = None
    identity: str = ""
    stopped: Stopped | None = None
    run: RunFacts = Field(default_factory=RunFacts)

    @cached_property
    def by_partition(self) -> dict[str, PartitionRow]:
        return {row.partition: row for row in self.partitions}

    def as_public(self, public: tuple[str, ...]) -> Manifest:
        """Return the manifest for a folder that is given away, without traces of the records.

        It has no seed, setting, input digest, key made of these, total or time.

        Args:
            public: The folders that are given away.
        """
        return Manifest(
            stage=self.stage,
            folder=self.folder,
            folders=public,
            key=self.identity,
            tool=self.tool,
            format=self.format,
            release=self.release,
            partition_level=self.partition_level,
            partitions=tuple(
                PartitionRow(partition=p.partition, rows=p.rows, digest=p.digest, files=p.files)
                for p in self.partitions
            ),
            extras=self.extras,
            outside=self.outside,
            rows=self.rows,
            notes=self.notes,
            publishable=self.publishable,
        )

    def document(self) -> bytes:
        """Serialise the manifest as JSON, without empty fields and sealed with a digest."""
        said = self.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        return json_bytes({**said, "seal": _seal(said)})

    def require_release(self, release: Release) -> None:
        """Raise an error if the stage ran with another schema.

        Raises:
            StageError: The schemas differ.
        """
        if self.release.digest != release.digest:
            raise StageError(
                f"{self.folder}/ was made with another schema: {self.release.name!r} "
                f"{self.release.digest[:12]} found, {release.name!r} {release.digest[:12]} "
                f"expected; run `recon {self.stage}` again"
            )


def read_manifest(folder: Path, *, command: str) -> Manifest:
    """Read a folder's manifest; ``command`` names the command that makes the folder.

    For a public folder in its work folder the whole manifest, kept apart, is read.

    Raises:
        OtherFormatError: The folder is of an older or newer version.
        StageError: It is missing or damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = _read(path, command)
    except FileNotFoundError:
        raise StageError(f"no {folder.name}/ in {folder.parent}: run `{command}` first") from None
    if PurePath(manifest.folder).name != folder.name:
        raise StageError(
            f"{path} is the manifest of {manifest.folder}/, not of {folder.name}/; "
            f"run `{command}` again"
        )
    apart = folder.parent / manifests_folder(manifest.stage) / whole_name(folder)
    try:
        whole = _read(apart, command)
    except FileNotFoundError:
        return manifest
    return whole if _is_public_form(_stamp(path), _stamp(apart)) else manifest


def whole_name(folder: Path) -> str:
    """Return the path of the whole manifest of a public folder."""
    return f"{folder.name}.json"


class _Stamp(NamedTuple):
    """The state of a file: another inode, time or size means other content."""

    path: Path
    inode: int
    modified: int
    size: int


def _stamp(path: Path) -> _Stamp:
    about = path.stat()
    return _Stamp(path, about.st_ino, about.st_mtime_ns, about.st_size)


def _read(path: Path, command: str) -> Manifest:
    try:
        manifest, is_intact = _parsed(_stamp(path))
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise StageError(f"{path} cannot be read ({error}); run `{command}` again") from error
    except ValidationError as error:
        found = describe(error, Manifest)
        raise StageError(f"{path} is damaged ({found}); run `{command}` again") from error
    if not is_intact:
        raise StageError(f"{path} is not as it was written; run `{command}` again")
    return manifest


# Both are cached: a nation has thousands of partitions, and each is read by its manifest.


@lru_cache(maxsize=64)
def _parsed(stamp: _Stamp) -> tuple[Manifest, bool]:
    """Parse a manifest, and check its seal."""
    text = stamp.path.read_text(encoding="utf-8")
    _require_format(stamp.path, text)
    manifest = Manifest.model_validate_json(text)
    said = json.loads(text, parse_constant=str)
    return manifest, said.get("seal") == _seal(said)


@lru_cache(maxsize=64)
def _is_public_form(public: _Stamp, whole: _Stamp) -> bool:
    """Test whether a public manifest is the public form of a whole manifest kept apart."""
    told, kept = _parsed(public)[0], _parsed(whole)[0]
    return kept.as_public(told.folders).document() == told.document()


class _Form(_Record):
    """The fields that manifests of all versions have."""

    stage: str
    tool: str
    format: int = 0


def _require_format(path: Path, text: str) -> None:
    """Raise an error if the folder's format belongs to another version."""
    try:
        form = _Form.model_validate_json(text)
    except ValidationError:
        return
    if form.format != FORMAT:
        raise OtherFormatError(
            f"{path.parent} was made by recon-cli {form.tool}, whose files this version does not "
            f"read (form {form.format} found, {FORMAT} expected); run `recon {form.stage}` again"
        )


def _seal(said: Mapping[str, Any]) -> str:
    """Compute the digest of a manifest without its run facts, to detect changes."""
    return key_of({name: value for name, value in said.items() if name not in {"run", "seal"}})


def read_entry(path: Path) -> PartitionEntry | None:
    """Read the completion mark of a partition; None if it is missing or damaged."""
    try:
        return PartitionEntry.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError):
        return None


def compose(
    recipe: Recipe,
    folder: str,
    entries: list[PartitionEntry],
    *,
    extras: dict[str, FileEntry],
    outside: dict[str, FileEntry],
    notes: Mapping[str, Any],
    totals: Mapping[str, int],
    run: RunFacts,
) -> Manifest:
    """Compose the manifest of one folder from the entries of all partitions."""
    statuses = add_up(entry.statuses for entry in entries)
    return Manifest(
        stage=recipe.stage.name,
        folder=folder,
        folders=recipe.stage.folders,
        key=recipe.key,
        tool=__version__,
        format=FORMAT,
        release=ReleaseEntry(name=recipe.release, digest=recipe.release_digest),
        config=dict(recipe.config),
        config_hash=key_of(dict(recipe.config)),
        seed=recipe.seed,
        inputs={
            "files": [file.as_json() for file in recipe.files],
            "shared": dict(recipe.shared),
            "partitions": {name: dict(digests) for name, digests in recipe.partitions.items()},
        },
        partition_level=recipe.partition_level,
        partitions=tuple(_row(entry, folder) for entry in entries),
        extras=extras,
        outside=outside,
        rows=sum(entry.folders[folder].rows for entry in entries),
        statuses=statuses,
        totals=add_up([*(entry.totals for entry in entries), totals]),
        notes=dict(notes),
        publishable=False if recipe.is_study else None,
        identity=_identity(recipe.stage.public, entries, outside or extras),
        stopped=_stopped(statuses, run.wall_seconds, recipe.stopped) if recipe.stopped else None,
        run=run,
    )


def _stopped(statuses: Mapping[str, int], seconds: float, counted: str) -> Stopped:
    asked = sum(statuses.values())
    decided = asked - statuses.get("undecided", 0)
    return Stopped(seconds=seconds, decided=decided, asked=asked, counted=counted)


def _identity(
    public: Sequence[str], entries: Sequence[PartitionEntry], files: Mapping[str, FileEntry]
) -> str:
    """Digest the partitions that are given away, or else the files; empty if there are none."""
    if not public:
        return ""
    digests = {f"{e.partition}/{name}": e.folders[name].digest for name in public for e in entries}
    return key_of(digests or {name: file.sha256 for name, file in files.items()})


def _row(entry: PartitionEntry, folder: str) -> PartitionRow:
    content = entry.folders[folder]
    return PartitionRow(
        partition=entry.partition,
        key=entry.key,
        rows=content.rows,
        digest=content.digest,
        files=content.files,
        statuses=entry.statuses,
        totals=entry.totals,
    )


def add_up(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sum mappings of counts key by key.

    >>> add_up([{"unique": 2}, {"unique": 1, "solved": 3}])
    {'unique': 3, 'solved': 3}
    """
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)
