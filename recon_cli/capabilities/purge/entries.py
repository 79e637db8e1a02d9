"""Removing a run: find the entries of a work folder that a run made, and delete them.

An entry is recognised by its content, not by its name alone: a manifest that names the folder, or
in `.staging`, `private` and the like only files that the program makes. Everything else is kept.
Links are not followed, and nothing outside the work folder is touched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.errors import StageError
from recon_cli.stage import PRIVATE
from recon_cli.store import files
from recon_cli.store.files import held_lock
from recon_cli.store.manifest import MANIFEST, Manifest, read_manifest
from recon_cli.store.recipe import COMPARED, COMPARED_UNITS, CONTRADICTIONS, DISAGREEMENTS
from recon_cli.store.transaction import STAGING

#: Entries that a folder without a manifest may have.
_NAMES: Final = {
    STAGING: re.compile(r".+\.lock(-\w+)?|(trash-)?.+-[0-9a-f]{16}(-\d+)?|trash-purge-.+|.+\.job"),
    DISAGREEMENTS: re.compile(r"[0-9a-f]{16}\.json"),
    CONTRADICTIONS: re.compile(r".+\.(tables|proof|md)|reconcheck\.py"),
}
#: Most bytes of the first line of a log.
_LINE: Final = 65_536


@dataclass(frozen=True)
class Purge:
    """The entries that a purge of a work folder would remove.

    Attributes:
        paths: Entries that a run made, sorted by name; the staging folder comes last.
        kept: Other entries, which stay.
        elsewhere: Names of files written outside the folder, which are not searched for.
    """

    work: Path
    paths: tuple[Path, ...]
    kept: tuple[Path, ...]
    elsewhere: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(each.lstat().st_size for each in self._files())

    @property
    def files(self) -> int:
        return sum(1 for _ in self._files())

    def _files(self) -> Iterator[Path]:
        for path in self.paths:
            if not path.is_dir():
                yield path
            for folder, _, names in os.walk(path):
                yield from (Path(folder) / name for name in names)


def find_purge(work: Path, folders: Collection[str]) -> Purge:
    """Find the entries of a work folder that a run made.

    Args:
        folders: Folders that stages publish: one of this name is a run's even if its manifest is
            damaged.

    Raises:
        StageError: There is no such folder, it is a link, or nothing in it is a run's.
    """
    if work.is_symlink():
        raise StageError(f"{work} is a link; name the folder itself: {work.resolve()}")
    if not work.is_dir():
        raise StageError(f"{work}: no such folder")
    with files.disk(work):
        found = _find(work, folders)
    if not found.paths:
        raise StageError(f"{work} has nothing that a run made; nothing is removed")
    return found


def purge(found: Purge) -> None:
    """Remove what `find_purge` found, then folders that are empty, the work folder included.

    Entries are renamed into ``.staging`` first: the next purge removes what a killed one left.
    """
    bin_ = found.work / STAGING
    with ExitStack() as held:
        for path in found.paths:
            if path.name == STAGING:
                held.enter_context(_all_locks(path))
        with files.disk(found.work):
            files.make_folder(bin_)
        for number, path in enumerate(found.paths):
            if path == bin_:
                continue
            trash = bin_ / f"trash-purge-{os.getpid()}-{number}"
            files.move(path, trash)
            files.remove(trash)
            _remove_empty(path.parent, found.work)
    files.remove(bin_)
    _remove_empty(found.work, found.work.parent)


def _find(work: Path, folders: Collection[str]) -> Purge:
    manifests = dict(_manifests(work))
    outside = {
        (entry.size, entry.sha256): name
        for manifest in manifests.values()
        for name, entry in manifest.outside.items()
    }
    paths: list[Path] = []
    kept: list[Path] = []
    elsewhere: set[str] = set()
    here: set[str] = set()
    for path in sorted(work.iterdir(), key=lambda each: (each.name == STAGING, each.name)):
        if path.is_symlink():
            kept.append(path)
        elif path.is_file():
            name = outside.get((path.stat().st_size, files.file_digest(path))) if outside else None
            here |= {name} if name else set()
            is_ours = name or path.name.startswith(files.UNFINISHED) or _is_log(path)
            (paths if is_ours else kept).append(path)
        elif path.name == COMPARED and not (path / MANIFEST).is_file():
            part = _find_compared(path, folders)
            paths += part.paths
            kept += part.kept
            elsewhere |= set(part.elsewhere)
        elif path.name == PRIVATE:
            for inner in sorted(path.iterdir()):
                (paths if _is_private(inner, folders) else kept).append(inner)
        elif _is_ours(path, manifests, folders):
            made, others = _apart(path, manifests.get(path))
            paths += made
            kept += others
        else:
            kept.append(path)
    elsewhere |= set(outside.values()) - here
    return Purge(work, tuple(paths), tuple(kept), tuple(sorted(elsewhere)))


def _find_compared(home: Path, folders: Collection[str]) -> Purge:
    """Find the entries that runs made in ``compare/``: work folders, and the list of units."""
    paths: list[Path] = []
    kept: list[Path] = []
    elsewhere: set[str] = set()
    for inner in sorted(home.iterdir()):
        if inner.is_symlink() or not inner.is_dir():
            is_ours = inner.name == COMPARED_UNITS and not inner.is_symlink()
            (paths if is_ours else kept).append(inner)
            continue
        part = _find(inner, folders)
        paths += part.paths
        kept += part.kept
        elsewhere |= set(part.elsewhere)
    return Purge(home, tuple(paths), tuple(kept), tuple(sorted(elsewhere)))


def _manifests(work: Path) -> Iterator[tuple[Path, Manifest]]:
    """Yield the readable manifests of the folders in ``work``, private ones included."""
    for place in (*work.glob(f"*/{MANIFEST}"), *work.glob(f"{PRIVATE}/*/*/{MANIFEST}")):
        try:
            yield place.parent, read_manifest(place.parent, command="the stage that makes it")
        except StageError:  # damaged: then its name must be known
            continue


def _is_ours(path: Path, manifests: Collection[Path], folders: Collection[str]) -> bool:
    if path.name in _NAMES:
        return all(_NAMES[path.name].fullmatch(each.name) for each in path.iterdir())
    return path in manifests or (path.name in folders and (path / MANIFEST).is_file())


def _apart(path: Path, manifest: Manifest | None) -> tuple[list[Path], list[Path]]:
    """Separate a folder's entries into a run's and foreign files.

    A folder without foreign files is removed whole, else file by file with the manifest last.
    """
    if manifest is None:
        return [path], []
    listed = {path / name for name in (MANIFEST, *manifest.extras)} | {
        path / f"{manifest.partition_level}={row.partition}" / name
        for row in manifest.partitions
        for name in row.files
    }
    found = [Path(folder) / name for folder, _, names in os.walk(path) for name in names]
    others = sorted(
        each
        for each in found
        if not (each in listed or each.is_symlink() or each.name.startswith(files.UNFINISHED))
    )
    if not others:
        return [path], []
    made = sorted(set(found) - set(others), key=lambda each: (each.name == MANIFEST, each))
    return made, others


def _is_private(path: Path, folders: Collection[str]) -> bool:
    """Test whether all folders in ``private/STAGE`` belong to a stage."""
    if path.is_symlink() or not path.is_dir():
        return False
    prefix = f"{PRIVATE}/{path.name}/"
    return any(each.startswith(prefix) for each in folders) or any(path.glob("manifests/*.json"))


def _is_log(path: Path) -> bool:
    """Test whether a file begins as ``--log-json`` does."""
    with path.open("rb") as stream:
        line = stream.readline(_LINE)
    try:
        first = json.loads(line)
    except ValueError:
        return False
    return isinstance(first, dict) and first.get("event") == "run_started"


def _all_locks(staging: Path) -> ExitStack:
    with ExitStack() as held:
        for path in sorted(staging.glob("*.lock")):
            held.enter_context(held_lock(path, f"recon {path.stem}"))
        return held.pop_all()


def _remove_empty(folder: Path, until: Path) -> None:
    """Remove a folder and its parents, below ``until``, as long as they are empty."""
    while folder != until and folder.is_dir() and not any(folder.iterdir()):
        with files.disk(folder):
            folder.rmdir()
        folder = folder.parent
