"""Bounds of published counts of whole regions by clique tables: Eq. (clique).

If a clique is as wide as a census table, if units are not listed or if statements contradict each
other, this method finds nothing, and the joint histogram is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.audit.cells import CountEnds, EndsSoFar, OnEnds, StatedCounts
from recon_cli.capabilities.audit.ends import FindEnds, SummedEnds
from recon_cli.capabilities.audit.rays import endless_variables
from recon_cli.capabilities.reconstruct.cliques import CliqueForm, CliqueSystem, PublishedRows
from recon_cli.capabilities.reconstruct.region_blocks import nested_blocks
from recon_cli.frames import OPEN
from recon_cli.model.bounds import Bounds, SignedBounds, propagate_signed
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.program import activity_bounds
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, solve_nested
from recon_cli.solve.nested_blocks import Keeper, find_ends, find_settled, known_before


@dataclass(frozen=True)
class AskedEnds:
    """The counts whose bounds are asked for.

    Attributes:
        names: Columns ``geoid, level, table, cell``.
        is_settled: Whether propagation leaves only one value.
    """

    names: pl.DataFrame
    low: IntArray
    high: IntArray
    is_settled: BoolArray


#: Receives the bounds of counts while they are found.
Follow = Callable[[AskedEnds], OnEnds]
#: Returns what keeps the search of a part, by its number.
Searches = Callable[[int], Keeper]


#: Size of a pack of parts without limit: all parts of a region are solved together.
_WHOLE: Final = 2**31


def clique_ends(
    form: CliqueForm,
    counts: PartitionCounts,
    batch: slice,
    *,
    seed: int,
    effort: float,
    follow: Follow,
    searches: Searches,
    among: pl.DataFrame | None = None,
    with_ends: bool = True,
    sizes: tuple[int, int] | None = None,
) -> tuple[pl.DataFrame, CountEnds, BoolArray] | None:
    """Find the bounds of all counts of a batch of whole regions that are published as intervals.

    Args:
        form: Narrow cliques of the plan.
        effort: Deterministic seconds for each region.
        among: Columns ``geoid, table, cell``: only these; None for all.
        with_ends: Whether all ends are wanted; else only which counts are settled.
        sizes: Least and greatest count that matters; None for any.

    Returns:
        Columns ``geoid, level, table, cell`` and the bounds, a row per count, and a mask of counts
        that were not searched because a solution has a value outside ``sizes``; None if the joint
        histogram must be used.
    """
    propagated = _propagated(form, counts, batch)
    if propagated is None:
        return None
    system, bounds = propagated
    endless = bounds.upper >= OPEN
    asked = AskedCounts.of_all(system, counts, among)
    names, low, high = asked.names, asked.low, asked.high
    rows = sparse.csr_array(system.rows.A[asked.row])
    parts = _parts(
        system,
        bounds,
        counts,
        batch,
        seed=seed,
        effort=effort,
        searches=searches,
        with_ends=with_ends,
    )
    if parts is None:
        return None
    solution, found = parts
    value = rows @ solution
    is_left = np.zeros(len(value), dtype=bool)
    if sizes is not None:
        is_left = (value < sizes[0]) | (value > sizes[1])
    # The other counts keep the bounds of propagation.
    lower, upper = activity_bounds(rows, bounds.lower, bounds.upper)
    is_endless = np.diff(sparse.csr_array(rows[:, np.flatnonzero(endless)]).indptr) > 0
    greatest = np.where(is_endless, OPEN, value)
    shown = CountEnds(low, high, lower, np.minimum(upper, OPEN), value, greatest)
    kept = np.flatnonzero(~is_left)
    counted = sparse.csr_array(rows[kept])
    is_settled = abs(counted) @ bounds.free == 0
    tell = follow(AskedEnds(names[kept], low[kept], high[kept], is_settled))

    def on_ends(found: EndsSoFar) -> None:
        upper = np.minimum(found.upper, OPEN)
        greatest = np.where(is_endless[kept], OPEN, found.greatest)
        tell(replace(found, upper=upper, greatest=greatest))

    ends = SummedEnds(counted, bounds.lower, bounds.free, bounds.upper)
    # The searches need only their parts of a nation's system, and memory.
    del propagated, system, rows, counted
    for part, find in found:
        ends.add(part, find, on_ends)
    shown.lower[kept], shown.least[kept] = ends.lower, ends.least
    shown.upper[kept] = np.minimum(ends.upper, OPEN)
    shown.greatest[kept] = np.where(is_endless[kept], OPEN, ends.greatest)
    return names, shown, is_left


def _parts(
    system: CliqueSystem,
    bounds: SignedBounds,
    counts: PartitionCounts,
    batch: slice,
    *,
    seed: int,
    effort: float,
    searches: Searches,
    with_ends: bool,
) -> tuple[IntArray, list[tuple[Component, FindEnds]]] | None:
    """Return a solution, and for each part a search for bounds; None if a part is undecided."""
    regions = counts.region[batch][system.unit]
    nothing = np.zeros(len(bounds.lower), dtype=bool)
    plain = Bounds(bounds.lower, bounds.upper, nothing, bounds.conflict)
    endless = bounds.upper >= OPEN
    solution = bounds.lower.copy()
    found: list[tuple[Component, FindEnds]] = []
    for number, part in enumerate(split_components(system.rows, plain, regions, pack=_WHOLE)):
        region = counts.region_geoids[int(regions[part.columns[0]])]
        own = Effort(digest_seed(seed, "audit", region), effort)
        blocks = nested_blocks(counts.lying_in(batch), system.unit[part.columns])
        keeper = searches(number)
        known = known_before(keeper, part.program)
        if known is None:
            solved = solve_nested(part.program, blocks, own.seed)
            if solved.outcome is not Feasibility.SOLVED:
                return None
            known = solved.values
        solution[part.columns] = known
        search = partial(find_ends, keeper=keeper) if with_ends else find_settled
        search = partial(search, is_endless=endless[part.columns])
        found.append((part, partial(search, part.program, known=known, levels=blocks, effort=own)))
    return solution, found


def _propagated(
    form: CliqueForm, counts: PartitionCounts, batch: slice
) -> tuple[CliqueSystem, SignedBounds] | None:
    """Return the system of some regions and its bounds; None if another method is needed."""
    if not counts.is_listed[counts.units[batch]].all():
        return None
    system = CliqueSystem.of(form, counts, batch).tightened(counts, batch)
    if system is None or not system.published or not system.says_all:
        return None
    bounds = propagate_signed(system.rows, system.ceiling)
    is_open = bounds.upper >= OPEN
    if bounds.conflict.any() or (counts.statistics is not None and is_open.any()):
        return None
    # A variable that is open and not endless is bounded by several rows together.
    is_bounded = endless_variables(system.rows, bounds.upper) < is_open
    return None if is_bounded.any() else (system, bounds)


def is_among(names: pl.DataFrame, among: pl.DataFrame) -> BoolArray:
    """Test which counts are among others, by columns ``geoid, table, cell``."""
    key = ["geoid", "table", "cell"]
    marked = among.select(key).unique().with_columns(among=True)
    found = names.join(marked, on=key, how="left", maintain_order="left")["among"]
    return found.fill_null(value=False).to_numpy()


@dataclass(frozen=True)
class AskedCounts:
    """Counts of one coverage pattern that are published as intervals.

    Attributes:
        names: Columns ``geoid, level, table, cell``.
        row: The row of each in the system.
    """

    names: pl.DataFrame
    row: IntArray
    low: IntArray
    high: IntArray

    @classmethod
    def of_all(
        cls, system: CliqueSystem, counts: PartitionCounts, among: pl.DataFrame | None
    ) -> AskedCounts:
        """Select the counts of all patterns; ``among`` as in `clique_ends`."""
        parts = [cls.of(system, counts, rows) for rows in system.published]
        row, low, high = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("row", "low", "high")
        )
        names = pl.concat(part.names for part in parts)
        if among is None:
            return cls(names, row, low, high)
        kept = is_among(names, among)
        return cls(names.filter(kept), row[kept], low[kept], high[kept])

    @classmethod
    def of(cls, system: CliqueSystem, counts: PartitionCounts, rows: PublishedRows) -> AskedCounts:
        plan = system.form.plan
        pattern = plan.patterns[rows.pattern]
        _, node = system.form.published(pattern)
        stated = StatedCounts.of(plan, counts, pattern, rows.geounits)
        row = rows.first + stated.place * len(rows.nodes) + node[stated.column]
        return cls(stated.names, row, stated.low, stated.high)
