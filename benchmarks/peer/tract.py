"""What every process of the run starts from: the published counts of one tract."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.publication import Publication
from recon_cli.schema import Release
from recon_cli.store.protection import read_published

RELEASE = "sf1_2010"
#: The table whose groups say how many people there are.
COUNTED = "P12"


def read_tract(work: Path, release: Release, tract: str) -> Publication:
    """The published counts of one tract of an ingested release."""
    published = read_published(work, release, release.geography.partition_level.enclosing(tract))
    inside = pl.col("geoid").str.starts_with(tract)
    return Publication(
        published.geounits.filter(inside), published.counts.filter(inside), published.coverage
    )
