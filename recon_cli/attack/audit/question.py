"""What do the other counts give away of each protected one? The question of `recon audit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from recon_cli.attack.audit.left_out import (
    coverage_with_left_out,
    left_out_counts,
    with_left_out,
)
from recon_cli.attack.audit.partition import AUDIT, audit_with_plan
from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.options import AuditOptions
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.coverage import Coverage
from recon_cli.frames import is_place
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class AuditQuestion(Question):
    """Between which values do all other counts leave each one that is not published exactly?

    Attributes:
        plan: The static half, of all cells, those left out among them.
        options: What is asked.
    """

    plan: Plan
    options: AuditOptions

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: AuditOptions,
    ) -> Self:
        """For some tables."""
        asked = dict.fromkeys(options.ask, tables)
        whole = coverage_with_left_out(release, coverage, asked)
        return cls(make_interval_plan(release, tables, whole), options)

    @staticmethod
    def decides(release: Release) -> str:  # noqa: ARG004
        """Counts."""
        return "counts"

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Rows of ``audit/``."""
        release, given = self.release, part.published
        left_out = left_out_counts(given, coverage_with_left_out(release, given.coverage))
        asked = dict.fromkeys(self.options.ask, self.plan.tables)
        published = with_left_out(release, given, asked)
        audited = AUDIT.to_frame()
        if not published.is_exact:
            audited = audit_with_plan(
                self.plan,
                published,
                self.options,
                on_progress,
                quarantine,
                checkpoint=part.checkpoint,
            )
        is_unit = is_place("geoid")
        units = published.geounits.filter(is_unit, level=release.geography.unit.name)
        key = ["geoid", "table", "cell"]
        return Answer(
            {"audit": audited},
            statuses=dict(audited["status"].value_counts().iter_rows()),
            totals={
                "units": units.height,
                "people": 0,
                "cells": audited.height,
                "exact": int(audited["is_exact"].sum()),
                "left_out": audited.join(left_out, on=key, how="semi").height,
            },
        )
