"""Several solutions of a batch, drawn at random but not uniformly.

A reconstruction is a *vertex* of the linear relaxation for random costs
(`recon_cli.solve.feasibility.solve_program`). Vertices have few distinct records: solutions that
few costs select are rare, and points between vertices never occur. Solutions *between* vertices,
rounded at random from their mean, have about as many distinct records as real populations. Neither
is a uniform sample of all solutions, nor of likely populations.

See *sampled solutions* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import BatchQuarantine
from recon_cli.errors import SolverError
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import System
from recon_cli.seeding import generator
from recon_cli.solve.feasibility import ROUNDING, Feasibility, pump, solve_program

#: Returns (solutions × variables) solutions of a program, one for each seed.
Draw = Callable[[IntegerProgram, Sequence[int]], IntArray]

#: Vertices that a solution lies between.
_MIXED = 3


@dataclass(frozen=True)
class SampledSolutions:
    """Some solutions of a batch.

    Attributes:
        bounds: Bounds from propagation.
        components: Components that propagation left open.
        values: (solutions × candidates) people; where `is_missing` lower bounds only.
        is_missing: For each unit whether no solver may be started on some of it.
        seeds: For each region of the batch the seeds of the solutions.
    """

    bounds: Bounds
    components: tuple[Component, ...]
    values: IntArray
    is_missing: npt.NDArray[np.bool_]
    seeds: Mapping[int, Sequence[int]]


def sample_batch(
    system: System,
    seeds: Mapping[int, Sequence[int]],
    quarantine: BatchQuarantine,
    draw: Draw,
    *,
    together: IntArray,
    pack: int,
) -> SampledSolutions:
    """Sample solutions of a batch, one for each seed.

    Args:
        seeds: For each region its seeds, equally many for all.
        draw: Sampling method: `vertices`, or `between_vertices`.
        together: For each candidate a label; candidates with equal labels stay in one component.
        pack: Candidates of unconnected components to put together; 1 keeps all apart.
    """
    unit = system.candidates.unit
    regions = system.regions[unit]
    bounds = propagate(system.rows)
    count = len(next(iter(seeds.values()), ()))
    values = np.tile(bounds.lower, (count, 1))
    is_missing = np.zeros(len(system.units), dtype=bool)
    components = []
    whole = split_components(system.rows, bounds, regions, targets=together, pack=pack)
    for component in quarantine.parts(whole, unit, together):
        units = unit[component.columns]
        if not quarantine.admits(units):
            is_missing[units] = True
            continue
        components.append(component)
        drawn = draw(component.program, seeds[int(system.regions[units[0]])])
        values[:, component.columns] = drawn
    return SampledSolutions(bounds, tuple(components), values, is_missing, seeds)


def vertex(program: IntegerProgram, seed: int) -> tuple[IntArray, float]:
    """Return the solution for a seed, and the deterministic seconds.

    Raises:
        SolverError: There is none, the solver could not decide, or two engines disagree.
    """
    solution = solve_program(program, seed)
    if solution.outcome is Feasibility.INFEASIBLE:
        raise SolverError("an integer program that has a solution is found to have none")
    if solution.outcome is Feasibility.UNDECIDED:
        seconds = solution.deterministic_time
        raise SolverError(f"no solution was sampled within {seconds:.0f} deterministic seconds")
    return solution.values, solution.deterministic_time


def vertices(program: IntegerProgram, seeds: Sequence[int]) -> IntArray:
    """Return the solutions for some seeds; see `Draw` and `vertex`."""
    return np.stack([vertex(program, seed)[0] for seed in seeds])


def between_vertices(program: IntegerProgram, seeds: Sequence[int]) -> IntArray:
    """Return solutions near the mean of a few vertices each, rounded at random.

    See `Draw` and `vertex`. If the feasibility pump finds none, the first of the vertices is used.
    """
    corners = vertices(program, seeds)
    drawn = corners.copy()
    for at, seed in enumerate(seeds):
        mean = corners[(at + np.arange(_MIXED)) % len(corners)].mean(axis=0)
        chance = generator(seed, "between").random(len(mean))
        rounded = np.floor(mean + chance).astype(np.int64)
        if program.is_feasible(rounded):
            drawn[at] = rounded
            continue
        pumped = pump(program, rounded, ROUNDING)
        if pumped.is_solution:
            drawn[at] = pumped.values
    return drawn
