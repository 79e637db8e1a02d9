"""A publication attacked without some of its parts, one set of them after the other.

What an attack proves of it is the worth of a set of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from recon_cli.attack.claims.columns import claim_columns, require_columns
from recon_cli.attack.claims.partition import (
    ClaimPlans,
    VerifiedClaims,
    find_with_plans,
    make_claim_plans,
)
from recon_cli.attack.contributions.measures import Proven
from recon_cli.attack.contributions.parts import Part, PartKind, parts_of, restrict, without
from recon_cli.attack.contributions.ranking import LeftOut, attacks_needed, rank_contributions
from recon_cli.attack.contributions.shapley import draw_orders
from recon_cli.attack.options import ClaimOptions
from recon_cli.attack.question import RegionData
from recon_cli.attack.reconstruction.partition import reconstruct_plan
from recon_cli.coverage import Coverage
from recon_cli.model.plan import Plan
from recon_cli.model.planning import make_interval_plan, make_plan
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator


@dataclass(frozen=True)
class LeavingOut:
    """What is left out of a publication, and how the rest is attacked.

    Attributes:
        tables: Those of the whole publication.
        columns: Of a whole record.
        options: How claims are verified.
        is_exact: Whether the counts are.
        parts: Each is left out alone.
        sets: Name → what is left out together.
        orders: In which parts join, for Shapley values.
    """

    release: Release
    tables: tuple[Table, ...]
    coverage: Coverage
    columns: tuple[str, ...]
    options: ClaimOptions
    is_exact: bool
    parts: tuple[Part, ...]
    sets: Mapping[str, LeftOut]
    orders: Sequence[Sequence[Part]]

    @classmethod
    def of(
        cls,
        release: Release,
        tables: tuple[Table, ...],
        coverage: Coverage,
        options: ClaimOptions,
        *,
        is_exact: bool,
        kind: PartKind,
        sets: Mapping[str, Sequence[str]],
        orders: int,
    ) -> Self:
        """Each part of a kind, each named set of tables, and each sampled coalition.

        Raises:
            ConfigError: The tables tell no column apart.
        """
        require_columns(release, tables, coverage)
        parts = parts_of(release, tables, coverage, kind)
        return cls(
            release,
            tables,
            coverage,
            claim_columns(release, tables, coverage),
            options,
            is_exact,
            parts,
            {
                name: frozenset(Part("tables", each) for each in named)
                for name, named in sets.items()
            },
            draw_orders(parts, orders, generator(options.seed, "contributions")),
        )

    @property
    def needed(self) -> list[LeftOut]:
        """What has to be left out, each set once."""
        return attacks_needed(self.parts, self.sets, self.orders)

    def attack(self, left_out: LeftOut, published: Iterable[Publication]) -> Proven:
        """What is proven of what is left of all partitions.

        Raises:
            ContradictionError: No records have the counts.
        """
        rest = without(self.release, self.tables, self.coverage, left_out)
        attack = Attack.of(self.release, rest, self.columns, self.options, is_exact=self.is_exact)
        if attack is None:
            return Proven()
        return attack.run(restrict(partition, rest) for partition in published)

    def ranked(self, proven: Sequence[Proven]) -> pl.DataFrame:
        """Columns of `recon_cli.attack.contributions.ranking.CONTRIBUTIONS`.

        Args:
            proven: Of each of `needed`.
        """
        found = dict(zip(self.needed, proven, strict=True))
        return rank_contributions(self.parts, self.sets, self.orders, found)


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
