"""What is true of people in every solution? The question of `recon claims`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from recon_cli.attack.claims.columns import claim_columns
from recon_cli.attack.claims.foundations import TABLES
from recon_cli.attack.claims.partition import ClaimPlans, find_with_plans, make_claim_plans
from recon_cli.attack.claims.surprise import count_records, with_surprise
from recon_cli.attack.excluded_units import Quarantine
from recon_cli.attack.options import ClaimOptions
from recon_cli.attack.question import Answer, Question, RegionData
from recon_cli.coverage import Coverage
from recon_cli.frames import is_place
from recon_cli.plurals import plural
from recon_cli.progress import OnProgress
from recon_cli.schema import Release, Table

#: Columns → all reconstructed records with these, part by part.
ReadRecords = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class ClaimsQuestion(Question):
    """What is true in every solution of people with some values, on any of their columns?

    Attributes:
        plans: What claims are verified under.
        options: What to verify.
        everybody: All records, counted by the columns of claims.
        laws: By which the counts were published, in words; none where all are exact.
    """

    plans: ClaimPlans
    options: ClaimOptions
    everybody: pl.DataFrame
    laws: tuple[str, ...]

    @classmethod
    def of(
        cls,
        release: Release,
        tables: Sequence[Table],
        coverage: Coverage,
        options: ClaimOptions,
        *,
        read_records: ReadRecords,
        laws: tuple[str, ...],
        is_exact: bool,
    ) -> Self:
        """For some tables."""
        plans = make_claim_plans(release, tables, coverage, is_exact=is_exact)
        columns = claim_columns(release, tables, coverage)
        everybody = _count_everybody(release, read_records, columns)
        return cls(plans, options, everybody, laws)

    @staticmethod
    def decides(release: Release) -> str:
        """Units."""
        return plural(release.geography.unit.name).replace("_", " ")

    @property
    def release(self) -> Release:
        """The schema, with the structural zeros that may be assumed."""
        return self.plans.assuming.release

    @property
    def notes(self) -> Mapping[str, Any]:
        """The laws."""
        return {"laws": list(self.laws)}

    def ask(self, part: RegionData, on_progress: OnProgress, quarantine: Quarantine) -> Answer:
        """Rows of ``claims/``, ``claim_units/`` and ``disclosures/``."""
        verified = find_with_plans(self.plans, part, self.options, on_progress, quarantine)
        release, units = self.release, verified.units
        here = count_records(release, part.records, verified.columns)
        claims = with_surprise(release, verified.claims, units, here, self.everybody)
        law = "; ".join(self.laws) or None
        some = claims.filter(pl.col("count") > 0)
        absent = {"absent": claims.height - some.height} if self.options.absent else {}
        places = units.filter(is_place(release.geoid_column))
        return Answer(
            {
                "claims": claims.with_columns(law=pl.lit(law, dtype=pl.String)),
                "claim_units": units,
                "disclosures": verified.disclosures,
            },
            statuses=dict(places["status"].value_counts().iter_rows()),
            totals={
                "units": places.height,
                "open": units.filter(pl.col("status") == "open").height,
                "people": int(units["population"].sum()),
                "claims": some.height,
                "exact_claims": int(units["exact_claims"].sum()),
                "maximal": int(claims["maximal"].sum()),
                "singletons": int(claims["singleton"].sum()),
                "on_tables_alone": int((some["rests_on"] == TABLES).sum()),
                "undecided": int(units["undecided"].sum()),
                **absent,
            },
        )


def _count_everybody(
    release: Release, read_records: ReadRecords, columns: Sequence[str]
) -> pl.DataFrame:
    """All reconstructed records by the columns of claims, whatever their unit."""
    wanted = [release.geoid_column, *(feature.name for feature in release.features)]
    nowhere = pl.lit("").alias(release.geoid_column)
    everybody = pl.concat(
        count_records(release, records, columns)
        .group_by(nowhere, *columns)
        .agg(pl.col("records").sum())
        for records in read_records(wanted)
    )
    return everybody.group_by(release.geoid_column, *columns).agg(pl.col("records").sum())
