"""`recon protect round` and `recon protect cellkey`: records → protected counts.

``rounded/`` or ``perturbed/`` is a tidy publication with its ``protection.yaml``, as
`recon ingest` reads it; the folder beside it says how far off the counts are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recon_cli import sources
from recon_cli.config.sections.cellkey import Cellkey
from recon_cli.config.sections.round import Round
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CELLKEY, ROUND
from recon_cli.progress import Task
from recon_cli.protect.accuracy import count_accuracy
from recon_cli.protect.counts import Keys, protect_counts, require_zeros_kept, tidy_counts
from recon_cli.schema import Release, Table
from recon_cli.sources.records import RecordFile, Slice, open_records
from recon_cli.stages.tabulate import record_columns, typed_records
from recon_cli.statement import (
    PROTECTION,
    Law,
    Protection,
    Statement,
    describe_law,
    law_document,
    parse_law,
    protection_text,
)
from recon_cli.store import InputFile, PartWriter, Piece, Recipe, Stage
from recon_cli.store.files import file_digest

_PTABLE = "ptable.csv"


def round_counts(run: Run) -> StageOutcome:
    """Round the counts of records.

    Raises:
        ConfigError: There are no records, or a table is unknown.
        SourceError: The records do not fit the schema.
        StageError: The work folder is in use.
    """
    config = run.config.section(Round)
    law = parse_law({"rounded": {"base": config.base, "how": config.how}})
    return _protect(run, _Request.of(run, ROUND, config, law, config.keys))


def perturb_counts(run: Run) -> StageOutcome:
    """Perturb the counts of records by cell keys.

    Raises:
        ConfigError: There are no records, or no such p-table.
        SourceError: The records do not fit the schema.
        StageError: The work folder is in use.
    """
    config = run.config.section(Cellkey)
    given: dict[str, Any] = {"max": config.max, "variance": config.variance}
    given |= {"never": list(config.never), "table": config.ptable and str(config.ptable.resolve())}
    law = parse_law({"cellkey": {key: value for key, value in given.items() if value}})
    return _protect(run, _Request.of(run, CELLKEY, config, law, "records"))


@dataclass(frozen=True)
class _Request:
    """What is to be made.

    Attributes:
        stage: Whose folders: the counts, and their accuracy.
        release: The schema.
        records: Whose counts.
        tables: Which.
        law: Of all counts.
        keys: Where chance comes from.
        seed: Of the keys.
        ptable: The file of a p-table.
    """

    stage: Stage
    release: Release
    records: RecordFile
    tables: tuple[Table, ...]
    law: Law
    keys: Keys
    seed: int
    ptable: Path | None

    @classmethod
    def of(cls, run: Run, stage: Stage, config: Round | Cellkey, law: Law, keys: Keys) -> _Request:
        """From a section, checked."""
        path = run.work / "persons" if config.records is None else config.records
        require_zeros_kept(law)
        return cls(
            stage,
            run.release,
            open_records(f"{stage.section}.records", path, run.release),
            run.release.select_tables(config.tables),
            law,
            keys,
            run.config.top.seed if config.seed is None else config.seed,
            config.ptable if isinstance(config, Cellkey) else None,
        )

    def recipe(self, run: Run, slices: Mapping[str, Slice]) -> Recipe:
        """What the counts depend on."""
        settings: dict[str, Any] = {
            "keys": self.keys,
            "tables": [table.name for table in self.tables],
        }
        files: tuple[InputFile, ...] = ()
        if self.ptable is None:
            settings["law"] = law_document(self.law)
        else:
            size, digest = self.ptable.stat().st_size, file_digest(self.ptable)
            files = (InputFile(self.ptable.name, size, digest),)
        inputs = {name: {"records": each.digest} for name, each in slices.items()}
        return run.recipe(self.stage, settings, seed=self.seed, files=files, partitions=inputs)


def _protect(run: Run, request: _Request) -> StageOutcome:
    slices = request.records.slices()
    with run.transaction(request.recipe(run, slices)) as stage:
        if stage.current is not None:
            return StageOutcome(request.stage, stage.current, skipped=True)
        writer = PartWriter(stage.staging)
        unit = request.release.geography.unit.name
        with run.reporter.bar(Task(request.stage.section, unit)) as bar:
            for name in slices:
                people, units = _write(request, name, writer)
                bar.advance(units, people)
        for name, content in _protection(request).items():
            stage.staging.write_extra(request.stage.folders[0], name, content)
        pieces = [Piece(name) for name in slices]
        published = stage.publish(pieces, notes={"law": describe_law(request.law)})
        return StageOutcome(request.stage, published)


def _write(request: _Request, partition: str, writer: PartWriter) -> tuple[int, int]:
    """Protect one partition; returns its people and its units."""
    started, release, source = time.perf_counter(), request.release, request.records
    read = source.read(partition, list(record_columns(release)))
    records = typed_records(read, source.path, release)
    protected = protect_counts(
        release,
        records,
        Protection((Statement(request.law),)),
        seed=request.seed,
        keys=request.keys,
        tables=request.tables,
    )
    levels = protected["level"].unique()
    counts = sources.with_zeros(release, request.tables, levels, tidy_counts(protected))
    published, accuracy = request.stage.folders
    writer.append(partition, published, counts.sort("geoid", "table", "cell"))
    writer.append(partition, accuracy, count_accuracy(protected))
    units = records[release.geoid_column].n_unique()
    writer.finish(
        partition,
        totals={
            "units": units,
            "people": records.height,
            "cells": protected.height,
            "changed": int((protected["count"] != protected["true"]).sum()),
            "false_zeros": int((protected["count"] == 0).sum()),
        },
        started=started,
    )
    return records.height, units


def _protection(request: _Request) -> dict[str, bytes]:
    """The files that declare the law, beside the counts."""
    law, files = request.law, dict[str, bytes]()
    if request.ptable is not None:
        files[_PTABLE] = request.ptable.read_bytes()
        law = law.model_copy(update={"table": Path(_PTABLE)})
    text = protection_text(request.release, [Statement(law)])
    return {PROTECTION: text.encode(), **files}
