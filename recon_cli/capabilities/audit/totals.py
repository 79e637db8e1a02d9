"""Totals of `recon audit`, for its summary and the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli.capabilities import audit
from recon_cli.capabilities.audit.rows import AUDIT
from recon_cli.capabilities.audit.statuses import (
    COMPLEMENTARY,
    PRIMARY,
    RECOVERED,
    STATUSES,
    UNKNOWN,
)
from recon_cli.schema import Release
from recon_cli.store import open_folder


@dataclass(frozen=True)
class AuditSummary:
    """Totals of audited cells.

    The first two frames have ``cells``, one column for each of `STATUSES`, and ``smallest``, the
    least width of the interval of a count that is not recovered, or null; ``by_table`` also has
    ``small``, the number of recovered `PRIMARY` counts above 0, and ``zeros``, the number of
    recovered zeros.

    Attributes:
        by_table: By ``level, table``, finest level first.
        by_suppression: Flagged cells by ``suppression``; empty if no flag stands for a count.
        recovered: ``geoid, table, cell, count, is_small`` of every recovered count.
    """

    by_table: pl.DataFrame
    by_suppression: pl.DataFrame
    recovered: pl.DataFrame


def read_audit(work: Path, release: Release) -> AuditSummary:
    """Add up ``audit/``."""
    folder = open_folder(work, audit.AUDIT, "audit")
    parts = (part.select(AUDIT.names()) for part in folder.parts())
    rows = pl.concat([AUDIT.to_frame(), *parts])
    tables = {table.name: at for at, table in enumerate(release.tables)}
    kinds = {PRIMARY: 0, COMPLEMENTARY: 1, UNKNOWN: 2}
    flagged = rows.drop_nulls("suppression")
    is_small = (pl.col("suppression") == PRIMARY).fill_null(value=False) & (pl.col("greatest") > 0)
    return AuditSummary(
        _added_up(rows, "level", "table")
        .join(
            rows.filter(pl.col("status") == RECOVERED)
            .group_by("level", "table")
            .agg(
                small=is_small.sum().cast(pl.Int64),
                zeros=(pl.col("greatest") == 0).sum().cast(pl.Int64),
            ),
            on=["level", "table"],
            how="left",
        )
        .with_columns(pl.col("small", "zeros").fill_null(0))
        .sort(
            pl.col("level").replace_strict(release.geography.order, return_dtype=pl.Int64),
            pl.col("table").replace_strict(tables, return_dtype=pl.Int64),
        ),
        _added_up(flagged, "suppression").sort(
            pl.col("suppression").replace_strict(kinds, return_dtype=pl.Int64)
        ),
        rows.filter(pl.col("status") == RECOVERED).select(
            "geoid", "table", "cell", count="greatest", is_small=is_small
        ),
    )


def _added_up(rows: pl.DataFrame, *by: str) -> pl.DataFrame:
    return rows.group_by(*by).agg(
        pl.len().cast(pl.Int64).alias("cells"),
        *((pl.col("status") == status).sum().cast(pl.Int64).alias(status) for status in STATUSES),
        pl.col("width").filter(pl.col("status") != RECOVERED).min().alias("smallest"),
    )
