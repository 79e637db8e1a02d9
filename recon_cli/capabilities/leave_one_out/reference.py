"""Reference classes, with which an attacker compares a person, and the value of guesses.

See *reference class* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.link.baselines import ValueCounts, is_modal, most_frequent
from recon_cli.capabilities.link.key_encoding import pack_columns
from recon_cli.capabilities.link.specification import parent_level
from recon_cli.capabilities.solvar.histogram import HistogramCells
from recon_cli.schema import Release


@dataclass(frozen=True)
class ReferenceClasses:
    """Three reference classes of every candidate, the narrowest first.

    People of the unit with the same known values, all people of the unit, all of its region.

    Attributes:
        whole: (3 × candidates) the number of the class.
        part: (3 × candidates) the number of its part with the candidate's own gained values.
        gain: For each candidate its gained values as one number.
    """

    whole: IntArray
    part: IntArray
    gain: IntArray

    def count(self, values: IntArray, candidates: IntArray) -> tuple[IntArray, IntArray]:
        """Count people in the parts and in the whole classes of some candidates.

        Args:
            values: (solutions × candidates) people.

        Returns:
            Two arrays (3 × solutions × `candidates`).
        """

        def counted(labels: IntArray) -> IntArray:
            size = int(labels.max(initial=-1)) + 1
            sums = [np.bincount(labels, row, size)[labels[candidates]] for row in values]
            return np.array(sums).reshape(len(values), len(candidates)).astype(np.int64)

        return np.stack([*map(counted, self.part)]), np.stack([*map(counted, self.whole)])

    def changes(
        self, columns: IntArray, change: IntArray, candidate: int
    ) -> tuple[IntArray, IntArray]:
        """Return how a change of some candidates changes the counts of one candidate's classes.

        Args:
            change: (solutions × `columns`) by how many people.

        Returns:
            Two arrays (3 × solutions), of the parts and of the whole classes.
        """
        parts = self.part[:, columns] == self.part[:, [candidate]]
        wholes = self.whole[:, columns] == self.whole[:, [candidate]]
        return parts.astype(np.int64) @ change.T, wholes.astype(np.int64) @ change.T


def gained_columns(
    release: Release, columns: Sequence[str], gains: Sequence[str]
) -> tuple[str, ...]:
    """Return those of ``columns`` that contain information about a gained feature."""
    gained = {release.column_groups(name).feature for name in gains}
    return tuple(name for name in columns if release.column_groups(name).feature in gained)


def make_classes(
    release: Release, histogram: HistogramCells, regions: IntArray, gains: Sequence[str]
) -> ReferenceClasses:
    """Make the reference classes of a batch.

    Args:
        regions: For each candidate its region.
        gains: The columns that an attacker wants to know; all others are known.
    """
    gained = gained_columns(release, histogram.columns, gains)
    sizes = [len(release.column_groups(name).labels) for name in histogram.columns]
    cells = np.arange(len(histogram.unit))
    gain, known = np.zeros_like(cells), histogram.unit
    for at, size in enumerate(sizes):
        values = histogram.groups[:, at]
        if histogram.columns[at] in gained:
            gain = gain * size + values
        else:
            known = known * size + values
    wholes = [known[histogram.of_cell], histogram.unit[histogram.of_cell], regions]
    gain = gain[histogram.of_cell]
    width = int(gain.max(initial=0)) + 1
    parts = [whole * width + gain for whole in wholes]
    return ReferenceClasses(_numbered(wholes), _numbered(parts), gain)


def _numbered(labels: Sequence[IntArray]) -> IntArray:
    return np.stack([np.unique(each, return_inverse=True)[1].ravel() for each in labels])


def chance(part: IntArray, whole: IntArray) -> FloatArray:
    """Return the share of the narrowest nonempty class that has the gained values.

    Eq. (chance) of docs/method.md, for one solution; 0 if all are empty.

    Args:
        part: (3 × …) people of each class with the gained values.
        whole: (3 × …) people of each class.

    >>> chance(np.array([[1], [2], [3]]), np.array([[4], [8], [9]])).tolist()
    [0.25]
    """
    share = np.zeros(whole.shape[1:])
    for inside, everybody in zip(part[::-1], whole[::-1], strict=True):
        share = np.where(everybody > 0, inside / np.maximum(everybody, 1), share)
    return share


def gain_codes(release: Release, records: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the gained values of every record as one number (Int64)."""
    return pack_columns(release, records, columns, "records").alias("gain")


@dataclass(frozen=True)
class ModalValues:
    """The gained values of a partition's units."""

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
            mode: The most frequent value anywhere, from `gain_codes`; default that of ``records``.
        """
        people = records.select(
            pl.col(release.geoid_column).alias("geoid"), gain_codes(release, records, columns)
        )
        geoids = people["geoid"].unique().sort()
        counts = people.group_by("geoid", "gain").agg(n=pl.len())
        unit = counts["geoid"].cast(pl.Enum(geoids)).to_physical().cast(pl.Int64)
        counts = counts.with_columns(unit=unit)
        if mode is None:
            totals = counts.group_by("gain").agg(pl.col("n").sum())
            mode = most_frequent(dict(totals.iter_rows()))
        return cls(release, columns, ValueCounts.of(counts, geoids, parent_level(release), mode))

    def _units(self, geoids: pl.Series) -> pl.Series:
        """Return the number of each unit; null without people."""
        numbers = pl.Series(range(len(self.values.geoids)), dtype=pl.Int64)
        return geoids.replace_strict(
            self.values.geoids, numbers, default=None, return_dtype=pl.Int64
        )

    def population(self, geoids: pl.Series) -> pl.Series:
        """Return the people of each unit (Int32)."""
        sizes = self.values.counts.group_by("unit").agg(pl.col("n").sum())
        units = pl.DataFrame({"unit": self._units(geoids)})
        found = units.join(sizes, on="unit", how="left", maintain_order="left")["n"]
        return found.fill_null(0).cast(pl.Int32)

    def are_modal(self, geoids: pl.Series, gains: IntArray) -> pl.Series:
        """Test whether people have the modal guess of their unit.

        Args:
            gains: Their gained values, as from `gain_codes`.
        """
        people = pl.DataFrame({"unit": self._units(geoids), "gain": gains})
        return is_modal(self.values, people)


def largest_gain(epsilon: float) -> float:
    """Bound the difference of any probability with and without a person: Eq. (gainbound).

    For a release that is ε-differentially private where neighbours add or remove one person, and
    for any attack on it: the probability of an event, or the mean of a number between 0 and 1.
    If neighbours of the release replace a person, the ε given here must be that of adding or
    removing one.

    Args:
        epsilon: ε, at least 0.

    Raises:
        ValueError: ε is negative.

    >>> largest_gain(0.0), round(largest_gain(1.0), 3)
    (0.0, 0.462)
    """
    if epsilon < 0:
        raise ValueError(f"epsilon is at least 0, found {epsilon}")
    return math.tanh(epsilon / 2)
