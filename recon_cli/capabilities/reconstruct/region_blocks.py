"""Blocks of a region's columns: of units, of the geounits that contain them, of all.

See *nested blocks* in docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from recon_cli.arrays import IntArray

#: A neighbourhood is worth a program of its own where the region is this many times as large.
_LESS: Final = 30


def nested_blocks(lying_in: Sequence[IntArray], unit: IntArray) -> tuple[tuple[IntArray, ...], ...]:
    """Return the columns of each unit, of each geounit that contains it, and all columns.

    Where geounits overlap, nobody can be moved within a single one: there the blocks are
    `neighbourhoods`, and all columns.

    Args:
        lying_in: For each level the geounit of each unit, negative for none.
        unit: For each column the place of its unit.
    """
    everything = (np.arange(len(unit)),)
    places: list[IntArray] = []
    for of_unit in lying_in:
        # A unit in no geounit of a level is one by itself.
        label = np.where(of_unit < 0, -1 - np.arange(len(of_unit)), of_unit)
        values, at = np.unique(label, return_inverse=True)
        if len(values) > 1 and not any(np.array_equal(at, each) for each in places):
            places.append(at)
    crossing = [at for at in places if any(_cross(at, other) for other in places)]
    if crossing:
        around = neighbourhoods(crossing, unit)
        return (around, everything) if around else (everything,)
    levels: list[tuple[IntArray, ...]] = []
    for of_unit in places:
        values, at = np.unique(of_unit[unit], return_inverse=True)
        if len(values) == 1 or (levels and len(values) == len(levels[-1])):
            continue
        order = np.argsort(at.ravel(), kind="stable")
        levels.append(tuple(np.split(order, np.cumsum(np.bincount(at.ravel()))[:-1])))
    return (*levels, everything)


def _cross(at: IntArray, other: IntArray) -> bool:
    """Test whether two partitions of the same units cross: neither is finer."""
    pairs = len(np.unique(np.stack([at, other]), axis=1).T)
    return pairs > max(len(np.unique(at)), len(np.unique(other)))


def neighbourhoods(crossing: Sequence[IntArray], unit: IntArray) -> tuple[IntArray, ...]:
    """Return the columns of each area of the coarsest system, with all areas that intersect it.

    Args:
        crossing: For each system the area of each unit.
        unit: For each column the place of its unit.

    Returns:
        Empty if the blocks are too large a part of all columns to be useful.
    """
    coarsest = min(crossing, key=lambda at: len(np.unique(at)))
    found = []
    for area in np.unique(coarsest):
        inside = coarsest == area
        around = np.logical_or.reduce([np.isin(at, np.unique(at[inside])) for at in crossing])
        found.append(np.flatnonzero(around[unit]))
    sizes = np.array([len(columns) for columns in found])
    return tuple(found) if sizes.mean() * _LESS < len(unit) else ()
