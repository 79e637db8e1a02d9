"""The folders of a work folder that exist and fit together, by digests in their manifests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from recon_cli.capabilities.findings.stages import RECONSTRUCT
from recon_cli.page.missing import Missing
from recon_cli.store import INGEST, Folder, Manifest, Stage, open_folder


@dataclass(frozen=True)
class WorkFolder:
    """The folders of a work folder, as far as they fit together."""

    path: Path

    def holds(self, stage: Stage) -> bool:
        """Test whether a stage has published, whatever it was made from."""
        return (self.path / stage.folders[0]).is_dir()

    def open(self, stage: Stage, name: str | None = None) -> Folder:
        """Open a folder of a stage, by default its first."""
        return open_folder(self.path, stage, name or stage.folders[0])

    def fresh(self, stage: Stage, partition: str | None = None) -> Folder | Missing:
        """Open the first folder of a stage, if it was made from the present inputs.

        Missing tables do not count as changed.

        Args:
            stage: One that reads counts or reconstructed records.
            partition: Check only this one; default all.
        """
        name, commands = stage.folders[0], (stage.command,)
        if not self.holds(stage):
            return Missing(f"there is no {name}/ in the work folder", commands)
        folder = self.open(stage)
        # Records alone are not enough: the same may be made from tables that prove less.
        for source in (RECONSTRUCT, INGEST):
            if not stage.may_read(source.folders[0]):
                continue
            before = self._source(source, partition)
            if before is not None and (
                isinstance(before, Missing) or not _fits(folder.manifest, before, partition)
            ):
                made_of = source.folders[0]
                why = f"{name}/ was made from other {made_of}/ than those there now"
                return Missing(why, commands)
        for number, place in enumerate(folder.manifest.notes.get("partners", ()), 1):
            partner = WorkFolder(self.path / place)
            if partner.holds(INGEST) and not _fits_partner(
                folder.manifest, partner.open(INGEST), number
            ):
                made_of = f"{place}/{INGEST.folders[0]}"
                why = f"{name}/ was made from other {made_of}/ than those there now"
                return Missing(why, commands)
        return folder

    def _source(self, stage: Stage, partition: str | None) -> Folder | Missing | None:
        """Open a stage's folder; None for missing tables."""
        if stage != INGEST:
            return self.fresh(stage, partition)
        return self.open(INGEST) if self.holds(INGEST) else None


def made_from(manifest: Manifest, folder: Folder) -> bool:
    """Test whether a stage was made from the present partitions of ``folder``."""
    inputs = manifest.inputs["partitions"]
    now = {name: folder.digest(name) for name in folder.partitions}
    return {name: row.get(folder.path.name) for name, row in inputs.items()} == now


def own_source(links: Manifest, microdata: Folder) -> str | None:
    """Return the source of the links that is the work folder's ``microdata/``, if one is."""
    own = {name: microdata.digest(name) for name in microdata.partitions}
    inputs = links.inputs["partitions"]
    for source in links.notes["sources"]:
        found = {name: row[source] for name, row in inputs.items() if source in row}
        if found == own:
            return str(source)
    return None


def _fits(manifest: Manifest, folder: Folder, partition: str | None) -> bool:
    """Test whether a stage was made from a present folder, or from one partition of it."""
    name, shared = folder.path.name, manifest.inputs["shared"]
    if name in shared:  # it read the folder whole
        return bool(shared[name] == folder.manifest.key)
    beside = {key: digest for key, digest in shared.items() if key.startswith(f"{name}/")}
    extras = {f"{name}/{key}": file.sha256 for key, file in folder.manifest.extras.items()}
    if beside and beside != extras:  # coverage and laws: which absent counts are zero
        return False
    if partition is None:
        return made_from(manifest, folder)
    row = manifest.inputs["partitions"].get(partition, {})
    return bool(row.get(name) == folder.digest(partition))


def _fits_partner(manifest: Manifest, folder: Folder, number: int) -> bool:
    """Test whether a stage was made from the present counts of another run.

    Args:
        folder: That run's counts; partitions that the stage did not read may be among them.
        number: That run's number, from 1.
    """
    name, shared = f"{number}/{folder.path.name}", manifest.inputs["shared"]
    beside = {key: digest for key, digest in shared.items() if key.startswith(f"{name}/")}
    extras = {f"{name}/{key}": file.sha256 for key, file in folder.manifest.extras.items()}
    return beside == extras and all(
        partition in folder.partitions and row.get(name) == folder.digest(partition)
        for partition, row in manifest.inputs["partitions"].items()
    )
