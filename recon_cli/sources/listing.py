"""Geounits that are not in the files: from a list, or a unit that stands for all unlisted units.

People may live in a geounit without any row, unless its absent rows are published zeros that prove
it empty. Absent rows prove nothing where a cell without a row is unpublished, where a law may
publish people as zero, or where the tables of the finest level do not count everybody. If such a
geounit were left out, its people would be placed with their neighbours, whose records would then
wrongly be called certain. So each coarse geounit whose units may be incomplete gets one more unit,
which stands for all unlisted units. It has no published cells but proven zeros, and is otherwise
bounded only by the counts of coarser geounits.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import polars as pl

from recon_cli.coverage import UNLISTED, Coverage, CoveragePattern, LeftOut
from recon_cli.errors import SourceError
from recon_cli.frames import COUNTS, GEOUNITS, STATEMENTS, partition_runs
from recon_cli.publication import GeounitBatch, Source, with_population
from recon_cli.schema import AreaGeography, Level, Release
from recon_cli.schema.tables import is_covered
from recon_cli.sources.damage import columns_found, read_texts
from recon_cli.sources.tidy_file import ALL_PLACES, GEOID
from recon_cli.statement import Protection

#: Texts in place of a geoid in a list: a repeated header, or a line of totals.
_NO_PLACES: Final = ("geoid", *ALL_PLACES)


class IncompleteSource(Source, Protocol):
    """A source that may lack geounits of which no cell is published."""

    @property
    def absent(self) -> Mapping[str, CoveragePattern]:
        """Map levels to the cells that are zero for a geounit without any row."""

    @property
    def may_lack_geounits(self) -> bool:
        """Report whether cells without a row are unpublished, for some tables."""

    @property
    def protection(self) -> Protection:
        """Return the laws of the counts."""

    @property
    def has_statements(self) -> bool:
        """Report whether counts have intervals."""

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Return the numbers of the files that are not among the counts."""


class CompletedSource:
    """A source completed with the geounits that have no row in it; see `complete_geounits`."""

    def __init__(
        self,
        release: Release,
        source: IncompleteSource,
        listed: pl.DataFrame | None,
    ) -> None:
        self._release = release
        self._partition = release.geography.partition_level
        self._source = source
        self._absent = source.absent
        self._listed = listed
        unit = release.geography.unit.name
        is_whole = listed is None and not source.may_lack_geounits
        self._has_every_unit = is_whole and _absent_is_empty(release, source, unit)
        self._coverage = list(source.coverage)
        known = {pattern.level for pattern in self._coverage}
        # Units exist though nothing is published of them.
        known |= {release.geography.unit.name} if listed is None else set(listed["level"])
        self._levels = [
            level
            for level in release.geography.levels
            if self._partition.encloses(level) and level.name in known
        ]
        self._no_counts = (STATEMENTS if source.has_statements else COUNTS).to_frame()

    @property
    def coverage(self) -> Coverage:
        """Return the source's patterns, and those of the geounits that were added so far."""
        return tuple(self._coverage)

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield the source's batches, completed, then a batch of partitions only in the list.

        Raises:
            SourceError: The source raises it, or a geounit is not in the list.
        """
        seen: set[str] = set()
        for batch in self._source.batches():
            seen.update(
                name for name, _ in partition_runs(batch.geounits["geoid"], self._partition)
            )
            yield replace(batch, geounits=self._complete(batch))
        if self._listed is not None:
            of_list = self._partitions(self._listed)
            rest = of_list.filter(~pl.col("partition").is_in(list(seen))).drop("partition")
            if len(rest):
                batch = GeounitBatch(self._with_pattern(rest), self._no_counts)
                yield GeounitBatch(self._complete(batch), batch.counts)

    def _partitions(self, geounits: pl.DataFrame) -> pl.DataFrame:
        return geounits.with_columns(partition=self._partition.enclosing(pl.col("geoid")))

    def _complete(self, batch: GeounitBatch) -> pl.DataFrame:
        geounits = batch.geounits
        if self._listed is not None:
            geounits = self._add_listed(geounits, self._listed)
        if self._has_every_unit:
            # People under a place without a row are a row that was lost, and refused as such.
            empty = geounits.join(self._peopled(batch), on="geoid", how="anti")
            geounits = self._add_parents(geounits, of=empty)
        else:
            geounits = self._add_parents(geounits, of=geounits)
            if self._listed is None:
                geounits = self._add_unlisted(geounits, batch.counts)
        return geounits if geounits["geoid"].is_sorted() else geounits.sort("geoid")

    def _peopled(self, batch: GeounitBatch) -> pl.DataFrame:
        """Return the geoids of places with a count that proves people by its law."""
        some = batch.counts.filter(pl.col("count") > 0).select("geoid", "table", "count")
        known = some.join(batch.geounits.select("geoid", "level"), on="geoid")
        proven = [known.clear().select("geoid")]
        protection = self._source.protection
        for (table, level), rows in known.group_by("table", "level"):
            law = protection.laws[protection.number(str(table), str(level))]
            low, _ = law.intervals(rows["count"].to_numpy())
            proven.append(rows.filter(pl.Series(low > 0)).select("geoid"))
        return pl.concat(proven).unique()

    def _add_listed(self, geounits: pl.DataFrame, listed: pl.DataFrame) -> pl.DataFrame:
        """Add the listed geounits of the same partitions."""
        listed = listed.filter(pl.col("level").is_in([each.name for each in self._levels]))
        unknown = geounits.join(listed, on="geoid", how="anti").filter(
            pl.col("level").is_in(listed["level"].unique().implode())
        )
        if len(unknown):
            geoid, level = unknown.sort("geoid").row(0)[:2]
            raise SourceError(
                f"{level} {geoid} has published counts and is not in the list of geounits; "
                f"{len(unknown)} such geounit(s)"
            )
        here = self._partitions(geounits)["partition"].unique()
        rest = self._partitions(listed).filter(pl.col("partition").is_in(here.implode()))
        rest = rest.drop("partition").join(geounits, on="geoid", how="anti")
        return pl.concat([geounits, self._with_pattern(rest)])

    def _add_parents(self, geounits: pl.DataFrame, *, of: pl.DataFrame) -> pl.DataFrame:
        """Add the coarse geounits that contain others and have no row themselves."""
        for level in self._levels:
            inside = [each for each in self._levels if level.encloses(each) and each != level]
            if not inside:
                continue
            finer = of.filter(pl.col("level").is_in([each.name for each in inside]))
            of_level = geounits.filter(pl.col("level") == level.name)
            within = level.enclosing(finer["geoid"])
            parents = (
                within.filter(within.ne_missing(within.shift(1)))
                .unique()
                .to_frame()
                .join(of_level, on="geoid", how="anti")
                .sort("geoid")
                .with_columns(level=pl.lit(level.name))
            )
            geounits = pl.concat([geounits, self._with_pattern(parents)])
        return geounits

    def _add_unlisted(self, geounits: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
        """Add one unit for all that may be missing in each coarse geounit with counts."""
        unit = self._release.geography.unit
        if self._levels == [unit]:
            return geounits  # no coarser geounit has counts
        batch = GeounitBatch(geounits, counts)
        known = with_population(self._release, self.coverage, batch, self._source.protection)
        has_cells = [bool(pattern.cells) for pattern in self._coverage]
        added = [geounits]
        complete: list[tuple[int, pl.Series]] = []  # coarse geounits whose units hold everybody
        for level in reversed([each for each in self._levels if each.digits < unit.digits]):
            if self._lists_parts_of(level):
                continue
            coarse = known.filter(
                (pl.col("level") == level.name)
                & pl.col("pattern").replace_strict(dict(enumerate(has_cells)))
            )
            for digits, geoids in complete:
                coarse = coarse.filter(~pl.col("geoid").str.head(digits).is_in(geoids.implode()))
            is_complete = _holds_everybody(coarse, known.filter(pl.col("level") == unit.name))
            complete.append((level.digits, coarse.filter(is_complete)["geoid"]))
            geoids = coarse.filter(~is_complete)["geoid"].str.pad_end(unit.digits, UNLISTED)
            rows = pl.DataFrame({"geoid": geoids.sort()}).with_columns(level=pl.lit(unit.name))
            added.append(self._with_pattern(rows, is_listed=False))
        return pl.concat(added)

    def _lists_parts_of(self, coarse: Level) -> bool:
        """Test whether all people of a level are in geounits of a finer level in the files.

        Then the counts of a place without any row are zero, so that nobody lives there; and each
        place that has a row gets a unit that stands for its unlisted units.
        """
        unit = self._release.geography.unit
        return any(
            coarse.digits < level.digits < unit.digits
            and _absent_is_empty(self._release, self._source, level.name)
            for level in self._levels
        )

    def _with_pattern(self, rows: pl.DataFrame, *, is_listed: bool = True) -> pl.DataFrame:
        """Add geounits without a row in the files, with the coverage that this implies."""
        numbers: dict[str, int] = {}
        for name in rows["level"].unique().sort():
            absent = self._absent.get(name)
            cells = {} if absent is None else absent.cells
            if not is_listed:  # zeros of many places are one where each of them is
                cells = _proven_zeros(self._source.protection, name, cells)
            pattern = CoveragePattern(name, cells, is_listed=is_listed)
            if pattern not in self._coverage:
                self._coverage.append(pattern)
            numbers[name] = self._coverage.index(pattern)
        pattern_of = pl.col("level").replace_strict(numbers, return_dtype=pl.Int16)
        return rows.with_columns(pattern=pattern_of).select(GEOUNITS.names()).cast(GEOUNITS)


def complete_geounits(
    release: Release, source: IncompleteSource, listed: pl.DataFrame | None = None
) -> Source:
    """Add the geounits of which nothing is published.

    With a list (or a membership file) its geounits are added, and there are no others. Without a
    list, if a geounit that is not in the files may have people, every coarse geounit gets a unit
    for all unlisted ones, its geoid padded with `UNLISTED`. There are two exceptions: the published
    totals of its units add up to its own; or counts of an intermediate level hold everybody and are
    zero where there is no row, in which case each geounit of that level gets such a unit. In all
    cases the coarse geounits that enclose others are added.

    Args:
        source: Batches of whole partitions.
        listed: Columns ``geoid, level``, units among them; None where there is no list.
    """
    if listed is None and isinstance(release.geography, AreaGeography):
        known = release.geography.listed({pattern.level for pattern in source.coverage})
        listed = pl.DataFrame({"geoid": list(known), "level": list(known.values())})
    return CompletedSource(release, source, listed)


def _absent_is_empty(release: Release, source: IncompleteSource, level: str) -> bool:
    """Test whether the published zeros of a geounit without any row prove it empty."""
    if level not in source.absent:
        return False
    zeros = _proven_zeros(source.protection, level, source.absent[level].cells)
    pattern = CoveragePattern(level, zeros)
    counted = (cell for _, cell in pattern.published_cells(release.tables) if cell.tally is None)
    return is_covered(release.full, [*release.impossible, *(cell.masks for cell in counted)])


def _proven_zeros(
    protection: Protection, level: str, cells: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Return the cells whose published zero proves that nobody is counted."""
    return {
        table: numbers for table, numbers in cells.items() if protection.is_true_zero(table, level)
    }


def read_geounit_list(release: Release, path: Path) -> pl.DataFrame:
    """Read a list of geounits: a CSV or Parquet file with a column ``geoid``.

    Returns:
        Columns ``geoid, level``, sorted.

    Raises:
        SourceError: The file cannot be read, a geoid is malformed or occurs twice, or no unit of
            the finest level is listed.
    """
    return list_geounits(release, _columns(path, "geoid")["geoid"], str(path))


def list_geounits(release: Release, geoids: Iterable[str | None], name: str) -> pl.DataFrame:
    """Return geoids with their levels; as `read_geounit_list`, ``name`` is used in messages."""
    frame = pl.DataFrame({"geoid": list(geoids)}, schema={"geoid": pl.String})
    geography = release.geography
    frame = frame.with_columns(level=geography.level_names(pl.col("geoid")))
    wrong = pl.col("level").is_null()
    if geography.is_nested:
        wrong |= ~pl.col("geoid").str.contains(GEOID)
        wrong |= pl.col("geoid").str.to_lowercase().is_in(_NO_PLACES)
    malformed = frame.filter(wrong)
    if len(malformed) and not geography.is_nested:
        raise SourceError(f"{name}: geoid {malformed['geoid'][0]!r} is not in the membership file")
    if len(malformed):
        valid = ", ".join(f"{level.name} {level.digits}" for level in geography.levels)
        raise SourceError(
            f"{name}: geoid {malformed['geoid'][0]!r}: expected letters and digits of one of the "
            f"lengths {valid}"
        )
    twice = frame.filter(pl.col("geoid").is_duplicated())
    if len(twice):
        raise SourceError(f"{name}: geoid {twice['geoid'][0]} is duplicated")
    unit = release.geography.unit.name
    if unit not in frame["level"]:
        raise SourceError(f"{name}: no {unit} in the list of geounits")
    return frame.sort("geoid")


def _holds_everybody(coarse: pl.DataFrame, units: pl.DataFrame) -> pl.Series:
    """Test for each coarse geounit whether the known totals of its units add up to its own.

    Args:
        coarse: Columns ``geoid, population``, of one level.
        units: The same columns.
    """
    if coarse.is_empty():
        return pl.Series([], dtype=pl.Boolean)
    digits = len(coarse["geoid"][0])
    sums = units.group_by(pl.col("geoid").str.head(digits)).agg(
        people=pl.col("population").cast(pl.Int64).sum(),
        unknown=pl.col("population").null_count(),
    )
    joined = coarse.join(sums, on="geoid", how="left", maintain_order="left")
    return joined.select(
        ((pl.col("unknown") == 0) & (pl.col("people") >= pl.col("population"))).fill_null(
            value=False
        )
    ).to_series()


def read_place_names(path: Path) -> dict[str, str]:
    """Read place names from a CSV or Parquet file with the columns ``geoid`` and ``name``.

    Places of any level; those without a name are left out.

    Raises:
        SourceError: The file cannot be read, lacks a column, or names a place twice.
    """
    frame = _columns(path, "geoid", "name")
    known = frame.select(pl.all().str.strip_chars()).drop_nulls()
    known = known.filter(pl.col("name") != "")
    twice = known.filter(pl.col("geoid").is_duplicated())
    if not twice.is_empty():
        raise SourceError(f"{path}: geoid {twice['geoid'][0]} has two names")
    return dict(known.iter_rows())


def _columns(path: Path, *names: str) -> pl.DataFrame:
    """Read columns of a file as text."""
    frame = read_texts(path)
    if missing := [name for name in names if name not in frame.columns]:
        what = columns_found(frame.columns, names)
        raise SourceError(f"{path}: expected a column {missing[0]} ({what})")
    return frame.select(names)
