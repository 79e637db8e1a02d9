"""What an attack proves of a publication: the worth of a set of its parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from recon_cli.attack.claims.columns import claim_columns
from recon_cli.attack.claims.partition import (
    ClaimPlans,
    VerifiedClaims,
    find_with_plans,
    make_claim_plans,
)
from recon_cli.attack.contributions.measures import Proven
from recon_cli.attack.options import ClaimOptions
from recon_cli.attack.question import RegionData
from recon_cli.attack.reconstruction.partition import reconstruct_plan
from recon_cli.model.interval_plan import make_interval_plan
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_plan
from recon_cli.publication import Coverage, Publication
from recon_cli.schema import Release, Table


@dataclass(frozen=True)
class Attack:
    """Reconstruction and claims under one coverage, ready for any partition.

    Attributes:
        claims: Those of claims.
        columns: The columns of a whole record.
        options: How to verify.
    """

    reconstruction: Plan
    claims: ClaimPlans
    columns: tuple[str, ...]
    options: ClaimOptions

    @classmethod
    def of(
        cls,
        release: Release,
        coverage: Coverage,
        columns: tuple[str, ...],
        options: ClaimOptions,
        *,
        is_exact: bool,
    ) -> Attack | None:
        """The attack; None where nothing but numbers of people is published.

        Args:
            columns: Of a whole record: those of the whole publication.
            options: How to verify.
            is_exact: Whether the counts are.
        """
        tables = published_tables(release, coverage)
        if not claim_columns(release, tables, coverage):
            return None
        make = make_plan if is_exact else make_interval_plan
        return cls(
            make(release, tables, coverage),
            make_claim_plans(release, tables, coverage, is_exact=is_exact),
            columns,
            options,
        )

    def run(self, published: Iterable[Publication]) -> Proven:
        """What is proven of some partitions together.

        Raises:
            ContradictionError: No records have the counts.
        """
        total = Proven()
        for part in published:
            made = reconstruct_plan(self.reconstruction, part, seed=self.options.seed)
            verified = find_with_plans(self.claims, RegionData(part, made.microdata), self.options)
            total += self._sums(verified)
        return total

    def _sums(self, verified: VerifiedClaims) -> Proven:
        whole = verified.columns == self.columns
        records = verified.claims.filter(pl.col("k") == len(self.columns))["count"].sum()
        disclosed = verified.disclosures.filter(pl.col("known") == pl.col("known").max())[
            "attribute"
        ].sum()
        return Proven(
            certain=int(records) if whole else 0,
            disclosed=int(disclosed),
            claims=verified.claims.height,
        )


def published_tables(release: Release, coverage: Coverage) -> tuple[Table, ...]:
    """The tables of which something is published."""
    names = {name for pattern in coverage for name in pattern.cells}
    return tuple(table for table in release.tables if table.name in names)
