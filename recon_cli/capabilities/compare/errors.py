"""Errors of published counts: of cells, and of total populations by sign.

Every cell of the truth counts. An unpublished cell has its whole true count as error: its users
have no number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from recon_cli.capabilities.protect.accuracy import SIZES
from recon_cli.coverage import Coverage
from recon_cli.model.grain import refine
from recon_cli.page.sizes import ALL
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: Sums over the cells of some geounits. ``table`` is `TOTAL` for the cells that count everybody;
#: ``size`` is the class of `SIZES`, −1 where nobody lives.
SUMS: Final = pl.Schema(
    {
        "level": pl.String,
        "table": pl.String,
        "size": pl.Int8,
        "cells": pl.Int64,
        "unpublished": pl.Int64,
        "absolute": pl.Int64,
        "squared": pl.Int64,
        "count": pl.Int64,
    }
)
#: Name of the cell that counts everybody, among the tables.
TOTAL: Final = "Total"
#: Errors in people: ``mae`` is the mean absolute error of a cell, ``rmse`` the root of the mean
#: squared one; ``total_absolute`` in percent of what the cells count; ``unpublished`` in percent
#: of the cells.
ERRORS: Final = pl.Schema(
    {
        "level": pl.String,
        "table": pl.String,
        "size": pl.String,
        "cells": pl.Int64,
        "mae": pl.Float64,
        "rmse": pl.Float64,
        "total_absolute": pl.Float64,
        "unpublished": pl.Float64,
    }
)
_KEYS: Final = ["level", "table", "size"]
#: Class of `SIZES` → its label; −2 is all together, −1 where nobody lives.
_LABELS: Final = {-2: ALL, -1: "0", **{at: SIZES.label(at) for at in range(len(SIZES.lowest))}}


def sum_errors(release: Release, truth: Publication, shown: Publication) -> pl.DataFrame:
    """Sum the errors of one partition.

    Args:
        truth: The exact counts of every cell.

    Returns:
        Columns of `SUMS`, in order of `_KEYS`.
    """
    geounits = _geounits(truth, shown)
    cells = _cells_of(release, truth.coverage)
    counted = _count_cells(geounits, cells, _cells_of(release, shown.coverage))
    joined = counted.join(_sum_differences(truth, shown, geounits, cells), on=_KEYS, how="left")
    filled = joined.with_columns(pl.exclude(_KEYS).fill_null(0))
    hidden = (pl.col("unpublished") + pl.col("_hidden")).alias("unpublished")
    return filled.with_columns(hidden).select(SUMS.names()).cast(SUMS).sort(_KEYS)


def published_totals(release: Release, truth: Publication, shown: Publication) -> pl.DataFrame:
    """Return the total populations that are published as a number; see `sum_errors`.

    Returns:
        ``geoid, level, size, true, shown``; ``size`` is the class of `SIZES`, −1 where nobody
        lives.
    """
    total = _cells_of(release, truth.coverage).filter("is_total").drop("is_total")
    there = _cells_of(release, shown.coverage).select("pattern", "table", "cell")
    place = ["geoid", "table", "cell"]
    true = truth.counts.select(*place, true="count")
    published = shown.counts.select(*place, shown="count", _is_hidden=pl.col("count").is_null())
    return (
        _geounits(truth, shown)
        .join(total, on="pattern")
        .join(there.rename({"pattern": "_shown_pattern"}), on=["_shown_pattern", "table", "cell"])
        .join(true, on=place, how="left")
        .join(published, on=place, how="left")
        .filter(~pl.col("_is_hidden").fill_null(value=False))
        .select("geoid", "level", "size", pl.col("true", "shown").fill_null(0).cast(pl.Int64))
    )


def _geounits(truth: Publication, shown: Publication) -> pl.DataFrame:
    """Return ``geoid, level, pattern, size, _shown_pattern``; the last is null if unpublished."""
    size = pl.when(pl.col("population") > 0).then(SIZES.number(pl.col("population"))).otherwise(-1)
    there = shown.geounits.select("geoid", _shown_pattern="pattern")
    geounits = truth.geounits.select("geoid", "level", "pattern", size=size.cast(pl.Int8))
    return geounits.join(there, on="geoid", how="left")


def _cells_of(release: Release, coverage: Coverage) -> pl.DataFrame:
    """Return ``pattern, table, cell, is_total``: the cells that each pattern publishes."""
    rows = []
    for number, pattern in enumerate(coverage):
        total = pattern.total_cell(release)
        for name, cells in pattern.cells.items():
            rows += [(number, name, cell, (name, cell) == total) for cell in cells]
    schema = {"pattern": pl.Int16, "table": pl.String, "cell": pl.Int16, "is_total": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _count_cells(geounits: pl.DataFrame, cells: pl.DataFrame, shown: pl.DataFrame) -> pl.DataFrame:
    """Count the cells, and those that are published for no geounit of a group."""
    groups = geounits.group_by("level", "size", "pattern", "_shown_pattern").len("_units")
    units = pl.col("_units").cast(pl.Int64)
    there = shown.select(pl.col("pattern").alias("_shown_pattern"), "table", "cell", _is_shown=True)
    each = groups.join(cells, on="pattern").join(
        there, on=["_shown_pattern", "table", "cell"], how="left"
    )
    return _by_table(
        each, cells=units.sum(), unpublished=units.filter(pl.col("_is_shown").is_null()).sum()
    )


def _sum_differences(
    truth: Publication, shown: Publication, geounits: pl.DataFrame, cells: pl.DataFrame
) -> pl.DataFrame:
    """Sum errors of the cells that are above zero in the truth or in the publication."""
    place = ["geoid", "table", "cell"]
    true = truth.counts.select(*place, _true="count")
    published = shown.counts.select(*place, _shown="count", _is_hidden=pl.col("count").is_null())
    both = (
        true.join(published, on=place, how="full", coalesce=True)
        .join(geounits, on="geoid")
        .join(cells, on=["pattern", "table", "cell"])
    )
    count = pl.col("_true").fill_null(0).cast(pl.Int64)
    error = pl.col("_shown").fill_null(0).cast(pl.Int64) - count
    return _by_table(
        both,
        absolute=error.abs().sum(),
        squared=(error**2).sum(),
        count=count.sum(),
        _hidden=pl.col("_is_hidden").sum().cast(pl.Int64),
    )


def _by_table(rows: pl.DataFrame, **sums: pl.Expr) -> pl.DataFrame:
    """Sum by level, table and size; cells that count everybody form a table of their own."""
    total = rows.filter("is_total").with_columns(table=pl.lit(TOTAL))
    return pl.concat([each.group_by(_KEYS).agg(**sums) for each in (rows, total)])


def error_table(
    release: Release, sums: Iterable[pl.DataFrame], weights: Mapping[str, float]
) -> pl.DataFrame:
    """Tabulate errors by level, then table, then size.

    The rows over all tables weight each table's cells; those over all sizes come first.

    Args:
        release: Orders levels and tables.
        sums: Columns of `SUMS`.
        weights: Table → how much its errors count; 1 for those that are not named.

    Returns:
        Columns of `ERRORS`.
    """
    total = pl.concat([SUMS.to_frame(), *sums]).with_columns(pl.col("size").cast(pl.Int64))
    weight = pl.col("table").replace_strict(weights, default=1.0, return_dtype=pl.Float64)
    weighed = total.with_columns(_weight=pl.lit(1.0))
    of_all = total.filter(pl.col("table") != TOTAL).with_columns(_weight=weight, table=pl.lit(ALL))
    rows = pl.concat([of_all, weighed])
    rows = pl.concat([rows.with_columns(size=pl.lit(-2, pl.Int64)), rows])
    names = (ALL, TOTAL, *(table.name for table in release.tables))
    order = {name: at for at, name in enumerate(names)}

    def sum_of(name: str) -> pl.Expr:
        return (pl.col(name) * pl.col("_weight")).sum()

    return (
        rows.group_by(_KEYS)
        .agg(
            pl.col("cells").sum(),
            mae=sum_of("absolute") / sum_of("cells"),
            rmse=(sum_of("squared") / sum_of("cells")).sqrt(),
            total_absolute=100 * sum_of("absolute") / sum_of("count"),
            unpublished=100 * sum_of("unpublished") / sum_of("cells"),
        )
        .sort(
            _level_order(release),
            pl.col("table").replace_strict(order, return_dtype=pl.Int64),
            "size",
        )
        .with_columns(
            pl.col("size").replace_strict(_LABELS, return_dtype=pl.String),
            pl.col("mae", "rmse", "total_absolute", "unpublished").fill_nan(None),
        )
        .select(ERRORS.names())
        .cast(ERRORS)
    )


#: Number of geounits by level, class of `SIZES` (−1 where nobody lives), true people and deviation.
DEVIATIONS: Final = pl.Schema(
    {
        "level": pl.String,
        "size": pl.Int8,
        "true": pl.Int64,
        "deviation": pl.Int64,
        "geounits": pl.Int64,
    }
)
_QUANTILES: Final = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}
#: Number of geounits of a level by error in the first draw of a value.
UNIT_ERRORS: Final = pl.Schema(
    {
        "protection": pl.String,
        "value": pl.String,
        "level": pl.String,
        "true": pl.Int64,
        "deviation": pl.Int64,
        "geounits": pl.Int64,
    }
)
#: Quantiles and the mean over geounits and draws, in people; ``value`` is empty for protections
#: that are not swept. A quantile is the least deviation that so large a share do not exceed.
DISTRIBUTIONS: Final = pl.Schema(
    {
        "protection": pl.String,
        "value": pl.String,
        "level": pl.String,
        "size": pl.String,
        "geounits": pl.Int64,
        **dict.fromkeys(("mean", *_QUANTILES), pl.Float64),
    }
)


def count_deviations(release: Release, truth: Publication, shown: Publication) -> pl.DataFrame:
    """Compute deviations of the geounits of one partition that have a number.

    Args:
        truth: The exact counts of every cell.

    Returns:
        Columns of `DEVIATIONS`.
    """
    totals = published_totals(release, truth, shown)
    deviation = (pl.col("shown") - pl.col("true")).alias("deviation")
    counted = totals.group_by("level", "size", "true", deviation).agg(geounits=pl.len())
    return counted.select(DEVIATIONS.names()).cast(DEVIATIONS)


def distribution(
    release: Release, protection: str, value: str, draws: Iterable[pl.DataFrame]
) -> pl.DataFrame:
    """Compute quantiles over all draws of a protection.

    Args:
        release: Orders levels.
        draws: Columns of `DEVIATIONS`.

    Returns:
        Columns of `DISTRIBUTIONS`, all sizes first.
    """
    every = pl.concat([DEVIATIONS.to_frame(), *draws]).cast({"size": pl.Int64})
    both = pl.concat([every.with_columns(size=pl.lit(-2, pl.Int64)), every])
    count, so_far = pl.col("geounits"), pl.col("geounits").cum_sum()
    quantiles = {
        name: pl.col("deviation").filter(so_far >= share * count.sum()).first()
        for name, share in _QUANTILES.items()
    }
    return (
        both.group_by("level", "size", "deviation")
        .agg(count.sum())
        .sort("deviation")
        .group_by("level", "size", maintain_order=True)
        .agg(
            count.sum().alias("_all"),
            mean=(pl.col("deviation") * count).sum() / count.sum(),
            **quantiles,
        )
        .sort(_level_order(release), "size")
        .with_columns(
            protection=pl.lit(protection),
            value=pl.lit(value),
            size=pl.col("size").replace_strict(_LABELS, return_dtype=pl.String),
            geounits=pl.col("_all"),
        )
        .select(DISTRIBUTIONS.names())
        .cast(DISTRIBUTIONS)
    )


def unit_errors(
    release: Release, protection: str, value: str, deviations: pl.DataFrame
) -> pl.DataFrame:
    """Return every geounit's error beside its true number of people.

    Args:
        release: Orders levels.
        deviations: Columns of `DEVIATIONS`, of one draw.

    Returns:
        Columns of `UNIT_ERRORS`.
    """
    keys = ["level", "true", "deviation"]
    return (
        deviations.group_by(keys)
        .agg(pl.col("geounits").sum())
        .sort(_level_order(release), "true", "deviation")
        .with_columns(protection=pl.lit(protection), value=pl.lit(value))
        .select(UNIT_ERRORS.names())
        .cast(UNIT_ERRORS)
    )


def _level_order(release: Release) -> pl.Expr:
    return pl.col("level").replace_strict(release.geography.order, return_dtype=pl.Int64)


def units_all_below(
    truth: pl.DataFrame, made: pl.DataFrame, place: str, feature: str, edge: float
) -> int:
    """Count the units whose records are all below a limit, while some true record is not.

    Args:
        truth: Columns ``place`` and ``feature``, a row per record.
        made: The same columns of reconstructed records; a unit where the feature is null is not
            counted.
    """
    grown = truth.filter(pl.col(feature) >= edge)[place].unique()
    young = made.group_by(place).agg((pl.col(feature) < edge).fill_null(value=False).all())
    return young.filter(pl.col(feature), pl.col(place).is_in(grown.implode())).height


def resolved_tables(release: Release, measured: Release) -> tuple[Table, ...]:
    """Return the tables whose cells are sums of combinations that another release counts.

    Args:
        release: Release of the wanted tables.
        measured: Release with the same features, whose tables were measured.
    """
    grain = refine(release, [cell.masks for table in measured.tables for cell in table.cells])
    # People of one atom of a tallied feature may have picked unequally many.
    is_single = [all(atom.bit_count() == 1 for atom in atoms) for atoms in grain.atoms]
    return tuple(
        table
        for table in release.tables
        if all(
            grain.resolves(cell.masks) and (cell.tally is None or is_single[cell.tally])
            for cell in table.cells
        )
    )
