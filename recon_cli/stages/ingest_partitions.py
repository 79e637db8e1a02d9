"""Reading a source and writing its partitions: the work of `recon ingest`."""

from __future__ import annotations

import time
from contextlib import closing

import polars as pl

from recon_cli import sources
from recon_cli.config import Ingest
from recon_cli.errors import SourceError
from recon_cli.progress import Bar
from recon_cli.publication import Source
from recon_cli.schema import Release
from recon_cli.stages.geounits import describe_geounits, duplicates
from recon_cli.stages.ingest import protection_path
from recon_cli.statement import EXACT, Protection, load_protection
from recon_cli.store import (
    PartWriter,
    Piece,
)
from recon_cli.store.pieces import cut

#: Rows that wait to be written: bounds memory, and makes parts worth a file.
_BUFFERED_ROWS = 2_000_000


def open_source(release: Release, config: Ingest) -> tuple[Source, Protection | None]:
    """Open what the config names; and by which law it was published, if not all is exact.

    Raises:
        ConfigError: The protection file is wrong.
        SourceError: Another file is not what it should be.
    """
    if config.is_legacy:
        tables = [table.name for table in release.select_tables(config.tables)]
        legacy = sources.open_legacy(release, config.paths, layout=config.source, tables=tables)
        return legacy, None
    path = protection_path(config)
    protection = None if path is None else load_protection(path, release)
    counts = _open_counts(release, config, protection)
    listed = None
    if config.geounits is not None:
        listed = sources.read_geounit_list(release, config.geounits)
    source = sources.complete_geounits(release, counts, listed)
    return source, counts.protection if counts.has_statements else None


def _open_counts(
    release: Release, config: Ingest, protection: Protection | None
) -> sources.TidySource | sources.DenseSource:
    """Files that may lack geounits."""
    absent = config.absent_cells
    if config.source == "tidy":
        return sources.open_tidy(release, config.paths, absent=absent, protection=protection)
    mapping = sources.FileMapping()
    if config.mapping is not None:
        given = config.mapping.model_dump()
        said = given.pop("dimensions").items()
        dimensions = {name: sources.DimensionMapping(**each) for name, each in said}
        mapping = sources.FileMapping(**given, dimensions=dimensions)
    return sources.open_tables(
        release,
        config.source,
        config.paths,
        mapping=mapping,
        absent=absent,
        protection=protection,
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
    with closing(source.batches()) as batches:  # or an interrupt would leave files open
        for batch in batches:
            geounits = describe_geounits(release, source.coverage, batch, protection or EXACT)
            buffer.add("geounits", geounits)
            buffer.add("tables", batch.counts)
            here = geounits.filter(pl.col("level") == unit)
            bar.advance(here.height, int(here["population"].sum()))
    buffer.flush()


class PartitionBuffer:
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
        """Take the rows of one folder; what waits is written when there is much of it."""
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
        """Write what waits."""
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
    twice = duplicates(geounits)
    if not twice.is_empty():
        geoid, level = twice.sort("geoid").row(0)[:2]
        raise SourceError(f"{level} {geoid} occurs more than once in the published files")
