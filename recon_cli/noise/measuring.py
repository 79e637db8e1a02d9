"""Noise of measurements by name: that of a cell depends on its geounit and query, nothing else.

So one seed gives the same measurements to whoever asks for some of them, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recon_cli.noise.density import IntArray
from recon_cli.noise.inversion import draw_noise
from recon_cli.noise.strategy import Measurement, Query
from recon_cli.seeding import Bits, digest_seed, scramble


def geounit_bits(seed: int, geoids: Sequence[str] | pl.Series) -> Bits:
    """(geounits,) 64 bits of each geounit."""
    return np.array([digest_seed(seed, "noise", geoid) for geoid in geoids], dtype=np.uint64)


def measurement_noise(
    seed: int, strategy: str, measurement: Measurement, geounits: Bits, cells: IntArray
) -> IntArray:
    """(geounits × cells) noise of a query's counts.

    Args:
        seed: Of all noise.
        strategy: The strategy's name: two strategies measure independently.
        measurement: The query and its law.
        geounits: From `geounit_bits` with the same seed.
        cells: Positions of cells in the query, from 0.
    """
    query = digest_seed(seed, "query", strategy, measurement.query.name)
    names = scramble(np.uint64(query) + cells.astype(np.uint64))
    return draw_noise(measurement.law, scramble(geounits[:, None] ^ names[None, :]))


def cells_of(query: Query) -> IntArray:
    """Positions of all cells of a query."""
    return np.arange(query.size)
