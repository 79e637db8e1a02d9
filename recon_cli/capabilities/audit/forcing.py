"""Forcing counts: integer multiples of published counts that add up to a recovered one.

The bounds of a count are proven by weights on published counts, Eq. (dual) of docs/method.md. Among
all weights that prove a bound, a linear program finds those with the least sum, which use few
counts, and integer arithmetic checks them. They only prove the bound because certain histogram
cells are empty; a few published zeros that exclude all of these are listed, too.

See *certificate* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.audit.left_out import with_left_out
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain
from recon_cli.frames import OPEN
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.grain import unravel
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.solve.linear_relaxation import solve_relaxation

#: A published cell: geoid, table, number.
CellName = tuple[str, str, int]
#: Names a cell of a table: table, number → words.
CellWords = Callable[[str, int], str]

#: Most histogram cells that are searched for one count.
_MOST_CELLS: Final = 1_000_000
#: Deterministic seconds of one linear program.
_LIMIT: Final = 30.0
#: Multiples of a count that are tried.
_MULTIPLES: Final = range(1, 61)
#: Tolerance of integers in floating point.
_ROUNDING: Final = 1e-6
#: Most published zeros that a text names.
_NAMED: Final = 6
#: More than any sum of weights.
_WIDE: Final = 10**9


def by_number(table: str, cell: int) -> str:
    """Call a cell by its table and number."""
    return f"{table} {cell}"


@dataclass(frozen=True)
class WeightedCount:
    """A published count in a proof.

    Attributes:
        weight: Multiplier; negative if it is subtracted.
        count: Published bound that applies: the least if added, else the greatest.
    """

    cell: CellName
    weight: int
    count: int


@dataclass(frozen=True)
class EndProof:
    """Published counts that bound a count.

    Attributes:
        multiple: Multiplier of the count that they bound.
        total: Their weighted sum, which bounds ``multiple`` times the count.
    """

    counts: tuple[WeightedCount, ...]
    multiple: int
    total: int

    def words(self, here: str, name: Callable[[str], str], called: CellWords) -> str:
        """Format the sum, as ``T 1 (14) − T 3 (12)``; cells of ``here`` without their place."""
        text = ""
        for each in self.counts:
            geoid, table, cell = each.cell
            place = "" if geoid == here else f"{name(geoid)} "
            times = "" if abs(each.weight) == 1 else f"{abs(each.weight)} × "
            sign = "−" if each.weight < 0 else "+" if text else ""
            text += f"{' ' if text else ''}{sign}{' ' if text and sign else ''}"
            text += f"{times}{place}{called(table, cell)} ({each.count:,})"
        text = text or "0"
        return text if self.multiple == 1 else f"({text}) / {self.multiple}"


@dataclass(frozen=True)
class RulingZeros:
    """Finds the zeros of one batch that a proof needs.

    Attributes:
        known: Units → their cells; a cache, since the next count of a place needs the same.
    """

    plan: Plan
    counts: PartitionCounts
    system: System
    known: dict[tuple[int, ...], tuple[IntervalCells, dict[CellName, int]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def of(
        self, target: CellName, at_least: EndProof, at_most: EndProof
    ) -> tuple[CellName, ...] | None:
        """Find few published zeros that exclude everybody who would break a sum.

        Returns:
            None if too many histogram cells would have to be searched, or if zeros that only follow
            from other counts are needed.
        """
        geoids = {target[0], *(part.cell[0] for part in (*at_least.counts, *at_most.counts))}
        inside = self.plan.release.geography.inside
        units = [
            number
            for number, unit in enumerate(self._units)
            if any(inside(unit, geoid) for geoid in geoids)
        ]
        if len(units) * len(self._possible) > _MOST_CELLS:
            return None
        cells, number = self._cells_over(tuple(units))
        A = cells.coefficients
        own = np.asarray(A[[number[target]]].toarray()[0], dtype=np.int64)
        breaking = np.zeros(A.shape[1], dtype=bool)
        for proof, sign in ((at_least, 1), (at_most, -1)):
            weights = np.zeros(A.shape[0], dtype=np.int64)
            for part in proof.counts:
                weights[number[part.cell]] = part.weight
            breaking |= sign * (A.T @ weights - proof.multiple * own) > 0
        zeros = np.flatnonzero(cells.high == 0)
        chosen = _cover(sparse.csr_array(A[zeros][:, np.flatnonzero(breaking)]))
        if chosen is None:
            return None
        names = list(number)
        return tuple(names[at] for at in np.sort(zeros[chosen]).tolist())

    def _cells_over(self, units: tuple[int, ...]) -> tuple[IntervalCells, dict[CellName, int]]:
        """Return the published cells over possible histogram cells of some units; their rows."""
        if units not in self.known:
            cell = np.flatnonzero(self._possible)
            atoms = unravel(cell, self.plan.grain.sizes).astype(np.int16)
            everyone = Candidates(np.repeat(units, len(cell)), np.tile(atoms, (len(units), 1)))
            system = replace(self.system, candidates=everyone)
            cells = IntervalCells.of(self.plan, self.counts, system, among="all")
            names = cells.names(self.plan, self.counts, self.system).drop("level").rows()
            self.known.clear()
            self.known[units] = cells, {name: at for at, name in enumerate(names)}
        return self.known[units]

    @cached_property
    def _units(self) -> list[str]:
        return self.counts.geoids.gather(self.system.units).to_list()

    @cached_property
    def _possible(self) -> BoolArray:
        if math.prod(self.plan.grain.sizes) > _MOST_CELLS:
            return np.ones(_MOST_CELLS + 1, dtype=bool)
        return DenseDomain.of(self.plan, (), 0).possible


def _cover(holds: sparse.csr_array) -> IntArray | None:
    """Choose rows that cover all columns greedily; None if a column is in no row."""
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


@dataclass(frozen=True)
class Forcing:
    """The proof that a count is recovered.

    Attributes:
        at_least: The proof that the count is no less; None if none was found.
        at_most: The proof that the count is no more; None if none was found.
        zeros: Published zeros that exclude everybody who would break the sums; None if some of
            these only follow from other counts, or if the search would be too large.
    """

    cell: CellName
    value: int
    at_least: EndProof | None
    at_most: EndProof | None
    zeros: tuple[CellName, ...] | None = ()

    def words(
        self, here: str, name: Callable[[str], str] = str, called: CellWords = by_number
    ) -> str:
        """Format the proof: one sum if it proves both bounds, else one for each.

        Args:
            here: The geoid whose cells are named without their place.
            name: Names the other places.
            called: Names the cells of tables.
        """
        if self.at_least is None or self.at_most is None:
            return ""
        low, high = (each.words(here, name, called) for each in (self.at_least, self.at_most))
        zeros = self._zeros_in_words(here, name, called)
        if low == high:
            return f" = {low}{zeros}"
        return f", at least {low}, at most {high}{zeros}"

    def _zeros_in_words(self, here: str, name: Callable[[str], str], called: CellWords) -> str:
        if self.zeros is None:
            return "; other records are ruled out by zeros that are not named"
        names = [
            f"{'' if geoid == here else f'{name(geoid)} '}{called(table, cell)}"
            for geoid, table, cell in self.zeros
        ]
        if not names:
            return ""
        more = len(names) - _NAMED
        between = "; " if any("," in name for name in names) else ", "
        listed = between.join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        return f"; other records are ruled out by zeros in {listed}"


def forcing_counts(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    recovered: dict[CellName, int],
) -> list[Forcing]:
    """Find the proofs of recovered counts whose histogram cells can be listed.

    Args:
        published: The counts of whole regions.
        recovered: Cells with the value that the audit found.
    """
    geoids = pl.Series([geoid for geoid, _, _ in recovered], dtype=pl.String)
    levels = release.geography.level_names(geoids)
    asked = dict.fromkeys(levels.unique().drop_nulls().to_list(), tables)
    published = with_left_out(release, published, asked)
    if not recovered or published.is_exact:  # nothing is withheld
        return []
    plan = make_interval_plan(release, tables, published.coverage)
    counts = arrange_counts(plan, published)
    found = []
    for system in build_systems(plan, counts, must_list=False):
        cells = IntervalCells.of(plan, counts, system, among="all")
        names: list[CellName] = cells.names(plan, counts, system).drop("level").rows()
        zeros = RulingZeros(plan, counts, system)
        for number, name in enumerate(names):
            if name in recovered and cells.is_bounded[number]:
                value = recovered[name]
                low, high = _ends(release, cells, names, number, value)
                ruled_out = (
                    zeros.of(name, low, high) if low is not None and high is not None else ()
                )
                found.append(Forcing(name, value, low, high, ruled_out))
    return found


def _ends(
    release: Release, cells: IntervalCells, names: Sequence[CellName], target: int, value: int
) -> tuple[EndProof | None, EndProof | None]:
    """Find the proofs that a count is at least, and at most, its value.

    Only counts of the same place are tried first, then those within each place around it: most
    proofs need no more, and a program over all counts takes a hundred times as long.
    """
    geography, place = release.geography, names[target][0]
    geoids = pl.Series([geoid for geoid, _, _ in names], dtype=pl.String)
    own = geography.level_of(place)
    around = [
        str(level.enclosing(place)) for level in geography.levels if own and level.encloses(own)
    ]
    found: dict[int, EndProof | None] = {1: None, -1: None}
    tried = 0
    for is_near in [*(geography.inside(geoids, each).to_numpy() for each in around), None]:
        proofs = _Proofs(cells, names, target, is_near)
        if len(proofs.used) == tried:
            continue
        tried = len(proofs.used)
        for sign in (sign for sign, proof in found.items() if proof is None):
            found[sign] = proofs.of(value, sign)
        if None not in found.values():
            break
    return found[1], found[-1]


class _Proofs:
    """Search for weights on published cells that prove a count."""

    def __init__(
        self,
        cells: IntervalCells,
        names: Sequence[CellName],
        target: int,
        is_near: BoolArray | None,
    ) -> None:
        """Set up the cells.

        Args:
            target: Number of the count.
            is_near: Whether each cell is used; default all cells.
        """
        A = sparse.csr_array(cells.coefficients)
        is_used = np.diff(A.indptr) > 0
        is_used[target] = False
        self.used = np.flatnonzero(is_used if is_near is None else is_used & is_near)
        self.names = names
        self.low, self.high = cells.low[self.used], cells.high[self.used]
        self.lowered = np.flatnonzero(self.high < OPEN)
        # Leave out the histogram cells that neither the count nor any other one has.
        some = np.unique(A[np.append(self.used, target)].indices)
        self.target = np.asarray(A[[target]][:, some].toarray()[0], dtype=np.int64)
        self.rows = sparse.csr_array(A[self.used][:, some])
        weights = sparse.csr_array(self.rows.T)
        sums = sparse.hstack([weights, -weights[:, self.lowered]])
        ends = np.concatenate([self.low, -self.high[self.lowered]])[None, :]
        self.matrix = sparse.csr_array(sparse.vstack([sums, sparse.csr_array(ends)]))

    def of(self, value: int, sign: int) -> EndProof | None:
        """Find a proof that ``sign`` times the count is at least ``sign * value``."""
        width = self.matrix.shape[1]
        program = IntegerProgram(
            LinearConstraints(
                self.matrix,
                np.append(np.full(len(self.target), -_WIDE), sign * value),
                np.append(sign * self.target, _WIDE),
            ),
            np.zeros(width, dtype=np.int64),
            np.full(width, _WIDE),
        )
        point = solve_relaxation(program, np.ones(width), _LIMIT).values
        if not len(point):
            return None
        exact = point[: len(self.used)].copy()
        exact[self.lowered] -= point[len(self.used) :]
        for multiple in _MULTIPLES:
            whole = np.rint(multiple * exact).astype(np.int64)
            if np.abs(multiple * exact - whole).max() > _ROUNDING * multiple:
                continue
            total = int(np.where(whole > 0, self.low, self.high) @ whole)
            if (self.rows.T @ whole <= multiple * sign * self.target).all() and (
                -(-total // multiple) == sign * value
            ):
                return self._proof(whole, multiple, sign, total)
        return None

    def _proof(self, weights: IntArray, multiple: int, sign: int, total: int) -> EndProof:
        counts = []
        for at in np.argsort(-sign * weights, kind="stable").tolist():
            if not weights[at]:
                continue
            count = self.low[at] if weights[at] > 0 else self.high[at]
            name = self.names[int(self.used[at])]
            counts.append(WeightedCount(name, sign * int(weights[at]), int(count)))
        return EndProof(tuple(counts), multiple, sign * total)
