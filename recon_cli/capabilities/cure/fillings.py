"""Counts that may be true: the published ones, with one solution's counts in place of stars."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.errors import ConfigError
from recon_cli.frames import COUNTS, IS_AS_PUBLISHED
from recon_cli.publication import GeounitBatch, Publication, describe_geounits
from recon_cli.schema import Release, Table
from recon_cli.statement import EXACT, Protection, Statement
from recon_cli.statement.protection import is_noise
from recon_cli.statement.suppression import Suppressed

#: Columns that identify a published count.
CELL = ("geoid", "table", "cell")


def protected_cells(published: Publication) -> pl.DataFrame:
    """Return ``geoid, table, cell`` of the counts that are not published as they are."""
    return published.counts.filter(~IS_AS_PUBLISHED).select(CELL)


def fill(
    release: Release, published: Publication, tables: Sequence[Table], seed: int
) -> Publication:
    """Return exact counts that agree with all published ones.

    Args:
        published: Protected counts of one partition.
        seed: Chooses one of the solutions.

    Raises:
        ConfigError: The counts have noise, which bounds nothing.
        ContradictionError: No records have these counts.
    """
    if is_noise(published.protection, published.coverage, tables):
        raise ConfigError("recon plan cure: the counts have noise, and no star to be recovered")
    records = reconstruct(release, published, tables, seed=seed).microdata
    counted = tabulate(release, records, list(tables))
    cells = [
        (number, table, cell)
        for number, pattern in enumerate(published.coverage)
        for table, numbers in pattern.cells.items()
        for cell in numbers
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16}
    there = published.geounits.select("geoid", "pattern").join(
        pl.DataFrame(cells, schema=schema, orient="row"), on="pattern"
    )
    counts = counted.join(there, on=CELL, how="semi").filter(pl.col("count") > 0)
    return stated(release, published, counts.select(COUNTS.names()).cast(COUNTS), EXACT)


def stated(
    release: Release, published: Publication, counts: pl.DataFrame, protection: Protection
) -> Publication:
    """Return a publication of the same cells with other counts, or other laws.

    Args:
        published: The publication of the same cells.
        counts: The new counts: columns of `COUNTS` or `STATEMENTS`.
        protection: The laws of the new counts.
    """
    units = published.geounits.select("geoid", "level", "pattern")
    batch = GeounitBatch(units, counts.sort(CELL))
    described = describe_geounits(release, published.coverage, batch, protection)
    return Publication.of(release, described, batch.counts, published.coverage, protection)


def hides_zeros(published: Publication) -> bool | None:
    """Return whether a star may hide a zero; None where no count is suppressed."""
    laws = [law for law in published.protection.laws if isinstance(law, Suppressed)]
    return any(not law.keeps_zeros for law in laws) if laws else None


def with_stars(release: Release, published: Publication, stars: pl.DataFrame) -> Publication:
    """Return the publication with further counts withheld.

    Args:
        published: Suppressed counts of one partition.
        stars: ``geoid, table, cell`` of the further counts.
    """
    hides = bool(hides_zeros(published))
    law = Suppressed(flagged="may-be-zero" if hides else "positive", complementary=True)
    statements = (*published.protection.statements, Statement(law))
    hidden = stars.select(
        *CELL,
        count=pl.lit(None, pl.Int32),
        low=pl.lit(0 if hides else 1, pl.Int32),
        high=pl.lit(None, pl.Int32),
        law=pl.lit(len(statements) - 1, pl.Int8),
    )
    kept = published.counts.join(stars, on=CELL, how="anti")
    columns = published.counts.columns
    counts = pl.concat([kept, hidden.select(columns).cast(published.counts.schema)])
    return stated(release, published, counts, Protection(statements))
