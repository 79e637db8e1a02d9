"""A publication attacked without some of its parts, one set of them after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from recon_cli.attack.claims.columns import claim_columns, require_columns
from recon_cli.attack.contributions.measures import Proven
from recon_cli.attack.contributions.parts import Part, PartKind, parts_of, restrict, without
from recon_cli.attack.contributions.proven import Attack
from recon_cli.attack.contributions.ranking import LeftOut, attacks_needed, rank_contributions
from recon_cli.attack.contributions.shapley import draw_orders
from recon_cli.attack.options import ClaimOptions
from recon_cli.publication import Coverage, Publication
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
