"""How far can any other solution be? The question of `recon solvar`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.options import VariabilityOptions
from recon_cli.attack.question import Answer, Question, RegionData, Rows
from recon_cli.attack.variability.partition import (
    flag_certain,
    make_variability_plan,
    measure_with_plan,
)
from recon_cli.coverage import Coverage
from recon_cli.frames import is_place
from recon_cli.model.plan import Plan
from recon_cli.plurals import plural
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table
from recon_cli.score.sizes import Sizes
from recon_cli.score.variability import solvar_percentiles, variability_by_size

#: Lowest population of each size class of the result tables, as in the study's Table 7.
SIZES = Sizes((1, 10, 50, 100, 250, 500, 1000))


@dataclass(frozen=True)
class VariabilityQuestion(Question):
    """How far can any other solution be, and which records do all of them share?

    Attributes:
        options: What is measured.
    """

    plan: Plan
    options: VariabilityOptions

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: VariabilityOptions,
        *,
        is_exact: bool,
    ) -> Self:
        """For some tables."""
        plan = make_variability_plan(release, tables, coverage, options.mode, is_exact=is_exact)
        return cls(plan, options)

    @staticmethod
    def decides(release: Release) -> str:
        """Units."""
        return plural(release.geography.unit.name).replace("_", " ")

    @property
    def release(self) -> Release:
        """The schema."""
        return self.plan.release

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Rows of ``solvar/``, ``intervals/``, ``certainty/`` and ``regions/``."""
        found = measure_with_plan(self.plan, part, self.options, on_progress, quarantine)
        units = _with_uniques(self.release, found.units, part.records)
        methods = units["method"].value_counts().iter_rows()
        places = units.filter(is_place(self.release.geoid_column))
        inhabited = places.filter(pl.col("population").fill_null(1) > 0)
        zero = inhabited.filter(pl.col("solvar_upper_pct") == 0)
        return Answer(
            {
                "solvar": units,
                "intervals": found.intervals,
                "certainty": flag_certain(self.release, part.records, found),
                "regions": found.regions,
            },
            statuses=dict(places["status"].value_counts().iter_rows()),
            totals={
                "units": places.height,
                "inhabited": inhabited.height,
                "people": int(units["population"].sum()),
                "zero": zero.height,
                "people_in_zero": int(zero["population"].sum()),
                "certain": int(units["certain_records"].sum()),
                **{f"by_{method}": count for method, count in methods},
            },
        )

    @staticmethod
    def result_tables(rows: Rows, seed: int) -> Mapping[str, Mapping[str, pl.DataFrame]]:
        """Percentiles and size classes of all units; ``seed`` orders units of equal solvar."""
        units = pl.concat(rows("solvar"))
        return {
            "solvar": {
                "percentiles": solvar_percentiles(units, seed),
                "by_size": variability_by_size(units, SIZES),
            }
        }


def _with_uniques(release: Release, units: pl.DataFrame, microdata: pl.DataFrame) -> pl.DataFrame:
    """With ``uniques``: people alone in their unit on the release's binned linking key."""
    name = release.geoid_column
    if release.attack is None:
        return units.with_columns(uniques=pl.lit(None, dtype=pl.Int32))
    key = [name, *release.attack.binned]
    alone = microdata.group_by(key).len().filter(pl.col("len") == 1).group_by(name).len("uniques")
    return units.join(alone, on=name, how="left", maintain_order="left").with_columns(
        pl.col("uniques").fill_null(0).cast(pl.Int32)
    )
