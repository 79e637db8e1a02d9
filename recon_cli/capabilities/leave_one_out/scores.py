"""The result table of leave-one-out, beside ``leave_one_out/``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from recon_cli.capabilities.leave_one_out import LEAVE_ONE_OUT
from recon_cli.capabilities.score.control import Control
from recon_cli.capabilities.score.leave_one_out import (
    DIFFERENCE,
    left_out_differences,
    sum_left_out,
)
from recon_cli.capabilities.score.options import Score
from recon_cli.capabilities.score.rates import Rules
from recon_cli.capabilities.score.sums import concat
from recon_cli.page.sizes import Sizes
from recon_cli.schema import Release
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import Staging, open_folder

DIFFERENCES = "differences.csv"


def write_differences(
    staging: Staging, release: Release, partitions: Sequence[str], scoring: Score, seed: int
) -> Mapping[str, Any]:
    """Write the result table as CSV beside the data; no notes."""
    sizes = Sizes(scoring.sizes)
    sums = [
        sum_left_out(
            part,
            release.geoid_column,
            sizes,
            partition=partition,
            resamples=scoring.bootstrap,
            seed=seed,
        )
        for partition, part in zip(
            partitions, staging.parts("leave_one_out", partitions), strict=True
        )
    ]
    rules = Rules(sizes, Control(scoring.threshold, scoring.small), scoring.interval)
    table = left_out_differences(concat(sums), rules)
    staging.write_extra("leave_one_out", DIFFERENCES, csv_bytes(table))
    return {}


def read_differences(work: Path) -> pl.DataFrame:
    """Read the published differences; see `left_out_differences` of `recon score`."""
    folder = open_folder(work, LEAVE_ONE_OUT, "leave_one_out")
    return pl.read_csv(folder.read_extra(DIFFERENCES), schema=DIFFERENCE)
