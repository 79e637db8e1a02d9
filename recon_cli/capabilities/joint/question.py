"""The question of `recon joint`: which records of two parts are in every joint solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import Answer, Question, RegionData
from recon_cli.capabilities.joint.divisions import (
    certain_households,
    find_divisions,
    told_divisions,
)
from recon_cli.capabilities.joint.options import Joint
from recon_cli.capabilities.joint.part import Part, PartInput, PartPlan
from recon_cli.capabilities.joint.release import JointRelease
from recon_cli.capabilities.joint.units import (
    PROVEN,
    STATUSES,
    JointCertainty,
    certain_records,
    find_certain,
)
from recon_cli.progress import OnProgress, ignore_progress
from recon_cli.schema import Release


@dataclass(frozen=True)
class JointQuestion(Question):
    """The question of which records of two parts are in every joint solution."""

    joint: JointRelease
    plans: tuple[PartPlan, ...]
    options: Joint

    @classmethod
    def of(cls, joint: JointRelease, parts: Sequence[PartInput], options: Joint) -> Self:
        plans = (PartPlan.of(joint, number, each) for number, each in enumerate(parts))
        return cls(joint, tuple(plans), options)

    @property
    def release(self) -> Release:
        return self.plans[0].plan.release

    def ask(
        self,
        part: RegionData,
        on_progress: OnProgress = ignore_progress,
        quarantine: Quarantine = NO_QUARANTINE,
    ) -> Answer:
        """Answer with rows of ``joint/``, ``joint_partner/``, ``joint_units/`` and compositions.

        Raises:
            ContradictionError: The counts of one part, or of all, contradict each other.
            ValueError: Not every part is given.
        """
        published = (part.published, *part.partners)
        if len(published) != len(self.plans):
            raise ValueError(f"partition {part.partition}: not every part is given")
        parts = [Part.of(plan, each) for plan, each in zip(self.plans, published, strict=True)]
        found = find_certain(self.joint, parts, self.options, quarantine)
        own, partner = (
            pl.concat(certain_records(each, alone, together)).sort(each.frame().columns[:1])
            for each, alone, together in zip(parts[:2], found.alone, found.together, strict=False)
        )
        divisions = find_divisions(self.joint, parts, found, self.options)
        homes, members = certain_households(parts, found.geoids, divisions)
        units = self._units(parts, found).with_columns(told_divisions(divisions))
        statuses = dict(units["status"].value_counts().iter_rows())
        on_progress(units.height, int(found.records[0].sum()), statuses)
        counted = units.select(pl.col(pl.Int32, pl.Boolean))
        return Answer(
            {
                "joint": own,
                "joint_partner": partner,
                "joint_units": units,
                "joint_compositions": homes,
                "joint_members": members,
            },
            statuses=statuses,
            totals={
                "units": units.height,
                "divisions_proven": units.filter(division=STATUSES[PROVEN]).height,
                **{name: int(counted[name].sum()) for name in counted.columns},
            },
        )

    def _units(self, parts: Sequence[Part], found: JointCertainty) -> pl.DataFrame:
        columns = [found.geoids.alias(self.release.geoid_column)]
        for side, (name, part) in enumerate(zip(self.joint.names, parts[:2], strict=False)):
            at = found.geoids.search_sorted(part.geoids).cast(pl.Int64).to_numpy()
            unit = at[part.histogram.unit]
            numbers = {
                "records": found.records[side],
                "alone": np.bincount(unit, found.alone[side], len(found.geoids)),
                "joint": np.bincount(unit, found.together[side], len(found.geoids)),
                "confirmed": np.bincount(unit, found.confirmed[side], len(found.geoids)),
            }
            columns += [
                pl.Series(f"{name}_{what}", number).cast(pl.Int32)
                for what, number in numbers.items()
            ]
        columns.append(pl.Series("status", STATUSES).gather(found.status))
        columns.append(pl.Series("seconds", found.seconds).round(6))
        return pl.DataFrame(columns)
