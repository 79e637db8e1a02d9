"""The status of every stage of a work folder, with a config or without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from recon_cli.errors import ReconError, StageError
from recon_cli.pipeline.order import dependencies, in_order, stages_of
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.run_stages import preview
from recon_cli.pipeline.stages import STAGES
from recon_cli.stage import PRIVATE
from recon_cli.store import Manifest, Stage, StageStatus, State
from recon_cli.store.files import file_digest
from recon_cli.store.folder import manifests_in
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.stage_status import pending_publication, published_manifest
from recon_cli.store.transaction import STAGING, stagings

_STAGED = re.compile(r"(?P<stage>.+)-[0-9a-f]{16}")


@dataclass(frozen=True)
class FolderStatus:
    """The status of a stage and its folders.

    Attributes:
        name: The stage's command, as a user types it.
        status: Its state, why, and what is published.
        size: Bytes of its folders.
    """

    name: str
    status: StageStatus
    size: int


def status_of_run(run: Run) -> list[FolderStatus]:
    """Return the status of the config's stages in order, then of the work folder's others."""
    stages = stages_of(run.config)
    before = dependencies(stages, run.config)
    found: dict[str, FolderStatus] = {}
    for stage in stages:
        name = stage.short_name
        states = {each: found[each].status.state for each in found if each in before[name]}
        status = _after(_status_in_run(stage, run), states)
        found[name] = FolderStatus(name, status, _size(run.work, status.stage))
    known = {folder for stage in stages for folder in stage.folders}
    return [*found.values(), *status_of_folder(run.work, besides=known)]


def status_of_folder(work: Path, *, besides: Set[str] = frozenset()) -> list[FolderStatus]:
    """Return the status of the stages that have folders in ``work``, sorted by dependency.

    Args:
        besides: Folders whose stages are left out.
    """
    stages = [stage for stage in _stages_in(work) if besides.isdisjoint(stage.folders)]
    makers = {folder: stage.name for stage in stages for folder in stage.folders}
    read = {
        name: {maker for folder, maker in makers.items() if stage.may_read(folder)} - {name}
        for stage in STAGES
        if (name := makers.get(stage.folders[0]))
    }
    by_name = {stage.name: stage for stage in stages}
    return [
        FolderStatus(name, _status_in_folder(work, by_name[name]), _size(work, by_name[name]))
        for name in in_order(list(by_name), read)
    ]


def _status_in_run(stage: Stage, run: Run) -> StageStatus:
    """Return the status that a run would find, or what is known without the stages before."""
    try:
        return preview(stage, run)
    except ReconError as error:
        status = _status_in_folder(run.work, _as_published(run.work, stage))
        if status.last is None and isinstance(error, StageError):
            return status  # what it reads is not there yet: the stages before it report that
        return replace(status, reasons=(*status.reasons, f"cannot be checked: {error}"))


def _stages_in(work: Path) -> tuple[Stage, ...]:
    """List the stages with folders in ``work``: published ones by creation, then unpublished."""
    manifests, _ = manifests_in(work)
    found = {each.stage: Stage(each.stage, each.folders) for each in manifests.values()}
    for stage in STAGES:  # whose manifests cannot be read
        if any((work / name / MANIFEST).is_file() for name in stage.folders):
            found.setdefault(stage.name, stage)
    for root in sorted((work / STAGING).glob("*-*")):
        named = _STAGED.fullmatch(root.name)
        folders = tuple(sorted(each.name for each in root.glob("new/*") if each.name != PRIVATE))
        if named is not None and folders:
            found.setdefault(named["stage"], Stage(named["stage"], folders))
    return tuple(found.values())


def _as_published(work: Path, stage: Stage) -> Stage:
    """Return the stage with those of its folders that are published in ``work``."""
    published = (each for each in _stages_in(work) if set(each.folders) <= set(stage.folders))
    return next(published, stage)


def _status_in_folder(work: Path, stage: Stage) -> StageStatus:
    """Return the status of a stage without a config.

    Published folders are compared with the present state of the folders they were made from.
    """
    last, wrong, why = published_manifest(work, stage)
    if pending_publication(work, stage) is not None:
        reason = ("its publication was interrupted; a run completes it",)
        return StageStatus(stage, State.HALF, reason, last=last)
    begun = sum(1 for root in stagings(work, stage) for _ in (root / "done").glob("*.json"))
    count = 0 if last is None else len(last.partitions)
    if wrong is not None:
        return StageStatus(stage, wrong, (why,), begun, 0, last)
    reasons = () if last is None else tuple(_changed_inputs(work, last))
    stopped = None if last is None else last.stopped
    if stopped is not None:
        reasons = (stopped.words, *reasons)
    if begun or stopped is not None:
        return StageStatus(stage, State.HALF, reasons, begun, 0, last)
    if last is None:
        return StageStatus(stage, State.ABSENT)
    state = State.STALE if reasons else State.DONE
    return StageStatus(stage, state, reasons, count, count, last)


def _after(status: StageStatus, before: Mapping[str, State]) -> StageStatus:
    """Return the status of a stage whose inputs may have to be made again first.

    Args:
        before: States of the stages that make the inputs, by name.
    """
    reasons = tuple(f"{name} is {state}" for name, state in before.items() if state != State.DONE)
    if status.state is not State.DONE or not reasons:
        return status
    return replace(status, state=State.STALE, reasons=reasons)


def _size(work: Path, stage: Stage) -> int:
    """Sum the sizes of a stage's folders, in bytes."""
    folders = (work / name for name in stage.folders)
    return sum(
        path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()
    )


def _changed_inputs(work: Path, manifest: Manifest) -> Iterator[str]:
    """Yield the input folders of a stage that have changed since it ran."""
    now = _PresentFolders(work)
    partitions: Mapping[str, Mapping[str, str]] = manifest.inputs.get("partitions", {})
    differing: dict[str, set[str]] = {}
    for partition, inputs in partitions.items():
        for key, digest in inputs.items():
            name, _, other = key.partition("/")
            if now.differs(name, other or partition, digest):
                differing.setdefault(name, set()).add(partition)
    for name, parts in sorted(differing.items()):
        yield f"{name}/ changed in {len(parts):,} of {len(partitions):,} partitions"
    shared: Mapping[str, str] = manifest.inputs.get("shared", {})
    for key, digest in shared.items():
        name, _, rest = key.partition("/")
        if name not in differing and now.differs(name, rest, digest):
            yield f"{key} changed"


class _PresentFolders:
    """The present content of a work folder."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._manifests: dict[str, Manifest | None] = {}

    def differs(self, folder: str, part: str, digest: str) -> bool:
        """Report whether a partition, another file, or without ``part`` the folder has changed.

        Anything outside this work folder counts as unchanged: there is nothing to compare.
        """
        manifest = self._manifest(folder)
        if manifest is None:
            return False
        if not part:
            return manifest.key != digest
        if part == MANIFEST:
            return file_digest(self._work / folder / MANIFEST) != digest
        if part in manifest.extras:
            return manifest.extras[part].sha256 != digest
        row = manifest.by_partition.get(part)
        return row is None or row.digest != digest

    def _manifest(self, folder: str) -> Manifest | None:
        if folder not in self._manifests:
            try:
                found = read_manifest(self._work / folder, command="the stage that makes it")
            except StageError:
                found = None
            self._manifests[folder] = found
        return self._manifests[folder]
