"""Files that list all units, inhabited or not, optionally with their geounits."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.capabilities.protect.sections import MeasuringRecords
from recon_cli.coverage import UNIT_LIST
from recon_cli.errors import ConfigError, SourceError
from recon_cli.plurals import plural
from recon_cli.schema import Release
from recon_cli.sources.damage import read_texts
from recon_cli.store import InputFile
from recon_cli.store.files import file_digest


def list_files(key: str, path: Path | None) -> tuple[InputFile, ...]:
    """Return the files of a path, as inputs of a recipe.

    Raises:
        SourceError: There are none; the message begins with ``key``.
    """
    if path is None:
        return ()
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise SourceError(f"{key}: {path}: no such file, or no .parquet file in it")
    return tuple(InputFile(file.name, file.stat().st_size, file_digest(file)) for file in files)


def read_units(key: str, path: Path, release: Release) -> pl.DataFrame:
    """Read all columns of a list of units as text.

    Raises:
        SourceError: The file cannot be read, or lacks the geoid; the message begins with ``key``.
    """
    column = release.geoid_column
    try:
        frame = read_texts(path)
    except SourceError as error:
        raise SourceError(f"{key}: {error}") from None
    if column not in frame.columns:
        raise SourceError(f"{key}: {path}: no column {column!r} ({', '.join(frame.columns)})")
    return frame


def listed_units(key: str, path: Path, release: Release) -> pl.Series:
    """Return the geoids of a list of all units, each once.

    Raises:
        SourceError: The file cannot be read; the message begins with ``key``.
    """
    return read_units(key, path, release)[release.geoid_column].unique().sort()


def all_units(section: str, config: MeasuringRecords, release: Release) -> pl.Series | None:
    """Return the geoids of all units, inhabited or not; None for those with records.

    Raises:
        ConfigError: There is no list, and nothing states that inhabited units are published.
        SourceError: The list cannot be read.
    """
    key = f"{section}.geounits"
    if config.geounits is not None:
        return listed_units(key, config.geounits, release)
    if config.units is None and config.study_seed is None:
        units = plural(release.geography.unit.name).replace("_", " ")
        raise ConfigError(
            f"{key}: missing: without it the folder tells which {units} are inhabited "
            "(or say units: exact)"
        )
    return None


def unit_list_file(units: pl.Series | None) -> dict[str, bytes]:
    """Write the list that is published beside protected counts, as files: name → content.

    Args:
        units: Geoids of all units; None where there is no list, and so no file.
    """
    if units is None:
        return {}
    return {UNIT_LIST: pl.DataFrame({"geoid": units}).write_csv().encode()}


def require_listed(key: str, found: pl.Series, listed: pl.Series) -> None:
    """Refuse units with records that the list of all units lacks.

    Raises:
        SourceError: The message begins with ``key``.
    """
    missing = found.filter(~found.is_in(listed.implode()))
    if len(missing):
        raise SourceError(
            f"{key}: {len(missing):,} with records are not listed, the first {missing.sort()[0]}; "
            "the list is of all units, inhabited or not"
        )
