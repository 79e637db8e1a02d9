"""Which people a published cell counts, as a matrix over histogram cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from recon_cli.arrays import AtomArray
from recon_cli.model.grain import Grain, enumerate_domain
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release


def design_matrix(
    release: Release,
    grain: Grain,
    rows: Sequence[tuple[Masks, int | None]],
    atoms: AtomArray | None = None,
) -> sparse.csr_array:
    """Sparse (rows × histogram cells): how often each row counts a person of a cell.

    Args:
        grain: Resolves all rows.
        rows: Predicates, each with the feature whose picked options it tallies, or None.
        atoms: (histogram cells × features) atom indices; default all, in mixed-radix order.
    """
    domain = enumerate_domain(grain.sizes) if atoms is None else atoms
    inside: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}
    columns, counts, sizes = [], [], []
    for masks, tally in rows:
        held = np.ones(len(domain), dtype=bool)
        for f, mask in enumerate(masks):
            if mask != release.full[f]:
                if (f, mask) not in inside:
                    values = np.zeros(grain.sizes[f], dtype=bool)
                    values[grain.within(f, mask)] = True
                    inside[f, mask] = values[domain[:, f]]
                held &= inside[f, mask]
        found = np.flatnonzero(held)
        weight = np.ones(len(found), dtype=np.int64)
        if tally is not None:
            weight = grain.picked(release, tally)[domain[found, tally]]
        columns.append(found)
        counts.append(weight)
        sizes.append(len(found))
    empty = [np.empty(0, dtype=np.int64)]
    return sparse.csr_array(
        (np.concatenate(counts or empty), np.concatenate(columns or empty), np.cumsum([0, *sizes])),
        shape=(len(rows), len(domain)),
    )
