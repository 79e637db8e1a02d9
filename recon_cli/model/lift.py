"""Lifts: features that only coarse geounits publish in detail are restored after solving.

If a region's tables determine the full joint of a finer feature (single years of age) with the
features that they cross it with, the working grain need not include it: the fine counts are summed
to the working grain as rows, and any allocation within each sum meets the fine counts exactly.

See *lift* in docs/glossary.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.grain import Grain
from recon_cli.model.placed import placed
from recon_cli.model.predicates import Masks, all_disjoint


@dataclass(frozen=True)
class Lift:
    """Fine rows of one pattern, summed to the working grain.

    Attributes:
        fine: Indices of the fine rows among the pattern's rows.
        sums: For each fine row the coarse row that it is part of.
        masks: Predicates of the coarse rows, unions of histogram cells of the working grain.
        groups: For each lifted feature the masks of the value groups that are restored.
        of_row: For each lifted feature (fine rows × atoms) the place in `groups` of the values that
            row and atom share, −1 where they share none.
    """

    features: tuple[int, ...]
    fine: IntArray
    sums: IntArray
    masks: tuple[Masks, ...]
    groups: tuple[tuple[int, ...], ...]
    of_row: tuple[IntArray, ...]

    @property
    def combine(self) -> sparse.csr_array:
        """Return a sparse (coarse rows × fine rows) matrix from fine to coarse counts."""
        return placed(self.sums, len(self.masks))


_NONE: Final = np.empty(0, dtype=np.int64)
#: The empty lift, for a pattern whose rows the grain resolves.
NO_LIFT: Final = Lift(features=(), fine=_NONE, sums=_NONE, masks=(), groups=(), of_row=())


def plan_lift(grain: Grain, rows: Sequence[Masks]) -> Lift | None:
    """Sum the rows that are finer than the grain, if that loses no information.

    No information is lost if the fine rows of every sum partition it along the lifted features, and
    sums are disjoint: then each record is in one sum, and each sum has its own fine counts.

    Args:
        rows: Predicates of one pattern's minimal margins.

    Returns:
        A lift (possibly of no rows), or None when the condition fails and the grain must be fine.
    """
    hulls = _hulls(grain, rows)
    fine = [i for i, masks in enumerate(rows) if hulls[i] != masks]
    features = tuple(
        f for f in range(len(grain.atoms)) if any(hulls[i][f] != rows[i][f] for i in fine)
    )
    parts: dict[Masks, list[int]] = defaultdict(list)
    for i in fine:
        parts[hulls[i]].append(i)
    sums = list(parts)
    if not all(_is_partition(whole, [rows[i] for i in parts[whole]], features) for whole in sums):
        return None
    if not all_disjoint(sums):
        return None
    order = [i for whole in sums for i in parts[whole]]
    sizes = np.array([len(parts[whole]) for whole in sums], dtype=np.int64)
    meetings = [_meetings(grain.atoms[f], [rows[i][f] for i in order]) for f in features]
    return Lift(
        features=features,
        fine=np.array(order, dtype=np.int64),
        sums=np.repeat(np.arange(len(sums)), sizes),
        masks=tuple(sums),
        groups=tuple(groups for groups, _ in meetings),
        of_row=tuple(of_row for _, of_row in meetings),
    )


def _hulls(grain: Grain, rows: Sequence[Masks]) -> list[Masks]:
    """Return the smallest unions of atoms that contain given predicates."""
    columns = []
    for atoms, column in zip(grain.atoms, zip(*rows, strict=True), strict=False):
        hull = {mask: sum(atom for atom in atoms if atom & mask) for mask in set(column)}
        columns.append([hull[mask] for mask in column])
    return list(zip(*columns, strict=True))


def _meetings(atoms: Sequence[int], masks: Sequence[int]) -> tuple[tuple[int, ...], IntArray]:
    """Return the value groups in which atoms and masks intersect, and the group of each pair."""
    found: dict[int, int] = {0: -1}
    of_mask = {
        mask: [found.setdefault(atom & mask, len(found) - 1) for atom in atoms]
        for mask in dict.fromkeys(masks)
    }
    of_row = np.array([of_mask[mask] for mask in masks], dtype=np.int64)
    return tuple(found)[1:], of_row


def _is_partition(whole: Masks, parts: list[Masks], features: tuple[int, ...]) -> bool:
    """Test whether parts that differ only in ``features`` tile their hull."""
    volume = sum(_volume(part, features) for part in parts)
    return volume == _volume(whole, features) and all_disjoint(parts)


def _volume(masks: Masks, features: tuple[int, ...]) -> int:
    volume = 1
    for f in features:
        volume *= masks[f].bit_count()
    return volume
