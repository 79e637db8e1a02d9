"""Which units could make up for a change of another one.

A change of the records of one unit shows in the cells of coarser geounits, unless other units
change the other way round. Those can that have records of the same coarse cells. A program over a
few such units is small, and nearly always enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.program import connected_parts


@dataclass(frozen=True)
class Neighbourhoods:
    """The units of a region.

    Attributes:
        unit: Of each column; units share no fine cell.
        present: Sparse (units × kinds): whether a unit has columns of a kind, which are those that
            lie in the same coarse cells.
        inhabited: Likewise, columns with people.
    """

    unit: IntArray
    present: sparse.csr_array
    inhabited: sparse.csr_array

    @classmethod
    def of(cls, rows: sparse.csr_array, is_fine: BoolArray, known: IntArray) -> Neighbourhoods:
        """Those of a region.

        Args:
            rows: Sparse (cells × columns) coefficients.
            is_fine: Whether each cell is one of the finest level.
            known: People in each column.
        """
        _, unit = connected_parts(sparse.csr_array(rows[is_fine]))
        coarse = sparse.csr_array(rows[~is_fine].T)
        weights = np.random.default_rng(0).integers(1, 2**40, size=(coarse.shape[1], 2))
        _, kind = np.unique(coarse @ weights, axis=0, return_inverse=True)
        shape = (int(unit.max(initial=-1)) + 1, int(kind.max(initial=-1)) + 1)

        def among(some: IntArray) -> sparse.csr_array:
            ones = np.ones(len(some), dtype=np.int64)
            counted = sparse.csr_array((ones, (unit[some], kind.ravel()[some])), shape=shape)
            return sparse.csr_array(counted.minimum(1))

        return cls(unit, among(np.arange(len(unit))), among(np.flatnonzero(known > 0)))

    def of_columns(self, columns: IntArray) -> IntArray:
        """The units that some columns belong to, rising."""
        return np.unique(self.unit[columns])

    def around(self, units: IntArray, size: int) -> IntArray:
        """All columns, rising, of some units, and of the ``size`` units most like them."""
        shared = self.present[units] @ self.inhabited.T + self.inhabited[units] @ self.present.T
        alike = np.asarray(shared.sum(axis=0)).ravel()
        alike[units] = -1
        others = np.argsort(-alike, kind="stable")[: min(size, len(alike) - len(units))]
        inside: BoolArray = np.isin(self.unit, np.concatenate([units, others]))
        return np.flatnonzero(inside)
