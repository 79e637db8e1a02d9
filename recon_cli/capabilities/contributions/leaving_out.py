"""Attacks on a publication without some of its parts, one set of parts after the other.

The value of a set of parts is what an attack on it proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import polars as pl

from recon_cli.ask.question import RegionData
from recon_cli.capabilities.claims.groups import claim_columns, require_columns
from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.claims.question import ClaimPlans
from recon_cli.capabilities.contributions.parts import (
    Part,
    PartKind,
    parts_of,
    restrict,
    statistics_without,
    without,
    without_statistics,
)
from recon_cli.capabilities.contributions.ranking import (
    LeftOut,
    Proven,
    attacks_needed,
    draw_orders,
    rank_contributions,
)
from recon_cli.capabilities.reconstruct.question import plan_for, reconstruct_plan
from recon_cli.coverage import Coverage
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator


@dataclass(frozen=True)
class LeavingOut:
    """The parts to leave out of a publication, and how to attack the rest.

    Attributes:
        tables: Tables of the whole publication.
        columns: Columns of a whole record.
        parts: Each is left out alone.
        sets: Name → parts that are left out together.
        orders: Orders in which parts join, for Shapley values.
    """

    release: Release
    tables: tuple[Table, ...]
    coverage: Coverage
    columns: tuple[str, ...]
    options: Claims
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
        options: Claims,
        *,
        is_exact: bool,
        kind: PartKind,
        sets: Mapping[str, Sequence[str]],
        orders: int,
    ) -> Self:
        """Prepare each part of a kind, each named set of tables, and each sampled coalition."""
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
            draw_orders(parts, orders, generator(options.fixed_seed, "contributions")),
        )

    @property
    def needed(self) -> list[LeftOut]:
        """List the sets to leave out, each once."""
        return attacks_needed(self.parts, self.sets, self.orders)

    def attack(self, left_out: LeftOut, published: Iterable[Publication]) -> Proven:
        """Attack the rest of all partitions, and count what is proven."""
        rest = without(self.release, self.tables, self.coverage, left_out)
        left = (
            without_statistics(self.release, restrict(partition, rest), left_out)
            for partition in published
        )
        release = replace(self.release, statistics=statistics_without(self.release, left_out))
        return prove(release, rest, left, self.columns, self.options, is_exact=self.is_exact)

    def ranked(self, proven: Sequence[Proven]) -> pl.DataFrame:
        """Rank the parts: columns of `recon_cli.capabilities.contributions.ranking.CONTRIBUTIONS`.

        Args:
            proven: Result for each of `needed`.
        """
        found = dict(zip(self.needed, proven, strict=True))
        return rank_contributions(self.parts, self.sets, self.orders, found)


def prove(
    release: Release,
    coverage: Coverage,
    published: Iterable[Publication],
    columns: tuple[str, ...],
    options: Claims,
    *,
    is_exact: bool,
) -> Proven:
    """Count what reconstruction and claims prove about some partitions together.

    Args:
        columns: Columns of a whole record in the whole publication.

    Raises:
        ContradictionError: No records have the counts.
    """
    tables, total = published_tables(release, coverage), Proven()
    if not claim_columns(release, tables, coverage):  # nothing but numbers of people
        return total
    plan = plan_for(release, tables, coverage, is_exact=is_exact)
    plans = ClaimPlans.of(release, tables, coverage, is_exact=is_exact)
    for part in published:
        made = reconstruct_plan(plan, part, seed=options.fixed_seed)
        found = plans.find(RegionData(part, made.microdata), options)
        whole = found.claims.filter((pl.col("k") == len(columns)) & (found.columns == columns))
        of_all_columns = found.disclosures.filter(pl.col("known") == pl.col("known").max())
        total += Proven(
            certain=int(whole["count"].sum()),
            disclosed=int(of_all_columns["attribute"].sum()),
            claims=found.claims.height,
        )
    return total


def published_tables(release: Release, coverage: Coverage) -> tuple[Table, ...]:
    """Return the tables that are published, at least in part."""
    names = {name for pattern in coverage for name in pattern.cells}
    return tuple(table for table in release.tables if table.name in names)
