"""The published zeros that a proof of a recovered count rests on.

Weights on published counts prove an end only because nobody is in histogram cells that would break
the sum. Those are ruled out by published zeros; a few that rule out all of them are named.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.audit.cells import IntervalCells
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.dense_domain import DenseDomain
from recon_cli.model.grain import unravel
from recon_cli.model.plan import Plan
from recon_cli.model.system import System

#: A published cell: geoid, table, number.
CellName = tuple[str, str, int]

#: Histogram cells that are looked through for one count.
_MOST_CELLS: Final = 1_000_000


@dataclass(frozen=True)
class WeightedSum:
    """Weights on published counts that bound a multiple of another one.

    Attributes:
        weights: Cell → weight.
        multiple: Of the bounded count.
        is_least: Whether the sum is at most that multiple, else at least.
    """

    weights: Mapping[CellName, int]
    multiple: int
    is_least: bool


@dataclass(frozen=True)
class RulingZeros:
    """Finds the zeros of one batch."""

    plan: Plan
    counts: PartitionCounts
    system: System

    def of(self, target: CellName, sums: list[WeightedSum]) -> tuple[CellName, ...] | None:
        """Published zeros that rule out whoever would break a sum; few, not proven the fewest.

        Returns:
            None where too many histogram cells would have to be looked through, or where zeros that
            only follow from other counts are needed, too.
        """
        geoids = {target[0], *(geoid for each in sums for geoid, _, _ in each.weights)}
        inside = self.plan.release.geography.inside
        units = [
            number
            for number, unit in enumerate(self._units)
            if any(inside(unit, geoid) for geoid in geoids)
        ]
        if len(units) * len(self._possible) > _MOST_CELLS:
            return None
        cells = self._cells_over(units)
        number = {name: at for at, name in enumerate(self._names(cells))}
        A = sparse.csr_array(cells.coefficients)
        own = np.asarray(A[[number[target]]].toarray()[0], dtype=np.int64)
        breaking = np.zeros(A.shape[1], dtype=bool)
        for each in sums:
            weights = np.zeros(A.shape[0], dtype=np.int64)
            for name, weight in each.weights.items():
                weights[number[name]] = weight
            excess = A.T @ weights - each.multiple * own
            breaking |= excess > 0 if each.is_least else excess < 0
        zeros = np.flatnonzero(cells.high == 0)
        chosen = _cover(sparse.csr_array(A[zeros][:, np.flatnonzero(breaking)]))
        if chosen is None:
            return None
        names = list(number)
        return tuple(names[at] for at in np.sort(zeros[chosen]).tolist())

    def _cells_over(self, units: list[int]) -> IntervalCells:
        """All published cells over every histogram cell of some units that can be."""
        cell = np.flatnonzero(self._possible)
        atoms = unravel(cell, self.plan.grain.sizes).astype(np.int16)
        everyone = Candidates(np.repeat(units, len(cell)), np.tile(atoms, (len(units), 1)))
        system = replace(self.system, candidates=everyone)
        return IntervalCells.of(self.plan, self.counts, system, among="all")

    def _names(self, cells: IntervalCells) -> list[CellName]:
        return cells.names(self.plan, self.counts, self.system).drop("level").rows()

    @cached_property
    def _units(self) -> list[str]:
        return self.counts.geoids.gather(self.system.units).to_list()

    @cached_property
    def _possible(self) -> BoolArray:
        if math.prod(self.plan.grain.sizes) > _MOST_CELLS:
            return np.ones(_MOST_CELLS + 1, dtype=bool)
        return DenseDomain.of(self.plan, (), 0).possible


def _cover(holds: sparse.csr_array) -> IntArray | None:
    """Rows that hold all columns, those of most columns first; None if some are in none."""
    holds = sparse.csr_array((np.ones_like(holds.data), holds.indices, holds.indptr), holds.shape)
    left = np.ones(holds.shape[1], dtype=np.int64)
    chosen = []
    while left.any():
        gain = holds @ left
        best = int(gain.argmax()) if len(gain) else -1
        if best < 0 or not gain[best]:
            return None
        chosen.append(best)
        left[holds.indices[holds.indptr[best] : holds.indptr[best + 1]]] = 0
    return np.array(chosen, dtype=np.int64)
