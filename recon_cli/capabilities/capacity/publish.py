"""Result tables and page of `recon plan capacity`, from the rows of all pieces."""

from __future__ import annotations

from typing import Any

import polars as pl

from recon_cli.capabilities.capacity import PAGE
from recon_cli.capabilities.capacity.assessment import ReleaseCapacity, assess, level_tables
from recon_cli.capabilities.capacity.indistinguishable import Farthest
from recon_cli.capabilities.capacity.noise_needed import DecoderTrial, noise_needed, try_decoder
from recon_cli.capabilities.capacity.options import Capacity
from recon_cli.capabilities.capacity.page import compose_capacity
from recon_cli.coverage import Coverage
from recon_cli.page.html import report_files
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator
from recon_cli.store import Folder, Staging
from recon_cli.store.tables import table_files


def write_assessment(
    staging: Staging,
    release: Release,
    tables: tuple[Table, ...],
    coverage: Coverage,
    *,
    geounits: Folder,
    config: Capacity,
    seed: int,
) -> dict[str, Any]:
    """Assess the whole release, and write the page; return notes for the manifest."""
    places = pl.concat(part.select("pattern", "population") for part in geounits.parts())
    sums = pl.concat(staging.parts("capacity_sums", geounits.partitions))
    levels = level_tables(release, tables, coverage, places, sums)
    capacity = assess(release, levels)
    trial = _trial(capacity, config, seed)
    equations = sum_equations(pl.concat(staging.parts("capacity", geounits.partitions)))
    finest = equations.row(0, named=True)
    noise = noise_needed(
        capacity,
        Farthest(finest["squared"], finest["absolute"]),
        trial,
        right=config.right,
        shares=config.shares,
        gain=config.gain,
    )
    results = {"levels": level_frame(capacity), "equations": equations, "noise": noise}
    document = compose_capacity(release, tables, capacity, equations, noise=noise, trial=trial)
    staging.write_extras("capacity", table_files(results) | report_files(document, PAGE))
    return {"summary": list(document.headline.sentences)}


def _trial(capacity: ReleaseCapacity, config: Capacity, seed: int) -> DecoderTrial:
    """Simulate units of the sizes that the release has."""
    sizes = capacity.levels[0].sizes
    inhabited = sizes[sizes > 0]
    rng = generator(seed, "capacity")
    people = rng.choice(inhabited, size=min(config.simulated_units, len(inhabited)), replace=False)
    return try_decoder(capacity.unit_design, capacity.prior, people, tuple(sorted(config.sd)), seed)


def level_frame(capacity: ReleaseCapacity) -> pl.DataFrame:
    """Make a row for each level; see `recon_cli.capabilities.capacity.assessment.LevelCapacity`."""
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
    """Sum equations after zeros over all regions, a row for each choice of tables."""
    counts = ("units", "people", "before_zeros", "rows", "rank", "unknowns", "nullity")
    return regions.group_by("tables", maintain_order=True).agg(
        pl.col(counts).sum(),
        pl.col("exact").all(),
        pl.col("squared", "absolute").max(),
    )
