"""The cells of a region at all levels at once: what complementary suppression sees.

A cell is a functional of the numbers of people in the histogram cells that no published zero rules
out. Cells with the same functional are one: they have the same count, and who suppresses one must
suppress all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.attack.audit.cells import IntervalCells
from recon_cli.frames import STATEMENTS
from recon_cli.model.counts import arrange_counts
from recon_cli.model.interval_plan import make_interval_plan
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.statement import Protection, Statement
from recon_cli.statement.law import IntArray
from recon_cli.statement.suppression import Suppressed

#: Wider than any interval of a count, and finite, so that no cell goes without a row.
_WIDE = 10_000_000


@dataclass(frozen=True)
class LinkedCells:
    """The distinct cells of one region.

    Attributes:
        region: Its geoid.
        names: ``geoid, table, cell, distinct``: every published cell that may be suppressed, with
            the place of its functional.
        coefficients: Sparse (functionals × groups of histogram cells), no two rows alike, nor
            two columns.
    """

    region: str
    names: pl.DataFrame
    coefficients: sparse.csr_array


def linked_cells(
    release: Release, truth: Publication, tables: Sequence[Table], *, zeros_hidden: bool
) -> Iterator[LinkedCells]:
    """The cells of each region.

    Args:
        release: The schema.
        truth: Exact counts of one partition.
        tables: Those that are published.
        zeros_hidden: Whether counts of zero may be suppressed too; else they are published, and
            rule histogram cells out.

    Raises:
        SourceError: The counts do not fit together.
        SolverError: More histogram cells are possible than can be listed.
    """
    published = _all_suppressed(truth, zeros_hidden=zeros_hidden)
    plan = make_interval_plan(release, tables, truth.coverage)
    counts = arrange_counts(plan, published)
    for system in build_systems(plan, counts):
        if not system.strata:
            continue
        cells = IntervalCells.of(plan, counts, system)
        names = cells.names(plan, counts, system).drop("level")
        regions = system.regions[system.candidates.unit]
        of_cell = release.region.enclosing(names["geoid"])
        for number in np.unique(system.regions).tolist():
            region = counts.region_geoids[number]
            rows = np.flatnonzero((of_cell == region).to_numpy())
            columns = np.flatnonzero(regions == number)
            here = sparse.csr_array(cells.coefficients[rows][:, columns])
            if len(rows):
                yield _distinct(region, names[rows], here)


def _all_suppressed(truth: Publication, *, zeros_hidden: bool) -> Publication:
    """The publication in which every count that may be suppressed is open."""
    counts = truth.counts.select("geoid", "table", "cell")
    if zeros_hidden:
        frames = []
        for number, pattern in enumerate(truth.coverage):
            geoids = truth.geounits.filter(pl.col("pattern") == number).select("geoid")
            cells = [(name, cell) for name, numbers in pattern.cells.items() for cell in numbers]
            schema = {"table": pl.String, "cell": pl.Int16}
            frames.append(
                geoids.join(pl.DataFrame(cells, schema=schema, orient="row"), how="cross")
            )
        counts = pl.concat(frames)
    statements = counts.with_columns(
        count=pl.lit(None), low=pl.lit(0), high=pl.lit(_WIDE), law=pl.lit(None)
    )
    law = Suppressed(flagged="may-be-zero", complementary=True)
    return Publication(
        truth.geounits, statements.cast(STATEMENTS), truth.coverage, Protection((Statement(law),))
    )


def _distinct(region: str, names: pl.DataFrame, coefficients: sparse.csr_array) -> LinkedCells:
    """Cells with the same functional become one, and so do histogram cells in the same cells."""
    rows, functional = _alike(coefficients)
    columns, _ = _alike(sparse.csr_array(coefficients[rows].T))
    return LinkedCells(
        region,
        names.with_columns(distinct=pl.Series(functional, dtype=pl.Int64)),
        sparse.csr_array(coefficients[rows][:, np.sort(columns)]),
    )


def _alike(matrix: sparse.csr_array) -> tuple[IntArray, IntArray]:
    """The first of each set of equal rows, and for each row its set; by two random projections."""
    weights = np.random.default_rng(0).integers(1, 2**40, size=(matrix.shape[1], 2), dtype=np.int64)
    signature = matrix @ weights
    _, first, same = np.unique(signature, axis=0, return_index=True, return_inverse=True)
    return first, same.ravel()
