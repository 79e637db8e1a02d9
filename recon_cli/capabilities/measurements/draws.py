"""Noise of measurements by name: that of a query in a geounit depends on nothing else.

The words of a list of cells are assigned by rank, and the list is among the names: whatever is
requested, in what order and how often, no word serves two cells.

A draw inverts the law's distribution in integers. 64 uniform bits u stand for a number U from u/2⁶⁴
to (u + 1)/2⁶⁴. Thresholds are P(Z ≤ z)·2⁶⁴ rounded down; if u equals none of them, all such U give
the same draw, which bisection finds. Else, in one of 10¹⁷ draws, more bits and more digits decide.
So a draw has exactly the law, given uniform bits. Noise from OpenDP is for use beyond study: its
random source cannot be repeated.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray, WordArray
from recon_cli.capabilities.measurements.strategy import Measurement, Query
from recon_cli.chance import WORD, KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.statement.noise import Gaussian, Geometric

#: Yields further words without end for a word's position.
Further = Callable[[tuple[int, ...]], Iterator[int]]
#: Bits beyond the decided ones, so that sums of rounded terms are off by at most one in the last
#: decided bit.
_GUARD = 16


def measurement_noise(
    chance: KeyedChance,
    measurement: Measurement,
    geoids: Sequence[str] | pl.Series,
    cells: IntArray,
) -> IntArray:
    """Draw the (geounits × cells) noise of a query's counts.

    Args:
        chance: Chance of the noise of one strategy at one level.
        geoids: Geoids of the geounits.
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
    """Return the positions of all cells of a query."""
    return np.arange(query.size)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """P(Z ≤ z)·2^bits, rounded down, for z = low, low + 1, …, until it is 1."""

    low: int
    bits: int
    below: tuple[int, ...]

    def words(self) -> WordArray:
        """Return the thresholds of 64 bits as an array."""
        return np.array(self.below, dtype=np.uint64)


def draw_noise(law: Gaussian | Geometric, bits: WordArray, further: Further) -> IntArray:
    """Draw integer noise.

    Args:
        bits: Uniform words, any shape.
        further: Further bits for words that are close to a threshold.

    Returns:
        An array of the same shape.
    """
    thresholds = _thresholds(law, WORD)
    words = thresholds.words()
    at = np.searchsorted(words, bits, side="right").astype(np.int64)
    drawn: IntArray = at + thresholds.low
    above = np.minimum(at, len(words) - 1)
    close = (bits - words[np.maximum(at - 1, 0)] <= 1) | (words[above] - bits <= 1)
    for place in np.argwhere(close):
        drawn[tuple(place)] = _refined(law, int(bits[tuple(place)]), further(tuple(place.tolist())))
    return drawn


def _refined(law: Gaussian | Geometric, word: int, further: Iterator[int]) -> int:
    """Return the draw for 64 bits close to a threshold, with as many further bits as needed."""
    value, size = word, WORD
    while True:
        value, size = value << WORD | next(further), size + WORD
        thresholds = _thresholds(law, size)
        at = int(np.searchsorted(np.array(thresholds.below, dtype=object), value, side="right"))
        near = thresholds.below[max(at - 1, 0) : at + 1]
        if all(abs(value - each) > 1 for each in near):
            return at + thresholds.low


@lru_cache(maxsize=256)
def _thresholds(law: Gaussian | Geometric, bits: int) -> Thresholds:
    with localcontext() as context:
        context.prec = math.ceil((bits + 2 * _GUARD) * math.log10(2)) + 5
        if isinstance(law, Gaussian):
            rate, power = _decimal(1 / (2 * law.variance)), 2
        else:
            rate, power = _decimal(law.epsilon), 1
        reach = math.ceil(((bits + _GUARD) * math.log(2) / float(rate)) ** (1 / power))
        tail = [(-rate * z**power).exp() for z in range(reach, 0, -1)]
        weights = [*tail, Decimal(1), *reversed(tail)]
        whole, scale, total = sum(weights), 1 << bits, Decimal(0)
        below = []
        for weight in weights[:-1]:
            total += weight
            below.append(min(int(total * scale / whole), scale - 1))
        return Thresholds(-reach, bits, tuple(below))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def opendp_noise(law: Gaussian | Geometric, shape: tuple[int, ...]) -> IntArray:
    """Draw integer noise with OpenDP.

    Raises:
        ConfigError: OpenDP is not installed.
    """
    measurement = opendp_measurement(law)
    return np.array(measurement([0] * math.prod(shape)), dtype=np.int64).reshape(shape)


def opendp_measurement(law: Gaussian | Geometric) -> Any:
    """Return OpenDP's noise for a list of counts; its ``map`` returns the loss of a sensitivity.

    Raises:
        ConfigError: OpenDP is not installed.
    """
    try:
        import opendp.prelude as dp  # an extra
    except ImportError as error:
        raise ConfigError(
            "noise.source: opendp is not installed (pip install 'recon-cli[dp]')"
        ) from error
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, Gaussian):
        scale = math.sqrt(law.variance)
        return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)
    return dp.m.make_geometric(domain, dp.l1_distance(T="i64"), scale=float(1 / law.epsilon))
