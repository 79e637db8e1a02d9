"""Published counts as every stage sees them: non-zero counts, geounits, and coverage.

A count that is absent is zero where its cell was published and unknown where it was not;
coverage tells the two apart.

The columns named in capitals (`COUNTS`, …) are in `recon_cli.frames`.

See *coverage pattern* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from recon_cli.errors import SourceError
from recon_cli.schema import Cell, Release, Table

if TYPE_CHECKING:
    import polars as pl

    from recon_cli.statement import Protection


#: The file beside published tables that says by which law each count was published.
PROTECTION: Final = "protection.yaml"
#: The list of all units beside them; not ``.csv``, or it would be taken for counts.
UNIT_LIST: Final = "geounits.txt"
#: Fills up the geoid of the unit that stands for those which are not listed; in no other geoid.
UNLISTED: Final = "_"
#: Of a partition: its records are held in memory, some hundred bytes each.
MOST_PEOPLE: Final = 50_000_000


def _exact() -> Protection:
    from recon_cli.statement import EXACT  # noqa: PLC0415 - slow to load, like polars

    return EXACT


@dataclass(frozen=True)
class CoveragePattern:
    """Which cells are published for a geounit.

    Attributes:
        level: The level of the geounits that share the pattern.
        cells: Table name → numbers of its published cells, rising. A table that is not named is
            not published.
        is_listed: False for the unit that stands for all that are not listed, in a coarse geounit
            whose units may be incomplete (see `recon_cli.sources.listing`).
    """

    level: str
    cells: Mapping[str, tuple[int, ...]]
    is_listed: bool = True

    @classmethod
    def complete(cls, release: Release, level: str) -> CoveragePattern:
        """Every cell of every table that the schema publishes for ``level``."""
        return cls(
            level,
            {
                table.name: tuple(range(1, len(table.cells) + 1))
                for table in release.tables
                if level in table.levels
            },
        )

    def published_cells(self, tables: Iterable[Table]) -> Iterator[tuple[Table, Cell]]:
        """The published cells of ``tables``, each with its table."""
        for table in tables:
            for number in self.cells.get(table.name, ()):
                yield table, table.cells[number - 1]

    def total_cell(self, release: Release) -> tuple[str, int] | None:
        """Table and number of the first published cell that counts everybody, if any does."""
        for name, numbers in self.cells.items():
            for number in numbers:
                cell = release.table_by_name[name].cells[number - 1]
                if cell.tally is None and cell.masks == release.full:
                    return name, number
        return None

    def check(self, release: Release) -> None:
        """Refuse tables or cells that ``release`` does not publish for the level.

        Raises:
            SourceError: Names the table or cell.
        """
        for name, numbers in self.cells.items():
            table = release.table_by_name.get(name)
            if table is None or self.level not in table.levels:
                raise SourceError(f"no table {name!r} at level {self.level!r} in {release.name!r}")
            if not numbers or list(numbers) != sorted(set(numbers)):
                raise SourceError(f"table {name!r}: published cells must rise, found {numbers}")
            if numbers[0] < 1 or numbers[-1] > len(table.cells):
                raise SourceError(f"table {name!r} has cells 1 to {len(table.cells)}")


Coverage = tuple[CoveragePattern, ...]


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
    protection: Protection | None = None,
) -> pl.DataFrame:
    """The batch's geounits with ``population``.

    It is null where no published cell counts everybody, or the first that does proves no number.
    """
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed to read a manifest

    from recon_cli.frames import look_up  # noqa: PLC0415

    protection = protection or _exact()
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
    protection: Protection = field(default_factory=_exact)

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
        protection: Protection | None = None,
    ) -> Publication:
        """Put the geounits in order."""
        import polars as pl  # noqa: PLC0415 - slow to load, and not needed to read a manifest

        levels = pl.Enum([level.name for level in release.geography.levels])
        order = pl.col("level").cast(levels, strict=False), "geoid"
        return cls(geounits.sort(order, nulls_last=True), counts, coverage, protection or _exact())
