"""Published counts as every stage sees them: non-zero counts, geounits, and coverage.

The columns named in capitals (`COUNTS`, …) are in `recon_cli.frames`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Protocol

import polars as pl

from recon_cli.coverage import Coverage
from recon_cli.errors import SourceError
from recon_cli.frames import look_up
from recon_cli.schema import Release
from recon_cli.statement import EXACT, Protection

#: Of a partition: its records are held in memory, some hundred bytes each.
MOST_PEOPLE: Final = 50_000_000


@dataclass(frozen=True)
class GeounitBatch:
    """Some geounits with all their counts.

    Attributes:
        geounits: Columns of `GEOUNITS`, each geounit once over all batches, zero-count ones too.
        counts: Columns of `COUNTS`, non-zero counts of those geounits; or of `STATEMENTS`.
    """

    geounits: pl.DataFrame
    counts: pl.DataFrame


def with_population(
    release: Release,
    coverage: Coverage,
    batch: GeounitBatch,
    protection: Protection = EXACT,
) -> pl.DataFrame:
    """The batch's geounits with ``population``.

    It is null where no published cell counts everybody, or the first that does proves no number.
    """
    known = pl.col("count")
    if "low" in batch.counts.columns:
        known = pl.when(pl.col("low") == pl.col("high")).then(pl.col("low"))
    patterns: dict[tuple[str, int], list[int]] = {}  # cell that counts everybody → patterns
    absent: dict[int, int] = {}  # pattern → its population if that cell has no row
    for i, pattern in enumerate(coverage):
        total = pattern.total_cell(release)
        if total is not None:
            patterns.setdefault(total, []).append(i)
            if protection.greatest_of_zero(total[0], pattern.level) == 0:
                absent[i] = 0
    no_row = pl.col("pattern").replace_strict(absent, default=None, return_dtype=pl.Int32)
    geounits = batch.geounits.with_columns(population=no_row)
    for (table, cell), numbers in patterns.items():
        is_total = (pl.col("table") == table) & (pl.col("cell") == cell)
        totals = batch.counts.filter(is_total).select("geoid", known.alias("_count"), _given=True)
        is_meant = pl.col("_given") & pl.col("pattern").is_in(numbers)
        population = pl.when(is_meant).then("_count").otherwise("population").cast(pl.Int32)
        geounits = look_up(geounits, totals).with_columns(population=population)
        geounits = geounits.drop("_count", "_given")
    return geounits.select("geoid", "level", "pattern", "population")


class Source(Protocol):
    """A published format, opened. Memory does not grow with the number of geounits."""

    @property
    def coverage(self) -> Coverage:
        """The patterns that the geounits' ``pattern`` column refers to."""

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Read on; may be called once. Who stops before the end closes it.

        Raises:
            SourceError: Names file and line, or geoid, table and cell, and what was expected.
        """


@dataclass(frozen=True)
class Publication:
    """The published counts of one partition.

    Attributes:
        geounits: Columns ``geoid, level, <region>, population, pattern``, sorted by level then
            geoid; ``<region>`` is named after the release's region level and is null above it;
            ``population`` is null where no published cell counts everybody.
        counts: Columns of `COUNTS`, or of `STATEMENTS` if the release is not exact.
        coverage: Patterns of the geounits.
        protection: By which law each count was published.
    """

    geounits: pl.DataFrame
    counts: pl.DataFrame
    coverage: Coverage
    protection: Protection = EXACT

    @property
    def is_exact(self) -> bool:
        """Whether every published count is the true one."""
        return "law" not in self.counts.columns

    def require_exact(self, work: str) -> None:
        """Refuse protected counts for work that only knows exact ones.

        Raises:
            SourceError: Some counts are suppressed, rounded or perturbed.
        """
        if not self.is_exact:
            raise SourceError(
                f"{work} needs exact counts; some of these are suppressed, rounded or perturbed"
            )

    @classmethod
    def of(
        cls,
        release: Release,
        geounits: pl.DataFrame,
        counts: pl.DataFrame,
        coverage: Coverage,
        protection: Protection = EXACT,
    ) -> Publication:
        """Put the geounits in order."""
        levels = pl.Enum([level.name for level in release.geography.levels])
        order = pl.col("level").cast(levels, strict=False), "geoid"
        return cls(geounits.sort(order, nulls_last=True), counts, coverage, protection)
