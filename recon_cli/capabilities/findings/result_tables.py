"""Published result tables, read again for summaries and pages."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from polars import selectors

from recon_cli.capabilities.findings.stages import CLAIMS, SOLVAR
from recon_cli.stage import Stage
from recon_cli.store import open_folder


def read_table(work: Path, stage: Stage, name: str) -> pl.DataFrame:
    """Read a result table that a stage has written as Parquet beside its data."""
    return pl.read_parquet(open_folder(work, stage, stage.folders[0]).read_extra(f"{name}.parquet"))


def read_disclosures(work: Path) -> pl.DataFrame:
    """Read people by the most columns needed to determine another one, and kind of disclosure.

    Returns:
        One row for each number of columns ``known``: the least number of people, in every
        solution, for whom so many columns, or fewer, determine another one.
    """
    folder = open_folder(work, CLAIMS, "disclosures")
    rows = pl.concat(folder.parts())
    return rows.group_by("known").agg(selectors.integer().sum()).sort("known")


def read_variability_by_size(work: Path) -> pl.DataFrame:
    """Read the published Table 7, with certain records; see `variability_by_size`."""
    return pl.read_csv(open_folder(work, SOLVAR, "solvar").read_extra("by_size.csv"))
