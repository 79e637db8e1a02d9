"""What people call places whose geoids are codes."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.frames import UNREADABLE


def read_place_names(path: Path) -> dict[str, str]:
    """Geoid → name, from a CSV or Parquet file with the columns ``geoid`` and ``name``.

    Places of any level; those without a name are left out.

    Raises:
        SourceError: It cannot be read, lacks a column, or names a place twice.
    """
    try:
        if path.suffix.lower() == ".parquet":
            frame = pl.read_parquet(path, columns=["geoid", "name"]).cast(pl.String)
        else:
            frame = pl.read_csv(path, columns=["geoid", "name"], infer_schema=False)
    except UNREADABLE as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise SourceError(
            f"{path}: expected columns geoid and name of a CSV file: {reason[0]}"
        ) from error
    known = frame.select(pl.col("geoid", "name").str.strip_chars()).drop_nulls()
    known = known.filter(pl.col("name") != "")
    twice = known.filter(pl.col("geoid").is_duplicated())
    if not twice.is_empty():
        raise SourceError(f"{path}: geoid {twice['geoid'][0]} has two names")
    return dict(known.iter_rows())
