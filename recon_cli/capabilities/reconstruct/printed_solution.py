"""People who have the counts of a region and print its statistics.

They are found over clique tables where these are narrow, else over listed histogram cells.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.capabilities.reconstruct.clique_bounds import narrow_by_tables
from recon_cli.capabilities.reconstruct.clique_solution import CliqueRegion, CliqueTables
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.contradictions import contradiction
from recon_cli.capabilities.reconstruct.dense_bounds import DenseBounds, propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain, has_room
from recon_cli.capabilities.reconstruct.known_batch import errors_naming
from recon_cli.capabilities.reconstruct.priced import PricedSolution
from recon_cli.capabilities.reconstruct.solution import BatchSolution, solve_system
from recon_cli.errors import ContradictionError, SolverError
from recon_cli.model.candidates import Candidates
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import unravel
from recon_cli.model.plan import Plan
from recon_cli.model.statistics import statistic_features
from recon_cli.model.system import System, build_system
from recon_cli.publication import Publication
from recon_cli.seeding import digest_seed
from recon_cli.solve.feasibility import Feasibility

#: Deterministic seconds for people who print given middle values.
_CHOICES: Final = 15.0


def solve_printed_over_cliques(
    plan: Plan,
    published: Publication,
    counts: PartitionCounts,
    region: slice,
    form: CliqueForm,
    *,
    seed: int,
    quarantine: Quarantine,
    is_likely: bool,
) -> BatchSolution | None:
    """Solve one region with printed statistics over clique tables.

    Args:
        region: The units of a whole region.
        form: Narrow cliques of the plan.
        seed: Seed of the solvers, and of the combination into people.
        is_likely: Whether costs count.

    Returns:
        None if histogram cells must be listed.

    Raises:
        ContradictionError: Nobody has the counts and prints the statistics.
    """
    number = region.stop - region.start
    system = build_system(plan, replace(counts, statistics=None), region, most_listed=0)
    texts = counts.statistics
    if texts is not None and len(texts.at(np.concatenate(counts.lying_in(region)))):
        system.seen[:, list(statistic_features(plan.release))] = True
    if not has_room(plan, number):
        return None
    bounds = propagate_dense(DenseDomain.of(plan, system.strata, number))
    suspects = np.union1d(system.suspects, bounds.suspects)
    if len(suspects):
        raise contradiction(plan, published, counts, suspects)
    prepared = CliqueRegion.of(form, counts, region)
    if prepared is None:
        return None
    if not quarantine.of_batch(counts, system).admits(np.arange(number)):
        return _placed(plan, system, bounds, None)
    name = counts.region_geoids[int(system.regions[0])]
    with errors_naming(plan.release.region.name, name):
        found = _found(form, prepared, digest_seed(seed, name), is_likely=is_likely)
    if found is Feasibility.INFEASIBLE:
        everywhere = np.concatenate([stratum.geounits for stratum in system.strata])
        raise contradiction(plan, published, counts, np.unique(everywhere))
    if not isinstance(found, PricedSolution):
        return None
    cells = prepared.system.bounds_of_cells(prepared.bounds)
    return _placed(plan, system, narrow_by_tables(form, bounds, *cells), found)


def _found(
    form: CliqueForm, region: CliqueRegion, seed: int, *, is_likely: bool
) -> PricedSolution | Feasibility:
    """Find people over clique tables, or return what is proven without any."""
    if not region.system.says_all and not region.bounds.conflict.any():
        for chosen in region.counts.attempts():
            within = CliqueRegion.of(form, chosen, region.region)
            if within is None or within.system.has_many_choices:
                continue
            found = _solved(within, seed, _CHOICES, is_likely=is_likely)
            if found.outcome is Feasibility.SOLVED:
                return within.people(found, seed)
    found = _solved(region, seed, None, is_likely=is_likely)
    if found.outcome is not Feasibility.SOLVED:
        return found.outcome
    # Rows that everybody meets who prints the statistics may admit others, too.
    return region.people(found, seed) if region.system.says_all else Feasibility.UNDECIDED


def _solved(
    region: CliqueRegion, seed: int, limit: float | None, *, is_likely: bool
) -> CliqueTables:
    """Find clique tables of least cost, or any where none are found in time."""
    if is_likely:
        found = region.solve(seed, is_likely=True)
        if found.outcome is not Feasibility.UNDECIDED:
            # If rows are sufficient and not necessary, cheaper people may not meet them.
            is_all = region.system.joined is None or region.system.joined.is_exact
            return replace(found, is_least=found.is_least & is_all)
    return region.solve(seed, is_likely=False, limit=limit)


def _placed(
    plan: Plan, system: System, bounds: DenseBounds, found: PricedSolution | None
) -> BatchSolution:
    """Place people in histogram cells of a region: without any, the lower bound of each cell."""
    number, is_missing = len(system.units), found is None
    people = bounds.lower.astype(np.int64)
    if found is not None:
        people[:] = 0
        people[found.unit, found.cell] = found.people
    unit, cell = np.nonzero(people)
    nothing = BatchSolution.propagated(system, system.bounds())
    return replace(
        nothing,
        cells=Candidates(unit, unravel(cell, plan.grain.sizes)),
        people=people[unit, cell],
        lower=bounds.lower[unit, cell].astype(np.int64),
        candidates=bounds.candidates,
        free=bounds.free,
        is_least=np.zeros(number, dtype=bool) if found is None else found.is_least,
        deterministic_time=np.zeros(number) if found is None else found.deterministic_time,
        used_solver=np.full(number, not is_missing and bool(bounds.free.any())),
        unsolved=np.full(number, is_missing),
    )


def solve_printed(
    plan: Plan,
    published: Publication,
    counts: PartitionCounts,
    solved: BatchSolution,
    *,
    seed: int,
) -> BatchSolution:
    """Find people who print the published statistics, where rows admit others, too.

    Args:
        solved: A solution of rows that everybody meets who prints the statistics; all but its
            people is kept.

    Raises:
        SolverError: No such people were found.
    """
    units = solved.system.units
    first = int(np.flatnonzero(counts.units == units[0])[0])
    batch = slice(first, first + len(units))
    for chosen in counts.attempts():
        system = build_system(plan, chosen, batch)
        if system.joined is None or system.joined.has_many_choices:
            continue
        try:
            found = solve_system(
                plan, published, chosen, system, seed=seed, quarantine=NO_QUARANTINE
            )
        except ContradictionError:
            continue
        if not found.unsolved.any():
            return replace(solved, people=found.people)
    geoid = counts.geoids[int(units[0])]
    raise SolverError(
        f"{plan.release.geography.unit.name} {geoid}: no people were found who print all medians "
        "and quantiles of its region; declare their `definition`, or take these tables out"
    )
