"""One solution of a batch: bounds first, the solver on the residue only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.attack.excluded_units import BatchQuarantine, Quarantine
from recon_cli.errors import DisagreementError, SolverError
from recon_cli.explain.contradictions import contradiction
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import IntArray
from recon_cli.model.plan import Plan
from recon_cli.model.system import System
from recon_cli.publication import Publication
from recon_cli.seeding import digest_seed
from recon_cli.solve.feasibility import Feasibility, ProgramSolution, solve_program


@contextmanager
def errors_naming(level: str, geoid: str) -> Iterator[None]:
    """Say in a solver's error which geounit it is about.

    Raises:
        SolverError: As raised inside, with the geounit in front.
    """
    try:
        yield
    except DisagreementError as error:
        raise DisagreementError(f"{level} {geoid}: {error}", error.model) from error
    except SolverError as error:
        raise SolverError(f"{level} {geoid}: {error}") from error


@dataclass(frozen=True)
class BatchSolution:
    """A batch with one solution.

    Attributes:
        system: The equations.
        bounds: What propagation proved.
        people: People in each candidate.
        deterministic_time: For each unit its share of the solver's seconds.
        used_solver: For each unit whether the solver placed anyone in it.
        unsolved: For each unit whether a solver was kept from some of it: only the lower bounds
            are there.
    """

    system: System
    bounds: Bounds
    people: IntArray
    deterministic_time: npt.NDArray[np.float64]
    used_solver: npt.NDArray[np.bool_]
    unsolved: npt.NDArray[np.bool_]


def solve_system(
    plan: Plan,
    published: Publication,
    counts: PartitionCounts,
    system: System,
    *,
    seed: int,
    quarantine: Quarantine,
) -> BatchSolution:
    """One solution of a batch: bounds first, the solver on the residue only.

    Raises:
        ContradictionError: The batch has no solution; names the cells.
        SolverError: The solver could not decide, or two engines disagree.
    """
    if len(system.suspects):
        raise contradiction(plan, published, counts, system.suspects)
    bounds = propagate(system.rows)
    if bounds.conflict.any():
        suspects = np.unique(system.row_geounit[bounds.conflict])
        raise contradiction(plan, published, counts, suspects)
    people = bounds.lower.copy()
    deterministic_time = np.zeros(len(system.units))
    used_solver = np.zeros(len(system.units), dtype=bool)
    unsolved = np.zeros(len(system.units), dtype=bool)
    regions = system.regions[system.candidates.unit]
    watched = quarantine_of_batch(quarantine, counts, system)
    components = split_components(system.rows, bounds, regions)
    for component in (
        part
        for whole in components
        for part in watched.parts(whole, system.candidates.unit[whole.columns], whole.columns)
    ):
        units = system.candidates.unit[component.columns]
        if not watched.admits(units):
            unsolved[units] = True
            continue
        region = counts.region_geoids[int(system.regions[units[0]])]
        with errors_naming(plan.release.region.name, region):
            solution = _solve(component, digest_seed(seed, region))
        if solution.outcome is Feasibility.INFEASIBLE:
            suspects = np.unique(system.row_geounit[component.rows])
            raise contradiction(plan, published, counts, suspects)
        people[component.columns] = solution.values
        np.add.at(deterministic_time, units, solution.deterministic_time / len(units))
        used_solver[units] = True
    return BatchSolution(system, bounds, people, deterministic_time, used_solver, unsolved)


def _solve(component: Component, seed: int) -> ProgramSolution:
    return solve_program(component.program, seed)


def quarantine_of_batch(
    quarantine: Quarantine, counts: PartitionCounts, system: System
) -> BatchQuarantine:
    """The quarantine over one batch."""
    units, regions = counts.geoids[system.units], counts.region_geoids[system.regions]
    return quarantine.of_batch(units, regions)
