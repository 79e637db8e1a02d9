"""Reading a source and writing its partitions: the work of `recon ingest`."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace

import polars as pl

from recon_cli import sources
from recon_cli.capabilities.ingest.joined import JoinedSource, Part
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.coverage import UNLISTED
from recon_cli.errors import SourceError
from recon_cli.frames import PRINTED, partition_runs
from recon_cli.pipeline.run import Run
from recon_cli.progress import Bar, Task
from recon_cli.publication import Source, describe_geounits, duplicates
from recon_cli.read_ahead import read_ahead
from recon_cli.schema import Level, Release
from recon_cli.schema.files import load_register
from recon_cli.sources.formats.sheet import SHEET
from recon_cli.stage import undisturbed
from recon_cli.statement import EXACT, Protection, load_protection
from recon_cli.store import Manifest, PartWriter, Piece, Transaction, coverage_bytes
from recon_cli.store.files import json_bytes
from recon_cli.store.pieces import PIECES, cut, pieces_bytes
from recon_cli.store.protection import protection_files
from recon_cli.store.published import (
    COVERAGE,
    LEFT_OUT,
    LISTED,
    NAMES,
    PERCENTAGES,
    READING,
    names_bytes,
)

#: Rows that wait to be written: bounds memory, and makes parts worth a file.
_BUFFERED_ROWS = 2_000_000
#: Partitions that are checked and cut at the same time.
_FINISHED_AT_ONCE = 2


def publish(run: Run, config: Ingest, stage: Transaction) -> Manifest:
    """Read the source, and publish ``tables/`` and ``geounits/``.

    Raises:
        SourceError: A file is not what it should be.
    """
    opened = open_source(run.release, config)
    source, protection = opened.source, opened.protection
    task = Task("ingest", run.release.geography.unit.name, record=run.release.record)
    with run.reporter.bar(task) as bar:
        buffer = PartitionBuffer(run.release, PartWriter(stage.staging))
        read_source(run.release, source, protection, buffer, bar)
        pieces = buffer.finish(config.piece_people)
    stage.staging.write_extra("tables", COVERAGE, coverage_bytes(source.coverage, run.release))
    if protection is not None:
        stage.staging.write_extras("tables", protection_files(protection, run.release))
    stage.staging.write_extra("geounits", PIECES, pieces_bytes(pieces))
    if names := place_names(config):
        stage.staging.write_extra("geounits", NAMES, names_bytes(names))
    if config.source == SHEET.name:
        stage.staging.write_extra("tables", READING, _reading(run.release, config, opened))
    if opened.told is not None and protection is not None:
        rows = [list(row) for row in opened.told.iter_rows()]
        stage.staging.write_extra("tables", PERCENTAGES, json_bytes(rows))
    notes: dict[str, object] = {}
    if opened.left_out:
        notes[LEFT_OUT] = [asdict(each) for each in opened.left_out]
    if config.geounits is not None:
        notes[LISTED] = config.geounits.name
    return stage.publish((Piece(piece.partition) for piece in pieces), notes=notes)


def _reading(release: Release, config: Ingest, opened: sources.OpenedSource) -> bytes:
    """Render the page that shows each sheet as it was read."""
    with undisturbed():
        from recon_cli.capabilities.init.reading_page import reading_page, replayed_sheets

    sheets = replayed_sheets(config.paths, file_mapping(config))
    unread = [each for each in opened.left_out if not each.column]
    return reading_page(sheets, release.title, unread=unread).encode()


def open_source(release: Release, config: Ingest) -> sources.OpenedSource:
    """Open the source that the config names, with its laws if not all counts are exact."""
    listed = config.unit_list
    units = None if listed is None else sources.read_geounit_list(release, listed)
    if config.is_register:
        return sources.completed(release, open_register(release, config), units)
    path = config.laws_file
    chosen = config.is_legacy and config.tables is not None
    tables = release.select_tables(config.tables) if chosen else ()
    return sources.open_source(
        release,
        config.source,
        config.paths,
        tables=[table.name for table in tables] or None,
        mapping=file_mapping(config),
        absent=config.absent,
        geounits=units,
        protection=None if path is None else load_protection(path, release),
    )


def open_register(release: Release, config: Ingest) -> JoinedSource:
    """Open the publications of a register, each by its own schema, in the areas of all."""
    register = load_register(config.paths[0])
    parts = []
    for (name, own), schema in zip(config.publications.items(), register.releases, strict=True):
        if name not in release.publications:
            continue
        placed = replace(schema, geography=release.geography)
        path = own.laws_file
        counts = sources.open_counts(
            placed,
            own.source,
            own.paths,
            mapping=file_mapping(own),
            absent=own.absent,
            protection=None if path is None else load_protection(path, placed),
        )
        parts.append(Part(name, placed, counts))
    return JoinedSource(release, parts)


def place_names(config: Ingest) -> dict[str, str]:
    """Map geoids to place names, as far as the config gives them."""
    numbered = {} if config.mapping is None else config.mapping.geoids
    names = {geoid: name for name, geoid in sorted(numbered.items(), key=lambda one: len(one[0]))}
    return names if config.names is None else names | sources.read_place_names(config.names)


def file_mapping(config: Ingest) -> sources.FileMapping:
    """Collect what the config says about its files' columns."""
    given = {} if config.mapping is None else config.mapping.model_dump()
    said = given.pop("dimensions", {}).items()
    dimensions = {name: sources.DimensionMapping(**each) for name, each in said}
    shares = given.pop("percentages", {}).items()
    percentages = {header: sources.ShareMapping(**each) for header, each in shares}
    printed = given.pop("statistics", {}).items()
    return sources.FileMapping(
        **given,
        dimensions=dimensions,
        percentages=percentages,
        statistics={header: sources.StatisticMapping(**each) for header, each in printed},
    )


def read_source(
    release: Release,
    source: Source,
    protection: Protection | None,
    buffer: PartitionBuffer,
    bar: Bar,
) -> None:
    """Hand every geounit and count of a source to ``buffer``.

    Raises:
        SourceError: A file is not what it should be.
    """
    unit = release.geography.unit.name
    described = _described(release, source, protection or EXACT)
    with closing(read_ahead(described)) as ahead:  # or an interrupt would leave files open
        for geounits, counts in ahead:
            buffer.add("geounits", geounits)
            buffer.add("tables", counts)
            here = geounits.filter(pl.col("level") == unit)
            bar.advance(here.height, int(here["population"].cast(pl.Int64).sum()))
    buffer.flush()


def _described(
    release: Release, source: Source, protection: Protection
) -> Generator[tuple[pl.DataFrame, pl.DataFrame], None, None]:
    """Check geounits, and return them with their population, and their counts."""
    with closing(read_ahead(source.batches())) as batches:
        for batch in batches:  # a source may know more patterns after each
            rows = batch.counts
            if release.statistics:
                rows = pl.concat([rows, batch.statistics], how="diagonal").select(PRINTED.names())
            yield describe_geounits(release, source.coverage, batch, protection), rows


class PartitionBuffer:
    """Rows by partition that wait until there are enough of them to write."""

    def __init__(self, release: Release, writer: PartWriter) -> None:
        self.writer = writer
        self._release = release
        self._frames: dict[tuple[str, str], list[pl.DataFrame]] = {}
        self._empty: dict[str, pl.DataFrame] = {}
        self._started: dict[str, float] = {}
        self._lettered: list[pl.Series] = []
        self._rows = 0

    def add(self, folder: str, frame: pl.DataFrame) -> None:
        """Buffer the rows of one folder; write the buffer once it holds enough."""
        self._empty.setdefault(folder, frame.clear())
        if folder == "geounits":
            geoids = frame["geoid"]
            self._lettered.append(geoids.filter(geoids.str.contains("[A-Za-z]")))
        for partition, rows in _partitions(frame, self._release.geography.partition_level):
            self._started.setdefault(partition, time.perf_counter())
            self._frames.setdefault((folder, partition), []).append(rows)
        self._rows += frame.height
        if self._rows >= _BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write all buffered rows."""
        for (folder, partition), frames in self._frames.items():
            rows = pl.concat(frames)
            order = [name for name in ("geoid", "table", "cell") if name in rows.columns]
            is_sorted = len(order) == 1 and rows["geoid"].is_sorted()
            self.writer.append(partition, folder, rows if is_sorted else rows.sort(order))
        self._frames = {}
        self._rows = 0

    def finish(self, piece_people: int) -> list[Piece]:
        """Check, mark and cut every partition; one without counts gets an empty part."""
        partitions = self.writer.partitions()
        if not partitions:
            raise SourceError("the files hold no geounits of the release's levels")
        alike = self._release.geography.alike(pl.concat(self._lettered))
        if alike is not None:
            raise SourceError(alike)
        with ThreadPoolExecutor(_FINISHED_AT_ONCE, "recon-finish") as pool:
            cuts = pool.map(lambda each: self._finish(each, piece_people), partitions)
            return list(itertools.chain.from_iterable(cuts))

    def _finish(self, partition: str, piece_people: int) -> list[Piece]:
        if not self.writer.has(partition, "tables"):
            self.writer.append(partition, "tables", self._empty["tables"])
        geounits = self.writer.read(partition, "geounits", ["geoid", "level", "population"])
        _refuse_duplicates(geounits)
        unlisted = int(geounits["geoid"].str.ends_with(UNLISTED).sum())
        counts, levels = self.writer.rows(partition, "tables"), self._levels(geounits)
        levels[self._release.geography.unit.name] = (
            levels.get(self._release.geography.unit.name, 0) - unlisted
        )
        self.writer.finish(
            partition,
            statuses={name: number for name, number in levels.items() if number},
            totals={
                "units": levels[self._release.geography.unit.name],
                **({"unlisted": unlisted} if unlisted else {}),
                **_people(geounits),
                "cells": counts,
            },
            started=self._started[partition],
        )
        of_unit = pl.col("level") == self._release.geography.unit.name
        return cut(self._release, partition, geounits.filter(of_unit), piece_people)

    def _levels(self, geounits: pl.DataFrame) -> dict[str, int]:
        found = dict(geounits["level"].value_counts().iter_rows())
        levels = [level.name for level in self._release.geography.levels]
        return {name: int(found[name]) for name in levels if name in found}


def _partitions(frame: pl.DataFrame, level: Level) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the rows of each partition in order; rows that are adjacent are not copied."""
    runs = list(partition_runs(frame["geoid"], level))
    if len({partition for partition, _ in runs}) < len(runs):
        of_row = level.enclosing(pl.col("geoid")).alias("_partition")
        split = frame.with_columns(of_row).partition_by(
            "_partition", include_key=False, as_dict=True
        )
        for (partition,), rows in split.items():
            yield str(partition), rows
        return
    start = 0
    for partition, size in runs:
        yield partition, frame.slice(start, size)
        start += size


def _people(geounits: pl.DataFrame) -> dict[str, int]:
    """Count the people of a partition: all levels count the same, unless one is not published.

    ``partly_counted`` is 1 if every level has a place without an exact count of its people.
    """
    population = pl.col("population").cast(pl.Int64)
    sums = geounits.group_by("level").agg(population.sum(), gaps=population.null_count())
    people = int(sums["population"].max() or 0)  # type: ignore[arg-type]
    is_whole = sums.is_empty() or not sums.filter(population == people, gaps=0).is_empty()
    return {"people": people, **({} if is_whole else {"partly_counted": 1})}


def _refuse_duplicates(geounits: pl.DataFrame) -> None:
    twice = duplicates(geounits)
    if not twice.is_empty():
        geoid, level = twice.sort("geoid").row(0)[:2]
        raise SourceError(f"{level} {geoid} occurs more than once in the published files")
