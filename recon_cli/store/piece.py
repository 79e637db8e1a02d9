"""A piece of work: geoids that one worker handles at a time.

See *piece* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Span:
    """A half-open range of geoids, from ``start`` to just before ``stop``; None is unbounded.

    A geounit sorts directly before the geounits in it, so a span of regions contains all of theirs.
    """

    start: str | None = None
    stop: str | None = None

    def holds(self, column: str) -> pl.Expr:
        """Return an expression that selects the rows inside."""
        import polars as pl  # slow to load, and not needed to read a manifest

        inside = pl.lit(value=True)
        if self.start is not None:
            inside &= pl.col(column) >= self.start
        if self.stop is not None:
            inside &= pl.col(column) < self.stop
        return inside

    def meets(self, first: str | None, last: str | None) -> bool:
        """Report whether geoids from ``first`` to ``last`` may be inside; None is unknown."""
        before = self.start is not None and last is not None and last < self.start
        after = self.stop is not None and first is not None and first >= self.stop
        return not (before or after)


EVERYWHERE = Span()


def place_of(columns: Sequence[str]) -> str:
    """Return the first geoid column, which locates the rows."""
    return next(name for name in columns if name.startswith("geoid"))


@dataclass(frozen=True)
class Piece:
    """A unit of work: a partition, or some neighbouring regions of it.

    Attributes:
        partition: The partition's geoid prefix.
        number: From 0; also that of the piece's part files.
        of: Pieces of the partition.
        span: Its geoids.
        units: Geounits of the finest level.
        people: People, as published.
        split_regions: Regions to be solved part by part; see `recon_cli.pipeline.quarantine`.
        excluded: Geounits that no solver is started on; likewise.
    """

    partition: str
    number: int = 0
    of: int = 1
    span: Span = EVERYWHERE
    units: int = 0
    people: int = 0
    split_regions: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Return its name, such as ``01073`` or ``01073-00002-of-00003``."""
        if self.of == 1:
            return self.partition
        return f"{self.partition}-{self.number + 1:05d}-of-{self.of:05d}"

    @property
    def part(self) -> str:
        """Return the name of its file in each folder."""
        return f"part-{self.number:05d}.parquet"
