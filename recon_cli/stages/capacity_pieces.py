"""What `recon capacity` does for each piece, and with all of them together."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recon_cli.capacity.assessment import ReleaseCapacity, assess, level_tables
from recon_cli.capacity.decoder import DecoderTrial, try_decoder
from recon_cli.capacity.equations import count_equations
from recon_cli.capacity.indistinguishable import Farthest
from recon_cli.capacity.noise_needed import noise_needed
from recon_cli.config.sections.capacity import Capacity
from recon_cli.execute import OnProgress
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.publication import Coverage
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import Folder, Piece, Staging, read_published
from recon_cli.store.files import parquet_bytes


@dataclass(frozen=True)
class CapacityContext:
    """What all pieces share."""

    release: Release
    work: Path
    staging: Staging
    coverage: Coverage
    tables: tuple[Table, ...]

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """Tables of the finest level, of the finest two, …: what they are called → their plan."""
        found: dict[str, Plan] = {}
        names: list[str] = []
        used: set[str] = set()
        for level in self.release.geography.levels:
            tables = {t.name for t in self.tables if self.release.finest_level(t) == level}
            if tables:
                used |= tables
                names.append(level.name)
                chosen = [table for table in self.tables if table.name in used]
                found["+".join(names)] = make_plan(self.release, chosen, self.coverage)
        return found


def measure_piece(context: CapacityContext, piece: Piece, tick: OnProgress) -> None:
    """Count equations and add up tables of one piece; runs in a worker."""
    started = time.perf_counter()
    published = read_published(context.work, context.release, piece.partition, piece.span)
    names = [table.name for table in context.tables]
    sums = (
        published.counts.filter(pl.col("table").is_in(names))
        .join(published.geounits.select("geoid", "pattern"), on="geoid")
        .group_by("pattern", "table", "cell")
        .agg(pl.col("count").sum().cast(pl.Int64))
        .sort("pattern", "table", "cell")
        .with_columns(pl.col("pattern").cast(pl.Int64), pl.col("cell").cast(pl.Int64))
    )
    equations = pl.concat(
        count_equations(plan, published, name) for name, plan in context.plans.items()
    )
    context.staging.write(
        piece,
        {"capacity": equations, "capacity_sums": sums},
        totals={"units": piece.units, "people": piece.people},
        started=started,
    )
    tick(piece.units, piece.people)


def write_assessment(
    context: CapacityContext, geounits: Folder, config: Capacity, seed: int
) -> dict[str, Any]:
    """Assess the whole release, and write the page; returns notes for the manifest."""
    from recon_cli.report.capacity import compose_capacity  # noqa: PLC0415 - the chart library
    from recon_cli.report.files import report_files  # noqa: PLC0415
    from recon_cli.stages.capacity import PAGE  # noqa: PLC0415

    places = pl.concat(
        geounits.read(name).select("pattern", "population") for name in geounits.partitions
    )
    sums = _written(context.staging, "capacity_sums", geounits)
    levels = level_tables(context.release, context.tables, context.coverage, places, sums)
    capacity = assess(context.release, levels)
    trial = _trial(capacity, config, seed)
    equations = sum_equations(_written(context.staging, "capacity", geounits))
    frame = level_frame(capacity)
    finest = equations.row(0, named=True)
    noise = noise_needed(
        capacity,
        Farthest(finest["squared"], finest["absolute"]),
        trial,
        right=config.right,
        shares=config.shares,
        gain=config.gain,
    )
    for name, table in (("levels", frame), ("equations", equations), ("noise", noise)):
        context.staging.write_extra("capacity", f"{name}.parquet", parquet_bytes(table))
        context.staging.write_extra("capacity", f"{name}.csv", csv_bytes(table))
    document = compose_capacity(
        context.release, context.tables, capacity, equations, noise=noise, trial=trial
    )
    for name, data in report_files(document, PAGE).items():
        context.staging.write_extra("capacity", name, data)
    return {
        "tables": [table.name for table in context.tables],
        "summary": list(document.headline.sentences),
    }


def _written(staging: Staging, folder: str, geounits: Folder) -> pl.DataFrame:
    return pl.concat(
        pl.read_parquet(staging.partition_folder(folder, name) / "*.parquet")
        for name in geounits.partitions
    )


def _trial(capacity: ReleaseCapacity, config: Capacity, seed: int) -> DecoderTrial:
    """Units of the sizes that the release has, drawn anew."""
    sizes = capacity.levels[0].sizes
    inhabited = sizes[sizes > 0]
    rng = generator(seed, "capacity")
    people = rng.choice(inhabited, size=min(config.simulated_units, len(inhabited)), replace=False)
    return try_decoder(capacity.unit_design, capacity.prior, people, tuple(sorted(config.sd)), seed)


def level_frame(capacity: ReleaseCapacity) -> pl.DataFrame:
    """One row for each level, see `recon_cli.capacity.assessment.LevelCapacity`."""
    return pl.DataFrame(
        {
            "level": level.level,
            "geounits": level.geounits,
            "people": level.people,
            "cells": level.cells,
            "independent": level.rank.value,
            "exact": level.rank.is_exact,
            "beyond_finer": level.adds,
            "unknowns": capacity.histogram * level.geounits,
            "record_bits": level.record_bits,
            "exact_bits": level.exact_bits,
        }
        for level in capacity.levels
    )


def sum_equations(regions: pl.DataFrame) -> pl.DataFrame:
    """Equations after zeros over all regions, a row for each choice of tables."""
    counts = ("units", "people", "before_zeros", "rows", "rank", "unknowns", "nullity")
    return regions.group_by("tables", maintain_order=True).agg(
        pl.col(counts).sum(),
        pl.col("exact").all(),
        pl.col("squared", "absolute").max(),
    )
