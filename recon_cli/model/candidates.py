"""Candidates: the histogram cells that no published or structural zero rules out.

The domain (9,576 histogram cells a block for the 2010 Census) is never written out. Small sets of
features are enumerated for every unit and filtered by the zeros of their margins; joining the
survivors by unit and filtering again gives the candidates.

See *candidate* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import AtomArray, BoolArray, IntArray, ranges
from recon_cli.frames import OPEN
from recon_cli.model.grain import Grain, RowGroup, enumerate_domain
from recon_cli.model.strata import Stratum


@dataclass(frozen=True)
class Candidates:
    """Histogram cells that people can be in.

    Attributes:
        unit: Place of the unit in the batch, sorted.
        atoms: (cells × features) atom indices; within a unit in mixed-radix order.
    """

    unit: IntArray
    atoms: AtomArray


@dataclass(frozen=True)
class ListingLimit:
    """A limit on the number of listed candidates.

    Attributes:
        regions: For each unit the number of its region, sorted.
        mean: Candidates of a unit, in the mean of its region.
    """

    regions: IntArray
    mean: int

    def exceeded(self, unit: IntArray, number: IntArray) -> BoolArray:
        """Test for each unit whether its region exceeds the limit.

        Args:
            unit: Units, each any number of times.
            number: Candidates for each of these.
        """
        _, region, size = np.unique(self.regions, return_inverse=True, return_counts=True)
        found = np.bincount(region[unit], weights=number, minlength=len(size))
        beyond: BoolArray = (found > self.mean * size)[region]
        return beyond


def find_candidates(
    grain: Grain,
    units: int,
    strata: Sequence[Stratum],
    impossible: Sequence[RowGroup] = (),
    limit: ListingLimit | None = None,
) -> tuple[Candidates, BoolArray]:
    """Find each unit's histogram cells that no zero rules out and some row has: Eq. (candidates).

    A cell in no row is left out: no table bounds the people in it.

    Args:
        limit: Regions with more candidates are not listed.

    Returns:
        The candidates, and for each unit whether it is listed.
    """
    if not strata:  # nothing is published of any of the units
        nobody = np.empty(0, dtype=np.int64), np.empty((0, len(grain.sizes)), dtype=np.int16)
        return Candidates(*nobody), np.ones(units, dtype=bool)
    unit, atoms, listed = _under_no_zero(grain, units, strata, impossible, limit)
    mentioned = _mentioned(strata, unit, atoms)
    return _in_order(unit[mentioned], atoms[mentioned]), listed


def find_unmentioned(
    grain: Grain, units: int, strata: Sequence[Stratum], impossible: Sequence[RowGroup] = ()
) -> Candidates:
    """Find histogram cells that no zero rules out and no row contains: nothing bounds them."""
    unit, atoms, _ = _under_no_zero(grain, units, strata, impossible, None)
    unmentioned = ~_mentioned(strata, unit, atoms)
    return _in_order(unit[unmentioned], atoms[unmentioned])


def find_endless(
    grain: Grain,
    units: int,
    strata: Sequence[Stratum],
    impossible: Sequence[RowGroup],
    limit: ListingLimit,
) -> tuple[Candidates, BoolArray]:
    """Find histogram cells that no zero rules out and no row bounds from above.

    Args:
        limit: Regions with more cells that no zero rules out are not listed.

    Returns:
        The cells, and for each unit whether they are listed.
    """
    unit, atoms, listed = _under_no_zero(grain, units, strata, impossible, limit)
    endless = ~_bounded(strata, unit, atoms)
    return _in_order(unit[endless], atoms[endless]), listed


def _in_order(unit: IntArray, atoms: AtomArray) -> Candidates:
    order = np.lexsort((*atoms.T[::-1], unit))
    return Candidates(unit[order], atoms[order])


def _under_no_zero(
    grain: Grain,
    units: int,
    strata: Sequence[Stratum],
    impossible: Sequence[RowGroup],
    limit: ListingLimit | None,
) -> tuple[IntArray, AtomArray, BoolArray]:
    """Return unit and atoms of every cell that no zero rules out, and which units are listed."""
    nowhere: frozenset[int] = frozenset()
    listed = np.full(units, limit is None or limit.mean > 0)
    unit = np.flatnonzero(listed)
    atoms = np.zeros((len(unit), len(grain.sizes)), dtype=np.int16)
    unit, atoms = _cut(strata, unit, atoms, done=[], now=nowhere)
    have = nowhere
    for step in _steps(grain, strata):
        combinations = enumerate_domain([grain.sizes[f] for f in step])
        side = np.zeros((len(combinations), len(grain.sizes)), dtype=np.int16)
        side[:, step] = combinations
        now = frozenset(step)
        side = side[_can_be(impossible, side, done=[have], now=now)]
        possible = _possible(strata, units, side, done=[have], now=now)
        if limit is not None:
            listed &= ~limit.exceeded(unit, possible.sum(axis=1)[unit])
            unit, atoms = unit[listed[unit]], atoms[listed[unit]]
            possible &= listed[:, None]
        side_unit, combination = np.nonzero(possible)
        unit, left, right = _join(unit, side_unit)
        atoms = atoms[left] + side[combination[right]]
        can_be = _can_be(impossible, atoms, done=[have, now], now=have | now)
        unit, atoms = unit[can_be], atoms[can_be]
        unit, atoms = _cut(strata, unit, atoms, done=[have, now], now=have | now)
        have |= now
    return unit, atoms, listed


def _steps(grain: Grain, strata: Sequence[Stratum]) -> list[list[int]]:
    """Return the features to join in each step: sets that a screen covers, then single features."""
    steps: list[list[int]] = []
    left = set(range(len(grain.sizes)))
    screens = {group.features for stratum in strata for group in stratum.screens}
    for features in sorted(screens, key=lambda group: (-len(group), group)):
        if features and left.issuperset(features):
            steps.append(list(features))
            left -= set(features)
    return steps + [[f] for f in sorted(left, key=lambda f: grain.sizes[f])]


def _join(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Join two sorted unit columns: return the unit and both row numbers of each pair."""
    first = np.searchsorted(right, left)
    width = np.searchsorted(right, left, side="right") - first
    rows = np.repeat(np.arange(len(left)), width)
    return left[rows], rows, ranges(first, width)


def _can_be(
    impossible: Sequence[RowGroup],
    atoms: AtomArray,
    done: Sequence[frozenset[int]],
    now: frozenset[int],
) -> BoolArray:
    """Test which cells no structural zero excludes, for zeros over ``now`` but not ``done``.

    The test does not depend on the unit, so each combination is tested once.
    """
    can_be = np.ones(len(atoms), dtype=bool)
    for group in impossible:
        features = set(group.features)
        if features <= now and not any(features <= seen for seen in done):
            can_be &= ~group.holds(atoms)
    return can_be


def _margins(
    stratum: Stratum, done: Sequence[frozenset[int]], now: frozenset[int]
) -> Iterator[tuple[RowGroup, IntArray]]:
    """Yield margins whose features are in ``now`` but in none of ``done``, with their counts."""
    for groups, counts in (
        (stratum.screens, stratum.screen_counts),
        (stratum.groups, stratum.rhs),
    ):
        for group in groups:
            features = set(group.features)
            if features <= now and not any(features <= seen for seen in done):
                yield group, counts


def _possible(
    strata: Sequence[Stratum],
    units: int,
    atoms: AtomArray,
    done: Sequence[frozenset[int]],
    now: frozenset[int],
) -> BoolArray:
    """Return a (units × histogram cells) mask of the cells that no zero of `_margins` rules out."""
    possible = np.ones((units, len(atoms)), dtype=bool)
    for stratum in strata:
        inside = np.flatnonzero(stratum.of_unit >= 0)
        geounit = stratum.of_unit[inside]
        here = np.ones((len(stratum.geounits), len(atoms)), dtype=bool)
        for group, counts in _margins(stratum, done, now):
            for row in group.rows_of(atoms):
                here &= (counts[:, row] > 0) | (row < 0)
        possible[inside] &= here[geounit]
    return possible


def _cut(
    strata: Sequence[Stratum],
    unit: IntArray,
    atoms: AtomArray,
    done: Sequence[frozenset[int]],
    now: frozenset[int],
) -> tuple[IntArray, AtomArray]:
    """Drop cells under a zero of one of `_margins`."""
    for stratum in strata:
        for group, counts in _margins(stratum, done, now):
            geounit = stratum.of_unit[unit]
            alive = np.ones(len(unit), dtype=bool)
            for row in group.rows_of(atoms):
                alive &= (counts[geounit, row] > 0) | (row < 0) | (geounit < 0)
            unit, atoms = unit[alive], atoms[alive]
    return unit, atoms


def _mentioned(strata: Sequence[Stratum], unit: IntArray, atoms: AtomArray) -> BoolArray:
    mentioned = np.zeros(len(unit), dtype=bool)
    for stratum in strata:
        inside = stratum.of_unit[unit] >= 0
        for group in stratum.groups:
            for row in group.rows_of(atoms):
                here = (row >= 0) & inside
                if stratum.needed is not None:
                    here &= stratum.needed[stratum.of_unit[unit], row]
                mentioned |= here
    return mentioned


def _bounded(strata: Sequence[Stratum], unit: IntArray, atoms: AtomArray) -> BoolArray:
    """Test which histogram cells are in a row with an upper bound, needed or not."""
    bounded = np.zeros(len(unit), dtype=bool)
    for stratum in strata:
        place = stratum.of_unit[unit]
        for group in stratum.groups:
            for row in group.rows_of(atoms):
                here = (row >= 0) & (place >= 0)
                bounded |= here & (stratum.rhs[place, row] < OPEN)
    return bounded
