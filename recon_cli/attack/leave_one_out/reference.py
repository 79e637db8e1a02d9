"""The people to whom an attacker compares a person: alike on what is known, then all around.

See *reference class* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.attack.variability.histogram import HistogramCells
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
        """People in the parts and in the whole classes of some candidates.

        Args:
            values: (solutions × candidates) people.
            candidates: Whose classes.

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
        """How a change of some candidates changes the counts of one candidate's classes.

        Args:
            columns: The candidates that change.
            change: (solutions × `columns`) by how many people.
            candidate: Whose classes.

        Returns:
            Two arrays (3 × solutions), of the parts and of the whole classes.
        """
        parts = self.part[:, columns] == self.part[:, [candidate]]
        wholes = self.whole[:, columns] == self.whole[:, [candidate]]
        return parts.astype(np.int64) @ change.T, wholes.astype(np.int64) @ change.T


def gained_columns(
    release: Release, columns: Sequence[str], gains: Sequence[str]
) -> tuple[str, ...]:
    """Those of ``columns`` that tell something of a feature that is gained."""
    gained = {release.column_groups(name).feature for name in gains}
    return tuple(name for name in columns if release.column_groups(name).feature in gained)


def make_classes(
    release: Release, histogram: HistogramCells, regions: IntArray, gains: Sequence[str]
) -> ReferenceClasses:
    """The reference classes of a batch.

    Args:
        histogram: The histogram cells of the batch's candidates.
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
    """The share of the narrowest class with anybody in it that has the gained values.

    Eq. (chance) of docs/method.md, for one solution; 0 where nobody is anywhere.

    Args:
        part: (3 × …) people of each class with the gained values.
        whole: (3 × …) people of each class.
    """
    share = np.zeros(whole.shape[1:])
    for inside, everybody in zip(part[::-1], whole[::-1], strict=True):
        share = np.where(everybody > 0, inside / np.maximum(everybody, 1), share)
    return share
