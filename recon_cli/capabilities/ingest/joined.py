"""The publications of a register as one source, each read by its own schema and laws.

All geounits of all publications are held at once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.frames import COUNTS, GEOUNITS, STATEMENTS
from recon_cli.publication import GeounitBatch
from recon_cli.schema import Release
from recon_cli.schema.register import OF
from recon_cli.sources.listing import IncompleteSource
from recon_cli.statement import Protection


@dataclass(frozen=True)
class Part:
    """One publication, opened.

    Attributes:
        source: Its counts, before geounits without a row are added.
    """

    name: str
    release: Release
    source: IncompleteSource

    @property
    def protection(self) -> Protection:
        """Return the laws for its own tables; counts without a statement are exact."""
        own = tuple(table.name for table in self.release.tables)
        statements = tuple(
            replace(each, tables=tuple(f"{self.name}{OF}{name}" for name in each.tables or own))
            for each in self.source.protection.statements
        )
        return Protection(statements, self.source.protection.is_study)

    def cells(self, pattern: CoveragePattern | None) -> dict[str, tuple[int, ...]]:
        """Return the published cells of a pattern, with the tables' names in the register."""
        known = {} if pattern is None else pattern.cells
        return {f"{self.name}{OF}{table}": numbers for table, numbers in known.items()}


class JoinedSource:
    """Several publications; a geounit of one may be without any row in another.

    Args:
        release: Composed of the parts' schemas.
        parts: The parts in the order of the register.
    """

    def __init__(self, release: Release, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)
        laws = [part.protection for part in parts]
        self.protection = Protection(
            tuple(statement for each in laws for statement in each.statements),
            any(each.is_study for each in laws),
        )
        self.has_statements = any(part.source.has_statements for part in parts)
        self.left_out = tuple(each for part in parts for each in part.source.left_out)
        self.may_lack_geounits = any(part.source.may_lack_geounits for part in parts)
        levels = {level for part in parts for level in part.source.absent}
        self.absent: Mapping[str, CoveragePattern] = {
            level: self._pattern(level, [-1] * len(self._parts)) for level in sorted(levels)
        }
        counts, placed = [], []
        first = 0
        for at, part in enumerate(self._parts):
            batches = list(part.source.batches())
            places = pl.concat([GEOUNITS.to_frame(), *(batch.geounits for batch in batches)])
            placed.append(places.rename({"pattern": f"{at}"}))
            rows = [batch.counts for batch in batches]
            counts += [self._counts(part, each, first) for each in rows]
            first += len(part.protection.statements)
        self._rows = pl.concat(counts).sort("geoid", "table", "cell")
        self._geounits, self.coverage = self._joined(release, placed)

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield everything at once."""
        yield GeounitBatch(self._geounits, self._rows)

    def _joined(
        self, release: Release, placed: Sequence[pl.DataFrame]
    ) -> tuple[pl.DataFrame, Coverage]:
        """Return the columns of `GEOUNITS`, and their patterns."""
        every = pl.concat(each.select("geoid", "level") for each in placed).unique().sort("geoid")
        for frame in placed:
            every = every.join(frame, on=["geoid", "level"], how="left", maintain_order="left")
        own = [f"{at}" for at in range(len(placed))]
        every = every.with_columns(pl.col(own).fill_null(-1))
        kinds = every.select("level", *own).unique()
        kinds = kinds.sort(pl.col("level").replace_strict(release.geography.order), *own)
        coverage = tuple(self._pattern(level, at) for level, *at in kinds.iter_rows())
        number = pl.int_range(pl.len(), dtype=pl.Int16).alias("pattern")
        found = every.join(
            kinds.with_columns(number), on=["level", *own], how="left", maintain_order="left"
        )
        return found.select(GEOUNITS.names()).cast(GEOUNITS), coverage

    def _pattern(self, level: str, numbers: Sequence[int]) -> CoveragePattern:
        """Return the published cells of geounits as a pattern.

        Args:
            numbers: The geounits' pattern in each publication; −1 for one without rows of them.
        """
        cells: dict[str, tuple[int, ...]] = {}
        for part, number in zip(self._parts, numbers, strict=True):
            source = part.source
            known = source.absent.get(level) if number < 0 else source.coverage[number]
            cells |= part.cells(known)
        return CoveragePattern(level, cells)

    def _counts(self, part: Part, rows: pl.DataFrame, first: int) -> pl.DataFrame:
        """Convert a publication's counts to the common columns.

        Args:
            first: Number of its first law among all.
        """
        named = rows.with_columns(table=pl.lit(f"{part.name}{OF}") + pl.col("table"))
        if not self.has_statements:
            return named.select(COUNTS.names()).cast(COUNTS)
        exact = len(self.protection.statements)
        if "law" not in rows.columns:
            stated = named.with_columns(low="count", high="count", law=pl.lit(exact))
        else:
            own = len(part.protection.statements)
            law = pl.col("law").cast(pl.Int64)
            is_own = law < own
            stated = named.with_columns(
                law=pl.when(is_own).then(law + first).when(law.is_not_null()).then(exact)
            )
        return stated.select(STATEMENTS.names()).cast(STATEMENTS)
