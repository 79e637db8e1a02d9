"""Protecting and writing a partition: what the workers of `recon protect round` and others do."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError, SourceError, VerificationError
from recon_cli.execute import OnProgress
from recon_cli.frames import COUNTS
from recon_cli.markdown import markdown_table
from recon_cli.model.published_cells import cells_of
from recon_cli.pipeline.run import pieces_of
from recon_cli.protect.accuracy import accuracy_table, sum_errors
from recon_cli.protect.copies import count_copies
from recon_cli.protect.counts import Keys, count_records, protect_counts, tidy_counts
from recon_cli.publication import PROTECTION, Publication
from recon_cli.schema import Release, Table
from recon_cli.sources.records import RecordFile, open_records
from recon_cli.spreadsheet import csv_bytes
from recon_cli.stages.reconstruct import input_digests
from recon_cli.stages.tabulate import record_columns, typed_records
from recon_cli.stages.unit_lists import require_listed
from recon_cli.statement import Protection, protection_text
from recon_cli.statement.cell_key import CellKey
from recon_cli.store import Piece, Staging, read_published
from recon_cli.store.files import parquet_bytes
from recon_cli.store.published import open_published

#: A p-table beside the counts; not ``.csv``, or it would be taken for counts.
_PERTURBATION_TABLE = "ptable.txt"


@dataclass(frozen=True)
class Origin:
    """Where the true counts come from: records, or a work folder with ingested counts.

    Attributes:
        section: Of the config, for messages.
        tables: Which tables of records are counted.
        records: A file or folder.
        counts: A work folder, in place of records.
        identifier: A column of records to keep.
    """

    section: str
    tables: tuple[Table, ...]
    records: Path
    counts: Path | None = None
    identifier: str | None = None

    def digests(self, release: Release) -> dict[str, dict[str, str]]:
        """Partition → digests of its inputs.

        Raises:
            ReconError: They cannot be read.
        """
        if self.counts is not None:
            return input_digests(*open_published(self.counts, release))
        slices = self._file(release).slices()
        return {name: {"records": each.digest} for name, each in slices.items()}

    def pieces(self, release: Release) -> list[Piece]:
        """The partitions, with their sizes."""
        if self.counts is not None:
            return pieces_of(open_published(self.counts, release)[1].manifest)
        slices = self._file(release).slices()
        return [Piece(name, people=each.rows) for name, each in slices.items()]

    def read(self, release: Release, partition: str) -> tuple[Publication, pl.DataFrame | None]:
        """The true counts of a partition, and the records where there are any.

        Raises:
            SourceError: The records do not fit the schema.
        """
        if self.counts is not None:
            return read_published(self.counts, release, partition), None
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
        """The true counts of a partition without records."""
        columns = self._file(release).columns()
        names = [name for name in record_columns(release) if name in columns]
        none = pl.DataFrame(schema=dict.fromkeys(names, pl.String))
        return count_records(release, typed_records(none, self.records, release), self.tables)

    def _file(self, release: Release) -> RecordFile:
        if not self.records.exists():
            raise ConfigError(
                f"{self.section}.records: no such file or folder: {self.records}; name the "
                "records, or ingested exact counts (round.counts, suppress.counts: a work folder)"
            )
        return open_records(f"{self.section}.records", self.records, release)


@dataclass(frozen=True)
class ProtectContext:
    """What all partitions share."""

    release: Release
    origin: Origin
    protection: Protection
    chance: KeyedChance
    keys: Keys
    staging: Staging
    units: pl.Series | None


def protect_piece(context: ProtectContext, piece: Piece, tick: OnProgress) -> None:
    """Protect and write one partition; runs in a worker."""
    started, release = time.perf_counter(), context.release
    truth, records = context.origin.read(release, piece.partition)
    unit = truth.geounits.filter(pl.col("level") == release.geography.unit.name)
    if context.units is not None:
        require_listed(f"{context.origin.section}.geounits", unit["geoid"], context.units)
    protected = protect_counts(
        release,
        truth,
        context.protection,
        records=records,
        chance=context.chance,
        keys=context.keys,
        identifier=context.origin.identifier,
    )
    copies = [
        count_copies(release, protected.filter(level=pattern.level), cells_of(pattern))
        for pattern in truth.coverage
    ]
    people = int(unit["population"].sum())
    sums = sum_errors(release, truth, protected)
    folders = context.staging.recipe.stage.folders
    context.staging.write(
        piece,
        dict(zip(folders, (tidy_counts(truth, protected), sums), strict=True)),
        totals={
            "units": len(unit),
            "people": people,
            "cells": protected.height,
            "changed": int((protected["count"] != protected["true"]).sum()),
            "false_zeros": int((protected["count"] == 0).sum()),
            "repeated": sum(each.repeated for each in copies),
            "fixed": sum(each.fixed for each in copies),
        },
        started=started,
    )
    tick(len(unit), people)


def protection_files(
    release: Release, protection: Protection, *, is_study: bool = False
) -> dict[str, bytes]:
    """`protection.yaml` and the p-table that it names, as files: name → content."""
    files: dict[str, bytes] = {}
    statements = []
    for statement in protection.statements:
        law = statement.law
        if isinstance(law, CellKey) and law.table is not None:
            files[_PERTURBATION_TABLE] = law.table.read_bytes()
            law = law.model_copy(update={"table": Path(_PERTURBATION_TABLE)})
        statements.append(replace(statement, law=law))
    return {PROTECTION: protection_text(release, statements, is_study=is_study).encode(), **files}


def write_beside(
    release: Release, staging: Staging, pieces: Iterable[Piece], protection: Mapping[str, bytes]
) -> None:
    """Write what goes with the protected counts of all partitions.

    Args:
        release: The schema.
        staging: Of the stage; the first of its folders has the counts, the second their accuracy.
        pieces: The partitions.
        protection: Of `protection_files`.
    """
    counts, accuracy, *_ = staging.recipe.stage.folders
    for name, content in protection.items():
        staging.write_extra(counts, name, content)
    for name, content in _accuracy_files(release, staging, pieces).items():
        staging.write_extra(accuracy, name, content)


def _accuracy_files(
    release: Release, staging: Staging, pieces: Iterable[Piece]
) -> dict[str, bytes]:
    """The table of accuracy of all partitions, as files: name → content."""
    folder = staging.recipe.stage.folders[1]
    sums = [
        pl.read_parquet(staging.partition_folder(folder, piece.partition) / piece.part)
        for piece in pieces
    ]
    table = accuracy_table(release, sums)
    rows = [[_figure(value) for value in row] for row in table.iter_rows()]
    return {
        "accuracy.parquet": parquet_bytes(table),
        "accuracy.csv": csv_bytes(table, 4),
        "accuracy.md": markdown_table(table.columns, rows, text_columns=3).encode(),
    }


def _figure(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def copies_in_a_unit(release: Release, tables: Collection[Table]) -> dict[str, int]:
    """Published cells of a unit, distinct sets of people, and copies of one at most."""
    unit = release.geography.unit.name
    cells = [(t.name, c.number) for t in tables if unit in t.levels for c in t.cells]
    copies = count_copies(release, COUNTS.to_frame(), cells)
    return {"cells": copies.cells, "margins": copies.margins, "most": copies.most}
