"""Audits of further stars and of rounding, which are tried on counts that may be true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.capabilities.audit.rows import Asked
from recon_cli.capabilities.audit.statuses import RECOVERED, UNDECIDED
from recon_cli.capabilities.cure.fillings import (
    CELL,
    fill,
    hides_zeros,
    protected_cells,
    stated,
    with_stars,
)
from recon_cli.capabilities.protect.counts import protect_counts
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import SuppressionOptions, suppress_counts
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.frames import COUNTS, STATEMENTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, Table
from recon_cli.statement import Protection, Statement, parse_law

_STARS: Final = pl.Schema([*COUNTS.items(), ("fillings", pl.UInt32)])


@dataclass(frozen=True)
class Found:
    """The numbers of counts that an audit leaves recovered, or undecided.

    Attributes:
        counts: Counts that are not published as they are.
        recovered: Of these, the counts that follow from the others.
        undecided: Of these, the counts that were not decided within the effort.
    """

    counts: int
    recovered: int
    undecided: int

    def __add__(self, other: Found) -> Found:
        return Found(
            self.counts + other.counts,
            self.recovered + other.recovered,
            self.undecided + other.undecided,
        )


@dataclass(frozen=True)
class Estimate:
    """The effect of further stars, and of rounding.

    Attributes:
        now: Result of the audit of the published counts.
        further: Number of further stars, by filling; empty if no count is suppressed.
        stars: The further stars of the filling that needs fewest: ``geoid, table, cell``, ``count``
            (the published one), and ``fillings``, the number of fillings that choose the star.
        left: Result of the audit of the published tables with these stars.
        rounded: Base → results of the audits of rounded counts, by filling.
    """

    now: Found
    further: tuple[int, ...]
    stars: pl.DataFrame
    left: Found
    rounded: Mapping[int, tuple[Found, ...]]

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.now + other.now,
            tuple(map(sum, zip(self.further, other.further, strict=True))),
            pl.concat([self.stars, other.stars]),
            self.left + other.left,
            {
                base: tuple(one + two for one, two in zip(found, other.rounded[base], strict=True))
                for base, found in self.rounded.items()
            },
        )


def estimate(
    release: Release,
    published: Publication,
    *,
    fillings: int = 2,
    bases: Sequence[int] = (3, 5, 10),
    seconds: float = 30.0,
) -> Estimate:
    """Estimate what would leave no count of a partition recovered.

    Args:
        fillings: Number of sets of possibly true counts, on each of which everything is tried.
        seconds: Deterministic seconds of each region, in audits and in suppression.

    Raises:
        ConfigError: All counts are published as they are, or have noise.
        ContradictionError: No records have these counts.
    """
    if published.is_exact:
        raise ConfigError(
            "recon plan cure: all counts are published as they are: there is no star to be "
            "recovered; `recon protect` protects the counts of records"
        )
    named = {name for pattern in published.coverage for name in pattern.cells}
    tables = [table for table in release.tables if table.name in named]
    cure = Cure(release, published, tables, seconds)
    truths = [cure.filling(seed) for seed in range(fillings)]
    rounded = {
        base: tuple(cure.rounded(truth, base, seed) for seed, truth in enumerate(truths))
        for base in bases
    }
    if hides_zeros(published) is None:
        now = cure.now()
        return Estimate(now, (), pl.DataFrame(schema=_STARS), now, rounded)
    tries = [cure.stars(truth, seed) for seed, truth in enumerate(truths)]
    fewest = min(tries, key=lambda each: each.height)
    every = pl.concat([each.select(CELL) for each in tries])
    often = every.group_by(CELL).agg(fillings=pl.len())
    stars = fewest.join(often, on=CELL, how="left").select(_STARS.names()).cast(_STARS)
    return Estimate(
        cure.now(), tuple(each.height for each in tries), stars, cure.with_stars(fewest), rounded
    )


class Cure:
    """Estimates of one partition.

    Args:
        published: Protected counts of the partition.
        seconds: Deterministic seconds of each region, in audits and in suppression.
    """

    def __init__(
        self, release: Release, published: Publication, tables: Sequence[Table], seconds: float
    ) -> None:
        self.release = release
        self.published = published
        self.tables = tuple(tables)
        self.options = Audit(safety=1, region_seconds=seconds)

    def now(self) -> Found:
        """Audit the counts as they are published."""
        return self._audited(self.published)

    def filling(self, seed: int) -> Publication:
        """Return counts that may be the true ones."""
        return fill(self.release, self.published, self.tables, seed)

    def stars(self, truth: Publication, seed: int) -> pl.DataFrame:
        """Choose further counts to withhold, so that for each star another set of people fits.

        Args:
            truth: Counts that may be the true ones.
            seed: Decides among choices.

        Returns:
            ``geoid, table, cell, count``.
        """
        zeros = bool(hides_zeros(self.published))
        options = SuppressionOptions(
            PrimaryRules(below=1, zeros_hidden=zeros),
            safety=1,
            seed=seed,
            effort=self.options.region_seconds,
        )
        now = protected_cells(self.published)
        chosen = suppress_counts(self.release, truth, options, tables=self.tables, sensitive=now)
        hidden = chosen.filter(pl.col("count").is_null()).join(now, on=CELL, how="anti")
        return hidden.select(*CELL, count="true")

    def with_stars(self, cells: pl.DataFrame) -> Found:
        """Audit the published counts with further counts withheld: the result is proven."""
        return self._audited(with_stars(self.release, self.published, cells.select(CELL)))

    def rounded(self, truth: Publication, base: int, seed: int) -> Found:
        """Audit counts that may be true, each rounded at random to a neighbouring multiple.

        Args:
            truth: Counts that may be the true ones.
            base: Base of which all counts become multiples.
            seed: Decides up or down.
        """
        law = parse_law({"rounded": {"base": base, "how": "random"}})
        protection = Protection((Statement(law),))
        chance = KeyedChance.for_study(seed)
        counts = protect_counts(self.release, truth, protection, chance=chance, keys="cells")
        counts = counts.filter(pl.col("count") > 0).select(*CELL, "count")
        low, high = law.intervals(counts["count"].cast(pl.Int64).to_numpy())
        rows = counts.with_columns(
            low=pl.Series(np.asarray(low)), high=pl.Series(np.asarray(high)), law=pl.lit(0)
        )
        rows = rows.select(STATEMENTS.names()).cast(STATEMENTS)
        return self._audited(stated(self.release, self.published, rows, protection))

    def _audited(self, published: Publication) -> Found:
        asked = Asked(with_ends=False)
        rows = audit_counts(self.release, published, self.tables, self.options, asked)
        status = rows["status"]
        return Found(
            rows.height, int((status == RECOVERED).sum()), int((status == UNDECIDED).sum())
        )
