"""One solution of a batch: bounds first, then the solver on the residue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.quarantine import BatchQuarantine, Quarantine
from recon_cli.capabilities.reconstruct.clique_solution import solve_by_cliques
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.contradictions import contradiction
from recon_cli.capabilities.reconstruct.dense_bounds import DenseBounds, propagate_dense
from recon_cli.capabilities.reconstruct.dense_domain import DenseDomain, require_room
from recon_cli.capabilities.reconstruct.known_batch import encode_incumbent, errors_naming
from recon_cli.capabilities.reconstruct.priced import PricedSolution, solve_priced
from recon_cli.capabilities.reconstruct.priced_rows import PricedRows
from recon_cli.capabilities.reconstruct.study_program import StudyProgram
from recon_cli.errors import ContradictionError
from recon_cli.model.bounds import Bounds
from recon_cli.model.candidates import Candidates
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.grain import unravel
from recon_cli.model.plan import Plan
from recon_cli.model.system import System
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import bits
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, ProgramSolution, solve_program, solve_within

#: Deterministic seconds for people who print given middle values.
_CHOICES: Final = 15.0


@dataclass(frozen=True)
class BatchSolution:
    """A batch with one solution.

    Attributes:
        bounds: Bounds of the system's candidates from propagation.
        cells: Histogram cells that may have people: the system's candidates where they are
            listed, else those of the solution.
        people: People in each of `cells`.
        lower: Least people in each of `cells`.
        candidates: For each unit the number of its candidates.
        free: For each unit how many of them propagation leaves open.
        is_least: For each unit whether no solution costs less.
        deterministic_time: For each unit its share of the solver's seconds.
        used_solver: For each unit whether the solver placed anyone in it.
        unsolved: For each unit whether a solver was kept from some of it, or decided nothing:
            `people` has only the lower bounds there.
        undecided: For each unit whether a solver decided nothing.
        values: (people × features) positions of feature values, in the order of `cells`; None
            if they are chosen later from the atoms of `cells`.
        columns: The solution over the columns of the system's program.
    """

    system: System
    bounds: Bounds
    cells: Candidates
    people: IntArray
    lower: IntArray
    candidates: IntArray
    free: IntArray
    is_least: BoolArray
    deterministic_time: npt.NDArray[np.float64]
    used_solver: npt.NDArray[np.bool_]
    unsolved: npt.NDArray[np.bool_]
    undecided: npt.NDArray[np.bool_]
    columns: IntArray
    values: IntArray | None = None

    @classmethod
    def propagated(cls, system: System, bounds: Bounds) -> Self:
        """Place the people that propagation determines in listed candidates; arrays are copies."""
        number, unit = len(system.units), system.candidates.unit
        nowhere = np.zeros((4, number), dtype=bool)
        lower, upper = system.bounds_of_candidates(bounds)
        columns = bounds.lower.copy()
        return cls(
            system=system,
            bounds=bounds,
            cells=system.candidates,
            people=system.placed(columns),
            lower=lower,
            columns=columns,
            candidates=np.bincount(unit, minlength=number),
            free=np.bincount(unit[lower < upper], minlength=number),
            is_least=nowhere[0],
            deterministic_time=np.zeros(number),
            used_solver=nowhere[1],
            unsolved=nowhere[2],
            undecided=nowhere[3],
        )


def solve_system(
    plan: Plan,
    published: Publication,
    counts: PartitionCounts,
    system: System,
    *,
    seed: int,
    quarantine: Quarantine,
    is_likely: bool = False,
    study: StudyProgram | None = None,
    known: IntArray | None = None,
    on_progress: OnProgress = ignore_progress,
) -> BatchSolution:
    """Solve a batch: bounds first, then the solver on the residue.

    Where ``known`` values of the program's columns solve a component, no solver is used for it. If
    candidates are not listed, columns are priced, with ``is_likely`` for the least cost, and
    ``on_progress`` is called as by `solve_priced`. With ``study`` its engine finds the solution;
    proofs still follow from the bounds.

    Raises:
        ContradictionError: The batch has no solution; names the cells.
    """
    watched = quarantine.of_batch(counts, system)
    batch = _Batch(plan, published, counts, system, seed, watched, known)
    batch.require_solution(system.suspects)
    bounds = system.bounds()
    batch.require_solution(system.geounits_of(bounds.conflict))
    if study is not None:
        return _solve_study(batch, bounds, study)
    listed = _solve_listed(batch, bounds)
    if system.is_listed.all():
        return listed
    return _DenseRegions(batch, listed, is_likely, on_progress).solved()


def solution_of_records(
    plan: Plan, counts: PartitionCounts, system: System, records: pl.DataFrame
) -> BatchSolution:
    """Return records with all counts of a batch as its solution; its candidates are listed."""
    nowhere = np.zeros(len(system.units), dtype=bool)
    known = BatchSolution.propagated(system, system.bounds())
    return replace(known, people=encode_incumbent(plan, counts, system, records, nowhere))


@dataclass(frozen=True)
class _Batch:
    """The shared inputs of the regions of a batch."""

    plan: Plan
    published: Publication
    counts: PartitionCounts
    system: System
    seed: int
    watched: BatchQuarantine
    known: IntArray | None = None

    def require_solution(self, suspects: IntArray) -> None:
        """Refuse geounits that are known to have no solution.

        Raises:
            ContradictionError: There are such; names the cells.
        """
        if len(suspects):
            raise self.contradiction(suspects)

    def contradiction(self, suspects: IntArray) -> ContradictionError:
        """Return the error that names the cells of some geounits without a solution."""
        texts = self.counts.statistics
        if texts is not None and texts.middle != "all":  # nobody looks at why
            return ContradictionError("no people are enough for the texts", "")
        return contradiction(self.plan, self.published, self.counts, suspects)

    @contextmanager
    def region_of(self, unit: int) -> Iterator[int]:
        """Yield the seed of the region of a unit, and name the region in errors."""
        region = self.counts.region_geoids[int(self.system.regions[unit])]
        with errors_naming(self.plan.release.region.name, region):
            yield digest_seed(self.seed, region)


def _solve(batch: _Batch, component: Component, seed: int) -> ProgramSolution:
    texts = batch.counts.statistics
    if texts is not None and texts.middle != "all":  # one of several ways to find people
        return solve_within(component.program, Effort(seed, _CHOICES))
    return solve_program(component.program, seed)


def _solve_listed(batch: _Batch, bounds: Bounds) -> BatchSolution:
    """Solve the regions whose candidates are listed; the others stay empty."""
    system, unit = batch.system, batch.system.column_unit
    found = BatchSolution.propagated(system, bounds)
    whole = split_components(system.program, bounds, system.column_region)
    for component in batch.watched.parts(whole, unit, np.arange(len(unit))):
        units = unit[component.columns]
        if not batch.watched.admits(units):
            found.unsolved[units] = True
            continue
        if batch.known is not None:
            values = batch.known[component.columns]
            if component.program.is_feasible(values):
                found.columns[component.columns] = values
                continue
        with batch.region_of(int(units[0])) as seed:
            solution = _solve(batch, component, seed)
        if solution.outcome is Feasibility.INFEASIBLE:
            raise batch.contradiction(system.geounits_of(component.rows))
        np.add.at(found.deterministic_time, units, solution.deterministic_time / len(units))
        found.used_solver[units] = True
        if solution.outcome is Feasibility.UNDECIDED:
            found.unsolved[units] = found.undecided[units] = True
            continue
        found.columns[component.columns] = solution.values
    return replace(found, people=system.placed(found.columns))


def _solve_study(batch: _Batch, bounds: Bounds, study: StudyProgram) -> BatchSolution:
    """Solve every region of a batch by an engine, over single values and from nothing."""
    system, features = batch.system, len(batch.plan.release.features)
    found = BatchSolution.propagated(system, bounds)
    unit, values = [np.empty(0, dtype=np.int64)], [np.empty((0, features), dtype=np.int64)]
    for first, region in study.systems(batch.counts, system):
        batch.require_solution(region.suspects)
        for part in study.parts(region, first):
            units = np.unique(part.unit)
            if not batch.watched.admits(units):
                found.unsolved[units] = True
                continue
            with batch.region_of(int(units[0])) as seed:
                solution = study.solve(part, seed)
            if solution.outcome is Feasibility.INFEASIBLE:
                raise batch.contradiction(np.unique(region.row_geounit))
            found.deterministic_time[units] += solution.deterministic_time / len(units)
            found.used_solver[units] = True
            if solution.outcome is Feasibility.UNDECIDED:
                found.unsolved[units] = found.undecided[units] = True
                continue
            unit.append(np.repeat(part.unit, solution.values))
            values.append(np.repeat(part.values, solution.values, axis=0))
    return _placed(batch.plan, found, np.concatenate(unit), np.concatenate(values))


def _placed(plan: Plan, found: BatchSolution, unit: IntArray, values: IntArray) -> BatchSolution:
    """Place people with values of their own in the candidates of a batch.

    Args:
        found: Result so far; its people stay in unsolved units.
        unit: For each person the place of the unit.
        values: (people × features) positions of feature values.
    """
    cells, grain = found.cells, plan.grain
    atoms = np.empty(values.shape, dtype=np.int64)
    for f, masks in enumerate(grain.atoms):
        of_value = np.empty(len(plan.release.features[f].values), dtype=np.int64)
        for atom, mask in enumerate(masks):
            of_value[list(bits(mask))] = atom
        atoms[:, f] = of_value[values[:, f]]
    sizes = (len(found.system.units), *grain.sizes)
    code = np.ravel_multi_index((unit, *atoms.T), sizes)
    codes = np.ravel_multi_index((cells.unit, *cells.atoms.T.astype(np.int64)), sizes)
    place = np.searchsorted(codes, code)
    left = np.flatnonzero(found.unsolved[cells.unit])
    left = np.repeat(left, found.lower[left])
    lowest = [low[cells.atoms[left, f]] for f, low in enumerate(grain.lowest)]
    place = np.concatenate([place, left])
    values = np.concatenate([values, np.stack(lowest, axis=1)])
    order = np.lexsort((*values.T[::-1], place))
    people = np.bincount(place, minlength=len(codes))
    return replace(found, people=people, values=values[order])


@dataclass(frozen=True)
class _DenseRegions:
    """The regions of a batch whose candidates are not listed.

    Attributes:
        listed: The solution of the other regions; its arrays by unit are filled for all regions.
        is_likely: Whether costs count.
    """

    batch: _Batch
    listed: BatchSolution
    is_likely: bool
    on_progress: OnProgress

    def solved(self) -> BatchSolution:
        batch, system, listed = self.batch, self.batch.system, self.listed
        n = len(system.units)
        require_room(batch.plan, n)
        domain = DenseDomain.of(batch.plan, system.strata, n)
        everyone = np.flatnonzero(~system.is_listed)
        rows = PricedRows.of(batch.plan, domain, batch.counts.costs).select(everyone)
        if not (self.is_likely or rows.is_coupled):
            rows = PricedRows.of(batch.plan, domain, None).select(everyone)
        bounds = propagate_dense(rows.domain, rows.wanted)
        batch.require_solution(bounds.suspects)
        people = bounds.lower.astype(np.int64)
        region = system.regions[everyone]
        # Without free candidates there is only one solution in these cells, so none costs less.
        listed.is_least[everyone[~np.isin(region, region[bounds.free > 0])]] = True
        for units in self._parts(everyone, bounds.free):
            inside = everyone[units]
            if not batch.watched.admits(inside):
                listed.unsolved[inside] = True
                continue
            found = self._solve(rows.select(units), bounds, units, inside)
            people[units[found.is_solved]] = 0
            people[units[found.unit], found.cell] = found.people
            listed.is_least[inside] = found.is_least
            listed.deterministic_time[inside] += found.deterministic_time
            listed.used_solver[inside] = True
            listed.undecided[inside] |= ~found.is_solved
            listed.unsolved[inside] |= ~found.is_solved
        listed.candidates[everyone], listed.free[everyone] = bounds.candidates, bounds.free
        unit, cell = np.nonzero(people)
        atoms = unravel(cell, batch.plan.grain.sizes)
        both = np.concatenate([listed.cells.unit, everyone[unit]])
        order = np.argsort(both, kind="stable")
        return replace(
            listed,
            cells=Candidates(both[order], np.concatenate([listed.cells.atoms, atoms])[order]),
            people=np.concatenate([listed.people, people[unit, cell]])[order],
            lower=np.concatenate([listed.lower, bounds.lower[unit, cell]])[order],
        )

    def _parts(self, everyone: IntArray, free: IntArray) -> Iterator[IntArray]:
        """Yield the units of each region with open cells, as indices in ``everyone``."""
        regions = self.batch.system.regions[everyone]
        for region in np.unique(regions).tolist():
            inside = np.flatnonzero(regions == region)
            if free[inside].any():
                yield inside

    @cached_property
    def _form(self) -> CliqueForm | None:
        """Return the clique form, if it is small and no solver died on the region before."""
        form = CliqueForm.of(self.batch.plan)
        return form if form.is_narrow and not self.batch.watched.quarantine.is_active else None

    def _solve(
        self, rows: PricedRows, bounds: DenseBounds, units: IntArray, inside: IntArray
    ) -> PricedSolution:
        batch = self.batch
        with batch.region_of(int(inside[0])) as seed:
            found = None
            if self._form is not None:
                (first,) = np.flatnonzero(
                    batch.counts.units == batch.system.units[inside[0]]
                ).tolist()
                region = slice(first, first + len(inside))
                found = solve_by_cliques(
                    self._form, batch.counts, region, seed, is_likely=self.is_likely
                )
            if found is None:
                ends = bounds.lower[units], bounds.upper[units]
                found = solve_priced(rows, *ends, seed, self.on_progress)
        if found is None:
            strata = rows.domain.strata
            geounits = np.concatenate([each.stratum.geounits for each in strata])
            raise self.batch.contradiction(np.unique(geounits))
        return found
