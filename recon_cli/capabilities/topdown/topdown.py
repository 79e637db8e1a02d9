"""Top-down estimation: measure the children of a geounit, fit them, round them, go on.

See *top-down* in docs/glossary.md.

Source: Abowd et al. (2022), The 2020 Census Disclosure Avoidance System TopDown Algorithm; a
network flow instead of a mixed-integer program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.domain import NOBODY, Domain, Histogram, merge
from recon_cli.capabilities.measurements.draws import measurement_noise
from recon_cli.capabilities.measurements.hierarchy import Hierarchy
from recon_cli.capabilities.measurements.least_squares import (
    Measured,
    StoppingRule,
    solve_alone,
    solve_children,
)
from recon_cli.capabilities.measurements.rounding import (
    Held,
    round_alone,
    round_children,
    round_groups,
)
from recon_cli.capabilities.measurements.strategy import Measurement, Query, Strategy
from recon_cli.chance import KeyedChance

_RULE: Final = StoppingRule()


@dataclass(frozen=True, eq=False)
class Invariant:
    """Counts that are published exactly."""

    query: Query
    levels: frozenset[str]


@dataclass(frozen=True, eq=False)
class Product:
    """The product of one strategy.

    Attributes:
        rule: Stopping rule of least squares.
    """

    domain: Domain
    strategy: Strategy
    chance: KeyedChance
    invariant: Invariant | None = None
    rule: StoppingRule = _RULE


@dataclass(frozen=True, eq=False)
class Fixed:
    """Histograms of another product, which this product must match.

    Attributes:
        domain: Cells of the other product, each a union of cells of this product.
    """

    domain: Domain
    units: Sequence[Histogram]


def estimate(
    product: Product,
    hierarchy: Hierarchy,
    truth: Sequence[Histogram],
    fixed: Fixed | None = None,
    top: Histogram | None = None,
) -> list[Histogram]:
    """Estimate histograms of all units, from the top down.

    Args:
        hierarchy: The geounits; every level is measured.
        truth: The people of each unit.
        fixed: Histograms that the estimates must match.
        top: The histogram of the only geounit of the first level, if it is already known.

    Raises:
        SolverError: The exact counts contradict each other.
    """
    found: list[Histogram] = []
    for depth, level in enumerate(hierarchy.levels):
        below = None
        if fixed is not None:
            below = Fixed(fixed.domain, _at_level(hierarchy, depth, fixed.units))
        true = _at_level(hierarchy, depth, truth)
        walk = _Level(product, level, hierarchy.geoids[depth], true, below)
        if depth:
            found = walk.below(found, hierarchy.children(depth - 1))
        elif top is not None:
            found = [top]
        else:
            found = [walk.alone(place) for place in range(len(hierarchy.geoids[0]))]
    return found


def _at_level(hierarchy: Hierarchy, depth: int, units: Sequence[Histogram]) -> list[Histogram]:
    return merge(units, hierarchy.place(depth), len(hierarchy.geoids[depth]))


@dataclass(frozen=True, eq=False)
class _Pass:
    """Queries that are fitted and rounded together.

    Attributes:
        domain: Histogram cells that this pass and the earlier ones tell apart.
    """

    domain: Domain
    measurements: Sequence[Measurement]


@dataclass(frozen=True, eq=False)
class _Found:
    """The result of a pass, which the next one must match.

    Attributes:
        cells: Cells with people, sorted.
        people: (cells × children) people.
    """

    domain: Domain
    cells: IntArray
    people: IntArray


@dataclass(frozen=True, eq=False)
class _Level:
    """One level: its geounits, their people, and the fixed counts."""

    product: Product
    level: str
    geoids: pl.Series
    truth: Sequence[Histogram]
    fixed: Fixed | None

    @cached_property
    def passes(self) -> list[_Pass]:
        """Return the passes in order; each refines the one before, and the last has all cells."""
        product, found = self.product, list[_Pass]()
        coarser = None if self.fixed is None else self.fixed.domain
        queries = [] if product.invariant is None else [product.invariant.query]
        *first, last = product.strategy.passes(self.level)
        for some in first:
            queries += [each.query for each in some]
            found.append(_Pass(Domain.of_queries(product.domain.release, queries, coarser), some))
        return [*found, _Pass(product.domain, last)]

    def below(self, parents: Sequence[Histogram], children: Sequence[IntArray]) -> list[Histogram]:
        """Make histograms of this level's geounits from those of the level above."""
        found = [NOBODY] * len(self.geoids)
        for parent, places in zip(parents, children, strict=True):
            if len(parent.cells):
                people = self._share_out(parent, places)
                for place, each in zip(places, people.T, strict=True):
                    found[place] = Histogram(parent.cells[each > 0], each[each > 0])
        return found

    def _share_out(self, parent: Histogram, places: IntArray) -> IntArray:
        """Divide a parent's people: (the parent's cells × children)."""
        found: _Found | None = None
        for each in self.passes:
            within = self.product.domain.coarser(each.domain, parent.cells)
            cells, place = np.unique(within, return_inverse=True)
            totals = np.zeros(len(cells), dtype=np.int64)
            np.add.at(totals, place, parent.people)
            held = self._held(each, cells, places, found)
            measured = self._all_measured(each, cells, places, held)
            start = np.tile(totals[:, None] / len(places), len(places))
            values = solve_children(measured, totals, start, self.product.rule)
            nested = self._nested(each.domain, cells, held)
            found = _Found(each.domain, cells, round_children(values, totals, held, nested))
        assert found is not None  # noqa: S101 - a level has measurements
        return found.people

    def alone(self, place: int) -> Histogram:
        """Fit the histogram of a geounit without a parent, over all possible cells."""
        places, found = np.array([place]), None
        for each in self.passes:
            cells = each.domain.possible()
            if found is not None:
                inside = each.domain.coarser(found.domain, cells)
                cells = cells[np.isin(inside, found.cells)]
            held = self._held(each, cells, places, found)
            if held is not None:
                cells = cells[held.counts[held.group, 0] > 0]
                held = self._held(each, cells, places, found)
            if not len(cells):
                return NOBODY
            measured = self._all_measured(each, cells, places, held)
            values = solve_alone(measured, len(cells), self.product.rule)
            if held is None:
                people = round_alone(values, int(np.rint(values.sum())))
            else:
                people = round_groups(values, held.group, held.counts[:, 0])
            found = _Found(each.domain, cells[people > 0], people[people > 0, None])
        assert found is not None  # noqa: S101 - a level has measurements
        return Histogram(found.cells, found.people[:, 0])

    def _all_measured(
        self, each: _Pass, cells: IntArray, places: IntArray, held: Held | None
    ) -> list[Measured]:
        """Return the measurements of a pass, and the held sums, weighted like the most precise."""
        measured = [self._measured(one, each.domain, cells, places) for one in each.measurements]
        if held is not None:
            weight = max(one.weight for one in measured)
            measured.append(Measured(held.group, held.counts.astype(np.float64), weight))
        return measured

    def _measured(
        self, each: Measurement, domain: Domain, cells: IntArray, places: IntArray
    ) -> Measured:
        """Measure noisy sums of the children over the groups that contain some cells."""
        product = self.product
        groups, place = np.unique(domain.groups(each.query, cells), return_inverse=True)
        true = self._counts(each.query, groups, places)
        geoids = self.geoids.gather(places)
        chance = product.chance.named(product.strategy.name, self.level)
        noise = measurement_noise(chance, each, geoids, groups)
        return Measured(place, true + noise.T.astype(np.float64), 1 / each.variance)

    def _counts(self, query: Query, groups: IntArray, places: IntArray) -> FloatArray:
        """Return (groups × children) true counts of some cells of a query."""
        histograms = [self.truth[place] for place in places]
        child = np.repeat(np.arange(len(places)), [len(each.cells) for each in histograms])
        cells = np.concatenate([each.cells for each in histograms])
        people = np.concatenate([each.people for each in histograms])
        found = self.product.domain.groups(query, cells)
        at = np.minimum(np.searchsorted(groups, found), len(groups) - 1)
        inside = groups[at] == found
        counts = np.zeros((len(groups), len(places)))
        np.add.at(counts, (at[inside], child[inside]), people[inside])
        return counts

    def _held(
        self, each: _Pass, cells: IntArray, places: IntArray, found: _Found | None
    ) -> Held | None:
        """Return the sums that must hold for the children.

        These are the results of the pass before; in the first pass, fixed or invariant counts.
        """
        if found is not None:
            inside = each.domain.coarser(found.domain, cells)
            return Held(np.searchsorted(found.cells, inside), found.people)
        if self.fixed is not None:
            other = self.fixed.domain
            groups, place = np.unique(each.domain.coarser(other, cells), return_inverse=True)
            units = [self.fixed.units[each].at(groups) for each in places]
            return Held(place, np.stack(units, axis=1))
        invariant = self.product.invariant
        if invariant is None or self.level not in invariant.levels:
            return None
        groups, place = np.unique(each.domain.groups(invariant.query, cells), return_inverse=True)
        counts = self._counts(invariant.query, groups, places)
        return Held(place, counts.astype(np.int64))

    def _nested(self, domain: Domain, cells: IntArray, held: Held | None) -> list[IntArray]:
        """Return the groups whose sums rounding preserves, each within the one before."""
        group = np.zeros(len(cells), dtype=np.int64) if held is None else held.group
        found = [group] if held is None else []
        groups = int(group.max()) + 1
        for query in self.product.strategy.rounding:
            if domain.tells_apart(query):
                wide = group * query.size + domain.groups(query, cells)
                group = np.unique(wide, return_inverse=True)[1]
                if int(group.max()) + 1 > groups:
                    groups = int(group.max()) + 1
                    found.append(group)
        return found
