"""Bounds of published counts by joint histograms, where clique tables are too wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import BatchQuarantine
from recon_cli.capabilities.audit.cells import CountEnds, IntervalCells, OnEnds
from recon_cli.capabilities.audit.clique_ends import AskedEnds, Follow, is_among
from recon_cli.capabilities.audit.ends import SummedEnds, find_all_ends, find_ends, find_settled
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.reconstruct.known_batch import errors_naming
from recon_cli.capabilities.reconstruct.solution import BatchSolution
from recon_cli.frames import OPEN
from recon_cli.model.components import split_components
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.ledger import Ledger
from recon_cli.model.plan import Plan
from recon_cli.model.system import System
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort

#: Most variables of one relaxation, exceeded only by a larger connected part.
_PACK = 2000


def joint_ends(
    plan: Plan,
    counts: PartitionCounts,
    solutions: Sequence[BatchSolution],
    options: Audit,
    watched: BatchQuarantine,
    *,
    among: pl.DataFrame | None,
    follow: Follow,
    with_ends: bool = True,
) -> tuple[pl.DataFrame, CountEnds]:
    """Return the counts of the regions that are not excluded, and their bounds.

    Args:
        among: Columns ``geoid, table, cell``: only these; None for all.
        with_ends: Whether all ends are wanted; else only which counts are settled.
    """
    solved = solutions[0]
    system = solved.system
    cells = _asked(plan, counts, system, among)
    names = cells.names(plan, counts, system)
    whole = find_ends if system.joined is None else find_all_ends

    def tell() -> OnEnds:
        functionals = system.functionals(cells.coefficients)
        is_settled = cells.is_bounded & (abs(functionals) @ solved.bounds.free == 0)
        return follow(AskedEnds(names, cells.low, cells.high, is_settled))

    ends, excluded = _summed(
        counts,
        solved,
        options,
        cells,
        watched=watched,
        method=whole if with_ends else find_settled,
        follow=tell,
        region_level=plan.release.region.name,
    )
    regions = plan.release.region.enclosing(counts.geoids.gather(cells.geounit))
    if not system.is_listed.all():  # whole solutions say what they have
        unlisted = np.unique(system.regions[~system.is_listed])
        is_unlisted = regions.is_in(counts.region_geoids.gather(unlisted).to_list()).to_numpy()
        seen = _seen(plan, counts, solutions, among)
        ends.least = np.where(is_unlisted, seen.min(axis=0), ends.least)
        ends.greatest = np.where(is_unlisted, seen.max(axis=0), ends.greatest)
    # Where people outside the candidates are possible, only margins bound the count from above.
    # Where nothing bounds them, every number above that of a solution is attained by another
    # solution.
    unsolved = counts.region_geoids.gather(np.unique(system.regions[solved.unsolved])).to_list()
    is_solved = ~regions.is_in(unsolved).to_numpy()
    greatest = np.where(cells.is_endless & is_solved, OPEN, ends.greatest)
    kept = ~regions.is_in(sorted(excluded)).to_numpy()
    proven = CountEnds(
        low=cells.low[kept],
        high=cells.high[kept],
        lower=np.maximum(ends.lower, cells.least)[kept],
        upper=np.where(cells.is_bounded, np.minimum(ends.upper, cells.most), cells.most)[kept],
        least=ends.least[kept],
        greatest=greatest[kept],
    )
    return names.filter(kept), proven


def _summed(
    counts: PartitionCounts,
    solved: BatchSolution,
    options: Audit,
    cells: IntervalCells,
    *,
    watched: BatchQuarantine,
    method: Callable[..., Ledger],
    follow: Callable[[], OnEnds],
    region_level: str,
) -> tuple[SummedEnds, set[str]]:
    """Find the bounds of counts component by component; also return the excluded regions."""
    system, bounds = solved.system, solved.bounds
    left_out = system.regions[solved.unsolved & ~solved.undecided]
    excluded = set(counts.region_geoids.gather(np.unique(left_out)))
    undecided = set(counts.region_geoids.gather(np.unique(system.regions[solved.undecided])))
    functionals = system.functionals(cells.coefficients)
    ends = SummedEnds(functionals, bounds.lower, bounds.free, bounds.upper)
    elapsed: dict[str, float] = {}
    on_ends: OnEnds | None = None
    of_column, unit = system.column_region, system.column_unit
    for component in split_components(system.program, bounds, of_column, pack=_PACK):
        region = counts.region_geoids[int(of_column[component.columns[0]])]
        if region in excluded or not watched.admits(unit[component.columns]):
            excluded.add(region)
            continue
        if region in undecided:
            ends.leave(component)
            continue
        with errors_naming(region_level, region):
            left = options.region_seconds - elapsed.get(region, 0.0)
            effort = Effort(digest_seed(options.fixed_seed, "audit", region), left)
            known = solved.columns[component.columns]
            find = partial(method, component.program, known=known, effort=effort)
            is_large = len(component.columns) > _PACK
            if is_large and on_ends is None:
                on_ends = follow()
            found = ends.add(component, find, on_ends if is_large else None)
            elapsed[region] = elapsed.get(region, 0.0) + round(found.effort, 9)
    return ends, excluded


def _seen(
    plan: Plan,
    counts: PartitionCounts,
    solutions: Sequence[BatchSolution],
    among: pl.DataFrame | None,
) -> IntArray:
    """Return (solutions × counts) the counts of whole solutions; of one alone if people lack."""
    values = []
    for each in solutions:
        placed = replace(each.system, candidates=each.cells)
        values.append(_asked(plan, counts, placed, among).coefficients @ each.people)
    lacks_people = any(each.undecided.any() for each in solutions)
    return np.stack(values[:1] if lacks_people else values)


def _asked(
    plan: Plan, counts: PartitionCounts, system: System, among: pl.DataFrame | None
) -> IntervalCells:
    cells = IntervalCells.of(plan, counts, system)
    if among is None:
        return cells
    return cells.where(is_among(cells.names(plan, counts, system), among))
