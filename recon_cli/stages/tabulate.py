"""`recon tabulate`: records → published tables, as a tidy file or an sf1-legacy zip."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli import sources
from recon_cli import tabulate as counter
from recon_cli.config import Tabulate
from recon_cli.errors import ConfigError, SourceError, VerificationError
from recon_cli.progress import Task
from recon_cli.schema import Release, column_dtype
from recon_cli.stages.reconstruct import RECONSTRUCT
from recon_cli.stages.run import Run
from recon_cli.stages.selection import chosen
from recon_cli.store import INGEST, open_folder
from recon_cli.store.files import disk, move


@dataclass(frozen=True)
class Tabulated:
    """What was written.

    Attributes:
        path: The file.
        format: ``tidy`` or ``sf1-legacy``.
        people: Records counted.
        cells: Non-zero counts.
        seconds: Wall time.
    """

    path: Path
    format: str
    people: int
    cells: int
    seconds: float


def tabulate(run: Run) -> Tabulated:
    """Count records in every published cell and write the counts.

    Raises:
        ConfigError: No output file, or a table, level or format that does not exist.
        SourceError: The records cannot be read, or have values or geoids that the schema does
            not know.
        StageError: There is no ``microdata/``, or the disk refused.
    """
    started = time.perf_counter()
    config, release = run.config.section(Tabulate), run.release
    if config.to is None:
        raise ConfigError("tabulate.to: missing: which file to write (or give --to FILE)")
    form = config.format or ("sf1-legacy" if config.to.suffix.lower() == ".zip" else "tidy")
    if config.records is not None and config.records.resolve() == config.to.resolve():
        raise ConfigError(f"tabulate.to: {config.to} is the file of records itself")
    _check(release, config, form)
    tables = chosen(release, config.tables)
    people, parts, units = 0, [], []
    with run.reporter.bar(Task("tabulate", release.geography.unit.name)) as bar:
        for records in _records(run, config):
            people += records.height
            try:
                parts.append(counter.tabulate(release, records, tables, config.levels))
            except VerificationError as error:
                raise SourceError(str(error)) from error
            units.append(records.select(release.geoid_column).unique())
            bar.advance(units[-1].height, records.height)
    counts = pl.concat(parts)
    if form == "sf1-legacy":
        sources.write_legacy(release, _geounits(run, config, pl.concat(units)), counts, config.to)
    else:
        aside = config.to.with_name(f".{os.getpid()}.{config.to.name}")
        with disk(config.to):
            try:
                sources.write_tidy(counts, aside)
                move(aside, config.to)
            finally:
                aside.unlink(missing_ok=True)
    return Tabulated(config.to, form, people, counts.height, time.perf_counter() - started)


def read_records(path: Path, release: Release) -> pl.DataFrame:
    """The unit's geoid and the features of every record in a Parquet or CSV file.

    Raises:
        ConfigError: The file's name ends otherwise.
        SourceError: It cannot be read, or lacks a column.
    """
    features = {feature.name: column_dtype(feature.values) for feature in release.features}
    schema: dict[str, type[pl.DataType]] = {release.geoid_column: pl.String, **features}
    suffix = path.suffix.lower()
    if suffix not in {".csv", ".parquet"}:
        raise ConfigError(f"tabulate.records: {path}: a .csv or .parquet file is expected")
    try:
        # as text first: a geoid keeps its zeros, and a bad value is named below
        frame = pl.read_csv(path, infer_schema=False) if suffix == ".csv" else pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{path}: cannot be read as {suffix[1:]}: {error}") from error
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise SourceError(
            f"{path}: no column {missing[0]!r} (columns: {', '.join(frame.columns)}; "
            f"needed: {', '.join(schema)})"
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
    bad = column.filter(cast.is_null() & column.is_not_null())
    if not bad.is_empty():
        raise SourceError(
            f"{path}: column {column.name!r}: {dtype.__name__} values are expected, "
            f"found {bad[0]!r}"
        )
    return cast


def _records(run: Run, config: Tabulate) -> Iterator[pl.DataFrame]:
    """Records by partition, so that the counting needs no more memory than one of them."""
    if config.records is None:
        microdata = open_folder(run.work, RECONSTRUCT, "microdata")
        for partition in microdata.partitions:
            yield microdata.read(partition)
        return
    records = read_records(config.records, run.release)
    digits = run.release.geography.partition_digits
    if records.is_empty():
        yield records
    prefix = pl.col(run.release.geoid_column).str.slice(0, digits).alias("_partition")
    yield from records.with_columns(prefix).partition_by("_partition", include_key=False)


def _geounits(run: Run, config: Tabulate, units: pl.DataFrame) -> pl.DataFrame:
    """The geounits to publish: the run's own, uninhabited ones too, or those with records."""
    if config.records is None:
        folder = open_folder(run.work, INGEST, "geounits")
        return pl.concat([folder.read(name).select("geoid", "level") for name in folder.partitions])
    release = run.release
    levels = {name for table in release.tables for name in table.levels}
    geoids = units[release.geoid_column]
    return pl.concat(
        [
            pl.DataFrame({"geoid": geoids.str.slice(0, level.digits).unique().sort()}).with_columns(
                level=pl.lit(level.name)
            )
            for level in release.geography.levels
            if level.name in levels
        ]
    )


def _check(release: Release, config: Tabulate, form: str) -> None:
    """Refuse what would otherwise fail after the counting."""
    target = config.to
    if target is not None and form == "tidy" and target.suffix.lower() not in {".csv", ".parquet"}:
        raise ConfigError(f"tabulate.to: {target}: a .csv, .parquet or .zip file is expected")
    for name in config.levels or ():
        if name not in release.geography.by_name:
            known = ", ".join(release.geography.by_name)
            raise ConfigError(f"tabulate.levels: no level {name!r} (levels: {known})")
