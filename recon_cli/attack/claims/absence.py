"""Claims that nobody of a unit has some values, and that no one table says so.

A group is empty in every solution where all its histogram cells are, so what is possible settles
it: the values on a subset of the columns that no possible cell has. Of these the least are kept,
those with somebody possible on each smaller subset: all others follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.predicates import Masks
from recon_cli.schema import Recode, Release

#: Columns of an absence, at most: as many as are tested for being read off one table.
MOST_COLUMNS = 4
#: Values of one subset of the columns that are looked at; subsets with more have no claims.
_VALUES = 4_000_000


@dataclass(frozen=True)
class Absences:
    """Groups that are empty in every solution, of one unit.

    Attributes:
        subset: For each its columns, as bits.
        values: (groups × columns) its group numbers; 0 in other columns.
    """

    subset: IntArray
    values: IntArray


@dataclass(frozen=True)
class StatedZeros:
    """Predicates of cells that may be zero in the open, as the columns of claims see them.

    Attributes:
        allowed: For each column (predicates × groups) whether some value of a group is allowed.
        within: Likewise, whether all values are.
        is_full: For each column (predicates) whether all values of its feature are allowed.
        always: How many, from the first on, are zero by the schema.
        features: The place of each column's feature.
    """

    allowed: tuple[BoolArray, ...]
    within: tuple[BoolArray, ...]
    is_full: tuple[BoolArray, ...]
    always: int
    features: tuple[int, ...]

    @classmethod
    def of(cls, release: Release, columns: Sequence[Recode], cells: Iterable[Masks]) -> StatedZeros:
        """The structural zeros, and cells that are published exactly."""
        zeros = [masks for zero in release.structural_zeros for masks in zero.impossible]
        features = tuple(release.feature_index[each.feature] for each in columns)
        others = [f for f in range(len(release.full)) if f not in features]
        told = [
            masks
            for masks in dict.fromkeys((*zeros, *cells))
            if all(masks[f] == release.full[f] for f in others)
        ]
        always = sum(masks in set(zeros) for masks in told)
        allowed, within, is_full = [], [], []
        for each, f in zip(columns, features, strict=True):
            shape = len(told), len(each.masks)
            allowed.append(_table([bool(g & m[f]) for m in told for g in each.masks], shape))
            within.append(_table([not g & ~m[f] for m in told for g in each.masks], shape))
            is_full.append(np.array([m[f] == release.full[f] for m in told], dtype=bool))
        return cls(tuple(allowed), tuple(within), tuple(is_full), always, features)

    def hold(self, absences: Absences, possible: IntArray) -> BoolArray:
        """For each absence whether one predicate that is zero has all of its group.

        Args:
            absences: Of one unit.
            possible: As of `least_absences`.
        """
        is_zero = np.ones(len(self.is_full[0]), dtype=bool)
        met = np.ones((len(is_zero), len(possible)), dtype=bool)
        for allowed, groups in zip(self.allowed, possible.T, strict=True):
            met &= allowed[:, groups]
        is_zero &= ~met.any(axis=1)
        is_zero[: self.always] = True
        inside = np.ones((int(is_zero.sum()), len(absences.subset)), dtype=bool)
        for j, (within, is_full) in enumerate(zip(self.within, self.is_full, strict=True)):
            is_spoken = absences.subset >> j & 1 == 1
            of_group = within[is_zero][:, absences.values[:, j]]
            inside &= np.where(is_spoken, of_group, is_full[is_zero][:, None])
        held: BoolArray = np.logical_or.reduce(inside, axis=0)
        return held


def _table(flags: list[bool], shape: tuple[int, int]) -> BoolArray:
    return np.array(flags, dtype=bool).reshape(shape)


def least_absences(possible: IntArray, labels: Sequence[int], features: Sequence[int]) -> Absences:
    """The least groups that no possible cell is in: Eq. (absent).

    Args:
        possible: (cells × columns) group numbers of the cells that a solution may have people in.
        labels: How many groups each column has.
        features: Of which feature each is; no absence speaks of one twice.
    """
    columns = range(len(labels))
    some = [np.unique(column) for column in possible.T]
    codes = np.stack([np.searchsorted(some[j], possible[:, j]) for j in columns], axis=1)
    present: dict[tuple[int, ...], BoolArray] = {}
    subsets: list[int] = []
    found: list[IntArray] = []
    for k in range(1, min(len(labels), MOST_COLUMNS) + 1):
        for chosen in combinations(columns, k):
            if len({features[j] for j in chosen}) < k:
                continue
            shape = [len(some[j]) for j in chosen]
            parents = [
                found_there
                for at in range(k)
                if (found_there := present.get((*chosen[:at], *chosen[at + 1 :]))) is not None
            ]
            if k == 1:
                missing = np.setdiff1d(np.arange(labels[chosen[0]]), some[chosen[0]])[:, None]
            elif math.prod(shape) > _VALUES or len(parents) < k:
                continue
            else:
                is_absent: BoolArray = np.ones(shape, dtype=bool)
                for at, parent in enumerate(parents):
                    is_absent = is_absent & np.expand_dims(parent, at)
                is_absent[tuple(codes[:, chosen].T)] = False
                places = np.argwhere(is_absent)
                missing = np.stack([some[j][places[:, at]] for at, j in enumerate(chosen)], axis=1)
            is_present = np.zeros(shape, dtype=bool)
            is_present[tuple(codes[:, chosen].T)] = True
            present[chosen] = is_present
            values = np.zeros((len(missing), len(labels)), dtype=np.int64)
            values[:, chosen] = missing
            found.append(values)
            subsets += [sum(1 << j for j in chosen)] * len(missing)
    return Absences(np.array(subsets, dtype=np.int64), np.concatenate(found))
