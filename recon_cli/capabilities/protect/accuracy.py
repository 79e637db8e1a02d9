"""Accuracy of protected counts: errors by level, table and size of the geounit, and copies.

Errors are summed over partitions, and the accuracy table is made from the totals. Copies of a count
in one geounit are counted because averaging them undoes rounding and perturbation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.capabilities.protect.keys import cell_definitions
from recon_cli.coverage import CoveragePattern
from recon_cli.model.margins import count_matrix, relations_of
from recon_cli.page.sizes import ALL, Sizes
from recon_cli.publication import GeounitBatch, Publication, with_population
from recon_cli.schema import Release

#: Classes of geounits by their true population.
SIZES: Final = Sizes((1, 10, 50, 100, 250, 500, 1000))
#: Sums over the published cells of some geounits. ``size`` is the class of `SIZES`, −1 where
#: nobody lives; ``table`` is null for the relations among all tables. An error is the published
#: count less the true one, of a cell that is not suppressed.
SUMS: Final = pl.Schema(
    {
        "level": pl.String,
        "table": pl.String,
        "size": pl.Int8,
        "cells": pl.Int64,
        "suppressed": pl.Int64,
        "primary": pl.Int64,
        "positive": pl.Int64,
        "count": pl.Int64,
        "error": pl.Int64,
        "absolute": pl.Int64,
        "squared": pl.Int64,
        "relative": pl.Float64,
        "relative_absolute": pl.Float64,
        "over_5pct": pl.Int64,
        "false_zeros": pl.Int64,
        "zeros": pl.Int64,
        "zeros_kept": pl.Int64,
        "relations": pl.Int64,
        "relations_met": pl.Int64,
    }
)
#: The table of accuracy: shares in percent, errors in people.
ACCURACY: Final = pl.Schema(
    {
        "level": pl.String,
        "table": pl.String,
        "size": pl.String,
        "cells": pl.Int64,
        "mae": pl.Float64,
        "rmse": pl.Float64,
        "bias": pl.Float64,
        "mape": pl.Float64,
        "malpe": pl.Float64,
        "over_5pct": pl.Float64,
        "zeros_kept": pl.Float64,
        "false_zeros": pl.Float64,
        "additive": pl.Float64,
        "suppressed": pl.Int64,
        "primary": pl.Int64,
        "complementary": pl.Int64,
        "total_variation": pl.Float64,
    }
)
_KEYS: Final = ["level", "table", "size"]
#: Counts whose errors are summed at a time, to limit memory.
_ROWS_AT_ONCE: Final = 500_000


def count_accuracy(release: Release, protected: pl.DataFrame) -> pl.DataFrame:
    """Compute the errors of protected counts of records.

    Args:
        release: The schema, all of whose tables are published.
        protected: Columns of `recon_cli.capabilities.protect.counts.PROTECTED`.

    Returns:
        Columns of `ACCURACY`.

    >>> import recon_cli as recon
    >>> release, patients = recon.load_release("clinic_visits"), recon.example_patients()
    >>> law = recon.parse_law({"suppressed": {"below": 3}})
    >>> protection, chance = recon.Protection((recon.Statement(law),)), recon.KeyedChance.secret()
    >>> counts = recon.protect_counts(release, patients, protection, chance=chance)
    >>> errors = recon.count_accuracy(release, counts)
    >>> errors.filter(level="clinic", table="PATIENTS", size="All")["suppressed"].to_list()
    [5]
    """
    published = [
        level for level in release.geography.levels if level.name in release.published_levels
    ]
    coverage = tuple(CoveragePattern.complete(release, level.name) for level in published)
    patterns = {level.name: number for number, level in enumerate(published)}
    counts = protected.select("geoid", "table", "cell", count="true")
    geounits = (
        protected.select("geoid", "level")
        .unique()
        .with_columns(pattern=pl.col("level").replace_strict(patterns, return_dtype=pl.Int16))
    )
    batch = GeounitBatch(geounits, counts)
    geounits = with_population(release, coverage, batch)
    truth = Publication.of(release, geounits, counts, coverage)
    return accuracy_table(release, [sum_errors(release, truth, protected)])


def sum_errors(release: Release, truth: Publication, protected: pl.DataFrame) -> pl.DataFrame:
    """Sum the errors of protected counts.

    Args:
        truth: Has the geounits, their populations and what is published for them.
        protected: Columns of `capabilities.protect.counts.PROTECTED`, maybe with ``primary``:
            whether a count is suppressed for its own sake. Cells without a row are published zeros.

    Returns:
        Columns of `SUMS`, in order of `_KEYS`.
    """
    parts = -(-protected.height // _ROWS_AT_ONCE)
    if parts <= 1:
        return _sum_errors(release, truth, protected)
    size = -(-truth.geounits.height // parts)
    sums = []
    for some in truth.geounits.iter_slices(size):
        own = protected.join(some.select("geoid"), on="geoid", how="semi")
        sums.append(_sum_errors(release, replace(truth, geounits=some), own))
    return pl.concat(sums).group_by(_KEYS).sum().select(SUMS.names()).sort(_KEYS)


def _sum_errors(release: Release, truth: Publication, protected: pl.DataFrame) -> pl.DataFrame:
    geounits = truth.geounits.select(
        "geoid",
        "level",
        "pattern",
        size=pl.when(pl.col("population") > 0)
        .then(SIZES.number(pl.col("population")))
        .otherwise(pl.lit(-1, pl.Int8)),
    )
    if "primary" not in protected.columns:
        protected = protected.with_columns(primary=pl.col("count").is_null())
    cells = protected.drop("level").join(geounits, on="geoid")
    sums = _cells_published(truth, geounits).join(_errors(cells), on=_KEYS, how="left")
    zeros = pl.col("cells") - pl.col("positive")
    filled = sums.with_columns(pl.exclude(_KEYS).fill_null(0)).with_columns(
        zeros=zeros, zeros_kept=zeros - pl.col("_false_counts"), relations=0, relations_met=0
    )
    frames = [filled.select(SUMS.names()).cast(SUMS)]
    if not protected["count"].null_count():
        frames.append(_relations(release, truth, protected, geounits))
    return pl.concat(frames).sort(_KEYS)


def _cells_published(truth: Publication, geounits: pl.DataFrame) -> pl.DataFrame:
    rows = [
        (number, name, len(cells))
        for number, pattern in enumerate(truth.coverage)
        for name, cells in pattern.cells.items()
    ]
    schema = {"pattern": pl.Int16, "table": pl.String, "cells": pl.Int64}
    widths = pl.DataFrame(rows, schema=schema, orient="row")
    grouped = geounits.group_by("level", "pattern", "size").len()
    return (
        grouped.join(widths, on="pattern")
        .group_by(_KEYS)
        .agg(cells=(pl.col("len").cast(pl.Int64) * pl.col("cells")).sum())
    )


def _errors(cells: pl.DataFrame) -> pl.DataFrame:
    true, published = pl.col("true").cast(pl.Int64), pl.col("count").cast(pl.Int64)
    is_shown, is_positive = published.is_not_null(), true > 0
    error = published - true
    relative = (error / true).filter(is_positive)
    return cells.group_by(_KEYS).agg(
        suppressed=(~is_shown).sum(),
        primary=pl.col("primary").sum(),
        positive=is_positive.sum(),
        count=true.filter(is_shown).sum(),
        error=error.sum(),
        absolute=error.abs().sum(),
        squared=(error**2).sum(),
        relative=relative.sum(),
        relative_absolute=relative.abs().sum(),
        over_5pct=(relative.abs() > 0.05).sum(),
        false_zeros=(is_positive & (published == 0)).sum(),
        _false_counts=(~is_positive & (published != 0).fill_null(value=True)).sum(),
    )


def _relations(
    release: Release, truth: Publication, protected: pl.DataFrame, geounits: pl.DataFrame
) -> pl.DataFrame:
    """Count the relations among true counts that the published ones also satisfy."""
    frames = [SUMS.to_frame()]
    for number, pattern in enumerate(truth.coverage):
        here = geounits.filter(pl.col("pattern") == number)
        checks = relations_of(release, pattern)
        matrix = count_matrix(pattern, here["geoid"], protected)
        missed = sparse.csr_array(matrix @ checks.T)
        missed.eliminate_zeros()
        frame = here.with_columns(_missed=pl.Series(np.diff(missed.indptr)).cast(pl.Int64))
        sums = frame.group_by("level", "size").agg(
            relations=pl.len().cast(pl.Int64) * checks.shape[0],
            relations_met=pl.len().cast(pl.Int64) * checks.shape[0] - pl.col("_missed").sum(),
        )
        empty = [
            pl.lit(0, dtype).alias(name) for name, dtype in SUMS.items() if name not in sums.columns
        ]
        full = sums.with_columns(empty).with_columns(table=pl.lit(None, pl.String))
        frames.append(full.select(SUMS.names()).cast(SUMS))
    return pl.concat(frames)


def accuracy_table(release: Release, sums: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Make the table of `ACCURACY`, by level, then by table, then by size; `ALL` sums over them.

    Args:
        release: Orders levels and tables.
        sums: Columns of `SUMS`.
    """
    total = pl.concat([SUMS.to_frame(), *sums])
    every = pl.lit(ALL).alias("table")
    size = pl.col("size").cast(pl.Int64)
    groups = [
        total.with_columns(every, size=pl.lit(-2)),
        total.filter(pl.col("table").is_not_null()).with_columns(size=pl.lit(-2)),
        total.with_columns(every, size=size),
    ]
    frame = pl.concat([each.cast({"size": pl.Int64}) for each in groups])
    sums_by = frame.group_by(_KEYS).agg(pl.exclude(_KEYS).sum())
    labels = {-2: ALL, -1: "0", **{i: SIZES.label(i) for i in range(len(SIZES.lowest))}}
    tables = {ALL: -1, **{table.name: i for i, table in enumerate(release.tables)}}
    ordered = sums_by.sort(
        pl.col("level").replace_strict(release.geography.order, return_dtype=pl.Int64),
        pl.col("table").replace_strict(tables, return_dtype=pl.Int64),
        "size",
    )
    return (
        ordered.with_columns(
            *_measures(),
            size=pl.col("size").replace_strict(labels, return_dtype=pl.String),
            complementary=pl.col("suppressed") - pl.col("primary"),
        )
        .select(ACCURACY.names())
        .cast(ACCURACY)
    )


def _measures() -> list[pl.Expr]:
    shown = pl.col("cells") - pl.col("suppressed")
    shown_positive = shown - pl.col("zeros")

    def ratio(name: str, part: str, whole: pl.Expr, scale: float = 1.0) -> pl.Expr:
        return pl.when(whole > 0).then(scale * pl.col(part) / whole).alias(name)

    return [
        ratio("mae", "absolute", shown),
        ratio("rmse", "squared", shown).sqrt(),
        ratio("bias", "error", shown),
        ratio("mape", "relative_absolute", shown_positive, 100),
        ratio("malpe", "relative", shown_positive, 100),
        ratio("over_5pct", "over_5pct", shown_positive, 100),
        ratio("zeros_kept", "zeros_kept", pl.col("zeros"), 100),
        ratio("false_zeros", "false_zeros", pl.col("positive"), 100),
        ratio("additive", "relations_met", pl.col("relations"), 100),
        ratio("total_variation", "absolute", 2 * pl.col("count"), 100),
    ]


@dataclass(frozen=True)
class Copies:
    """How often the same count is published, which averaging exploits.

    Attributes:
        cells: Published cells of a geounit.
        margins: Distinct sets of people among them.
        most: The greatest number of copies of one set.
        repeated: Counts above zero of all geounits that are published more than once.
        fixed: Repeated counts that are published as two multiples, and so lie between these.
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
