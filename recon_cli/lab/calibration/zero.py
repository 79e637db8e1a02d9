"""Blocks with zero solution variability, proven by bounds propagation alone.

The study's measure is relaxed: a block's own tables must hold exactly, its tract's tables bound
what the block can put into them (Eq. 4.9). A block counts as zero when propagation leaves every
histogram cell one value; no solver is asked, so the share is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.model.bounds import propagate
from recon_cli.model.constraints import relax
from recon_cli.model.counts import arrange_counts
from recon_cli.model.planning import make_relaxed_plan
from recon_cli.model.system import build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release


def zero_solvar(release: Release, published: Publication, tables: Sequence[str]) -> pl.DataFrame:
    """The unit's geoid and ``zero_solvar`` of each unit.

    Args:
        published: The counts of some whole regions.
        tables: Names of the tables in use.
    """
    plan = make_relaxed_plan(release, release.select_tables(tuple(tables)), published.coverage)
    counts = arrange_counts(plan, published)
    levels = published.geounits["level"].to_numpy()
    frames = [pl.DataFrame(schema={release.geoid_column: pl.String, "zero_solvar": pl.Boolean})]
    for system in build_systems(plan, counts):
        unit = system.candidates.unit
        own = (levels[system.row_geounit] == release.geography.unit.name).astype(bool)
        bounds = propagate(relax(system.rows, own, unit))
        free = np.bincount(unit, weights=bounds.free, minlength=len(system.units))
        frames.append(
            pl.DataFrame(
                {
                    release.geoid_column: counts.geoids.gather(system.units),
                    "zero_solvar": free == 0,
                }
            )
        )
    return pl.concat(frames)
