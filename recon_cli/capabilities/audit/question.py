"""The question of `recon audit`: what other counts reveal about each protected one.

For every suppressed, rounded or omitted cell it computes the feasibility interval, the least and
greatest count over all solutions, from all tables and levels at once: Eq. (ends).

See *audit* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Self

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import (
    Answer,
    Checkpoint,
    KeptSearch,
    PlannedQuestion,
    RegionData,
    count_statuses,
)
from recon_cli.capabilities.audit.cells import CountEnds, EndsSoFar, OnEnds, StatedCounts
from recon_cli.capabilities.audit.clique_ends import AskedEnds, clique_ends
from recon_cli.capabilities.audit.joint_ends import joint_ends
from recon_cli.capabilities.audit.left_out import (
    coverage_with_left_out,
    left_out_counts,
    with_left_out,
)
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.statuses import (
    OF_NO_INTEREST,
    RECOVERED,
    AuditProgress,
    Withheld,
    statuses,
)
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.reconstruct.question import plan_for
from recon_cli.capabilities.reconstruct.solution import BatchSolution, solve_system
from recon_cli.coverage import Coverage
from recon_cli.errors import ContradictionError
from recon_cli.frames import OPEN, is_place
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, plan_of_units
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.model.system import (
    MOST_CANDIDATES,
    System,
    build_system,
    build_systems,
    whole_regions_of,
)
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: A row per cell that is published as an interval: the interval that its statement proves (``high``
#: null: open), and the least and greatest count of any solution (null: no bound is known), with
#: the ``width`` between them. ``is_exact``: solutions reach both. ``suppression``: which kind of
#: suppressed count it is, see `recon_cli.capabilities.audit.statuses`; null of others. ``required``
#: is its safety range, ``status`` one of `recon_cli.capabilities.audit.statuses.STATUSES`.
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
#: Where statistics are printed beside counts: the same range by counts alone, which is null where
#: no bound is known.
WITHOUT: Final = pl.Schema({"least_without": pl.Int32, "greatest_without": pl.Int32})
_KEY = ["geoid", "table", "cell"]
#: Units of a batch where statistics are printed, whose histogram cells are all listed.
_FEW: Final = 16
#: Share of a region's budget for solutions that print the same medians.
_SHARE: Final = 0.1


@dataclass(frozen=True)
class Asked:
    """The counts that an audit is about.

    Attributes:
        among: Columns ``geoid, table, cell``: only these; None for all.
        with_ends: Whether their intervals are; else, which is quicker, only which are recovered.
        sizes: Least and greatest count that matters: of those among which a solution is known with
            another one nothing more is computed. None for any.
    """

    among: pl.DataFrame | None = None
    with_ends: bool = True
    sizes: tuple[int, int] | None = None


EVERY_COUNT: Final = Asked()


def audit_counts(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    options: Audit,
    asked: Asked = EVERY_COUNT,
) -> pl.DataFrame:
    """Compute feasibility intervals of the cells that are omitted or not published exactly.

    Returns:
        Columns of `AUDIT`; nothing where all counts are exact and none is left out.

    Raises:
        ContradictionError: Nobody has these counts; names the cells.
    """
    question = AuditQuestion.of(release, tables, published.coverage, options, asked)
    part = RegionData(published)
    question.count_unsolved(part)
    return question.compared(part, question.audited(part))


@dataclass(frozen=True)
class _Partition:
    """One partition and the options of its audit."""

    plan: Plan
    published: Publication
    counts: PartitionCounts
    options: Audit
    asked: Asked
    quarantine: Quarantine
    checkpoint: Checkpoint

    @cached_property
    def form(self) -> CliqueForm | None:
        """Return the clique form, if it is small and no solver died on the region before."""
        form = CliqueForm.of(self.plan)
        return form if form.is_narrow and not self.quarantine.is_active else None

    def audit_empty_places(self) -> Iterator[pl.DataFrame]:
        """Yield the counts of places without any unit: nobody lives there, so each is 0.

        Exact zeros of the units may prove this although a place's own counts are perturbed.
        """
        plan, counts = self.plan, self.counts
        yield AUDIT.to_frame()
        for pattern in plan.patterns:
            if counts.intervals is None or pattern.level == plan.release.geography.unit.name:
                continue
            places = np.flatnonzero(counts.pattern == pattern.pattern)
            empty = np.setdiff1d(places, counts.parent[pattern.level])
            if not len(empty):
                continue
            low, high = counts.intervals.of(empty)
            withheld = counts.intervals.is_withheld(empty)
            for table, number in pattern.margins.columns:
                cell = plan.columns[table, number]
                is_open = withheld[:, cell]
                names = pl.DataFrame({"geoid": counts.geoids.gather(empty[is_open])}).select(
                    "geoid",
                    level=pl.lit(pattern.level),
                    table=pl.lit(table),
                    cell=pl.lit(number, dtype=pl.Int16),
                )
                zero = np.zeros(names.height, dtype=np.int64)
                ends = CountEnds(low[is_open, cell], high[is_open, cell], zero, zero, zero, zero)
                yield self._rated(names, ends)

    def audited(self, number: int, batch: slice, progress: AuditProgress) -> pl.DataFrame:
        """Audit a batch of whole regions; after a stop, return its last checkpoint."""
        checkpoint, name = self.checkpoint, _batch(number)
        found = checkpoint.finished(name)
        if found is None and checkpoint.is_over:
            found = checkpoint.so_far(name)
            return pl.concat(self._stated(batch)) if found is None else found
        if found is None:
            found = pl.concat([AUDIT.to_frame(), *self.audit(number, batch, progress)])
            checkpoint.finish(name, found)
        return found

    def _stated(self, batch: slice) -> Iterator[pl.DataFrame]:
        """Yield the counts of a batch with their published bounds."""
        yield AUDIT.to_frame()
        for pattern in self.plan.patterns:
            geounits, _ = self.counts.geounits_of(pattern.level, pattern.pattern, batch)
            if not len(geounits):
                continue
            stated = StatedCounts.of(self.plan, self.counts, pattern, geounits)
            low, high = stated.low, stated.high
            yield self._rated(stated.names, CountEnds(low, high, low, high, low, low))

    def audit(self, number: int, batch: slice, progress: AuditProgress) -> Iterator[pl.DataFrame]:
        """Audit some whole regions: by clique tables, or by their joint histograms."""
        if self.form is not None:
            options, counts = self.options, self.counts
            for region in np.unique(counts.region[batch]):
                name = counts.region_geoids[int(region)]
                self.quarantine.announce(name, name)
            found = clique_ends(
                self.form,
                counts,
                batch,
                seed=options.fixed_seed,
                effort=options.region_seconds,
                follow=partial(self._keep, number, progress),
                searches=partial(self._search, number),
                among=self.asked.among,
                with_ends=self.asked.with_ends,
                sizes=self.asked.sizes,
            )
            if found is not None:
                names, ends, is_left = found
                left = pl.Series(is_left) & pl.Series(ends.lower < ends.upper)
                status = pl.when(left).then(pl.lit(OF_NO_INTEREST)).otherwise("status")
                yield self._rated(names, ends).with_columns(status=status)
                return
        yield from self._audit_jointly(batch, progress)

    def _follow(self, progress: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Return a callback that reports counts as they are decided."""
        withheld = Withheld.of(self.published, asked.names, asked.low, asked.high)
        required = self._required(withheld)
        is_unit = pl.col("level") == self.plan.release.geography.unit.name
        units = asked.names.select(pl.when(is_unit).then("geoid")).to_series()
        return progress.of(units, required, asked.is_settled)

    def _keep(self, number: int, progress: AuditProgress, asked: AskedEnds) -> OnEnds:
        """Return a callback that reports counts as they are decided, and checkpoints them."""
        hear = self._follow(progress, asked)

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
        """Return the checkpoint of one part of a batch."""
        return KeptSearch(self.checkpoint, f"search-{number:05d}-{part:05d}")

    def _required(self, withheld: Withheld) -> IntArray:
        """Return the safety range of each count."""
        if self.options.safety is None:
            return withheld.safety_ranges
        return np.full(len(withheld.low), self.options.safety, dtype=np.int64)

    def _audit_jointly(self, batch: slice, progress: AuditProgress) -> Iterator[pl.DataFrame]:
        can_be_exact = self._can_be_exact
        exactly = self.counts.exactly if can_be_exact else self.counts
        system = build_system(self.plan, exactly, batch, must_list=False)
        if not system.strata:
            return
        joined = system.joined
        if joined is None or (joined.is_exact and not len(joined.choices)):
            yield self._rated(*self.within(batch, system, progress))
            return
        found = None
        if can_be_exact and joined.is_exact and not joined.has_many_choices:
            # Which texts contradict the counts, rows without choices tell.
            with suppress(ContradictionError):
                found = replace(self, counts=exactly).within(batch, system, progress)
        if found is None:
            if can_be_exact:
                system = build_system(self.plan, self.counts, batch, must_list=False)
            found = self._between(batch, system, progress)
        yield self._rated(*found)

    @property
    def _can_be_exact(self) -> bool:
        """Report whether rows may say all that is printed.

        They do not of quantiles, nor of medians of which it is not declared how they are defined.
        """
        texts = self.counts.statistics
        if texts is None:
            return True
        tables = self.plan.release.statistic_by_name
        found = (statistic_of(tables[name]) for name in texts.frame["table"].unique())
        return all(
            of.kind != "quantile" and (of.kind != "median" or of.definition != "any")
            for of in found
        )

    def within(
        self, batch: slice, system: System, progress: AuditProgress
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds where people who meet all rows print the same."""
        # Candidates that are not listed leave nothing but solutions and margins.
        kinds = (False,) if system.is_listed.all() else (False, True)
        names, ends = self.ends_of(self.solved(system, kinds), progress)
        if self.units_alone is not None and not system.is_listed.all():
            ends = self.units_alone.narrowed(batch, names, ends, progress)
        return names, ends

    def solved(
        self, system: System, kinds: Sequence[bool], people: IntArray | None = None
    ) -> list[BatchSolution]:
        """Return one solution of each kind: likely or any.

        Args:
            people: People of each candidate who may be a solution.
        """
        known = None if people is None or system.joined is None else system.joined.encoded(people)
        return [
            solve_system(
                self.plan,
                self.published,
                self.counts,
                system,
                seed=self.options.fixed_seed,
                quarantine=self.quarantine,
                is_likely=is_likely,
                known=known,
            )
            for is_likely in kinds
        ]

    def ends_of(
        self,
        solved: Sequence[BatchSolution],
        progress: AuditProgress,
        left: pl.DataFrame | None = None,
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds, from some solutions.

        Args:
            left: The counts whose ends are wanted; default all that are asked about.
        """
        plan, counts, options = self.plan, self.counts, self.options
        watched = self.quarantine.of_batch(counts, solved[0].system)
        follow = partial(self._follow, progress)
        among = self.asked.among if left is None else left
        return joint_ends(
            plan,
            counts,
            solved,
            options,
            watched,
            among=among,
            follow=follow,
            with_ends=left is not None or self.asked.with_ends,
        )

    def _between(
        self, batch: slice, system: System, progress: AuditProgress
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds where rows only hold for people who print the same.

        These rows prove bounds; solutions are those of rows that are enough for every text.
        """
        names, ends = self.ends_of(self.solved(system, (False,)), progress)
        ends = replace(ends, least=ends.upper, greatest=ends.lower)
        people: IntArray | None = None
        for chosen in self.counts.attempts():
            is_open = (ends.least > ends.lower) | (ends.greatest < ends.upper)
            if not is_open.any():
                break
            ends, people = self._seen(batch, chosen, (names, ends), progress, people)
        # A count of which no solution is known may be any.
        is_seen = ends.least <= ends.greatest
        least = np.where(is_seen, ends.least, ends.lower)
        return names, replace(ends, least=least, greatest=np.where(is_seen, ends.greatest, least))

    def _seen(
        self,
        batch: slice,
        chosen: PartitionCounts,
        so_far: tuple[pl.DataFrame, CountEnds],
        progress: AuditProgress,
        people: IntArray | None,
    ) -> tuple[CountEnds, IntArray | None]:
        """Widen what is seen by solutions of rows that are enough for every text.

        Args:
            people: A solution of such rows, if one is known.

        Returns:
            The bounds, and a solution.
        """
        names, ends = so_far
        left = np.flatnonzero((ends.least > ends.lower) | (ends.greatest < ends.upper))
        try:
            within = build_system(self.plan, chosen, batch, must_list=False)
            if within.joined is None or within.joined.has_many_choices:
                return ends, people
            budget = {"region_seconds": self.options.region_seconds * _SHARE}
            less = self.options.model_copy(update=budget)
            own = replace(self, counts=chosen, options=less)
            solved = own.solved(within, (False,), people)
            found, seen = own.ends_of(solved, progress, names[left].select(_KEY))
        except ContradictionError:
            return ends, people
        if found.height < len(left):
            return ends, people
        if not solved[0].unsolved.any():
            people = solved[0].people
        least, greatest = ends.least.copy(), ends.greatest.copy()
        least[left] = np.minimum(least[left], seen.least)
        greatest[left] = np.maximum(greatest[left], seen.greatest)
        ends = replace(ends, least=least, greatest=greatest)
        if not within.joined.is_exact:
            return ends, people
        lower, upper = ends.lower.copy(), ends.upper.copy()
        lower[left] = np.maximum(lower[left], seen.lower)
        upper[left] = np.minimum(upper[left], seen.upper)
        return replace(ends, lower=lower, upper=upper), people

    @cached_property
    def units_alone(self) -> _Partition | None:
        """Return the audit by the units' own tables; None if that proves no more."""
        own = plan_of_units(self.plan, self.published.coverage)
        if own is None:
            return None
        counts = arrange_counts(own, self.published, joins_statistics=True)
        return replace(self, plan=own, counts=counts)

    def narrowed(
        self, batch: slice, names: pl.DataFrame, ends: CountEnds, progress: AuditProgress
    ) -> CountEnds:
        """Tighten bounds by what these tables prove of some whole regions.

        A further count never invalidates a proof; but it may make candidates too many to list.
        """
        system = build_system(self.plan, self.counts, batch, must_list=False)
        if not system.is_listed.any():
            return ends
        known, own = self.ends_of(self.solved(system, (False,)), progress)
        proven = names.select(_KEY).join(
            known.select(_KEY).with_columns(lower=pl.Series(own.lower), upper=pl.Series(own.upper)),
            on=_KEY,
            how="left",
            maintain_order="left",
        )
        return replace(
            ends,
            lower=np.maximum(ends.lower, proven["lower"].fill_null(0).to_numpy()),
            upper=np.minimum(ends.upper, proven["upper"].fill_null(OPEN).to_numpy()),
        )

    def _rated(self, names: pl.DataFrame, ends: CountEnds) -> pl.DataFrame:
        """Return the columns of `AUDIT`."""
        withheld = Withheld.of(self.published, names, ends.low, ends.high)
        required = self._required(withheld)
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


def by_statistics(audited: pl.DataFrame) -> int:
    """Count the recovered counts that counts alone do not recover."""
    least, greatest = pl.col("least_without"), pl.col("greatest_without")
    known = least.is_null() | (least == greatest).fill_null(value=False)
    return audited.filter(pl.col("status") == RECOVERED, ~known).height


def _batches(plan: Plan, counts: PartitionCounts) -> Iterator[slice]:
    """Yield batches of whole regions: of a few units where every value of a feature is listed."""
    if counts.statistics is None:
        return whole_regions_of(counts)
    listed = MOST_CANDIDATES // max(math.prod(plan.grain.sizes), 1)
    return whole_regions_of(counts, max(min(_FEW, listed), 1))


def _or_open(ends: IntArray) -> pl.Series:
    """Convert upper bounds to a column with null for unbounded."""
    return pl.Series(ends).set(pl.Series(ends >= OPEN), None)


@dataclass(frozen=True)
class AuditQuestion(PlannedQuestion):
    """The question of the range of each count that is not published exactly."""

    options: Audit
    coverage: Coverage
    asked: Asked = EVERY_COUNT
    alone: AuditQuestion | None = None

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: Audit,
        asked: Asked = EVERY_COUNT,
    ) -> Self:
        """Prepare for some tables, with a plan for all cells, omitted ones included."""
        whole = coverage_with_left_out(release, coverage, dict.fromkeys(options.ask, tables))
        plan = make_interval_plan(release, tables, whole)
        if not release.statistics:
            return cls(plan, options, coverage, asked)
        counts_alone = replace(release, statistics=())
        alone = cls.of(counts_alone, tables, coverage, options, asked)
        return cls(plan, options, coverage, asked, alone)

    @staticmethod
    def decides(release: Release) -> str:  # noqa: ARG004
        """Return the noun: counts."""
        return "counts"

    @cached_property
    def _exact_plan(self) -> Plan:
        """Return a plan for partitions without withheld counts."""
        return plan_for(self.release, self.plan.tables, self.coverage, is_exact=True)

    def count_unsolved(self, part: RegionData, quarantine: Quarantine = NO_QUARANTINE) -> int:
        """Solve the regions of a part without withheld counts, which `audited` skips.

        Returns:
            Number of its units in regions that no solver decided: whether the tables
            contradict each other there nobody knows.

        Raises:
            ContradictionError: Nobody has these counts; names the cells.
        """
        asked = dict.fromkeys(self.options.ask, self.plan.tables)
        if not with_left_out(self.release, part.published, asked).is_exact:
            return 0
        plan, seed = self._exact_plan, self.options.fixed_seed
        counts, unsolved = arrange_counts(plan, part.published), 0
        for system in build_systems(plan, counts):
            solved = solve_system(
                plan, part.published, counts, system, seed=seed, quarantine=quarantine
            )
            unsolved += int(solved.unsolved.sum())
        return unsolved

    def audited(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> pl.DataFrame:
        """Audit a part as `audit_counts`; cells of regions in ``quarantine`` stay undecided."""
        asked = dict.fromkeys(self.options.ask, self.plan.tables)
        published = with_left_out(self.release, part.published, asked)
        if published.is_exact:
            return AUDIT.to_frame()
        counts = arrange_counts(self.plan, published, joins_statistics=True)
        among = self.asked.among
        partition = _Partition(
            self.plan, published, counts, self.options, self.asked, quarantine, part.checkpoint
        )
        frames = list(partition.audit_empty_places())
        for number, batch in enumerate(_batches(self.plan, counts)):
            progress = AuditProgress(on_progress, batch.stop - batch.start)
            frames.append(partition.audited(number, batch, progress))
            progress.finish(frames[-1]["status"])
        rows = pl.concat(frames)
        if among is not None:
            rows = rows.join(among, on=_KEY, how="semi")
        return rows.sort(_KEY, maintain_order=True)

    def compared(self, part: RegionData, audited: pl.DataFrame) -> pl.DataFrame:
        """Add the columns of `WITHOUT`: what counts alone prove, where statistics are printed."""
        if self.alone is None:
            return audited
        if part.checkpoint.is_over:  # nothing more is computed
            return audited.with_columns(pl.lit(None, kind).alias(n) for n, kind in WITHOUT.items())
        counts_alone = replace(part, checkpoint=Checkpoint())
        before = self.alone.audited(counts_alone, ignore_progress).select(
            *_KEY, least_without="least", greatest_without="greatest"
        )
        return audited.join(before, on=_KEY, how="left", maintain_order="left")

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        release, given = self.release, part.published
        left_out = left_out_counts(given, coverage_with_left_out(release, given.coverage))
        unsolved = self.count_unsolved(part, quarantine)
        audited = self.compared(part, self.audited(part, on_progress, quarantine))
        units = given.geounits.filter(is_place("geoid"), level=release.geography.unit.name)
        return Answer(
            {"audit": audited},
            statuses=count_statuses(audited),
            totals={
                "units": units.height,
                "people": 0,
                "cells": audited.height,
                "exact": int(audited["is_exact"].sum()),
                "left_out": audited.join(left_out, on=_KEY, how="semi").height,
                **({"unsolved": unsolved} if unsolved else {}),
                **({"by_statistics": by_statistics(audited)} if self.alone else {}),
            },
        )
