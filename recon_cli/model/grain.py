"""The working grain: the coarsest values of each feature that lose no information.

Two values of a feature that no row distinguishes form one atom. A histogram cell of the working
grain is one atom of every feature; its code is the mixed-radix number of the atoms.

See *atom* and *grain* in docs/glossary.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recon_cli.arrays import AtomArray, BoolArray, IntArray, ranges
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release, bits, count_combinations

#: Most combinations of values that are enumerated in every unit.
_ENUMERATE = 1000


@dataclass(frozen=True)
class Grain:
    """Atoms of every feature.

    Attributes:
        atoms: For each feature of the release, in order, the masks of its atoms; each feature's
            atoms partition its values and are ordered by their first value.
    """

    atoms: tuple[tuple[int, ...], ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of atoms of each feature."""
        return tuple(len(atoms) for atoms in self.atoms)

    @cached_property
    def _within(self) -> dict[tuple[int, int], IntArray]:
        return {}

    def within(self, feature: int, mask: int) -> IntArray:
        """Return the indices of the atoms of ``feature`` inside ``mask``, a union of atoms."""
        if (feature, mask) not in self._within:
            inside = [i for i, atom in enumerate(self.atoms[feature]) if atom & ~mask == 0]
            self._within[feature, mask] = np.array(inside, dtype=np.int64)
        return self._within[feature, mask]

    def resolves(self, masks: Masks) -> bool:
        """Test whether a predicate is a union of histogram cells of this grain."""
        return all(self._is_union(f, mask) for f, mask in enumerate(masks))

    def _is_union(self, feature: int, mask: int) -> bool:
        if (feature, mask) not in self._unions:
            whole = all(atom & mask in {0, atom} for atom in self.atoms[feature])
            self._unions[feature, mask] = whole
        return self._unions[feature, mask]

    @cached_property
    def _unions(self) -> dict[tuple[int, int], bool]:
        return {}

    @cached_property
    def lowest(self) -> tuple[IntArray, ...]:
        """Return for each feature the position of the lowest value of each of its atoms."""
        return tuple(np.array([next(bits(atom)) for atom in atoms]) for atoms in self.atoms)

    def picked(self, release: Release, feature: int) -> IntArray:
        """Return for each atom of a tallied multi-select feature its number of options."""
        values = release.features[feature].values
        return np.array([int(values[v]).bit_count() for v in self.lowest[feature]])


def refine(release: Release, predicates: Iterable[Masks], tallied: Iterable[int] = ()) -> Grain:
    """Compute the common refinement of predicates.

    Args:
        predicates: Masks of the rows that must be unions of histogram cells.
        tallied: Features whose options are counted: every number of options is its own atom.
    """
    columns = [set(column) for column in zip(*predicates, strict=True)]
    if not columns:
        columns = [set() for _ in release.features]
    for at in tallied:
        feature = release.features[at]
        columns[at] |= {feature.picked(n) for n in range(1, len(feature.options) + 1)}
    atoms = []
    for feature, masks in zip(release.features, columns, strict=True):
        width = len(feature.values)
        # Each mask written out, the first value first: a value's signature is a column of that.
        written = (f"{mask:0{width}b}"[::-1] for mask in masks | {feature.full})
        signatures: dict[tuple[str, ...], int] = defaultdict(int)
        for value, signature in enumerate(zip(*written, strict=True)):
            signatures[signature] |= 1 << value
        atoms.append(tuple(signatures.values()))
    return Grain(tuple(atoms))


@dataclass(frozen=True)
class RowGroup:
    """Rows that constrain the same features, as a look-up from atoms to rows.

    Attributes:
        sizes: Number of atoms of each of `features`: the radices of codes.
        layers: Array (layers × codes): the rows that a code belongs to, −1 for none. Rows in one
            layer are disjoint; overlapping rows need more layers.
    """

    features: tuple[int, ...]
    sizes: tuple[int, ...]
    layers: IntArray

    def codes(self, atoms: AtomArray) -> IntArray:
        """Return the codes of histogram cells given as (cells × all features) atom indices."""
        code = np.zeros(len(atoms), dtype=np.int64)
        for f, size in zip(self.features, self.sizes, strict=True):
            code *= size
            code += atoms[:, f]
        return code

    def rows_of(self, atoms: AtomArray) -> Iterator[IntArray]:
        """Yield for each layer the row that contains each histogram cell, −1 for none."""
        codes = self.codes(atoms)
        return (layer[codes] for layer in self.layers)

    def holds(self, atoms: AtomArray) -> BoolArray:
        """Test which histogram cells are in some row."""
        is_in_row: BoolArray = np.any(self.layers >= 0, axis=0)
        return is_in_row[self.codes(atoms)]


def unravel(codes: IntArray, sizes: Sequence[int]) -> AtomArray:
    """Return (cells × features) atom indices of mixed-radix codes.

    >>> unravel(np.array([0, 5]), sizes=(2, 3)).tolist()
    [[0, 0], [1, 2]]
    """
    atoms = np.empty((len(codes), len(sizes)), dtype=np.int16)
    for column in range(len(sizes) - 1, -1, -1):
        codes, atoms[:, column] = np.divmod(codes, sizes[column])
    return atoms


def enumerate_domain(sizes: Sequence[int]) -> AtomArray:
    """Enumerate every histogram cell as (cells × features) atom indices, in mixed-radix order.

    >>> enumerate_domain((2, 2)).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    return unravel(np.arange(math.prod(sizes), dtype=np.int64), sizes)


def group_rows(
    grain: Grain, full: Masks, rows: Sequence[Masks], tally: Sequence[int | None]
) -> tuple[RowGroup, ...]:
    """Index rows by the features that they constrain, few features first.

    Args:
        grain: Resolves all ``rows``.
        full: The masks of a row without conditions.
        rows: Predicates; row ``i`` of the result is ``rows[i]``.
        tally: For each row the tallied feature, which counts as constrained, or None.
    """
    by_features: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, (masks, at) in enumerate(zip(rows, tally, strict=True)):
        constrained = tuple(f for f in range(len(full)) if masks[f] != full[f] or f == at)
        by_features[constrained].append(i)
    return tuple(
        _index(grain, features, [(i, rows[i]) for i in members])
        for features, members in sorted(by_features.items(), key=lambda item: (len(item[0]), item))
    )


def group_screens(
    grain: Grain, full: Masks, margins: Sequence[Masks]
) -> tuple[tuple[RowGroup, ...], list[int]]:
    """Index the margins over few features from which a search for candidates can start.

    Args:
        grain: Resolves all ``margins``.
        full: The masks of a margin without conditions.
        margins: Predicates of margins with known counts.

    Returns:
        For each set of features small enough to enumerate in every unit, its finest disjoint
        margins; and for each of their rows its index in ``margins``.
    """
    by_features: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i, masks in enumerate(margins):
        features = tuple(f for f in range(len(full)) if masks[f] != full[f])
        if math.prod(grain.sizes[f] for f in features) <= _ENUMERATE:
            by_features[features].append(i)
    screens: list[RowGroup] = []
    used: list[int] = []
    for features in sorted(by_features):
        finest = sorted(
            by_features[features], key=lambda i: (count_combinations(margins[i]), margins[i])
        )
        group = _index(grain, features, [(i, margins[i]) for i in finest])
        layer = group.layers[0]
        rows = np.unique(layer[layer >= 0])
        number = np.full(len(margins) + 1, -1, dtype=np.int64)
        number[rows] = np.arange(len(rows)) + len(used)
        used += rows.tolist()
        screens.append(RowGroup(features, group.sizes, number[layer][None, :]))
    return tuple(screens), used


def _index(grain: Grain, features: tuple[int, ...], rows: list[tuple[int, Masks]]) -> RowGroup:
    sizes = tuple(grain.sizes[f] for f in features)
    numbers = np.array([i for i, _ in rows], dtype=np.int64)
    place, codes = _codes_of(grain, features, [masks for _, masks in rows])
    if np.bincount(codes).max(initial=0) <= 1:  # as mostly: no two rows have a code in common
        only = np.full(math.prod(sizes), -1, dtype=np.int64)
        only[codes] = numbers[place]
        return RowGroup(features, sizes, only[None, :])
    layers: list[IntArray] = []
    ends = np.searchsorted(place, np.arange(1, len(rows)))
    for i, own in zip(numbers.tolist(), np.split(codes, ends), strict=True):
        for layer in layers:
            if (layer[own] == -1).all():
                break
        else:
            layer = np.full(math.prod(sizes), -1, dtype=np.int64)
            layers.append(layer)
        layer[own] = i
    return RowGroup(features, sizes, np.stack(layers))


def _codes_of(
    grain: Grain, features: tuple[int, ...], rows: Sequence[Masks]
) -> tuple[IntArray, IntArray]:
    """Return all pairs of a row and a code in it: the rows' indices, sorted, and the codes."""
    place = np.arange(len(rows))
    code = np.zeros(len(rows), dtype=np.int64)
    for f in features:
        distinct = {mask: i for i, mask in enumerate(dict.fromkeys(row[f] for row in rows))}
        within = [grain.within(f, mask) for mask in distinct]
        count = np.array([len(atoms) for atoms in within])
        which = np.array([distinct[row[f]] for row in rows])[place]
        times = count[which]
        # The atoms of each row's mask one after the other, for every code so far.
        at = ranges((np.cumsum(count) - count)[which], times)
        code = np.repeat(code * grain.sizes[f], times) + np.concatenate(within)[at]
        place = np.repeat(place, times)
    return place, code
