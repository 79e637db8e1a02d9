"""Reconstructed records as input of other stages: their folders and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.errors import SourceError, StageError
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release
from recon_cli.stage import undisturbed
from recon_cli.store import Folder, Manifest, open_folder


@dataclass(frozen=True, kw_only=True)
class Reconstructed(PublishedInput):
    """A reconstruction in the work folder, with its inputs.

    Its release has the structural zeros that the reconstruction assumed, and its tables in use are
    those from which the reconstruction was made.
    """

    microdata: Folder
    blocks: Folder

    @property
    def folders(self) -> tuple[Folder, ...]:
        return self.tables, self.geounits, self.microdata, self.blocks

    def records(self) -> Any:
        with undisturbed():
            from recon_cli.capabilities.reconstruct.known_batch import ReconstructedRecords

        return ReconstructedRecords(self.microdata, self.blocks)

    def require_exact(self, command: str, instead: str) -> None:
        """Refuse protected counts, before anything is read.

        Args:
            command: Command that needs exact counts.
            instead: Remedy for the message.

        Raises:
            SourceError: Some counts are published under a law.
        """
        if not self.is_exact:
            raise SourceError(
                f"{command} needs exact counts; some of these are suppressed, rounded, perturbed "
                f"or noisy; {instead}"
            )

    def require_bounded(self, command: str) -> None:
        """Refuse records that only fit noisy counts, before anything is read.

        Raises:
            SourceError: The counts have noise, which bounds no count, so nothing can be proven.
        """
        if self.microdata.manifest.notes["is_fitted"]:
            raise SourceError(
                f"{command} needs counts that bound something; those in use have noise, which "
                "bounds none, so that nothing can be proven (`recon plan risk release` measures "
                "what they let somebody believe)"
            )


def release_of_records(release: Release, microdata: Manifest) -> Release:
    """Return the schema with the structural zeros that reconstructed records used.

    Args:
        release: The schema with all structural zeros.
    """
    return release if microdata.notes["assumptions"] else release.without_assumptions()


def open_reconstructed(run: Run) -> Reconstructed:
    """Open the reconstruction of a run.

    Raises:
        StageError: A folder is missing, damaged, or of another release.
    """
    given = PublishedInput.of(run)
    microdata, blocks = (open_folder(run.work, RECONSTRUCT, name) for name in RECONSTRUCT.folders)
    if microdata.partitions != given.tables.partitions:
        raise StageError(
            f"microdata/ and tables/ in {run.work} have different partitions; "
            f"run `{RECONSTRUCT.command}` again"
        )
    return Reconstructed(
        release=release_of_records(run.release, microdata.manifest),
        tables=given.tables,
        geounits=given.geounits,
        coverage=given.coverage,
        used=given.using(tuple(microdata.manifest.notes["tables"])).used,
        microdata=microdata,
        blocks=blocks,
    )
