"""The state of a stage, found without running it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from recon_cli.errors import OtherFormatError, StageError
from recon_cli.stage import Stage
from recon_cli.store.files import json_bytes
from recon_cli.store.folder import open_folder
from recon_cli.store.manifest import MANIFEST, Manifest, PartitionEntry, read_entry, read_manifest
from recon_cli.store.recipe import Recipe
from recon_cli.store.staging import COMMIT, Staging, intact
from recon_cli.store.transaction import changed_outside, reusable_entries, staging_of, stagings
from recon_cli.version import __version__

#: Most settings, files or folders that a reason names; more are only counted.
_NAMED = 3


class State(StrEnum):
    """The state of a stage."""

    DONE = "done"
    STALE = "out of date"
    HALF = "half done"
    ABSENT = "not run"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class StageStatus:
    """The status of a stage, as a run would find it.

    Attributes:
        state: Its state; a run skips the stage exactly when this is ``DONE``.
        reasons: Why it is not done, if it was done once.
        finished: Number of finished partitions that would be reused.
        partitions: Number of partitions; 0 if the stage learns it from its input.
        last: Manifest of what is published, up to date or not.
    """

    stage: Stage
    state: State
    reasons: tuple[str, ...] = ()
    finished: int = 0
    partitions: int = 0
    last: Manifest | None = None


def stage_status(work: Path, recipe: Recipe, *, force: bool = False) -> StageStatus:
    """Return the status of a stage as `recon_cli.store.transaction` would find it; only reads."""
    stage = recipe.stage
    last, wrong, why = published_manifest(work, stage)
    if last is not None and wrong is None and (lost := changed_outside(last, recipe)):
        wrong, why = State.DAMAGED, f"{lost[0]} is missing, or not as it was written"
    if force:
        again = () if last is None else ("it is asked for again",)
        state = State.ABSENT if last is None else State.STALE
        return StageStatus(stage, state, again, 0, len(recipe.partitions), last)
    if last is not None and wrong is None and last.key == recipe.key:
        return StageStatus(stage, State.DONE, (), len(last.partitions), len(last.partitions), last)
    pending = pending_publication(work, stage)
    if pending is not None:
        last, wrong = pending, None
        if pending.key == recipe.key:
            reason = ("its publication was interrupted; a run completes it",)
            found = len(pending.partitions)
            return StageStatus(stage, State.HALF, reason, found, found, last)
    finished = _reusable(work, recipe)
    reasons = tuple(changes(last, recipe)) if last is not None else ()
    if wrong is not None:
        state, reasons = wrong, (why, *reasons)
    elif _begun(work, recipe):
        state = State.HALF
    else:
        state = State.STALE if last is not None else State.ABSENT
    return StageStatus(stage, state, reasons, len(finished), len(recipe.partitions), last)


def published_manifest(
    work: Path, stage: Stage
) -> tuple[Manifest | None, Literal[State.DAMAGED, State.STALE] | None, str]:
    """Read the manifest of the stage's first folder; return also its defect, and the reason."""
    present = [name for name in stage.folders if (work / name / MANIFEST).is_file()]
    if not present:
        return None, None, ""
    try:
        folders = [open_folder(work, stage, name) for name in stage.folders]
    except OtherFormatError as error:
        return None, State.STALE, str(error)
    except StageError as error:
        return _readable(work / present[0], stage), State.DAMAGED, str(error)
    broken = [folder.manifest.folder for folder in folders if not folder.is_whole()]
    if broken:
        why = f"files of {broken[0]}/ are missing or changed"
        return folders[0].manifest, State.DAMAGED, why
    return folders[0].manifest, None, ""


def pending_publication(work: Path, stage: Stage) -> Manifest | None:
    """Read the manifest of an interrupted publication, which the next run completes."""
    name = stage.folders[0]
    for root in stagings(work, stage):
        if (root / COMMIT).is_file():
            staged = root / "new" / name
            return _readable(staged if staged.exists() else work / name, stage)
    return None


def changes(last: Manifest, recipe: Recipe) -> Iterator[str]:
    """Yield short reasons why the published output differs from what ``recipe`` makes."""
    if last.stopped is not None:
        yield last.stopped.words
    if last.tool != __version__:
        yield f"made by version {last.tool}, this is {__version__}"
    if last.release.digest != recipe.release_digest:
        same = last.release.name == recipe.release
        yield "the release schema changed" if same else f"made of release {last.release.name}"
    settings = list(_differing(last.config, recipe.config))
    yield from settings[:_NAMED]
    if len(settings) > _NAMED:
        yield f"{len(settings) - _NAMED} more settings changed"
    if last.seed != recipe.seed:
        yield f"seed: {last.seed} → {recipe.seed}"
    if (last.publishable is False) != recipe.is_study:
        yield "it is for study now" if recipe.is_study else "it is no longer for study"
    before = {file["name"]: file["sha256"] for file in last.inputs.get("files", [])}
    now = {file.name: file.sha256 for file in recipe.files}
    yield from _changed("input file", before, now)
    shared: dict[str, str] = last.inputs.get("shared", {})
    yield from _changed("input", shared, recipe.shared)
    yield from _moved(last.inputs.get("partitions", {}), recipe.partitions)


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    now = json.loads(json_bytes(now))  # as manifests have it
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if key not in before or key not in now or old != new:
            short = max(len(str(old)), len(str(new))) <= 24
            yield f"{key}: {_said(old)} → {_said(new)}" if short else f"{key} changed"


def _said(value: object) -> str:
    """Format a setting as YAML does."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _changed(what: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for verb, names in (
        ("is new", now.keys() - before.keys()),
        ("is gone", before.keys() - now.keys()),
        ("changed", {name for name in before.keys() & now.keys() if before[name] != now[name]}),
    ):
        named = sorted(names)
        if len(named) > _NAMED:
            yield f"{len(named)} {what}s: {verb}"
        else:
            yield from (f"{what} {name} {verb}" for name in named)


def _moved(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Describe which partitions' inputs changed, by folder."""
    new, gone = now.keys() - before.keys(), before.keys() - now.keys()
    for count, verb in ((len(new), "new"), (len(gone), "gone")):
        if count:
            yield f"{count:,} of {len({*before, *now}):,} partitions: {verb}"
    both = sorted(before.keys() & now.keys())
    differing: dict[str, set[str]] = {}
    for partition in both:
        old, fresh = before[partition], now[partition]
        for name in {*old, *fresh}:
            if old.get(name) != fresh.get(name):
                folder = name.partition("/")[0]
                differing.setdefault(folder, set()).add(partition)
    for folder in sorted(differing):
        yield f"{folder}/ changed in {len(differing[folder]):,} of {len(both):,} partitions"


def _readable(folder: Path, stage: Stage) -> Manifest | None:
    try:
        return read_manifest(folder, command=stage.command)
    except StageError:
        return None


def _begun(work: Path, recipe: Recipe) -> bool:
    """Test whether an unpublished run of this recipe has results."""
    root = staging_of(work, recipe).root
    return any(root.glob("done/*.json")) or any(root.glob("begun/*/*"))


def _reusable(work: Path, recipe: Recipe) -> set[str]:
    """Return the partitions that need not be made again, judged by keys and file sizes."""
    staging = staging_of(work, recipe)
    own = ((read_entry(mark), staging.new) for mark in (staging.root / "done").glob("*.json"))
    whole: set[str] = set()
    pieces: dict[str, set[int]] = {}
    for entry, source in (*own, *reusable_entries(work, staging)):
        if entry is None or entry.partition not in recipe.partitions:
            continue
        if entry.partition in whole or not _good(staging, entry, source):
            continue
        if entry.piece is not None:
            pieces.setdefault(entry.partition, set()).add(entry.piece)
        if entry.piece is None or len(pieces[entry.partition]) == entry.of:
            whole.add(entry.partition)
    return whole


def _good(staging: Staging, entry: PartitionEntry, source: Path) -> bool:
    recipe = staging.recipe
    level = f"{recipe.partition_level}={entry.partition}"
    return entry.key == recipe.partition_key(entry.partition) and all(
        intact(source / folder / level / name, file, deep=False)
        for folder, content in entry.folders.items()
        for name, file in content.files.items()
    )
