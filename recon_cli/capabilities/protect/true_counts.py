"""True counts to be protected, and the files beside protected ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.capabilities.protect.accuracy import accuracy_table, count_copies
from recon_cli.capabilities.protect.counts import count_records
from recon_cli.capabilities.records.files import RecordFile, open_records
from recon_cli.capabilities.tabulate.stage import record_columns, typed_records
from recon_cli.coverage import PROTECTION
from recon_cli.errors import ConfigError, SourceError, VerificationError
from recon_cli.frames import COUNTS, IS_AS_PUBLISHED
from recon_cli.markdown import markdown_table
from recon_cli.pipeline.published_input import input_digests
from recon_cli.pipeline.run import pieces_of
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.spreadsheet import harmless
from recon_cli.statement import Protection, protection_text
from recon_cli.statement.cell_key import CellKey
from recon_cli.store import Folder, Piece
from recon_cli.store.files import remove_unfinished, written_whole
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from recon_cli.store.tables import table_files

#: A p-table beside the counts; not ``.csv``, or it would be taken for counts.
_PERTURBATION_TABLE = "ptable.txt"
#: Sections of protections that take counts as well as records.
_OF_COUNTS = ("round", "cellkey", "suppress")
#: Text in place of a suppressed count.
SUPPRESSED = "*"


@dataclass(frozen=True)
class Origin:
    """The origin of the true counts: records, or a work folder with ingested counts.

    Attributes:
        section: Section of the config, for messages.
        tables: Tables to count from records.
        records: A file or folder.
        counts: A work folder, in place of records.
        identifier: A column of records to keep.
        with_statistics: Whether statistics that are printed beside counts are read, too.
    """

    section: str
    tables: tuple[Table, ...]
    records: Path
    counts: Path | None = None
    identifier: str | None = None
    with_statistics: bool = False

    def digests(self, release: Release) -> dict[str, dict[str, str]]:
        """Map partitions to digests of their inputs."""
        if self.counts is not None:
            return input_digests(*open_published(self.counts, release))
        slices = self._file(release).slices()
        return {name: {"records": each.digest} for name, each in slices.items()}

    def pieces(self, release: Release) -> list[Piece]:
        """Return the partitions, with their sizes."""
        if self.counts is not None:
            return pieces_of(open_published(self.counts, release)[1].manifest)
        slices = self._file(release).slices()
        return [Piece(name, people=each.rows) for name, each in slices.items()]

    def read(self, release: Release, partition: str) -> tuple[Publication, pl.DataFrame | None]:
        """Read the true counts of a partition, and the records if there are any.

        Raises:
            SourceError: The records do not fit the schema.
        """
        if self.counts is not None:
            with_statistics = self.with_statistics
            published = read_published(
                self.counts, release, partition, with_statistics=with_statistics
            )
            return _exact(published), None
        names = [*record_columns(release)]
        names += [] if self.identifier is None or self.identifier in names else [self.identifier]
        frame = self._file(release).read(partition, names)
        records = typed_records(frame, self.records, release)
        others = [frame[name] for name in frame.columns if name not in records.columns]
        try:
            truth = count_records(release, records, self.tables)
        except VerificationError as error:
            raise SourceError(str(error)) from error
        return truth, records.with_columns(others)

    def nothing(self, release: Release) -> Publication:
        """Return the true counts of a partition without records."""
        columns = self._file(release).columns()
        names = [name for name in record_columns(release) if name in columns]
        none = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        return count_records(release, typed_records(none, self.records, release), self.tables)

    def _file(self, release: Release) -> RecordFile:
        if not self.records.exists():
            counts = (
                "; or the work folder in which `recon ingest` put the true counts, with "
                f"--set {self.section}.counts=FOLDER"
            )
            raise ConfigError(
                f"{self.section}.records: no such file or folder: {self.records}; name the "
                f"records, with --set {self.section}.records=FILE"
                f"{counts if self.section in _OF_COUNTS else ''}"
            )
        return open_records(f"{self.section}.records", self.records, release)


def _exact(published: Publication) -> Publication:
    """Drop the intervals if all counts are published exactly, as beside printed statistics."""
    if published.is_exact or not published.counts.select(IS_AS_PUBLISHED.all()).item():
        return published
    counts = published.counts.select(COUNTS.names()).filter(pl.col("count") > 0)
    return replace(published, counts=counts)


def protection_files(
    release: Release, protection: Protection, *, is_study: bool = False
) -> dict[str, bytes]:
    """Write `protection.yaml` and its p-table as files: name → content."""
    files: dict[str, bytes] = {}
    statements = []
    for statement in protection.statements:
        law = statement.law
        if isinstance(law, CellKey) and law.table is not None:
            files[_PERTURBATION_TABLE] = law.table.read_bytes()
            law = law.model_copy(update={"table": Path(_PERTURBATION_TABLE)})
        statements.append(replace(statement, law=law))
    return {PROTECTION: protection_text(release, statements, is_study=is_study).encode(), **files}


def accuracy_files(release: Release, sums: Sequence[pl.DataFrame]) -> dict[str, bytes]:
    """Write the errors of the counts of all partitions as files: name → content.

    Args:
        sums: Sums of each partition; see `recon_cli.capabilities.protect.accuracy.sum_errors`.
    """
    table = accuracy_table(release, sums)
    rows = [[_figure(value) for value in row] for row in table.iter_rows()]
    text = markdown_table(table.columns, rows, text_columns=3)
    return table_files({"accuracy": table}, 4) | {"accuracy.md": text.encode()}


def _figure(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def copies_in_a_unit(release: Release, tables: Collection[Table]) -> dict[str, int]:
    """Count published cells of a unit, distinct sets of people, and the most copies of one."""
    unit = release.geography.unit.name
    cells = [(t.name, c.number) for t in tables if unit in t.levels for c in t.cells]
    copies = count_copies(release, COUNTS.to_frame(), cells)
    return {"cells": copies.cells, "margins": copies.margins, "most": copies.most}


def write_counts(folder: Folder, to: Path) -> None:
    """Write protected counts as one file, as an office publishes them.

    Columns are ``geoid, table, cell, count``, ``*`` if suppressed; rows are those of the folder:
    counts that are published as zero are left out.
    """
    shown = pl.col("count").cast(pl.String).fill_null(SUPPRESSED)
    remove_unfinished(to)
    with written_whole(to) as aside, aside.open("wb") as file:
        for number, partition in enumerate(folder.partitions):
            counts = folder.read(partition).select("geoid", "table", "cell", "count")
            text = harmless(counts).with_columns(shown)  # a count below zero is no name
            text.write_csv(file, include_header=number == 0)
