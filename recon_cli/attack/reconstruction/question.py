"""Which records have the published counts? The question of `recon reconstruct`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import polars as pl

from recon_cli import verification
from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.question import Answer, Question, RegionData, missing_units
from recon_cli.attack.reconstruction.partition import Objective, Reconstruction, reconstruct_plan
from recon_cli.coverage import Coverage
from recon_cli.errors import VerificationError
from recon_cli.frames import is_place
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class ReconstructionQuestion(Question):
    """Which records have the published counts, and are there others?

    Attributes:
        seed: Which of several solutions.
        objective: Which kind of solution.
        verify: Whether every published cell is counted again on the records.
    """

    plan: Plan
    seed: int
    objective: Objective | None
    verify: bool

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        seed: int,
        objective: Objective | None,
        *,
        is_exact: bool,
        verify: bool,
    ) -> Self:
        """For some tables."""
        make = make_plan if is_exact else make_interval_plan
        return cls(make(release, tables, coverage), seed, objective, verify)

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Rows of ``microdata/`` and ``blocks/``.

        Raises:
            VerificationError: The records do not reproduce a published count.
        """
        result = reconstruct_plan(
            self.plan,
            part.published,
            seed=self.seed,
            objective=self.objective,
            on_progress=on_progress,
            quarantine=quarantine,
        )
        verified = self._verified(part, result) if self.verify else {"cells_compared": 0}
        blocks = result.blocks
        place = self.release.geoid_column
        places = blocks.filter(is_place(place))
        unlisted = blocks.height - places.height
        placed = result.microdata[place].unique().implode()
        inhabited = places.filter((pl.col("population") > 0) | pl.col(place).is_in(placed))
        unique = places.filter(pl.col("status") == "unique")
        methods = blocks["method"].value_counts().iter_rows()
        return Answer(
            {"microdata": result.microdata, "blocks": blocks},
            statuses=dict(places["status"].value_counts().iter_rows()),
            totals={
                "units": places.height,
                **({"unlisted": unlisted} if unlisted else {}),
                "inhabited": inhabited.height,
                "unique": inhabited.filter(pl.col("status") == "unique").height,
                "people": result.microdata.height,
                "certain": int(result.microdata["certain"].sum()),
                "people_in_unique": int(unique["population"].sum()),
                "uncounted": blocks["population"].null_count(),
                "candidates": int(blocks["candidates"].sum()),
                "free": int(blocks["free"].sum()),
                **verified,
                **{f"by_{method}": count for method, count in methods},
            },
        )

    def _verified(self, part: RegionData, result: Reconstruction) -> dict[str, int]:
        """Totals of the published cells compared: all but those of regions not wholly solved."""
        release, published = self.release, part.published
        gone = release.region.enclosing(missing_units(result.blocks)).unique().implode()
        region = release.region.enclosing(pl.col("geoid"))
        kept = replace(
            published,
            geounits=published.geounits.filter(~region.is_in(gone)),
            counts=published.counts.filter(~region.is_in(gone)),
        )
        of_region = release.region.enclosing(pl.col(release.geoid_column))
        records = result.microdata.filter(~of_region.is_in(gone))
        found = verification.verify(release, kept, records, self.plan.tables)
        try:
            found.require()
        except VerificationError as error:
            level = release.geography.partition
            raise VerificationError(f"{level} {part.partition}: {error}") from error
        return {
            "cells_compared": found.cells_compared,
            "cells_within": found.cells_within,
            "cells_unbounded": found.cells_unbounded,
        }
