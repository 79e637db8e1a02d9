"""What is known of a geounit from its geoid and its counts: its region and its population."""

from __future__ import annotations

import polars as pl

from recon_cli.coverage import Coverage
from recon_cli.errors import SourceError
from recon_cli.frames import look_up
from recon_cli.publication import GeounitBatch, with_population
from recon_cli.schema import Level, Release
from recon_cli.statement import EXACT, Protection


def describe_geounits(
    release: Release, coverage: Coverage, batch: GeounitBatch, protection: Protection = EXACT
) -> pl.DataFrame:
    """Check a batch's geounits, and add their region and population.

    Args:
        coverage: The source's patterns.
        batch: Geounits with all their counts.
        protection: By which law each count was published.

    Returns:
        Columns ``geoid, level, <region>, population, pattern``.

    Raises:
        SourceError: A geoid does not fit its level, a geounit occurs twice, or a count has no
            geounit.
    """
    _check(release, coverage, batch)
    region = release.region
    inside = [level.name for level in release.geography.levels if region.encloses(level)]
    of_region = pl.when(pl.col("level").is_in(inside)).then(region.enclosing(pl.col("geoid")))
    return (
        with_population(release, coverage, batch, protection)
        .with_columns(of_region.alias(region.name))
        .select("geoid", "level", region.name, "population", "pattern")
    )


def _check(release: Release, coverage: Coverage, batch: GeounitBatch) -> None:
    geounits, geography = batch.geounits, release.geography
    levels = geounits["level"]
    wrong = geounits.filter(geography.level_names(geounits["geoid"]).ne_missing(levels))
    if not wrong.is_empty():
        geoid, level = wrong.row(0)[:2]
        raise SourceError(f"geoid {geoid!r}: {_lengths(geography.by_name.get(level), level)}")
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


def duplicates(geounits: pl.DataFrame) -> pl.DataFrame:
    """Geounits whose geoid occurs before; rows in order are compared with their neighbours."""
    geoid = geounits["geoid"]
    if geoid.is_sorted():
        return geounits.filter(geoid == geoid.shift(1))
    return geounits.filter(geoid.is_duplicated())


def _lengths(level: Level | None, name: str) -> str:
    if level is None:
        return f"the release has no level {name!r}"
    return f"a {level.name} {level.form}"
