"""`recon ingest`: a published format → ``tables/`` and ``geounits/``."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl

from recon_cli import sources
from recon_cli.config import Ingest
from recon_cli.errors import ConfigError, SourceError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.progress import Bar, Task
from recon_cli.publication import Source
from recon_cli.schema import Release
from recon_cli.stages.geounits import describe_geounits
from recon_cli.statement import EXACT, PROTECTION, Protection, load_protection
from recon_cli.store import (
    INGEST,
    InputFile,
    PartWriter,
    Piece,
    coverage_bytes,
)
from recon_cli.store.files import file_digest
from recon_cli.store.pieces import PIECES, cut, pieces_bytes
from recon_cli.store.published import COVERAGE, protection_files

#: Rows that wait to be written: bounds memory, and makes parts worth a file.
_BUFFERED_ROWS = 2_000_000


def ingest(run: Run) -> StageOutcome:
    """Read the published files that the config names.

    Raises:
        ConfigError: A file is not there.
        SourceError: A file is not what it should be; nothing is published.
        StageError: The work folder cannot be written, or is in use.
    """
    config = run.config.section(Ingest)
    settings: dict[str, Any] = {"source": config.source, "piece_people": config.piece_people}
    if config.source == "tidy":
        settings["absent"] = config.absent
    recipe = run.recipe(INGEST, settings, files=input_files([*config.paths, *_beside(config)]))
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(INGEST, stage.current, skipped=True)
        source, protection = open_source(run.release, config)
        task = Task("ingest", run.release.geography.unit.name)
        with run.reporter.bar(task) as bar:
            buffer = _PartitionBuffer(run.release, PartWriter(stage.staging))
            _read(run.release, source, protection or EXACT, buffer, bar)
            pieces = buffer.finish(config.piece_people)
        stage.staging.write_extra("tables", COVERAGE, coverage_bytes(source.coverage, run.release))
        if protection is not None:
            for name, content in protection_files(protection, run.release).items():
                stage.staging.write_extra("tables", name, content)
        stage.staging.write_extra("geounits", PIECES, pieces_bytes(pieces))
        return StageOutcome(INGEST, stage.publish(Piece(piece.partition) for piece in pieces))


def open_source(release: Release, config: Ingest) -> tuple[Source, Protection | None]:
    """Open what the config names; and by which law it was published, if not all is exact.

    Raises:
        ConfigError: The protection file is wrong.
        SourceError: Another file is not what it should be.
    """
    if config.source != "tidy":
        return sources.open_legacy(release, config.paths), None
    path = _protection_path(config)
    protection = None if path is None else load_protection(path, release)
    tidy = sources.open_tidy(release, config.paths, absent=config.absent, protection=protection)
    listed = None
    if config.geounits is not None:
        listed = sources.read_geounit_list(release, config.geounits)
    source = sources.complete_geounits(release, tidy, listed)
    return source, tidy.protection if tidy.has_statements else None


def _protection_path(config: Ingest) -> Path | None:
    """The file that the config names, or the one beside the published files."""
    if config.protection is not None or config.source != "tidy":
        return config.protection
    folders = [path if path.is_dir() else path.parent for path in config.paths]
    return next((each for each in (f / PROTECTION for f in folders) if each.is_file()), None)


def _beside(config: Ingest) -> list[Path]:
    """The files that the config names or implies besides the published ones."""
    protection = _protection_path(config)
    if protection is not None and any(protection.parent == path for path in config.paths):
        protection = None  # it is one of the files of a published folder
    return [path for path in (config.geounits, protection) if path is not None]


def input_files(paths: Iterable[Path]) -> tuple[InputFile, ...]:
    """Name, size and digest of every file; a folder stands for the files in it.

    Raises:
        ConfigError: There is no such file or folder.
    """
    found = []
    for path in paths:
        if path.is_dir():
            members = sorted(member for member in path.rglob("*") if member.is_file())
        elif path.is_file():
            members = [path]
        else:
            raise ConfigError(f"ingest.paths: no such file or folder: {path}")
        for member in members:
            name = member.relative_to(path.parent).as_posix()
            found.append(InputFile(name, member.stat().st_size, file_digest(member)))
    return tuple(found)


def _read(
    release: Release, source: Source, protection: Protection, buffer: _PartitionBuffer, bar: Bar
) -> None:
    unit = release.geography.unit.name
    with closing(source.batches()) as batches:  # or an interrupt would leave files open
        for batch in batches:
            geounits = describe_geounits(release, source.coverage, batch, protection)
            buffer.add("geounits", geounits)
            buffer.add("tables", batch.counts)
            here = geounits.filter(pl.col("level") == unit)
            bar.advance(here.height, int(here["population"].sum()))
    buffer.flush()


class _PartitionBuffer:
    """Rows by partition that wait until there are enough of them to write."""

    def __init__(self, release: Release, writer: PartWriter) -> None:
        self.writer = writer
        self._release = release
        self._digits = release.geography.partition_digits
        self._frames: dict[tuple[str, str], list[pl.DataFrame]] = {}
        self._empty: dict[str, pl.DataFrame] = {}
        self._started: dict[str, float] = {}
        self._rows = 0

    def add(self, folder: str, frame: pl.DataFrame) -> None:
        self._empty.setdefault(folder, frame.clear())
        prefix = pl.col("geoid").str.slice(0, self._digits).alias("_partition")
        split = frame.with_columns(prefix).partition_by(
            "_partition", include_key=False, as_dict=True
        )
        for (partition,), rows in split.items():
            self._started.setdefault(str(partition), time.perf_counter())
            self._frames.setdefault((folder, str(partition)), []).append(rows)
        self._rows += frame.height
        if self._rows >= _BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        for (folder, partition), frames in self._frames.items():
            rows = pl.concat(frames)
            order = [name for name in ("geoid", "table", "cell") if name in rows.columns]
            self.writer.append(partition, folder, rows.sort(order))
        self._frames = {}
        self._rows = 0

    def finish(self, piece_people: int) -> list[Piece]:
        """Check, mark and cut every partition; one without counts gets an empty part."""
        pieces: list[Piece] = []
        partitions = self.writer.partitions()
        if not partitions:
            raise SourceError("the files hold no geounits of the release's levels")
        for partition in partitions:
            if not self.writer.has(partition, "tables"):
                self.writer.append(partition, "tables", self._empty["tables"])
            geounits = self.writer.read(partition, "geounits")
            _refuse_duplicates(geounits)
            counts, levels = self.writer.rows(partition, "tables"), self._levels(geounits)
            self.writer.finish(
                partition,
                statuses=levels,
                totals={
                    "units": levels.get(self._release.geography.unit.name, 0),
                    "people": _people(geounits),
                    "cells": counts,
                },
                started=self._started[partition],
            )
            of_unit = pl.col("level") == self._release.geography.unit.name
            pieces += cut(self._release, partition, geounits.filter(of_unit), piece_people)
        return pieces

    def _levels(self, geounits: pl.DataFrame) -> dict[str, int]:
        found = dict(geounits["level"].value_counts().iter_rows())
        levels = [level.name for level in self._release.geography.levels]
        return {name: int(found[name]) for name in levels if name in found}


def _people(geounits: pl.DataFrame) -> int:
    """People of a partition: the levels count the same people, unless one is not published."""
    sums = geounits.group_by("level").agg(pl.col("population").sum())["population"]
    return int(max(sums, default=0))


def _refuse_duplicates(geounits: pl.DataFrame) -> None:
    twice = geounits.filter(pl.col("geoid").is_duplicated())
    if not twice.is_empty():
        geoid, level = twice.sort("geoid").row(0)[:2]
        raise SourceError(f"{level} {geoid} occurs more than once in the published files")
