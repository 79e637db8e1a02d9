"""What do the counts tell of people who are not in them? The question of `recon leave-one-out`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import polars as pl

from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.leave_one_out.modes import gain_codes
from recon_cli.attack.leave_one_out.partition import compared_columns, leave_out_with_plan
from recon_cli.attack.leave_one_out.reference import gained_columns
from recon_cli.attack.linkage.baselines import most_frequent
from recon_cli.attack.options import LeaveOneOutOptions
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.attack.variability.partition import make_variability_plan
from recon_cli.coverage import Coverage
from recon_cli.model.plan import Plan
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class LeaveOneOutQuestion(Question):
    """What is concluded about each of some people, with them in the counts and without?

    Attributes:
        plan: The static half, of exact counts.
        options: Who is left out.
        mode: The most frequent gained value of all records.
    """

    plan: Plan
    options: LeaveOneOutOptions
    mode: int

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: LeaveOneOutOptions,
        *,
        people: int | None,
        read_records: Callable[[], Iterator[pl.DataFrame]],
    ) -> Self:
        """For some tables.

        Args:
            tables: Those in use.
            options: Who is left out; the share is that of ``people``.
            people: How many to leave out, about; None for all.
            read_records: All records that were tabulated, part by part.

        Raises:
            ConfigError: The tables tell nothing of the gains.
        """
        columns = compared_columns(release, tables, coverage, options.gains)
        gained = gained_columns(release, columns, options.gains)
        values: Counter[int] = Counter()
        within = 0
        for records in read_records():
            codes = gain_codes(release, records, gained)
            values.update(dict(codes.value_counts().iter_rows()))
            place = records[release.geoid_column]
            within += int(release.geography.inside(place, options.within).sum())
        share = 1.0 if people is None else min(1.0, people / max(within, 1))
        plan = make_variability_plan(release, tables, coverage, "exact")
        return cls(plan, replace(options, share=share), most_frequent(values))

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """The rows of ``leave_one_out/``.

        Raises:
            SourceError: The counts are not those of the records.
        """
        rows = leave_out_with_plan(
            self.plan,
            part.published,
            part.records,
            self.options,
            on_progress,
            mode=self.mode,
            quarantine=quarantine,
        )
        by_status = rows.group_by("status").agg(pl.col("people").sum())
        return Answer(
            {"leave_one_out": rows},
            statuses=dict(by_status.iter_rows()),
            totals={"records": rows.height, "people": int(rows["people"].sum())},
        )
