"""Who is modal, by the study's rule, over the gained columns of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.attack.linkage.baselines import ValueCounts, is_modal, most_frequent
from recon_cli.attack.linkage.key_encoding import column_codes
from recon_cli.attack.linkage.specification import parent_level
from recon_cli.schema import Release


def gain_codes(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The gained values of every record as one number (Int64).

    Raises:
        SourceError: A column is missing, or has a value that the schema does not know.
    """
    number = pl.Series([0], dtype=pl.Int64).new_from_index(0, records.height)
    for column in columns:
        size = len(release.column_groups(column).labels)
        number = number * size + column_codes(release, records, column, "records")
    return number.alias("gain")


@dataclass(frozen=True)
class ModalValues:
    """The gained values of a partition's units.

    Attributes:
        columns: The gained columns.
        values: Their counts by unit.
    """

    release: Release
    columns: tuple[str, ...]
    values: ValueCounts

    @classmethod
    def of(
        cls, release: Release, records: pl.DataFrame, columns: tuple[str, ...], mode: int | None
    ) -> ModalValues:
        """Count the records of a partition.

        Args:
            records: All records of the partition.
            columns: The gained columns.
            mode: The most frequent value anywhere, as from `gain_codes`; default that of these.
        """
        people = records.select(
            pl.col(release.geoid_column).alias("geoid"), gain_codes(release, records, columns)
        )
        geoids = people["geoid"].unique().sort()
        numbers = pl.Series(range(len(geoids)), dtype=pl.Int64)
        counts = (
            people.group_by("geoid", "gain")
            .agg(n=pl.len())
            .with_columns(unit=pl.col("geoid").replace_strict(geoids, numbers))
        )
        if mode is None:
            totals = counts.group_by("gain").agg(pl.col("n").sum())
            mode = most_frequent(dict(totals.iter_rows()))
        return cls(release, columns, ValueCounts.of(counts, geoids, parent_level(release), mode))

    def _units(self, geoids: pl.Series) -> pl.Series:
        """The number of each unit; null without people."""
        numbers = pl.Series(range(len(self.values.geoids)), dtype=pl.Int64)
        return geoids.replace_strict(
            self.values.geoids, numbers, default=None, return_dtype=pl.Int64
        )

    def population(self, geoids: pl.Series) -> pl.Series:
        """The people of each unit (Int32)."""
        sizes = self.values.counts.group_by("unit").agg(pl.col("n").sum())
        units = pl.DataFrame({"unit": self._units(geoids)})
        found = units.join(sizes, on="unit", how="left", maintain_order="left")["n"]
        return found.fill_null(0).cast(pl.Int32)

    def are_modal(self, geoids: pl.Series, gains: IntArray) -> pl.Series:
        """Whether people have the modal guess of their unit.

        Args:
            geoids: Their units.
            gains: Their gained values, as from `gain_codes`.
        """
        people = pl.DataFrame({"unit": self._units(geoids), "gain": gains})
        return is_modal(self.values, people)
