"""Reconstructed records as input of other stages: their folders and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.reconstruct.stage import input_digests, shared_digests
from recon_cli.coverage import Coverage, select
from recon_cli.errors import SourceError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release, Table
from recon_cli.stage import undisturbed
from recon_cli.store import Folder, Manifest, Recipe, Stage, open_folder
from recon_cli.store.published import has_statements, open_published, read_coverage


@dataclass(frozen=True)
class Reconstructed:
    """A reconstruction in the work folder, with its inputs.

    Attributes:
        release: The schema, with the structural zeros that the reconstruction is under.
        tables: The folder ``tables/``; likewise the next three.
        geounits: ``geounits/``.
        microdata: ``microdata/``.
        blocks: ``blocks/``.
        used: The tables that the records were reconstructed from.
    """

    release: Release
    tables: Folder
    geounits: Folder
    microdata: Folder
    blocks: Folder
    coverage: Coverage
    used: tuple[Table, ...]

    @property
    def table_names(self) -> list[str]:
        """Return the names of `used`."""
        return [table.name for table in self.used]

    def records(self) -> Any:
        """Return the reader of the records of a piece."""
        with undisturbed():
            from recon_cli.pipeline.question_worker import ReconstructedRecords

        return ReconstructedRecords(self.microdata, self.blocks)

    def require_exact(self, command: str, instead: str) -> None:
        """Refuse protected counts, before anything is read.

        Args:
            command: Command that needs exact ones.
            instead: Remedy for the message.

        Raises:
            SourceError: Some counts are published under a law.
        """
        if has_statements(self.tables):
            raise SourceError(
                f"{command} needs exact counts; some of these are suppressed, rounded, perturbed "
                f"or noisy; {instead}"
            )

    def require_bounded(self, command: str) -> None:
        """Refuse records that only fit noisy counts, before anything is read.

        Raises:
            SourceError: Noise bounds no count, so that nothing can be proven of them.
        """
        if self.microdata.manifest.notes["is_fitted"]:
            raise SourceError(
                f"{command} needs counts that bound something; those in use have noise, which "
                "bounds none, so that nothing can be proven (`recon plan risk release` measures "
                "what they let somebody believe)"
            )

    def recipe(self, run: Run, stage: Stage, settings: Mapping[str, Any], seed: int) -> Recipe:
        """Make the recipe of a stage that reads all of this."""
        return run.recipe(
            stage,
            {**settings, "tables": self.table_names},
            seed=seed,
            shared=shared_digests(self.tables),
            partitions=input_digests(self.tables, self.geounits, self.microdata, self.blocks),
        )


def release_of_records(release: Release, microdata: Manifest) -> Release:
    """Return the schema with the structural zeros that reconstructed records used.

    Args:
        release: The schema, with all of them.
        microdata: Manifest of ``microdata/``.
    """
    return release if microdata.notes["assumptions"] else release.without_assumptions()


def open_reconstructed(run: Run) -> Reconstructed:
    """Open the reconstruction of a run.

    Raises:
        StageError: A folder is missing, damaged, or of another release.
    """
    tables, geounits = open_published(run.work, run.release)
    microdata, blocks = (open_folder(run.work, RECONSTRUCT, name) for name in RECONSTRUCT.folders)
    if microdata.partitions != tables.partitions:
        raise StageError(
            f"microdata/ and tables/ in {run.work} have different partitions; "
            f"run `{RECONSTRUCT.command}` again"
        )
    coverage = read_coverage(tables, run.release)
    used = select(run.release, tuple(microdata.manifest.notes["tables"]), coverage).tables
    release = release_of_records(run.release, microdata.manifest)
    return Reconstructed(release, tables, geounits, microdata, blocks, coverage, used)
