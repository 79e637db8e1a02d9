"""Measured batches of regions, with listed candidates or too many to list."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.ask.question import KeptSearch, RegionData
from recon_cli.capabilities.reconstruct.known_batch import KnownBatch, people_in_candidates
from recon_cli.capabilities.solvar.batch import SolutionSpace, measure_batch, unreached
from recon_cli.capabilities.solvar.dense import DenseRegion
from recon_cli.capabilities.solvar.distance import FROM_INCUMBENT, LOST, Distances
from recon_cli.capabilities.solvar.frames import BatchFrames
from recon_cli.capabilities.solvar.histogram import histogram_columns, histogram_masks, histogram_of
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.unit_search import EffortBudget, UnitSearch
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import plan_of_units
from recon_cli.model.system import System, build_system
from recon_cli.progress import ProgressSoFar, ignore_progress
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort


@dataclass(frozen=True)
class UnitsAlone:
    """The units of a partition, each alone with its own tables; ``plan`` is for all tables."""

    plan: Plan
    data: RegionData
    options: Solvar
    people: int
    quarantine: Quarantine

    @cached_property
    def _own(self) -> tuple[Plan, PartitionCounts] | None:
        plan, coverage = self.plan, self.data.published.coverage
        columns = histogram_columns(plan.release, plan.tables, coverage)
        own = plan_of_units(plan, coverage, histogram_masks(plan.release, columns))
        if own is None:
            return None
        return own, arrange_counts(own, self.data.published, joins_statistics=True)

    def measured(self, system: System, columns: tuple[str, ...], name: str) -> BatchFrames | None:
        """Measure the units of a region, checkpointed as ``name``; None if that proves no more."""
        if self._own is None:
            return None
        plan, counts = self._own
        (inside,) = np.nonzero(np.isin(counts.units, system.units))
        region = slice(int(inside[0]), int(inside[-1]) + 1)
        alone = build_system(plan, counts, region, must_list=False)
        (known,) = KnownBatch.each(plan, counts, [alone], self.data, self.quarantine)
        progress = ProgressSoFar(ignore_progress)
        return MeasuredRegions(known, self.options, self.people, name, progress).measured(columns)


@dataclass(frozen=True)
class MeasuredRegions:
    """A batch to measure.

    Attributes:
        people: People of the whole run, who share ``options.total_seconds``.
        name: Name of the checkpoint.
    """

    known: KnownBatch
    options: Solvar
    people: int
    name: str
    progress: ProgressSoFar

    def search(self, people: IntArray) -> UnitSearch:
        """Return the checkpointed search, which reports finished units; ``people`` is by unit."""

        def tell(is_done: BoolArray, distances: Distances) -> None:
            is_proven = distances.reached == distances.bound
            is_asked = (distances.bound < OPEN) & ~is_done
            done, proven = int(is_done.sum()), int(is_proven[is_done].sum())
            measured = int(is_proven[is_asked].sum())
            statuses = {
                "proven": proven,
                "bounded": done - proven,
                "measured": measured,
                "asked": int(is_asked.sum()) - measured,
            }
            self.progress.tell(done, int(people[is_done].sum()), statuses)

        return UnitSearch(KeptSearch(self.known.data.checkpoint, self.name), tell)

    def measured(self, columns: tuple[str, ...]) -> BatchFrames:
        """Measure how far other solutions can be from the records."""
        with self.known.errors_named():
            if self.known.system.is_listed.all():
                return self._listed(columns)
            return self._dense(columns)

    @property
    def seeds(self) -> dict[int, int]:
        """Return the solver's seed of each region."""
        names = self.known.regions.items()
        return {
            region: digest_seed(self.options.fixed_seed, "solvar", name) for region, name in names
        }

    def _listed(self, columns: tuple[str, ...]) -> BatchFrames:
        known, options, missing = self.known, self.options, self.known.missing
        plan, counts, system = known.plan, known.counts, known.system
        incumbent = known.incumbent(system.people_rows)
        histogram = histogram_of(plan, system.candidates, columns)
        people = _people(counts, system, incumbent, missing)
        (inside,) = np.nonzero(np.isin(counts.units, system.units))
        unit, is_split = system.candidates.unit, options.mode == "relaxed"
        rows = system.people_rows_of_units() if is_split else system.people_rows
        space = SolutionSpace(
            rows,
            incumbent,
            unit,
            len(system.units),
            is_split,
            system.has_total,
            people,
            missing,
            counts.lying_in(inside),
            FROM_INCUMBENT if counts.intervals is None else LOST,
        )
        budget = EffortBudget(
            self.seeds,
            options.unit_seconds,
            options.diameter,
            self._region_seconds(people),
            options.intervals == "exact",
            options.engine,
        )
        found = measure_batch(
            space, histogram, system.regions, budget, known.watched, search=self.search(people)
        )
        if not system.is_printed_exactly:
            found = unreached(found)
        return BatchFrames(plan, counts, system, histogram, found, people)

    def _region_seconds(self, people: IntArray) -> dict[int, float] | None:
        """Return each region's share of the total budget, in deterministic seconds."""
        if self.options.total_seconds is None:
            return None
        numbers, place = np.unique(self.known.system.regions, return_inverse=True)
        person_seconds = self.options.total_seconds / max(self.people, 1)
        total = np.bincount(place, weights=people) * person_seconds
        return dict(zip(numbers.tolist(), total.tolist(), strict=True))

    def _dense(self, columns: tuple[str, ...]) -> BatchFrames:
        known, missing = self.known, self.known.missing
        plan, counts = known.plan, known.counts
        region = DenseRegion.of(plan, known.system)
        system = replace(known.system, candidates=region.candidates)
        incumbent = people_in_candidates(plan, counts, system, known.data.records)
        region.require_solution(incumbent, missing)
        histogram = histogram_of(plan, region.candidates, columns)
        people = _people(counts, system, incumbent, missing)
        effort = Effort(self.seeds[int(system.regions[0])], self.options.unit_seconds)
        found = region.measure(
            histogram,
            incumbent,
            people,
            missing,
            known.watched,
            search=self.search(people),
            effort=effort,
        )
        if self.options.mode == "relaxed":
            found = replace(found, region=None)
        return BatchFrames(plan, counts, system, histogram, found, people)


def _people(
    counts: PartitionCounts, system: System, incumbent: IntArray, missing: BoolArray
) -> IntArray:
    """Return the people of each unit: the incumbent's, or as published if some are missing."""
    placed = np.bincount(system.candidates.unit, weights=incumbent, minlength=len(system.units))
    published = counts.population.gather(system.units).fill_null(0).to_numpy()
    people: IntArray = np.where(missing, np.maximum(published, placed), placed).astype(np.int64)
    return people
