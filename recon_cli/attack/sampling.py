"""Solutions of a batch, several of them: each a vertex of the linear relaxation for random costs.

They are found as a reconstruction is (`recon_cli.solve.feasibility.solve_program`), with another
seed each. Vertices are not drawn uniformly from all solutions: those that few costs single out are
rarer than others, and solutions inside the hull of others never come.

See *sampled solutions* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from recon_cli.attack.excluded_units import BatchQuarantine
from recon_cli.errors import SolverError
from recon_cli.model.bounds import Bounds, propagate
from recon_cli.model.components import Component, split_components
from recon_cli.model.grain import IntArray
from recon_cli.model.program import IntegerProgram
from recon_cli.model.system import System
from recon_cli.solve.feasibility import Feasibility, solve_program


@dataclass(frozen=True)
class SampledSolutions:
    """Some solutions of a batch.

    Attributes:
        bounds: What propagation proved.
        components: What it left open.
        values: (solutions × candidates) people; where `is_missing` lower bounds only.
        is_missing: For each unit whether no solver may be started on some of it.
        seeds: For each region of the batch the seeds that they were found with.
        deterministic_time: For each unit its share of the solver's seconds.
    """

    bounds: Bounds
    components: tuple[Component, ...]
    values: IntArray
    is_missing: npt.NDArray[np.bool_]
    seeds: Mapping[int, Sequence[int]]
    deterministic_time: npt.NDArray[np.float64]


def sample_batch(
    system: System,
    seeds: Mapping[int, Sequence[int]],
    quarantine: BatchQuarantine,
    *,
    together: IntArray,
    pack: int,
) -> SampledSolutions:
    """Solutions of a batch, one for each seed.

    Args:
        system: The batch.
        seeds: For each of its regions the seeds, as many for each.
        quarantine: Units that no solver may be started on.
        together: For each candidate a label; candidates with equal labels stay in one component.
        pack: Candidates of unconnected components to put together; 1 keeps all apart.

    Raises:
        SolverError: The solver could not decide, or two engines disagree.
    """
    unit = system.candidates.unit
    regions = system.regions[unit]
    bounds = propagate(system.rows)
    count = len(next(iter(seeds.values()), ()))
    values = np.tile(bounds.lower, (count, 1))
    is_missing = np.zeros(len(system.units), dtype=bool)
    seconds = np.zeros(len(system.units))
    components = []
    for component in (
        part
        for whole in split_components(system.rows, bounds, regions, targets=together, pack=pack)
        for part in quarantine.parts(whole, unit[whole.columns], together[whole.columns])
    ):
        units = unit[component.columns]
        if not quarantine.admits(units):
            is_missing[units] = True
            continue
        components.append(component)
        for at, seed in enumerate(seeds[int(system.regions[units[0]])]):
            values[at, component.columns], elapsed = vertex(component.program, seed)
            np.add.at(seconds, units, elapsed / len(units))
    return SampledSolutions(bounds, tuple(components), values, is_missing, seeds, seconds)


def vertex(program: IntegerProgram, seed: int) -> tuple[IntArray, float]:
    """The solution that a seed leads to, and the deterministic seconds.

    Raises:
        SolverError: There is none, the solver could not decide, or two engines disagree.
    """
    solution = solve_program(program, seed)
    if solution.outcome is Feasibility.INFEASIBLE:
        raise SolverError("an integer program that has a solution is found to have none")
    return solution.values, solution.deterministic_time
