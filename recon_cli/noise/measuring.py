"""Noise of measurements by name: that of a query in a geounit depends on nothing else.

The words of a list of cells go by rank in it, and the list is among the names: whatever is asked
for, in what order and how often, no word serves two cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.chance import KeyedChance
from recon_cli.noise.inversion import draw_noise
from recon_cli.noise.strategy import Measurement, Query


def measurement_noise(
    chance: KeyedChance,
    measurement: Measurement,
    geoids: Sequence[str] | pl.Series,
    cells: IntArray,
) -> IntArray:
    """(geounits × cells) noise of a query's counts.

    Args:
        chance: Of the noise of one strategy at one level.
        measurement: The query and its law.
        geoids: Of the geounits.
        cells: Positions of cells in the query, from 0.
    """
    asked = hashlib.sha256(cells.astype("<i8").tobytes()).digest()
    own = chance.named(measurement.query.name, asked)
    words = own.words_of_each(geoids, len(cells))

    def further(place: tuple[int, ...]) -> Iterator[int]:
        row, column = place
        return own.named(geoids[row]).further(column)

    return draw_noise(measurement.law, words, further)


def cells_of(query: Query) -> IntArray:
    """Positions of all cells of a query."""
    return np.arange(query.size)
