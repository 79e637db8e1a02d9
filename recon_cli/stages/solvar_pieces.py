"""Measuring and writing a piece: what the workers of `recon solvar` do."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from recon_cli.attack.variability.partition import (
    VariabilityOptions,
    flag_certain,
    measure_with_plan,
)
from recon_cli.execute import OnProgress
from recon_cli.frames import is_place
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.pipeline.quarantine import traced_quarantine
from recon_cli.pipeline.stages import SOLVAR
from recon_cli.schema import Release
from recon_cli.score.sizes import Sizes
from recon_cli.score.variability import solvar_percentiles, variability_by_size
from recon_cli.stages.reconstructed_pieces import PieceContext
from recon_cli.store import Piece, Staging, open_folder

#: Lowest population of each size class of the result tables, as in the study's Table 7.
SIZES = Sizes((1, 10, 50, 100, 250, 500, 1000))

VariabilityContext = PieceContext[VariabilityOptions]


def measure_piece(context: VariabilityContext, piece: Piece, tick: OnProgress) -> None:
    """Measure and write one piece; runs in a worker."""
    started = time.perf_counter()
    made = context.read(piece)
    with log_disagreements(context.work), traced_quarantine(context.staging, piece) as quarantine:
        found = measure_with_plan(
            context.plan,
            made.published,
            made.microdata,
            context.options,
            tick,
            quarantine=quarantine,
            missing=made.missing,
        )
    units = _with_uniques(context.plan.release, found.units, made.microdata)
    methods = units["method"].value_counts().iter_rows()
    places = units.filter(is_place(context.plan.release.geoid_column))
    inhabited = places.filter(pl.col("population").fill_null(1) > 0)
    zero = inhabited.filter(pl.col("solvar_upper_pct") == 0)
    context.staging.write(
        piece,
        {
            "solvar": units,
            "intervals": found.intervals,
            "certainty": flag_certain(context.plan.release, made.microdata, found),
            "regions": found.regions,
        },
        statuses=dict(places["status"].value_counts().iter_rows()),
        totals={
            "units": places.height,
            "inhabited": inhabited.height,
            "people": int(units["population"].sum()),
            "zero": zero.height,
            "people_in_zero": int(zero["population"].sum()),
            "certain": int(units["certain_records"].sum()),
            **{f"by_{method}": count for method, count in methods},
        },
        started=started,
    )


def _with_uniques(release: Release, units: pl.DataFrame, microdata: pl.DataFrame) -> pl.DataFrame:
    """With ``uniques``: people alone in their unit on the release's binned linking key."""
    name = release.geoid_column
    if release.attack is None:
        return units.with_columns(uniques=pl.lit(None, dtype=pl.Int32))
    key = [name, *release.attack.binned]
    alone = microdata.group_by(key).len().filter(pl.col("len") == 1).group_by(name).len("uniques")
    return units.join(alone, on=name, how="left", maintain_order="left").with_columns(
        pl.col("uniques").fill_null(0).cast(pl.Int32)
    )


def write_size_tables(staging: Staging, partitions: Sequence[str], seed: int) -> None:
    """The result tables as CSV beside the data; ``seed`` orders units of equal solvar."""
    units = pl.concat(
        pl.read_parquet(staging.partition_folder("solvar", partition) / "*.parquet")
        for partition in partitions
    )
    for name, table in (
        ("percentiles.csv", solvar_percentiles(units, seed)),
        ("by_size.csv", variability_by_size(units, SIZES)),
    ):
        staging.write_extra("solvar", name, table.write_csv(float_precision=4).encode())


def read_variability_by_size(work: Path) -> pl.DataFrame:
    """The published Table 7, with certain records; see `variability_by_size`.

    Raises:
        StageError: ``solvar/`` is missing or damaged.
    """
    return pl.read_csv(open_folder(work, SOLVAR, "solvar").read_extra("by_size.csv"))
