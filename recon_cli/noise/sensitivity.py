"""How much the counts of a table can change between neighbouring data sets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import IntArray
from recon_cli.schema import Feature, Table, bits


@dataclass(frozen=True)
class Sensitivity:
    """Of a list of counts.

    Attributes:
        absolute: L1 sensitivity.
        squared: Square of the L2 sensitivity.
    """

    absolute: int
    squared: int


#: Of cells that everybody is in exactly one of.
ONE_RECORD, ONE_CHANGE = Sensitivity(1, 1), Sensitivity(2, 2)


def table_sensitivity(table: Table, features: Sequence[Feature], *, replaced: bool) -> Sensitivity:
    """Sensitivity of all cells of a table together.

    Args:
        features: Of its release.
        replaced: Whether neighbours differ in the values of one record; else in one record. For
            values it is the bound ‖a − c‖ + ‖b − c‖ of two kinds of record, of what all kinds
            share, c: no less than the true one, and equal to it if two of the largest share
            nothing else.
    """
    kinds = _weights(table, features)
    if not replaced:
        return Sensitivity(int(kinds.sum(axis=1).max()), int((kinds**2).sum(axis=1).max()))
    own = kinds - kinds.min(axis=0)
    return Sensitivity(2 * int(own.sum(axis=1).max()), 2 * int((own**2).sum(axis=1).max()))


def _weights(table: Table, features: Sequence[Feature]) -> IntArray:
    """(kinds × cells) what a person of each kind that the cells tell apart adds to each cell."""
    representatives = [_representatives(table, f, feature) for f, feature in enumerate(features)]
    kinds = np.array(list(itertools.product(*representatives)), dtype=np.int64)
    kinds = kinds.reshape(-1, len(features))
    weights = np.ones((len(kinds), len(table.cells)), dtype=np.int64)
    for f, feature in enumerate(features):
        for mask in {cell.masks[f] for cell in table.cells}:
            inside = np.isin(kinds[:, f], list(bits(mask)))
            cells = [i for i, cell in enumerate(table.cells) if cell.masks[f] == mask]
            weights[:, cells] *= inside[:, None]
        tallied = [i for i, cell in enumerate(table.cells) if cell.tally == f]
        if tallied:
            picked = np.array([int(value).bit_count() for value in feature.values])
            weights[:, tallied] *= picked[kinds[:, f]][:, None]
    return weights


def _representatives(table: Table, f: int, feature: Feature) -> list[int]:
    """One value of each class that the cells tell apart."""
    masks = sorted({cell.masks[f] for cell in table.cells})
    is_tallied = any(cell.tally == f for cell in table.cells)
    found: dict[tuple[int, ...], int] = {}
    for at, value in enumerate(feature.values):
        seen = tuple(mask >> at & 1 for mask in masks)
        found.setdefault((*seen, int(value).bit_count()) if is_tallied else seen, at)
    return list(found.values())
