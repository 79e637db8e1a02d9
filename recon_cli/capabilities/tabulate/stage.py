"""Run `recon data tabulate`: records → published tables, as a tidy file or a legacy zip.

With a work folder, ``tabulated/`` in it records what the file was made from.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from recon_cli import sources
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.records.files import (
    AS_IT_IS,
    FILE_KINDS,
    RecordFile,
    Translation,
    open_records,
    scan_records,
)
from recon_cli.capabilities.records.layout import given_translation
from recon_cli.capabilities.records.records_file import RecordsFile
from recon_cli.capabilities.tabulate import TABULATE, tabulation
from recon_cli.capabilities.tabulate.legacy_writer import write_legacy
from recon_cli.capabilities.tabulate.options import Tabulate
from recon_cli.capabilities.tabulate.statistics import print_statistics
from recon_cli.errors import ConfigError, SourceError, VerificationError
from recon_cli.frames import STATISTICS, UNREADABLE
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.progress import Task
from recon_cli.schema import Release, Table, column_dtype
from recon_cli.sources.damage import columns_found, kind_of, why_unreadable
from recon_cli.store import INGEST, InputFile, Manifest, Piece, Recipe, Transaction, open_folder
from recon_cli.store.files import file_digest, remove_unfinished, written_whole
from recon_cli.store.study import is_for_study, require_study_name


@dataclass(frozen=True)
class Tabulated:
    """The result of a tabulation.

    Attributes:
        format: ``tidy`` or ``legacy``.
        people: Records counted.
        cells: Non-zero counts.
        seconds: Wall time.
    """

    path: Path
    format: str
    people: int
    cells: int
    seconds: float


def open_stage(run: Run) -> MadeStage:
    """Open the stage that counts records, writes the counts, and publishes ``tabulated/``.

    Raises:
        ConfigError: No output file, or a table, level or format that does not exist.
        SourceError: The records cannot be read, or have values or geoids that the schema does
            not know.
    """
    request = _request(run)

    def make(stage: Transaction) -> Manifest:
        written = _write(run, request)
        counted = {"people": written.people, "cells": written.cells}
        return stage.publish([], totals=counted)

    return MadeStage(_recipe(run, request), make)


def write_tables(run: Run) -> Tabulated:
    """Count records in every published cell and write the counts, without a work folder."""
    return _write(run, _request(run))


def tabulated(run: Run, outcome: StageOutcome) -> Tabulated:
    """Return the result of a finished stage."""
    request, manifest = _request(run), outcome.manifest
    counts = manifest.totals["people"], manifest.totals["cells"]
    return Tabulated(request.to, request.format, *counts, manifest.run.wall_seconds)


@dataclass(frozen=True)
class _Request:
    """A request to write tables.

    Attributes:
        format: ``tidy`` or ``legacy``.
        prints: Whether statistics are printed beside the counts.
    """

    config: Tabulate
    to: Path
    format: str
    tables: tuple[Table, ...]
    prints: bool


def _request(run: Run) -> _Request:
    """Refuse options that would otherwise fail after the counting."""
    config, release = run.config.section(Tabulate), run.release
    target = config.to
    if target is None:
        raise ConfigError("tabulate.to: missing: which file to write (or give --to FILE)")
    form = config.format or ("legacy" if target.suffix.lower() == ".zip" else "tidy")
    given = None if config.records is None else config.records.path
    if given is not None and given.resolve() == target.resolve():
        raise ConfigError(f"tabulate.to: {target} is the file of records itself")
    if form == "tidy" and target.suffix.lower() not in {".csv", ".parquet"}:
        raise ConfigError(f"tabulate.to: {target}: a .csv, .parquet or .zip file is expected")
    if is_for_study(given or run.work / "microdata"):
        require_study_name("tabulate.to", target)
    prints = bool(release.statistics) and config.tables is None
    if prints and form == "legacy":
        raise ConfigError(
            f"tabulate.format: a legacy file has no statistics ({release.statistics[0].name}); "
            "write a tidy file, or name tables of counts"
        )
    return _Request(config, target, form, release.select_tables(config.tables), prints)


def _recipe(run: Run, request: _Request) -> Recipe:
    given, shared = request.config.records, {}
    files: tuple[InputFile, ...] = ()
    if given is None:
        for stage, name in ((RECONSTRUCT, "microdata"), (INGEST, "geounits")):
            shared[name] = open_folder(run.work, stage, name).manifest.key
    elif (records := given.path).is_dir():
        slices = _folder(given, run.release).slices()
        shared = {f"{records.name}/{name}": each.digest for name, each in slices.items()}
    elif records.is_file():
        files = (InputFile(records.name, records.stat().st_size, file_digest(records)),)
    else:
        raise SourceError(f"{records}: cannot be read: no such file or folder")
    settings: dict[str, object] = {
        "to": request.to.name,
        "format": request.format,
        "tables": [table.name for table in request.tables],
        "levels": None if request.config.levels is None else list(request.config.levels),
        "terms": None if given is None else given.terms,
        **({"decimals": request.config.decimals} if request.prints else {}),
    }
    recipe = run.recipe(TABULATE, settings, files=files, shared=shared)
    return replace(recipe, outside={request.to.name: request.to})


def _write(run: Run, request: _Request) -> Tabulated:
    """Count, and write the file atomically."""
    started, release = time.perf_counter(), run.release
    people, parts, units, texts = 0, [], [], [STATISTICS.to_frame()]
    violations = [0] * len(release.structural_zeros)
    with run.reporter.bar(
        Task("tabulate", release.geography.unit.name, record=release.record)
    ) as bar:
        for records in _records(run, request.config):
            people += records.height
            try:
                parts.append(
                    tabulation.tabulate(release, records, request.tables, request.config.levels)
                )
                place = tabulation.finest(release, request.config.levels)
                found = tabulation.count_violations(release, records, place)
            except VerificationError as error:
                raise SourceError(str(error)) from error
            if request.prints:
                levels, decimals = request.config.levels, request.config.decimals
                texts.append(print_statistics(release, records, levels, decimals))
            violations = [a + b for a, b in zip(violations, found, strict=True)]
            units.append(records.select(release.geoid_column).unique())
            bar.advance(units[-1].height, records.height)
    if (alike := release.geography.alike(pl.concat(units)[release.geoid_column])) is not None:
        raise SourceError(alike)
    _note_violations(run, violations)
    remove_unfinished(request.to)
    counts = pl.concat(parts)
    if request.format == "legacy":
        geounits = _geounits(run, request.config, pl.concat(units))
        write_legacy(release, geounits, counts, request.to)
    else:
        named = request.config.levels or release.geography.by_name
        published = sources.with_zeros(release, request.tables, named, counts)
        with written_whole(request.to) as aside:
            sources.write_tidy(published, aside, pl.concat(texts))
    seconds = time.perf_counter() - started
    return Tabulated(request.to, request.format, people, counts.height, seconds)


def _note_violations(run: Run, violations: list[int]) -> None:
    """Name the structural zeros that the records violate."""
    for zero, count in zip(run.release.structural_zeros, violations, strict=True):
        if count:
            what = "definition" if zero.is_definition else "assumption"
            why = f" ({zero.why})" if zero.why else ""
            run.reporter.note(
                f"tabulate: {count:,} records break a structural zero of {run.release.name}, "
                f"by {what}{why}"
            )


def read_records(path: Path, release: Release, translation: Translation = AS_IT_IS) -> pl.DataFrame:
    """Read the unit's geoid and the features of every record in one file.

    Args:
        path: A Parquet, CSV or xlsx file.
        translation: The file's names and codes.

    Raises:
        ConfigError: The file's name ends otherwise, or the file lacks a translated column.
        SourceError: The file cannot be read, or lacks a column.
    """
    if kind_of(path) not in FILE_KINDS:
        raise ConfigError(f"tabulate.records: {path}: a .csv or .parquet file is expected")
    try:
        frame = scan_records(path, translation).collect()
    except UNREADABLE as error:
        raise SourceError(f"{path}: {why_unreadable(path, error)}") from None
    except ConfigError as error:
        raise ConfigError(f"tabulate.records.{error}") from error
    return typed_records(frame, path, release)


def record_columns(release: Release) -> dict[str, type[pl.DataType]]:
    """Return the columns that records must have."""
    features = {feature.name: column_dtype(feature.values) for feature in release.features}
    return {release.geoid_column: pl.String, **features}


def typed_records(frame: pl.DataFrame, path: Path, release: Release) -> pl.DataFrame:
    """Select the unit's geoid and the features of records read from ``path``, typed.

    Raises:
        SourceError: A column is missing, or has values of another kind.
    """
    schema = record_columns(release)
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise SourceError(
            f"{path}: no column {missing[0]!r} "
            f"({columns_found(frame.columns, schema)}; needed: {', '.join(schema)})"
        )
    return frame.select(_cast(frame[name], dtype, path) for name, dtype in schema.items())


def _cast(column: pl.Series, dtype: type[pl.DataType], path: Path) -> pl.Series:
    if dtype == pl.Boolean and column.dtype == pl.String:
        truth = {"true": True, "false": False, "1": True, "0": False}
        cast = column.str.to_lowercase().replace_strict(
            truth, default=None, return_dtype=pl.Boolean
        )
    else:
        cast = column.cast(dtype, strict=False)
    bad = (cast.is_null() & column.is_not_null()).arg_true()
    if not bad.is_empty():
        first = f"record {bad[0] + 1}" if path.is_file() else "some"
        raise SourceError(
            f"{path}: column {column.name!r}: {dtype.__name__} values are expected; "
            f"{len(bad):,} records have others, {first} the first"
        )
    return cast


def _records(run: Run, config: Tabulate) -> Iterator[pl.DataFrame]:
    """Yield records by partition, so that the counting needs no more memory than one of them."""
    if config.records is None:
        microdata = open_folder(run.work, RECONSTRUCT, "microdata")
        for partition in microdata.partitions:
            yield microdata.read(partition)
        return
    path, release = config.records.path, run.release
    if path.is_dir():
        folder = _folder(config.records, release)
        for partition in folder.slices():
            records = folder.read(partition, list(record_columns(release)))
            yield typed_records(records, path, release)
        return
    records = read_records(path, release, _translation(config.records, release))
    if records.is_empty():
        yield records
    level = release.geography.partition_level
    of_record = level.enclosing(pl.col(release.geoid_column)).alias("_partition")
    yield from records.with_columns(of_record).partition_by("_partition", include_key=False)


def _folder(given: RecordsFile, release: Release) -> RecordFile:
    return open_records("tabulate.records", given.path, release, _translation(given, release))


def _translation(given: RecordsFile, release: Release) -> Translation:
    try:
        return given_translation(release, **given.terms)
    except ConfigError as error:
        raise ConfigError(f"tabulate.records.{error}") from error


def _geounits(run: Run, config: Tabulate, units: pl.DataFrame) -> pl.DataFrame:
    """Return the geounits to publish: the run's own, with uninhabited ones, or used ones."""
    if config.records is None:
        folder = open_folder(run.work, INGEST, "geounits")
        return pl.concat([part.select("geoid", "level") for part in folder.parts()])
    release = run.release
    levels = {name for table in release.tables for name in table.levels}
    geoids = units[release.geoid_column]
    return pl.concat(
        [
            pl.DataFrame({"geoid": level.enclosing(geoids).unique().sort()}).with_columns(
                level=pl.lit(level.name)
            )
            for level in release.geography.levels
            if level.name in levels
        ]
    )


@dataclass(frozen=True)
class TabulatedRecords:
    """Reads records: the unit's geoid and the features; pickles.

    Attributes:
        present: The partitions that have any.
    """

    release: Release
    file: RecordFile
    present: tuple[str, ...]

    def read(self, piece: Piece) -> tuple[pl.DataFrame, pl.Series]:
        """Read the records of the piece's whole partition; no unit is missing.

        Raises:
            SourceError: The records cannot be read, or have values that the schema does not know.
        """
        nobody = pl.Series([], dtype=pl.String)
        if piece.partition not in self.present:
            return pl.DataFrame(schema=record_columns(self.release)), nobody
        return self._read(piece.partition), nobody

    def everybody(self) -> Iterator[pl.DataFrame]:
        """Yield all records, one partition after the other."""
        return (self._read(partition) for partition in self.present)

    def _read(self, partition: str) -> pl.DataFrame:
        found = self.file.read(partition, list(record_columns(self.release)))
        return typed_records(found, self.file.path, self.release)
