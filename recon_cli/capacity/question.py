"""How much do the tables carry? What `recon capacity` asks of the counts of whole regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import polars as pl

from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.capacity.equations import count_equations
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.progress import OnProgress
from recon_cli.publication import Coverage
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class CapacityQuestion(Question):
    """How many equations do the tables leave after zeros, and what do they add up to?

    Attributes:
        tables: Those in use.
    """

    schema: Release
    tables: tuple[Table, ...]
    coverage: Coverage

    @classmethod
    def of(cls, release: Release, tables: Sequence[Table], coverage: Coverage) -> Self:
        """For some tables."""
        return cls(release, tuple(tables), coverage)

    @property
    def release(self) -> Release:
        """The schema."""
        return self.schema

    @cached_property
    def plans(self) -> dict[str, Plan]:
        """Tables of the finest level, of the finest two, …: what they are called → their plan."""
        found: dict[str, Plan] = {}
        names: list[str] = []
        used: set[str] = set()
        for level in self.release.geography.levels:
            tables = {t.name for t in self.tables if self.release.finest_level(t) == level}
            if tables:
                used |= tables
                names.append(level.name)
                chosen = [table for table in self.tables if table.name in used]
                found["+".join(names)] = make_plan(self.release, chosen, self.coverage)
        return found

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:  # noqa: ARG002
        """Rows of ``capacity/`` and ``capacity_sums/``; no solver is started."""
        published = part.published
        names = [table.name for table in self.tables]
        sums = (
            published.counts.filter(pl.col("table").is_in(names))
            .join(published.geounits.select("geoid", "pattern"), on="geoid")
            .group_by("pattern", "table", "cell")
            .agg(pl.col("count").sum().cast(pl.Int64))
            .sort("pattern", "table", "cell")
            .with_columns(pl.col("pattern").cast(pl.Int64), pl.col("cell").cast(pl.Int64))
        )
        equations = pl.concat(
            count_equations(plan, published, name) for name, plan in self.plans.items()
        )
        units = published.geounits.filter(level=self.release.geography.unit.name)
        people = int(units["population"].sum())
        on_progress(units.height, people)
        return Answer(
            {"capacity": equations, "capacity_sums": sums},
            totals={"units": units.height, "people": people},
        )
