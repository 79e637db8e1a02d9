"""Files that list all units, inhabited or not, and maybe the geounits that they are in."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.schema import Release
from recon_cli.sources.damage import why_unreadable
from recon_cli.store import InputFile
from recon_cli.store.files import file_digest


def list_files(key: str, path: Path | None) -> tuple[InputFile, ...]:
    """The files that a path stands for, as inputs of a recipe.

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
    """All columns of a list of units as text.

    Raises:
        SourceError: It cannot be read, or lacks the unit's geoid; the message begins with ``key``.
    """
    column = release.geoid_column
    try:
        if path.suffix.lower() == ".csv":
            frame = pl.read_csv(path, infer_schema=False)
        else:
            files = path / "**/*.parquet" if path.is_dir() else path
            frame = pl.read_parquet(files, hive_partitioning=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SourceError(f"{key}: {path}: {why_unreadable(path, error)}") from None
    if column not in frame.columns:
        raise SourceError(f"{key}: {path}: no column {column!r} ({', '.join(frame.columns)})")
    return frame.select(pl.all().cast(pl.String))
