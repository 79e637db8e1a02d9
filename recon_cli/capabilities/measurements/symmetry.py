"""Symmetries of measurements: histogram cells that they treat alike.

Two classes of a feature are exchangeable if swapping them, in every cell, maps the counts of each
level to themselves. Then all permutations of exchangeable classes are symmetries, and the
information matrices of all levels have the same blocks: for each feature either the sums over
exchangeable classes, or the equally informative differences within one group of such classes
(Schur's lemma). A strategy of whole features has blocks of size one.

See *symmetry* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.capabilities.measurements.measurements import LevelMeasurements

#: Rows are compared by sums of random whole numbers, exact in doubles.
_LARGEST: Final = 2**30


@dataclass(frozen=True, eq=False)
class MatrixBlock:
    """A block that the information matrices of all levels share, with multiplicity.

    Attributes:
        parts: For each feature the columns of its basis.
        is_sum: For each feature whether these are sums, else differences within a group.
    """

    parts: tuple[slice, ...]
    is_sum: tuple[bool, ...]

    @property
    def size(self) -> int:
        """Return the number of rows of the block."""
        return math.prod(
            part.stop - part.start
            for part, whole in zip(self.parts, self.is_sum, strict=True)
            if whole
        )

    def of(self, values: FloatArray) -> FloatArray:
        """Return the (size × n × copies) coordinates of n vectors, from (features' bases …, n)."""
        count = len(self.parts)
        order = [f for f in range(count) if self.is_sum[f]]
        order += [count, *(f for f in range(count) if not self.is_sum[f])]
        part = values[self.parts].transpose(order)
        return part.reshape(self.size, values.shape[-1], -1)


@dataclass(frozen=True, eq=False)
class SymmetricBasis:
    """An orthonormal basis of histograms in which information matrices are block-diagonal.

    Attributes:
        sizes: Classes of each feature.
        bases: For each feature (classes × classes): sums over groups of exchangeable classes, then
            differences within each group.
        blocks: Blocks that together have all coordinates.
    """

    sizes: tuple[int, ...]
    bases: tuple[FloatArray, ...]
    blocks: tuple[MatrixBlock, ...]

    def to_basis(self, histograms: FloatArray) -> FloatArray:
        """Return the (features' bases …, n) coordinates of (cells × n) histograms."""
        values = histograms.reshape(*self.sizes, -1)
        for f, basis in enumerate(self.bases):
            values = np.moveaxis(np.tensordot(basis.T, values, axes=(1, f)), 0, f)
        return np.ascontiguousarray(values)


def symmetric_basis(sizes: Sequence[int], levels: Sequence[LevelMeasurements]) -> SymmetricBasis:
    """Build the basis from the symmetries of some measurements.

    Args:
        sizes: Classes of each feature; a histogram cell is a combination.
    """
    bases, choices = [], []
    for f, size in enumerate(sizes):
        groups = exchangeable_classes(sizes, levels, f)
        count = int(groups.max()) + 1
        sums = (groups[:, None] == np.arange(count)) / np.sqrt(np.bincount(groups))
        columns, parts = [sums], [(slice(0, count), True)]
        start = count
        for group in range(count):
            members = np.flatnonzero(groups == group)
            if len(members) > 1:
                differences = np.zeros((size, len(members) - 1))
                differences[members] = _differences(len(members))
                columns.append(differences)
                parts.append((slice(start, start + len(members) - 1), False))
                start += len(members) - 1
        bases.append(np.hstack(columns))
        choices.append(parts)
    blocks = [
        MatrixBlock(tuple(part for part, _ in chosen), tuple(whole for _, whole in chosen))
        for chosen in itertools.product(*choices)
    ]
    return SymmetricBasis(tuple(sizes), tuple(bases), tuple(blocks))


def exchangeable_classes(
    sizes: Sequence[int], levels: Sequence[LevelMeasurements], f: int
) -> IntArray:
    """Return the (classes,) group of exchangeable classes of each class of a feature."""
    rng = np.random.default_rng(0)
    chance = rng.integers(_LARGEST, size=sizes).astype(np.float64)
    wanted = [_signature(level, chance) for level in levels]
    found, first = np.zeros(sizes[f], dtype=np.int64), list[int]()
    for value in range(sizes[f]):
        for group, other in enumerate(first):
            swapped = np.arange(sizes[f])
            swapped[[value, other]] = other, value
            turned = np.take(chance, swapped, axis=f)
            if all(
                np.array_equal(_signature(level, turned), own)
                for level, own in zip(levels, wanted, strict=True)
            ):
                found[value] = group
                break
        else:
            found[value] = len(first)
            first.append(value)
    return found


def _signature(level: LevelMeasurements, chance: FloatArray) -> FloatArray:
    """Return the counts of a random histogram with their weights, sorted by both."""
    pairs = np.stack([level.weight, level.operator @ chance.ravel()], axis=1)
    found: FloatArray = pairs[np.lexsort(pairs.T[::-1])]
    return found


def _differences(size: int) -> FloatArray:
    """Return (size × size − 1) orthonormal columns that each sum to zero: Helmert's."""
    found = np.zeros((size, size - 1))
    for j in range(1, size):
        found[:j, j - 1], found[j, j - 1] = 1, -j
        found[:, j - 1] /= math.sqrt(j * (j + 1))
    return found
