"""Result tables that stages have published, read again for summaries and pages."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars import selectors

from recon_cli.capabilities.score.confidence import count_tenths
from recon_cli.pipeline.stages import CLAIMS, CONFIDENCE, SOLVAR
from recon_cli.stage import Stage
from recon_cli.store import open_folder


def read_table(work: Path, stage: Stage, name: str) -> pl.DataFrame:
    """A result table that a stage has written as Parquet beside its data."""
    return pl.read_parquet(open_folder(work, stage, stage.folders[0]).read_extra(f"{name}.parquet"))


def read_tenths(work: Path) -> pl.DataFrame:
    """Records that are not certain, by tenths of their confidence: ``tenth``, ``records``."""
    folder = open_folder(work, CONFIDENCE, "confidence")
    return count_tenths(folder.read(name, columns=("confidence",)) for name in folder.partitions)


def read_disclosures(work: Path) -> pl.DataFrame:
    """People by the most columns it takes to settle another one, and by kind of disclosure.

    Returns:
        One row for each number of columns ``known``: the least number of people, in every
        solution, of whom at most so many columns settle another one.
    """
    folder = open_folder(work, CLAIMS, "disclosures")
    rows = pl.concat(folder.read(partition) for partition in folder.partitions)
    return rows.group_by("known").agg(selectors.integer().sum()).sort("known")


def read_variability_by_size(work: Path) -> pl.DataFrame:
    """The published Table 7, with certain records; see `variability_by_size`."""
    return pl.read_csv(open_folder(work, SOLVAR, "solvar").read_extra("by_size.csv"))
