"""Result tables of solution variability, in the layouts of Tables 6 and 7 of the 2010 study."""

from __future__ import annotations

import polars as pl

from recon_cli.page.sizes import ALL, Sizes
from recon_cli.seeding import generator

#: Percentiles of inhabited units that Table 6 shows.
PERCENTILES = tuple(range(5, 101, 5))


def cumulative_solvar(units: pl.DataFrame) -> tuple[float, float]:
    """Compute the solvar of several units together, in percent: a value reached and a bound.

    Args:
        units: Rows of ``solvar/``: ``population``, ``solvar_pct``, ``solvar_upper_pct``.

    >>> units = pl.DataFrame(
    ...     {"population": [30, 10], "solvar_pct": [0.0, 20.0], "solvar_upper_pct": [0.0, 40.0]}
    ... )
    >>> cumulative_solvar(units)
    (5.0, 10.0)
    """
    people = units["population"].cast(pl.Int64).sum()
    if not people:
        return 0.0, 0.0
    weighted = units.select(
        (pl.col("population") * pl.col(name)).sum().alias(name)
        for name in ("solvar_pct", "solvar_upper_pct")
    )
    reached, bound = weighted.row(0)
    return reached / people, bound / people


def solvar_percentiles(units: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """Compute Table 6: solvar by percentile of inhabited units, least variable first.

    Args:
        units: Rows of ``solvar/``.
        seed: Breaks ties: units of equal solvar come in random order, as in the study.

    Returns:
        ``percentile``, ``lowest_solvar_pct`` (of the first unit of the ventile that ends there, as
        in the study's Table 6), ``solvar_pct`` (of its last unit; both are upper bounds),
        ``max_solvar_pct`` (what any other reconstruction could show: twice as much, at most
        100), ``population``, ``cumulative_population``, ``cumulative_solvar_pct``,
        ``max_cumulative_solvar_pct``.
    """
    # Where nothing bounds the number of people, everything may differ.
    inhabited = (
        units.filter(pl.col("population") > 0)
        .with_columns(pl.col("solvar_upper_pct").fill_null(100.0))
        .sort(units.columns[0])
    )
    n = inhabited.height
    ties = pl.Series(generator(seed, "percentiles").random(n))
    inhabited = inhabited.sort(pl.col("solvar_upper_pct"), ties)
    ends = [-(-n * percentile // 100) for percentile in PERCENTILES]
    rows = []
    start = 0
    for percentile, end in zip(PERCENTILES, ends, strict=True):
        group, below = inhabited[start:end], inhabited[:end]
        here = float(inhabited["solvar_upper_pct"][end - 1]) if end else 0.0
        together = cumulative_solvar(below)[1]
        rows.append(
            (
                percentile,
                float(group["solvar_upper_pct"][0]) if group.height else here,
                here,
                min(2 * here, 100.0),
                int(group["population"].cast(pl.Int64).sum()),
                int(below["population"].cast(pl.Int64).sum()),
                together,
                min(2 * together, 100.0),
            )
        )
        start = end
    names = ("lowest_solvar_pct", "solvar_pct", "max_solvar_pct")
    schema = {
        "percentile": pl.Int16,
        **dict.fromkeys(names, pl.Float64),
        "population": pl.Int64,
        "cumulative_population": pl.Int64,
        "cumulative_solvar_pct": pl.Float64,
        "max_cumulative_solvar_pct": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def variability_by_size(units: pl.DataFrame, sizes: Sizes) -> pl.DataFrame:
    """Compute Table 7 with certain records: one row per size class, and one for all classes.

    Args:
        units: Rows of ``solvar/``.

    Returns:
        ``size``, ``units``, ``population``, ``unique`` and ``unique_pct`` (people alone in
        their unit on the binned linking key; null where they were not counted),
        ``zero_solvar_units`` and ``_population`` with percentages (proven zeros only),
        ``certain`` and ``certain_pct`` (people in every solution), ``certain_elsewhere`` (such
        people in units that are not zero-solvar), ``unproven_units``.
    """
    zero = (pl.col("solvar_upper_pct") == 0).fill_null(value=False)
    inhabited = units.filter(pl.col("population") > 0).with_columns(
        number=sizes.number(pl.col("population"))
    )
    measures = (
        pl.len().cast(pl.Int64).alias("units"),
        pl.col("population").cast(pl.Int64).sum(),
        pl.when(pl.col("uniques").null_count() == 0)
        .then(pl.col("uniques").cast(pl.Int64).sum())
        .alias("unique"),
        zero.cast(pl.Int64).sum().alias("zero_solvar_units"),
        pl.col("population").cast(pl.Int64).filter(zero).sum().alias("zero_solvar_population"),
        pl.col("certain_records").cast(pl.Int64).sum().alias("certain"),
        pl.col("certain_records").cast(pl.Int64).filter(~zero).sum().alias("certain_elsewhere"),
        (pl.col("status") != "proven").cast(pl.Int64).sum().alias("unproven_units"),
    )
    by_size = inhabited.group_by("number").agg(measures).sort("number")
    labels = pl.Series("size", sizes.labels(by_size["number"].to_list()), dtype=pl.String)
    everything = inhabited.select(pl.lit(ALL).alias("size"), *measures)
    table = pl.concat([everything, by_size.select(labels, pl.exclude("number"))])
    share = {
        "unique_pct": ("unique", "population"),
        "zero_solvar_units_pct": ("zero_solvar_units", "units"),
        "zero_solvar_population_pct": ("zero_solvar_population", "population"),
        "certain_pct": ("certain", "population"),
    }
    return table.with_columns(
        # Of nothing there is no share.
        pl.when(pl.col(whole) > 0).then(100 * pl.col(part) / pl.col(whole)).alias(name)
        for name, (part, whole) in share.items()
    )
