"""The question of `recon audit`: what other counts reveal about each protected one.

For every suppressed, rounded or omitted cell it computes the feasibility interval, the least and
greatest count over all solutions, from all tables and levels at once: Eq. (ends).

See *audit* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import polars as pl

from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import Answer, Checkpoint, PlannedQuestion, RegionData, count_statuses
from recon_cli.capabilities.audit.left_out import (
    coverage_with_left_out,
    left_out_counts,
    with_left_out,
)
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.partition import AuditedPartition
from recon_cli.capabilities.audit.rows import AUDIT, EVERY_COUNT, KEY, WITHOUT, Asked, by_statistics
from recon_cli.capabilities.audit.statuses import AuditProgress
from recon_cli.capabilities.reconstruct.question import plan_for
from recon_cli.capabilities.reconstruct.solution import solve_system
from recon_cli.coverage import Coverage
from recon_cli.frames import is_place
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.model.system import MOST_CANDIDATES, build_systems, whole_regions_of
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table

#: Units of a batch if statistics are printed: all histogram cells are listed then.
_FEW: Final = 16


def audit_counts(
    release: Release,
    published: Publication,
    tables: Sequence[Table],
    options: Audit,
    asked: Asked = EVERY_COUNT,
) -> pl.DataFrame:
    """Compute feasibility intervals of the cells that are omitted or not published exactly.

    Returns:
        Columns of `AUDIT`; no row if all counts are exact and none is left out.

    Raises:
        ContradictionError: Nobody has these counts; names the cells.
    """
    question = AuditQuestion.of(release, tables, published.coverage, options, asked)
    part = RegionData(published)
    question.count_unsolved(part)
    return question.compared(part, question.audited(part))


def _batches(plan: Plan, counts: PartitionCounts) -> Iterator[slice]:
    """Yield batches of whole regions, small ones if statistics are printed."""
    if counts.statistics is None:
        return whole_regions_of(counts)
    listed = MOST_CANDIDATES // max(math.prod(plan.grain.sizes), 1)
    return whole_regions_of(counts, max(min(_FEW, listed), 1))


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
            Number of units in regions that no solver decided, where the tables may contradict
            each other.

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
        partition = AuditedPartition(
            self.plan, published, counts, self.options, self.asked, quarantine, part.checkpoint
        )
        frames = list(partition.audit_empty_places())
        for number, batch in enumerate(_batches(self.plan, counts)):
            progress = AuditProgress(on_progress, batch.stop - batch.start)
            frames.append(partition.audited(number, batch, progress))
            progress.finish(frames[-1]["status"])
        rows = pl.concat(frames)
        if among is not None:
            rows = rows.join(among, on=KEY, how="semi")
        return rows.sort(KEY, maintain_order=True)

    def compared(self, part: RegionData, audited: pl.DataFrame) -> pl.DataFrame:
        """Add the columns of `WITHOUT`, the ranges by counts alone, if statistics are printed."""
        if self.alone is None:
            return audited
        if part.checkpoint.is_over:  # nothing more is computed
            return audited.with_columns(pl.lit(None, kind).alias(n) for n, kind in WITHOUT.items())
        counts_alone = replace(part, checkpoint=Checkpoint())
        before = self.alone.audited(counts_alone, ignore_progress).select(
            *KEY, least_without="least", greatest_without="greatest"
        )
        return audited.join(before, on=KEY, how="left", maintain_order="left")

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
                "left_out": audited.join(left_out, on=KEY, how="semi").height,
                **({"unsolved": unsolved} if unsolved else {}),
                **({"by_statistics": by_statistics(audited)} if self.alone else {}),
            },
        )
