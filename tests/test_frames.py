"""Runs of partitions, found by search where geoids are in order."""

from __future__ import annotations

import polars as pl
import pytest

from recon_cli.frames import partition_runs
from recon_cli.schema import Level

IN_ORDER = ["01001", "01001Ab", "01001z", "01003", "02001", "0200_"]


@pytest.mark.parametrize(
    ("geoids", "digits", "runs"),
    [
        ([], 2, []),
        (IN_ORDER, 2, [("01", 4), ("02", 2)]),
        (IN_ORDER, 5, [("01001", 3), ("01003", 1), ("02001", 1), ("0200_", 1)]),
        (["02a", "01a", "01b", "02b"], 2, [("02", 1), ("01", 2), ("02", 1)]),
    ],
)
def test_runs_of_partitions(geoids: list[str], digits: int, runs: list[tuple[str, int]]) -> None:
    """In order or not, each run of one partition is counted where it lies."""
    assert list(partition_runs(pl.Series(geoids, dtype=pl.String), Level("county", digits))) == runs
