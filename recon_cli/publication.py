"""Published counts as every stage sees them: non-zero counts, geounits, and coverage.

The columns named in capitals (`COUNTS`, …) are in `recon_cli.frames`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import polars as pl

from recon_cli.coverage import Coverage
from recon_cli.errors import SourceError
from recon_cli.frames import NARROWED, STATISTICS, ShownBySize, look_up
from recon_cli.schema import Level, Release
from recon_cli.statement import EXACT, Protection

#: Most people of a partition: its records are held in memory, some hundred bytes each.
MOST_PEOPLE: Final = 50_000_000


@dataclass(frozen=True)
class GeounitBatch:
    """Some geounits with all their counts.

    Attributes:
        geounits: Columns of `GEOUNITS`, each geounit once over all batches, zero-count ones too.
        counts: Columns of `COUNTS`, non-zero counts of those geounits; or of `STATEMENTS`.
        statistics: Columns of `STATISTICS`.
    """

    geounits: pl.DataFrame
    counts: pl.DataFrame
    statistics: pl.DataFrame = field(default_factory=STATISTICS.to_frame)


def with_population(
    release: Release,
    coverage: Coverage,
    batch: GeounitBatch,
    protection: Protection = EXACT,
) -> pl.DataFrame:
    """Add ``population`` to the batch's geounits.

    It is null if no published cell counts everybody, or the first such cell proves no number.
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
            least, greatest = protection.ends_of_zero(total[0], pattern.level)
            if least == greatest:
                absent[i] = least
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
        """Return the patterns that the geounits' ``pattern`` column refers to."""

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield the batches; may be called once. Closing the generator closes the source."""


@dataclass(frozen=True, repr=False)
class Publication(ShownBySize):
    """The published counts of one partition.

    Attributes:
        geounits: Columns ``geoid, level, <region>, population, pattern``, sorted by level then
            geoid; ``<region>`` is named after the release's region level and is null above it;
            ``population`` is null where no published cell counts everybody.
        counts: Columns of `COUNTS`, or of `STATEMENTS` if the release is not exact.
        coverage: Patterns of the geounits.
        protection: Law of each count.
        statistics: Columns of `STATISTICS`: what is printed beside the counts.
        narrowed: Columns of `NARROWED`: counts whose interval is narrower than by their law.
    """

    geounits: pl.DataFrame
    counts: pl.DataFrame
    coverage: Coverage
    protection: Protection = EXACT
    statistics: pl.DataFrame = field(default_factory=STATISTICS.to_frame)
    narrowed: pl.DataFrame = field(default_factory=NARROWED.to_frame)

    @property
    def is_exact(self) -> bool:
        """Report whether every published count is the true one."""
        return "law" not in self.counts.columns

    def require_exact(self, work: str) -> None:
        """Refuse protected counts for work that requires exact ones.

        Raises:
            SourceError: Some counts are suppressed, rounded or perturbed.
        """
        if self.is_exact:
            return
        where = ""
        if (open_ := self.counts.filter(pl.col("low").ne_missing(pl.col("high")))).height:
            row = open_.row(0, named=True)
            where = (
                f": {open_.height:,}, as that of geoid {row['geoid']}, table {row['table']}, cell "
                f"{row['cell']}; write the true counts there, or take its row or column out"
            )
        raise SourceError(
            f"{work} needs exact counts; some of these are suppressed, rounded or perturbed{where}"
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
        """Build a publication, with sorted geounits."""
        levels = pl.Enum([level.name for level in release.geography.levels])
        order = pl.col("level").cast(levels, strict=False), "geoid"
        return cls(geounits.sort(order, nulls_last=True), counts, coverage, protection)


def require_no_statistics(published: Publication) -> None:
    """Refuse printed statistics, for work that does not use them.

    Raises:
        SourceError: There are printed statistics.
    """
    names = published.statistics["table"].unique().sort().to_list()
    if names:
        raise SourceError(
            f"this command does not use printed statistics yet, and these files have some "
            f"({', '.join(names[:6])}): ask `recon audit`, or take these tables out of the schema "
            "and the files"
        )


def describe_geounits(
    release: Release, coverage: Coverage, batch: GeounitBatch, protection: Protection = EXACT
) -> pl.DataFrame:
    """Check a batch's geounits, and add their region and population.

    Args:
        coverage: The source's patterns.

    Returns:
        Columns ``geoid, level, <region>, population, pattern``.

    Raises:
        SourceError: A geoid does not fit its level, a geounit occurs twice, or a count has no
            geounit.
    """
    _check_geounits(release, coverage, batch)
    _check_places(batch.statistics, batch.geounits)
    region = release.region
    inside = [level.name for level in release.geography.levels if region.encloses(level)]
    of_region = pl.when(pl.col("level").is_in(inside)).then(region.enclosing(pl.col("geoid")))
    return (
        with_population(release, coverage, batch, protection)
        .with_columns(of_region.alias(region.name))
        .select("geoid", "level", region.name, "population", "pattern")
    )


def gather(release: Release, source: Source, protection: Protection = EXACT) -> Publication:
    """Gather all batches of a source into one publication, sorted as in the stage folders."""
    batches = list(source.batches())
    if not any(batch.geounits.height for batch in batches):
        raise SourceError("the files hold no geounits of the release's levels")
    whole = GeounitBatch(
        pl.concat([batch.geounits for batch in batches]),
        pl.concat([batch.counts for batch in batches]).sort("geoid", "table", "cell"),
        pl.concat([batch.statistics for batch in batches]).sort("geoid", "table", "cell"),
    )
    described = describe_geounits(release, source.coverage, whole, protection)
    published = Publication.of(release, described, whole.counts, source.coverage, protection)
    return replace(published, statistics=whole.statistics)


def _check_geounits(release: Release, coverage: Coverage, batch: GeounitBatch) -> None:
    geounits, geography = batch.geounits, release.geography
    levels = geounits["level"]
    wrong = geounits.filter(geography.level_names(geounits["geoid"]).ne_missing(levels))
    if not wrong.is_empty():
        geoid, level = wrong.row(0)[:2]
        raise SourceError(f"geoid {geoid!r}: {_form(geography.by_name.get(level), level)}")
    coarse = geounits.filter(~levels.is_in([level.name for level in geography.inside_partitions]))
    if not coarse.is_empty():
        geoid, level = coarse.row(0)[:2]
        raise SourceError(
            f"geoid {geoid!r}: level {level!r} is coarser than a partition "
            f"({geography.partition!r})"
        )
    levels_of = dict(enumerate(pattern.level for pattern in coverage))
    claimed = geounits["pattern"].replace_strict(levels_of, default=None, return_dtype=pl.String)
    odd = geounits.filter(claimed.ne_missing(levels))
    if not odd.is_empty():
        geoid, level = odd.row(0)[:2]
        raise SourceError(f"{level} {geoid}: its coverage pattern is of another level")
    twice = duplicates(geounits)
    if not twice.is_empty():
        geoid, level = twice.row(0)[:2]
        raise SourceError(f"{level} {geoid} occurs more than once in the published files")
    counted = batch.counts["geoid"]
    once = counted.filter(counted.ne_missing(counted.shift(1))).to_frame()
    lost = look_up(once, geounits.select("geoid", _known=True)).filter(pl.col("_known").is_null())
    if not lost.is_empty():
        geoid, table, cell = batch.counts.filter(counted.eq_missing(lost["geoid"][0])).row(0)[:3]
        raise SourceError(f"geoid {geoid!r}, table {table}, cell {cell}: a count without geounit")


def _check_places(statistics: pl.DataFrame, geounits: pl.DataFrame) -> None:
    """Refuse statistics of places without any count."""
    lost = statistics.join(geounits, on="geoid", how="anti")
    if not lost.is_empty():
        geoid, table, cell = lost.row(0)[:3]
        raise SourceError(
            f"geoid {geoid!r}, table {table}, cell {cell}: a statistic of a place without counts; "
            "publish at least how many people are there, or leave it out"
        )


def duplicates(geounits: pl.DataFrame) -> pl.DataFrame:
    """Return geounits whose geoid occurred before; sorted rows are compared with neighbours."""
    geoid = geounits["geoid"]
    if geoid.is_sorted():
        return geounits.filter(geoid == geoid.shift(1))
    return geounits.filter(geoid.is_duplicated())


def _form(level: Level | None, name: str) -> str:
    if level is None:
        return f"the release has no level {name!r}"
    return f"a {level.name} {level.form}"
