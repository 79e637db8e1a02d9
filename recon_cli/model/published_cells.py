"""Relations among the published cells of a geounit: combinations that are zero for true counts."""

from __future__ import annotations

import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.coverage import CoveragePattern
from recon_cli.model.margins import close_margins
from recon_cli.schema import Release


def cells_of(pattern: CoveragePattern) -> list[tuple[str, int]]:
    """The (table, cell number) pairs of a pattern."""
    return [(name, number) for name, numbers in pattern.cells.items() for number in numbers]


def relations_of(release: Release, pattern: CoveragePattern) -> sparse.csr_array:
    """(relations × cells of the pattern) combinations that are zero for true counts."""
    return close_margins(release, cells_of(pattern)).checks


def count_matrix(
    pattern: CoveragePattern, geoids: pl.Series, counts: pl.DataFrame
) -> sparse.csr_array:
    """(geounits × cells of the pattern) counts.

    Args:
        pattern: That of the geounits.
        geoids: Theirs, distinct.
        counts: ``geoid, table, cell, count``; those of other geounits are ignored.
    """
    cells = cells_of(pattern)
    columns = pl.DataFrame(cells, schema={"table": pl.String, "cell": pl.Int16}, orient="row")
    rows = pl.DataFrame({"geoid": geoids}).with_row_index("_row")
    placed = counts.join(rows, on="geoid").join(
        columns.with_row_index("_column"), on=["table", "cell"]
    )
    data: IntArray = placed["count"].cast(pl.Int64).to_numpy()
    at = (placed["_row"].to_numpy(), placed["_column"].to_numpy())
    return sparse.coo_array((data, at), shape=(len(geoids), len(cells))).tocsr()
