"""Copies of a count in one geounit: what is known to undo rounding and perturbation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from recon_cli.protect.keys import cell_definitions
from recon_cli.schema import Release


@dataclass(frozen=True)
class Copies:
    """How often the same count is published, which is what averaging needs.

    Attributes:
        cells: Published cells of a geounit.
        margins: Distinct sets of people among them.
        most: The greatest number of copies of one.
        repeated: Counts above zero of all geounits that are published more than once.
        fixed: Those of which two different multiples are published: the count lies between.
    """

    cells: int
    margins: int
    most: int
    repeated: int
    fixed: int


def count_copies(
    release: Release, published: pl.DataFrame, cells: Collection[tuple[str, int]]
) -> Copies:
    """Count the copies of each count within its geounit.

    Args:
        release: Says what the cells count.
        published: ``geoid, table, cell, count``: published counts of true ones above zero.
        cells: The (table, cell number) pairs that are published for each geounit.
    """
    schema = {"table": pl.String, "cell": pl.Int16}
    here = pl.DataFrame(list(cells), schema=schema, orient="row")
    here = here.join(cell_definitions(release), on=["table", "cell"])
    sizes = here.group_by("definition").len()["len"]
    copies = (
        published.join(here, on=["table", "cell"])
        .group_by("geoid", "definition")
        .agg(copies=pl.len(), values=pl.col("count").n_unique())
        .filter(pl.col("copies") > 1)
    )
    return Copies(
        cells=len(here),
        margins=len(sizes),
        most=int(sizes.cast(pl.Int64).max() or 0),  # type: ignore[arg-type]
        repeated=len(copies),
        fixed=int((copies["values"] > 1).sum()),
    )
