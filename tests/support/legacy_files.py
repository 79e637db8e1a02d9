"""Census files of invented counts, and what is read from them."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recon_cli.frames import COUNTS, GEOUNITS
from recon_cli.schema import Release
from recon_cli.sources.legacy import open_legacy

KEY = ["geoid", "table", "cell"]
Members = dict[str, bytes]


def invented(
    release: Release, seed: int = 1, state: str = "01"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Geounits and arbitrary counts of two tracts: five block groups, eight blocks."""
    rng = random.Random(seed)  # noqa: S311 - test data
    units = [
        *[(f"{state}001{t}", "tract") for t in ("000100", "020200")],
        *[(f"{state}001{g}", "block_group") for g in ("0001001", "0001002", "0202001")],
        *[(f"{state}001000100{b}", "block") for b in ("1000", "1001", "2000", "2001")],
        *[(f"{state}001020200{b}", "block") for b in ("1000", "1003", "1004", "1999")],
    ]
    counts = [
        (
            geoid,
            table.name,
            cell.number,
            rng.choice([1, 7, 10, 54321, 2**31 - 1 if table.name != "P1" else 999]),
        )
        for geoid, level in units
        for table in release.tables
        if level in table.levels
        for cell in table.cells
        if rng.random() < 0.1
    ]
    geounits = pl.DataFrame(units, schema=["geoid", "level"], orient="row")
    return geounits, pl.DataFrame(counts, schema=COUNTS, orient="row")


def read(
    release: Release, paths: Sequence[Path], **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    source = open_legacy(release, paths, **options)
    batches = list(source.batches())
    geounits = pl.concat([batch.geounits for batch in batches])
    counts = pl.concat([batch.counts for batch in batches])
    assert geounits.schema == GEOUNITS
    assert counts.schema == COUNTS
    levels = pl.Series([pattern.level for pattern in source.coverage])
    assert levels.gather(geounits["pattern"]).to_list() == geounits["level"].to_list()
    return geounits.select("geoid", "level").sort("geoid"), counts.sort(KEY)


def unpack(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
