"""Several releases of the same counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.risk.one_level import logit


def compose(releases: Iterable[FloatArray], p: float) -> FloatArray:
    """Log-odds after several releases, each posterior the next prior. Eq. (composition).

    Args:
        releases: Log-odds of each release by itself, all from the prior ``p``.
        p: The prior.

    Raises:
        ValueError: ``p`` is not above 0 and below 1.
    """
    start = logit(p)
    total: FloatArray = np.asarray(start)
    for odds in releases:
        total = total + (odds - start)
    return total
