"""The study's program: histogram cells of single values, a row for every published cell.

Eq. 4.4 of the study if coarse counts couple the units of a region, Eq. 4.5 if each unit is alone.
It leaves out the cells that a published zero excludes, and nothing else: no bounds are propagated,
no values are grouped, and no solution is preferred. A selected engine solves it, so that its
solution can be compared with the study's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.capabilities.reconstruct.engines import Engine, find_solution
from recon_cli.coverage import Coverage
from recon_cli.errors import SolverError
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_published_plan
from recon_cli.model.program import (
    IntegerProgram,
    LinearConstraints,
    connected_parts,
    connected_subset,
)
from recon_cli.model.system import System, build_system
from recon_cli.schema import Release, Table
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import ProgramSolution

#: Most histogram cells per unit, on average over a region, of a program.
_MOST_CELLS = 20_000
#: Deterministic seconds of the engine for each part.
_LIMIT = 900.0


@dataclass(frozen=True)
class StudyPart:
    """Units that published counts couple: a whole region, or a unit alone.

    Attributes:
        unit: For each variable the place of its unit in the batch, sorted.
        values: (variables × features) positions of feature values.
    """

    program: IntegerProgram
    unit: IntArray
    values: IntArray


@dataclass(frozen=True)
class StudyProgram:
    """The study's program of a release, Eq. (study) of docs/method.md, and the engine for it.

    Attributes:
        plan: A plan over single values, with the published cells as rows.
    """

    plan: Plan
    engine: Engine

    @classmethod
    def of(
        cls, release: Release, tables: Sequence[Table], coverage: Coverage, engine: Engine
    ) -> Self:
        return cls(make_published_plan(release, tables, coverage), engine)

    def solve(self, part: StudyPart, seed: int) -> ProgramSolution:
        return find_solution(part.program, self.engine, Effort(seed, _LIMIT))

    def systems(self, counts: PartitionCounts, batch: System) -> Iterator[tuple[int, System]]:
        """Yield the system of each region of a batch, with the index of its first unit.

        Raises:
            SolverError: A region has too many histogram cells.
        """
        start = int(np.flatnonzero(counts.units == batch.units[0])[0])
        first = np.flatnonzero(np.diff(batch.regions, prepend=-1))
        last = np.append(first[1:], len(batch.regions))
        for one, other in zip(first.tolist(), last.tolist(), strict=True):
            units = slice(start + one, start + other)
            system = build_system(self.plan, counts, units, _MOST_CELLS)
            if not system.is_listed.all():
                level, region = self.plan.release.region.name, batch.regions[one]
                raise SolverError(
                    f"{level} {counts.region_geoids[int(region)]}: its units have more than "
                    f"{_MOST_CELLS:,} possible histogram cells each; leave out "
                    "`reconstruct.engine`, or use tables that tell fewer values apart"
                )
            yield one, system

    def parts(self, system: System, first: int) -> Iterator[StudyPart]:
        """Yield the parts of a region's system that no row couples.

        Args:
            first: The place of its first unit in the batch.
        """
        unit, rows = system.candidates.unit, system.rows
        atoms = system.candidates.atoms
        lowest = self.plan.grain.lowest
        values = np.stack([low[atoms[:, f]] for f, low in enumerate(lowest)], axis=1)
        program = IntegerProgram(rows, np.zeros(len(unit), dtype=np.int64), _ceilings(rows))
        _, part = connected_parts(rows.A, unit)
        order = np.argsort(part, kind="stable")
        for columns in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
            if len(columns):
                inside = connected_subset(program, columns).program
                yield StudyPart(inside, first + unit[columns], values[columns])


def _ceilings(rows: LinearConstraints) -> IntArray:
    """Return the upper bound of each variable by any single row."""
    entries = rows.A.tocoo()
    ceiling = np.full(rows.A.shape[1], np.iinfo(np.int64).max)
    np.minimum.at(ceiling, entries.col, rows.most[entries.row] // entries.data)
    return ceiling
