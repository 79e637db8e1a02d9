"""Witnesses that counts are not recovered: two solutions with different values.

A witness makes trust in a solver unnecessary. Two sets of records from which any program tabulates
every published count, but which differ in some other count, show that the publication does not
determine that count. A few dozen sets are enough for thousands of counts, as each differs in many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product, zip_longest
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import NO_QUARANTINE
from recon_cli.capabilities.audit.cells import IntervalCells
from recon_cli.capabilities.audit.left_out import with_left_out
from recon_cli.capabilities.audit.person_moves import PersonMoves, Spans
from recon_cli.capabilities.reconstruct.person_records import person_records
from recon_cli.capabilities.reconstruct.solution import (
    BatchSolution,
    solution_of_records,
    solve_system,
)
from recon_cli.model.bounds import Bounds
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.program import (
    ConnectedParts,
    IntegerProgram,
    LinearConstraints,
    deviation_program,
    with_rows,
)
from recon_cli.model.system import System, build_systems
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import min_l1_repair
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: More people than any count changes by.
_OPEN: Final = 10_000_000
#: Number of consecutive sets without a new witness, after which counts are moved one by one.
_DRY: Final = 3
#: Cost of a person beside that of counts, so that smaller sets are preferred.
_PERSON: Final = 1e-3
#: Attempts to find whole numbers, and how far costs of people differ then.
_ATTEMPTS: Final = 4
_NOISE: Final = 0.05


#: The counts of a partition, and a batch → sparse (functionals × candidates).
Functionals = Callable[[PartitionCounts, System], sparse.csr_array]


@dataclass(frozen=True)
class WitnessOptions:
    """Options of the search for witnesses.

    Attributes:
        effort: Deterministic seconds for the search of each solution.
        safety: Required difference of a count between two sets.
        most: Greatest number of sets; None for as many as are witnesses.
    """

    seed: int
    effort: float
    safety: int = 1
    most: int | None = None


def find_witnesses(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    cells: pl.DataFrame,
    options: WitnessOptions,
) -> Iterator[pl.DataFrame]:
    """Yield sets of records that have all published counts, and differ in given ones.

    Args:
        tables: Tables whose counts the records must have.
        cells: ``geoid, table, cell`` of the counts that should differ by the safety range between
            two sets.

    Yields:
        Records as from `recon_cli.capabilities.reconstruct.question.reconstruct`. Counts that never
        differ may be recovered or not.
    """
    published = with_left_out(release, published)
    plan = make_interval_plan(release, tables, published.coverage)

    def asked(counts: PartitionCounts, system: System) -> sparse.csr_array:
        return cells_of_batch(plan, counts, system, cells)

    yield from differing_records(plan, published, asked, options)


def cells_of_batch(
    plan: Plan, counts: PartitionCounts, system: System, cells: pl.DataFrame
) -> sparse.csr_array:
    """Select the cells ``geoid, table, cell`` that a batch has as intervals."""
    of_cells = IntervalCells.of(plan, counts, system)
    names = of_cells.names(plan, counts, system).with_row_index("row")
    asked = names.join(cells, on=["geoid", "table", "cell"], how="semi")["row"].to_numpy()
    return sparse.csr_array(of_cells.coefficients[asked])


def differing_records(
    plan: Plan,
    published: Publication,
    functionals: Functionals,
    options: WitnessOptions,
    known: pl.DataFrame | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield sets of records that have all published counts, and differ in given functionals.

    Args:
        plan: A plan for the counts, including those left out.
        functionals: Returns the functionals of a batch, over its candidates.
        known: Records that have all counts; if given, they are the first set.
    """
    counts = arrange_counts(plan, published, joins_statistics=True)
    if counts.statistics is not None:  # rows that are enough for each text
        counts = replace(counts, statistics=replace(counts.statistics, middle="nearest"))
    batches: list[list[pl.DataFrame]] = []
    for system in build_systems(plan, counts):
        if not system.strata:
            continue
        solved = None if known is None else solution_of_records(plan, counts, system, known)
        if solved is None or not _is_solution(solved):
            solved = solve_system(
                plan, published, counts, system, seed=options.seed, quarantine=NO_QUARANTINE
            )
        search = _Search(solved, functionals(counts, system), options)
        batches.append(
            [
                person_records(plan, counts, replace(solved, people=people), options.seed)
                for people in islice(search.solutions(), options.most)
            ]
        )
    for frames in zip_longest(*batches):
        yield pl.concat(
            batch[0] if frame is None else frame
            for batch, frame in zip(batches, frames, strict=True)
        )


def _is_solution(solved: BatchSolution) -> bool:
    """Test whether known people meet all rows, those of printed statistics among them."""
    lower, upper = solved.system.bounds_of_candidates(solved.bounds)
    return IntegerProgram(solved.system.people_rows, lower, upper).is_feasible(solved.people)


class _Search:
    """A search for solutions of a batch, until the values of functionals lie far enough apart."""

    def __init__(
        self, solved: BatchSolution, functionals: sparse.csr_array, options: WitnessOptions
    ) -> None:
        system, rows = solved.system, solved.system.people_rows
        regions = system.regions[system.candidates.unit]
        lower, upper = system.bounds_of_candidates(solved.bounds)
        bounds = Bounds(lower, upper, np.zeros_like(lower, dtype=bool), solved.bounds.conflict)
        self.components = tuple(split_components(rows, bounds, regions))
        self.program = IntegerProgram(rows, lower, upper)
        self.unit = system.candidates.unit
        self.known, self.C = solved.people, functionals
        values = functionals @ solved.people
        self.spans = Spans(values, values, options.safety)
        self.options = options
        self.random = generator(options.seed, "witnesses")

    def solutions(self) -> Iterator[IntArray]:
        """Yield the known solution, then others, easily found ones first."""
        yield self.known
        near = PersonMoves(self.program, self.C, self.known, self.unit)
        yield from near.solutions(self.spans, self.random)
        parts = [_Part.of(each, self.known, self.C, self.options) for each in self.components]
        yield from self._many_at_once(parts)
        yield from self._one_by_one(parts)

    def _many_at_once(self, parts: Sequence[_Part]) -> Iterator[IntArray]:
        """Yield solutions for random directions, in which many functionals move together."""
        dry = 0
        while dry < _DRY and (is_open := self.spans.is_open).any():
            wanted = np.where(is_open, self.random.choice([-1, 1], len(is_open)), 0)
            people = self.known.copy()
            for part in parts:
                people[part.component.columns] = part.far(wanted)
            dry = 0 if self.spans.see(self.C @ people) else dry + 1
            if not dry:
                yield people

    def _one_by_one(self, parts: Sequence[_Part]) -> Iterator[IntArray]:
        """Yield solutions that move one functional at a time, by the fewest people."""
        steps = range(self.options.safety, 0, -1)
        for at in np.flatnonzero(self.spans.is_open).tolist():
            for part, sign, step in product(parts, (1, -1), steps):
                if not self.spans.is_open[at]:
                    break
                near = part.near(at, sign, step)
                if near is None:
                    continue
                people = self.known.copy()
                people[part.component.columns] = near
                if self.spans.see(self.C @ people):
                    yield people


@dataclass(frozen=True)
class _Part:
    """A component with a known solution.

    Attributes:
        program: The component, within the safety range of the known solution.
        functionals: Sparse (functionals × candidates).
    """

    component: Component
    program: IntegerProgram
    known: IntArray
    functionals: sparse.csr_array
    transposed: sparse.csr_array
    relaxation: LinearRelaxation
    parts: ConnectedParts
    options: WitnessOptions

    @classmethod
    def of(
        cls,
        component: Component,
        known: IntArray,
        functionals: sparse.csr_array,
        options: WitnessOptions,
    ) -> _Part:
        columns, whole = component.columns, component.program
        here, inside = known[columns], sparse.csr_array(sparse.csc_array(functionals)[:, columns])
        lower = np.maximum(whole.lower, here - options.safety)
        upper = np.minimum(whole.upper, here + options.safety)
        program = IntegerProgram(whole.constraints, lower, upper)
        return cls(
            component=component,
            program=program,
            known=here,
            functionals=inside,
            transposed=sparse.csr_array(inside.T),
            relaxation=LinearRelaxation(program),
            parts=ConnectedParts.of(program),
            options=options,
        )

    def far(self, wanted: IntArray) -> IntArray:
        """Return a solution with functionals as high, or low, as wanted; else the known one."""
        cost = _PERSON - self.transposed @ wanted
        point = self.relaxation.solve(cost, self.options.effort).values
        if not len(point):
            return self.known
        return self.parts.rounded(point, self.known)

    def near(self, at: int, sign: int, step: int) -> IntArray | None:
        """Return the fewest people, or nearly, that move a functional by a step up or down."""
        functional = sign * self.functionals[[at]]
        if not functional.nnz:
            return None
        least = functional @ self.known + step
        moved = LinearConstraints(sparse.csr_array(functional), least, least + _OPEN)
        program = with_rows(self.component.program, moved)
        changes = deviation_program(program, self.known)
        relaxation, random = LinearRelaxation(changes.program), np.random.default_rng(0)
        for attempt in range(_ATTEMPTS):
            cost = 1 + attempt * _NOISE * random.random(len(changes.sign))
            point = relaxation.solve(cost, self.options.effort).values
            if not len(point):
                return None
            values = changes.values_at(np.rint(point).astype(np.int64))
            if program.is_feasible(values):
                return values
        effort = Effort(self.options.seed, self.options.effort)
        values = min_l1_repair(program, self.known, effort).values
        return values if len(values) else None
