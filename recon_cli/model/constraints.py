"""Linear rows over the cells of a system, each between two numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import IntArray


@dataclass(frozen=True)
class LinearConstraints:
    """``least <= A x <= most``: Eq. (published) of docs/method.md, over the unknowns of a system.

    A published count has ``least == most``; a count that only bounds has ``least == 0``.

    Attributes:
        A: Sparse (rows × cells), integer coefficients; of published counts, positive ones.
        least: What each row comes to at least.
        most: What each row comes to at most; in a system `recon_cli.frames.OPEN` where it
            has no upper end, in an integer program always a number that follows from the others.

    Raises:
        ValueError: When made: as many bounds as rows are needed.
    """

    A: sparse.csr_array
    least: IntArray
    most: IntArray

    def __post_init__(self) -> None:
        rows = self.A.shape[0]
        if self.least.shape != (rows,) or self.most.shape != (rows,):
            raise ValueError(
                f"{rows} rows have bounds of shapes {self.least.shape} and {self.most.shape}"
            )

    def are_met_by(self, values: IntArray) -> bool:
        """Whether ``values`` satisfies every row."""
        total = self.A @ values
        return bool((total >= self.least).all() and (total <= self.most).all())


def relax(
    rows: LinearConstraints, is_unit_row: npt.NDArray[np.bool_], unit: IntArray
) -> LinearConstraints:
    """Unit by unit: coarse rows only bound what each unit puts into them (Eq. 4.9).

    Args:
        is_unit_row: For each row whether it belongs to a unit, not to a coarser geounit.
        unit: For each cell its unit.

    Returns:
        The units' rows as they are, and for every coarse row and unit in it one row that the
        unit's share must not exceed. No row couples two units.
    """
    entries = rows.A.tocoo()
    own = is_unit_row[entries.row]
    share = np.where(own, 0, unit[entries.col] + 1)
    shares = int(share.max(initial=0)) + 1
    # One number for row and share: NumPy sorts those ten times as fast as pairs.
    pairs, number = np.unique(entries.row * np.int64(shares) + share, return_inverse=True)
    row, share = np.divmod(pairs, shares)
    A = sparse.csr_array((entries.data, (number, entries.col)), shape=(len(row), rows.A.shape[1]))
    return LinearConstraints(A, np.where(share == 0, rows.least[row], 0), rows.most[row])
