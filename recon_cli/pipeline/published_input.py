"""Published counts as the input of a stage: their folders, the tables in use, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from recon_cli.coverage import Coverage, select
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release, Table
from recon_cli.store import Folder, Recipe, Stage
from recon_cli.store.published import has_statements, open_published, read_coverage


@dataclass(frozen=True)
class PublishedInput:
    """The folders ``tables/`` and ``geounits/`` of a run.

    Attributes:
        release: The schema by which the counts are read.
        unpublished: Names of tables that a selection by level includes, but are not published.
    """

    release: Release
    tables: Folder
    geounits: Folder
    coverage: Coverage
    used: tuple[Table, ...]
    unpublished: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run, choice: str | tuple[str, ...] | None = None) -> Self:
        """Open the folders of a run, and select tables."""
        tables, geounits = open_published(run.work, run.release)
        coverage = read_coverage(tables, run.release)
        return cls(run.release, tables, geounits, coverage, ()).using(choice)

    def using(self, choice: str | tuple[str, ...] | None) -> Self:
        chosen = select(self.release, choice, self.coverage)
        return replace(self, used=chosen.tables, unpublished=chosen.unpublished)

    @property
    def table_names(self) -> list[str]:
        return [table.name for table in self.used]

    @property
    def is_exact(self) -> bool:
        return not has_statements(self.tables)

    @property
    def tables_in_use(self) -> dict[str, Any]:
        """Return the arguments from which a question about the counts is made."""
        return {"release": self.release, "tables": self.used, "coverage": self.coverage}

    @property
    def folders(self) -> tuple[Folder, ...]:
        return self.tables, self.geounits

    def recipe(
        self, run: Run, stage: Stage, settings: Mapping[str, Any], seed: int | None = None
    ) -> Recipe:
        return run.recipe(
            stage,
            {**settings, "tables": self.table_names},
            seed=seed,
            shared=shared_digests(self.tables),
            partitions=input_digests(*self.folders),
        )


def shared_digests(tables: Folder) -> dict[str, str]:
    """Return digests of the shared files of ``tables``, coverage and laws; for a recipe."""
    return {f"tables/{name}": file.sha256 for name, file in tables.manifest.extras.items()}


def input_digests(*folders: Folder) -> dict[str, dict[str, str]]:
    """Map partitions to digests of their data in each of ``folders``; for a recipe."""
    return {
        name: {folder.path.name: folder.digest(name) for folder in folders}
        for name in folders[0].partitions
    }
