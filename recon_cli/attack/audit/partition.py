"""The audit of protected counts of one partition: Eq. (ends), for the cells withheld.

For every suppressed, rounded or left out cell the feasibility interval, its least and greatest
count over all solutions, from all tables and levels at once.

See *audit* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.audit.cells import CountEnds, IntervalCells, StatedCounts
from recon_cli.attack.audit.clique_ends import AskedEnds, Follow, clique_ends, is_among
from recon_cli.attack.audit.ends import find_ends, find_settled
from recon_cli.attack.audit.functionals import EndsSoFar, OnEnds, SummedEnds
from recon_cli.attack.audit.left_out import with_left_out
from recon_cli.attack.audit.progress import AuditProgress
from recon_cli.attack.audit.safety_ranges import Withheld
from recon_cli.attack.audit.statuses import OF_NO_INTEREST, statuses
from recon_cli.attack.checkpoint import Checkpoint, KeptSearch, NoCheckpoint
from recon_cli.attack.excluded_units import NO_QUARANTINE, BatchQuarantine, Quarantine
from recon_cli.attack.options import AuditOptions
from recon_cli.attack.reconstruction.solution import (
    BatchSolution,
    errors_naming,
    quarantine_of_batch,
    solve_system,
)
from recon_cli.frames import OPEN
from recon_cli.model.cliques import CliqueForm
from recon_cli.model.components import Component, split_components
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, plan_of_units
from recon_cli.model.system import build_system, whole_regions_of
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import digest_seed
from recon_cli.solve.cp_sat import Effort

#: A row a cell that is published as an interval: the interval that its statement proves (``high``
#: null: open), and the least and greatest count of any solution (null: no bound is known), with
#: the ``width`` between them. ``is_exact``: solutions reach both. ``suppression``: which kind of
#: suppressed count it is, see `recon_cli.attack.audit.safety_ranges`; null of others. ``required``
#: is its safety range, ``status`` one of `recon_cli.attack.audit.statuses.STATUSES`.
AUDIT: Final = pl.Schema(
    {
        "geoid": pl.String,
        "level": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
        "low": pl.Int32,
        "high": pl.Int32,
        "least": pl.Int32,
        "greatest": pl.Int32,
        "width": pl.Int32,
        "is_exact": pl.Boolean,
        "suppression": pl.String,
        "required": pl.Int32,
        "status": pl.String,
    }
)

#: Variables that are asked about in one relaxation, exceeded only by a larger connected part.
_PACK = 2000


def audit_counts(
    release: Release, published: Publication, tables: Sequence[Table], options: AuditOptions
) -> pl.DataFrame:
    """Feasibility intervals of the cells that are not published exactly, or left out.

    Args:
        tables: What an attacker uses.

    Returns:
        Columns of `AUDIT`; nothing where all counts are exact and none is left out.
    """
    published = with_left_out(release, published, dict.fromkeys(options.ask, tables))
    if published.is_exact:
        return AUDIT.to_frame()
    plan = make_interval_plan(release, tables, published.coverage)
    return audit_with_plan(plan, published, options)


def audit_with_plan(
    plan: Plan,
    published: Publication,
    options: AuditOptions,
    on_progress: OnProgress = ignore_progress,
    quarantine: Quarantine = NO_QUARANTINE,
    *,
    checkpoint: Checkpoint | None = None,
) -> pl.DataFrame:
    """As `audit_counts`, with a plan for intervals that many partitions share.

    Counts that are left out are in both, see `with_left_out`. Of the cells of regions in
    ``quarantine`` nothing is said. What ``checkpoint`` has is taken from there.
    """
    counts = arrange_counts(plan, published)
    partition = _Partition(
        plan, published, counts, options, quarantine, checkpoint or NoCheckpoint()
    )
    frames = list(partition.audit_empty_places())
    for number, batch in enumerate(whole_regions_of(counts)):
        told = AuditProgress(on_progress, batch.stop - batch.start)
        audited = partition.audited(number, batch, told)
        told.finish([audited["status"]])
        frames.append(audited)
    rows = pl.concat(frames)
    if options.among is not None:
        rows = rows.join(options.among, on=["geoid", "table", "cell"], how="semi")
    return rows.sort("geoid", "table", "cell", maintain_order=True)


@dataclass(frozen=True)
class _Partition:
    """One partition and how it is audited."""

    plan: Plan
    published: Publication
    counts: PartitionCounts
    options: AuditOptions
    quarantine: Quarantine
    checkpoint: Checkpoint

    @cached_property
    def form(self) -> CliqueForm | None:
        """Clique tables, where they are small and no solver died on the region before."""
        form = CliqueForm.of(self.plan)
        return form if form.is_narrow and not self.quarantine.is_active else None

    def audit_empty_places(self) -> Iterator[pl.DataFrame]:
        """The counts of places none of whose units exists: nobody lives there, so each is 0.

        Exact zeros of the units may prove it where a place's own counts are perturbed.
        """
        plan, counts = self.plan, self.counts
        yield AUDIT.to_frame()
        for pattern in plan.patterns:
            if counts.intervals is None or pattern.level == plan.release.geography.unit.name:
                continue
            places = np.flatnonzero(counts.pattern == pattern.pattern)
            empty = np.setdiff1d(places, counts.parent[pattern.level])
            low, high = counts.intervals.of(empty)
            for table, number in pattern.margins.columns:
                cell = plan.columns[table, number]
                is_open = low[:, cell] < high[:, cell]
                names = pl.DataFrame({"geoid": counts.geoids.gather(empty[is_open])}).select(
                    "geoid",
                    level=pl.lit(pattern.level),
                    table=pl.lit(table),
                    cell=pl.lit(number, dtype=pl.Int16),
                )
                zero = np.zeros(names.height, dtype=np.int64)
                ends = CountEnds(low[is_open, cell], high[is_open, cell], zero, zero, zero, zero)
                yield self._rated(names, ends)

    def audited(self, number: int, batch: slice, told: AuditProgress) -> pl.DataFrame:
        """The counts of a batch of whole regions; where nobody goes on, as they were told last."""
        checkpoint, name = self.checkpoint, _batch(number)
        found = checkpoint.finished(name)
        if found is None and checkpoint.is_over:
            found = checkpoint.so_far(name)
            return pl.concat(self._stated(batch)) if found is None else found
        if found is None:
            found = pl.concat([AUDIT.to_frame(), *self.audit(number, batch, told)])
            checkpoint.finish(name, found)
        return found

    def _stated(self, batch: slice) -> Iterator[pl.DataFrame]:
        """The counts of a batch between the ends that are published."""
        yield AUDIT.to_frame()
        for pattern in self.plan.patterns:
            geounits, _ = self.counts.geounits_of(pattern.level, pattern.pattern, batch)
            if not len(geounits):
                continue
            stated = StatedCounts.of(self.plan, self.counts, pattern, geounits)
            low, high = stated.low, stated.high
            yield self._rated(stated.names, CountEnds(low, high, low, high, low, low))

    def audit(self, number: int, batch: slice, told: AuditProgress) -> Iterator[pl.DataFrame]:
        """The counts of some whole regions: by clique tables, or by their joint histograms."""
        if self.form is not None:
            options, counts = self.options, self.counts
            for region in np.unique(counts.region[batch]):
                name = counts.region_geoids[int(region)]
                self.quarantine.announce(name, name)
            found = clique_ends(
                self.form,
                counts,
                batch,
                seed=options.seed,
                effort=options.effort,
                follow=partial(self._keep, number, told),
                searches=partial(self._search, number),
                among=options.among,
                sizes=options.sizes,
            )
            if found is not None:
                names, ends, is_left = found
                left = pl.Series(is_left) & pl.Series(ends.lower < ends.upper)
                status = pl.when(left).then(pl.lit(OF_NO_INTEREST)).otherwise("status")
                yield self._rated(names, ends).with_columns(status=status)
                return
        yield from self._audit_jointly(batch, told)

    def _follow(self, told: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Tells of counts as they are decided."""
        withheld = Withheld.of(self.published, asked.names, asked.high)
        required = self._required(withheld, asked.low, asked.high)
        is_unit = pl.col("level") == self.plan.release.geography.unit.name
        units = asked.names.select(pl.when(is_unit).then("geoid")).to_series()
        return told.of(units, required, asked.is_settled)

    def _keep(self, number: int, told: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Tells of counts as they are decided, and keeps them."""
        hear = self._follow(told, asked)

        def keep(ends: EndsSoFar) -> None:
            def rows() -> pl.DataFrame:
                low, high = asked.low, asked.high
                lower, upper = np.maximum(ends.lower, low), np.minimum(ends.upper, high)
                shown = CountEnds(low, high, lower, upper, ends.least, ends.greatest)
                return self._rated(asked.names, shown)

            hear(ends)
            self.checkpoint.tell(_batch(number), rows)

        return keep

    def _search(self, number: int, part: int) -> KeptSearch:
        """Keeps the search of one part of a batch."""
        return KeptSearch(self.checkpoint, f"search-{number:05d}-{part:05d}")

    def _required(self, withheld: Withheld, low: IntArray, high: IntArray) -> IntArray:
        """The safety range of each count."""
        if self.options.safety is None:
            return withheld.safety_ranges(low, high)
        return np.full(len(low), self.options.safety, dtype=np.int64)

    def _audit_jointly(self, batch: slice, told: AuditProgress) -> Iterator[pl.DataFrame]:
        plan, counts = self.plan, self.counts
        system = build_system(plan, counts, batch, must_list=False)
        if not system.strata:
            return
        # Candidates that are not listed leave nothing but solutions and margins.
        solved = [
            solve_system(
                plan,
                self.published,
                counts,
                system,
                seed=self.options.seed,
                quarantine=self.quarantine,
                is_likely=is_likely,
            )
            for is_likely in ((False,) if system.is_listed.all() else (False, True))
        ]
        watched = quarantine_of_batch(self.quarantine, counts, system)
        names, ends = _joint_ends(
            plan, counts, solved, self.options, watched, follow=partial(self._follow, told)
        )
        if self.units_alone is not None and not system.is_listed.all():
            ends = self.units_alone.narrowed(batch, names, ends, told)
        yield self._rated(names, ends)

    @cached_property
    def units_alone(self) -> _Partition | None:
        """The same by the units' own tables; None where that says no more."""
        own = plan_of_units(self.plan, self.published.coverage)
        if own is None:
            return None
        return replace(self, plan=own, counts=arrange_counts(own, self.published))

    def narrowed(
        self, batch: slice, names: pl.DataFrame, ends: CountEnds, told: AuditProgress
    ) -> CountEnds:
        """Ends within what these tables, of all that are published, prove of some whole regions.

        A further count never takes away a proof; but candidates may be too many to list with it.
        """
        system = build_system(self.plan, self.counts, batch, must_list=False)
        if not system.is_listed.any():
            return ends
        solved = solve_system(
            self.plan,
            self.published,
            self.counts,
            system,
            seed=self.options.seed,
            quarantine=self.quarantine,
        )
        watched = quarantine_of_batch(self.quarantine, self.counts, system)
        follow = partial(self._follow, told)
        known, own = _joint_ends(
            self.plan, self.counts, [solved], self.options, watched, follow=follow
        )
        key = ["geoid", "table", "cell"]
        proven = names.select(key).join(
            known.select(key).with_columns(lower=pl.Series(own.lower), upper=pl.Series(own.upper)),
            on=key,
            how="left",
            maintain_order="left",
        )
        return replace(
            ends,
            lower=np.maximum(ends.lower, proven["lower"].fill_null(0).to_numpy()),
            upper=np.minimum(ends.upper, proven["upper"].fill_null(OPEN).to_numpy()),
        )

    def _rated(self, names: pl.DataFrame, ends: CountEnds) -> pl.DataFrame:
        """Columns of `AUDIT`.

        Args:
            names: Of the counts.
        """
        withheld = Withheld.of(self.published, names, ends.high)
        required = self._required(withheld, ends.low, ends.high)
        least, greatest = ends.lower, ends.upper
        is_exact = (least == ends.least) & (greatest == ends.greatest) & (greatest < OPEN)
        status = statuses(least, greatest, ends.least, ends.greatest, required)
        kind = pl.Series(withheld.kinds(ends), dtype=pl.String)
        shown = names.with_columns(
            low=pl.Series(ends.low),
            high=_or_open(ends.high),
            least=pl.Series(least),
            greatest=_or_open(greatest),
            width=_or_open(np.where(greatest < OPEN, greatest - least, OPEN)),
            is_exact=pl.Series(is_exact),
            suppression=kind.set(kind == "", None),
            required=pl.Series(required),
            status=pl.Series(status, dtype=pl.String),
        )
        return shown.select(AUDIT.names()).cast(AUDIT)


def _batch(number: int) -> str:
    return f"batch-{number:05d}"


def _joint_ends(
    plan: Plan,
    counts: PartitionCounts,
    solutions: Sequence[BatchSolution],
    options: AuditOptions,
    watched: BatchQuarantine,
    *,
    follow: Follow,
) -> tuple[pl.DataFrame, CountEnds]:
    """The counts of the regions that are not excluded, and their ends."""
    solved = solutions[0]
    system = solved.system
    cells = IntervalCells.of(plan, counts, system)
    if options.among is not None:
        cells = cells.where(is_among(cells.names(plan, counts, system), options.among))
    left_out = system.regions[solved.unsolved & ~solved.undecided]
    undecided = set(counts.region_geoids.gather(np.unique(system.regions[solved.undecided])))
    regions = plan.release.region.enclosing(counts.geoids.gather(cells.geounit))
    excluded = set(counts.region_geoids.gather(np.unique(left_out)))
    bounds = solved.bounds
    ends = SummedEnds(cells.coefficients, bounds.lower, bounds.free, bounds.upper)
    elapsed: dict[str, float] = {}
    on_ends: OnEnds | None = None
    people = solved.people[system.is_listed[solved.cells.unit]]
    for region, component in _components(counts, solved):
        if region in excluded or not watched.admits(system.candidates.unit[component.columns]):
            excluded.add(region)
            continue
        if region in undecided:
            ends.leave(component)
            continue
        with errors_naming(plan.release.region.name, region):
            left = options.effort - elapsed.get(region, 0.0)
            effort = Effort(digest_seed(options.seed, "audit", region), left)
            known = people[component.columns]
            search = find_ends if options.among is None else find_settled
            find = partial(search, component.program, known=known, effort=effort)
            is_large = len(component.columns) > _PACK
            if is_large and on_ends is None:
                names, free = cells.names(plan, counts, system), solved.bounds.free
                is_settled = cells.is_bounded & (abs(cells.coefficients) @ free == 0)
                on_ends = follow(AskedEnds(names, cells.low, cells.high, is_settled))
            found = ends.add(component, find, on_ends if is_large else None)
            elapsed[region] = elapsed.get(region, 0.0) + round(found.effort, 9)
    if not system.is_listed.all():
        unlisted = np.unique(system.regions[~system.is_listed])
        is_unlisted = regions.is_in(counts.region_geoids.gather(unlisted).to_list())
        _take_solutions(ends, plan, counts, solutions, is_unlisted.to_numpy())
    # Where more people are possible than the candidates, only margins say how many at most. Where
    # nothing bounds them, every number above a solution's is that of another one.
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
    return cells.names(plan, counts, system).filter(kept), proven


def _components(counts: PartitionCounts, solved: BatchSolution) -> Iterator[tuple[str, Component]]:
    """What propagation leaves open, with the region's geoid."""
    system = solved.system
    regions = system.regions[system.candidates.unit]
    for component in split_components(system.rows, solved.bounds, regions, pack=_PACK):
        yield counts.region_geoids[int(regions[component.columns[0]])], component


def _take_solutions(
    ends: SummedEnds,
    plan: Plan,
    counts: PartitionCounts,
    solutions: Sequence[BatchSolution],
    of_cells: BoolArray,
) -> None:
    """What whole solutions have, of some cells."""
    values = []
    for each in solutions:
        system = replace(each.system, candidates=each.cells)
        values.append(IntervalCells.of(plan, counts, system).coefficients @ each.people)
    lacks_people = any(each.undecided.any() for each in solutions)
    known = np.stack(values[:1] if lacks_people else values)
    ends.least = np.where(of_cells, known.min(axis=0), ends.least)
    ends.greatest = np.where(of_cells, known.max(axis=0), ends.greatest)


def _or_open(ends: IntArray) -> pl.Series:
    """Null where nothing bounds from above."""
    return pl.Series(ends).set(pl.Series(ends >= OPEN), None)
