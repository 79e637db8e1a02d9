"""Wide sheets without gaps as a source: every row has a count in every column that is read.

No row needs a look-up, which makes ten million rows fast.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from recon_cli.coverage import Coverage, CoveragePattern, LeftOut
from recon_cli.errors import SourceError
from recon_cli.frames import GEOUNITS, partition_groups, within_partitions
from recon_cli.publication import GeounitBatch
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.tabular import Sheet
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.statement import EXACT

#: Most column sets, which are bits of one number.
MOST_COLUMN_SETS = 60
#: Approximate number of counts that are held at once, unless one partition has more.
_GROUP_COUNTS = 4_000_000


@dataclass(frozen=True)
class KeptSheet:
    """The checked rows of a wide sheet.

    Attributes:
        folder: Parquet files with ``row``, ``geoid`` and a column named after each ordinal.
        partitions: Partition → number of its rows.
    """

    sheet: Sheet
    folder: Path
    ordinals: tuple[int, ...]
    partitions: dict[str, int]
    has_gaps: bool

    def scan(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.folder / "*.parquet")


class DenseSource:
    """Kept sheets without gaps: all counts are exact, and cells without a row are unpublished."""

    def __init__(
        self,
        release: Release,
        sheets: Sequence[KeptSheet],
        left_out: tuple[LeftOut, ...] = (),
    ) -> None:
        self.left_out = left_out
        self.protection = EXACT
        self.has_statements = False
        self.absent: Mapping[str, CoveragePattern] = {}
        self.may_lack_geounits = True
        self._release = release
        self._sheets = tuple(sheets)
        self._cells = CellIndex.of(release)
        self._sets = list(dict.fromkeys(tuple(sorted(sheet.ordinals)) for sheet in sheets))
        self._groups = self._partition_groups()

    @property
    def coverage(self) -> Coverage:
        """Return a pattern for each level and each collection of column sets of a geounit."""
        return tuple(self._pattern(*key) for key in self._patterns)

    def batches(self) -> Generator[GeounitBatch, None, None]:
        """Yield one batch for each group of partitions.

        Raises:
            SourceError: A geounit's cell occurs twice.
        """
        for first, last in self._groups:
            frames = [self._rows(at, first, last) for at in range(len(self._sets))]
            self._refuse_doubles(frames)
            units = self._units([frame.select("geoid").lazy() for frame in frames])
            parts = [
                self._counts(frame, ordinals)
                for frame, ordinals in zip(frames, self._sets, strict=True)
            ]
            yield GeounitBatch(units.collect(), pl.concat(parts) if len(parts) > 1 else parts[0])

    def _partition_groups(self) -> list[tuple[str, str]]:
        sizes: dict[str, int] = {}
        for sheet in self._sheets:
            for partition, rows in sheet.partitions.items():
                sizes[partition] = sizes.get(partition, 0) + rows * len(sheet.ordinals)
        return partition_groups(sorted(sizes.items()), _GROUP_COUNTS)

    def _rows(self, column_set: int, first: str, last: str) -> pl.DataFrame:
        """Read rows of one column set in some partitions, by geoid; ``sheet`` is their origin.

        Columns ``row, geoid, sheet`` and the sorted ordinals.
        """
        names = [str(ordinal) for ordinal in self._sets[column_set]]
        parts = [
            sheet.scan()
            .filter(within_partitions(self._release.geography.partition_level, first, last))
            .select(ROW, "geoid", pl.lit(i, pl.Int32).alias("sheet"), *names)
            .collect()
            for i, sheet in enumerate(self._sheets)
            if tuple(sorted(sheet.ordinals)) == self._sets[column_set]
        ]
        rows = pl.concat(parts)
        if not rows["geoid"].is_sorted():
            rows = rows.sort("geoid", maintain_order=True)
        return rows.with_columns(pl.col("geoid").set_sorted())  # no one need look again

    def _refuse_doubles(self, frames: Sequence[pl.DataFrame]) -> None:
        """Refuse a cell of a geounit that occurs twice, in any files."""
        for at, frame in enumerate(frames):
            twice = frame.filter(pl.col("geoid") == pl.col("geoid").shift(1))
            if twice.height:
                pair = frame.filter(pl.col("geoid") == twice["geoid"][0]).head(2)
                self._refuse(pair, self._sets[at][0])
            for earlier in range(at):
                shared = sorted(set(self._sets[at]) & set(self._sets[earlier]))
                both = frames[earlier].join(frame, on="geoid", how="semi") if shared else frame[:0]
                if both.height:
                    here = [
                        each.filter(pl.col("geoid") == both["geoid"][0]).select(
                            ROW, "geoid", "sheet"
                        )
                        for each in (frames[earlier], frame)
                    ]
                    self._refuse(pl.concat(here), shared[0])

    def _refuse(self, pair: pl.DataFrame, ordinal: int) -> None:
        first, again = pair.to_dicts()
        where = self._sheets[again["sheet"]].sheet.where(again[ROW])
        earlier = self._sheets[first["sheet"]].sheet.where(first[ROW])
        raise SourceError(
            f"{where}: geoid {again['geoid']}, {self._cells.name(ordinal)} occurs twice, first at "
            f"{earlier}; name the files once, or leave one column out: mapping.columns"
        )

    def _units(self, geoids: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
        """Make the columns of `GEOUNITS` from the geoids of each column set."""
        names = {level.digits: level.name for level in self._release.geography.levels}
        marked = [
            each.with_columns(pl.lit(1 << at, pl.Int64).alias("sets"))
            for at, each in enumerate(geoids)
        ]
        units = marked[0]
        if len(marked) > 1:
            units = pl.concat(marked).group_by("geoid").agg(pl.col("sets").sum()).sort("geoid")
        digits = pl.col("geoid").str.len_bytes().cast(pl.Int64).alias("digits")
        index = pl.LazyFrame(
            [(*key, at) for at, key in enumerate(self._patterns)],
            schema={"digits": pl.Int64, "sets": pl.Int64, "pattern": pl.Int16},
            orient="row",
        )
        return (
            units.with_columns(digits)
            .join(index, on=["digits", "sets"], how="left", maintain_order="left")
            .with_columns(level=pl.col("digits").replace_strict(names, return_dtype=pl.String))
            .select(GEOUNITS.names())
        )

    def _counts(self, rows: pl.DataFrame, ordinals: Sequence[int]) -> pl.DataFrame:
        """Make the columns of `COUNTS`, sorted by geoid."""
        values = rows.select(str(ordinal) for ordinal in ordinals).to_numpy()
        at, column = np.nonzero(values)
        cells = np.asarray(ordinals, np.int64)[column]
        counts = self._cells.counts(rows["geoid"], at, cells, values[at, column].astype(np.int64))
        return counts.with_columns(pl.col("geoid").set_sorted())

    @cached_property
    def _patterns(self) -> list[tuple[int, int]]:
        """Return length of the geoid and bits of the column sets, finest level first."""
        digits = pl.col("geoid").str.len_bytes().cast(pl.Int64).alias("digits")
        if len(self._sets) == 1:
            found = [sheet.scan().select(digits).unique().collect() for sheet in self._sheets]
            return sorted(
                {(int(row[0]), 1) for frame in found for row in frame.iter_rows()}, reverse=True
            )
        marked = [
            sheet.scan().select(
                "geoid",
                pl.lit(1 << self._sets.index(tuple(sorted(sheet.ordinals))), pl.Int64).alias("set"),
            )
            for sheet in self._sheets
        ]
        sets = pl.col("set").unique().sum().alias("sets")
        units = pl.concat(marked).group_by("geoid").agg(sets).select(digits, "sets").unique()
        return sorted(units.collect(engine="streaming").rows(), reverse=True)

    def _pattern(self, digits: int, sets: int) -> CoveragePattern:
        ordinals = {
            ordinal for at, each in enumerate(self._sets) if sets >> at & 1 for ordinal in each
        }
        level = self._release.geography.by_digits[digits].name
        return CoveragePattern(level, self._cells.numbers(ordinals))
