"""How likely each histogram cell is to somebody who knows only sums over the whole release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.model.grain import Grain, enumerate_domain, group_rows
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release

_TURNS = 200
#: The largest relative change of a turn that counts as none.
_SETTLED = 1e-6


@dataclass(frozen=True)
class MarginShare:
    """A margin's share of all people.

    Attributes:
        masks: Its predicate.
        share: From 0 to 1.
    """

    masks: Masks
    share: float


def fit_prior(release: Release, grain: Grain, margins: Sequence[MarginShare]) -> FloatArray:
    """The distribution of the greatest entropy with the given margins: (histogram cells,).

    Proportional fitting, a set of disjoint margins at a time. Margins that contradict each other
    (sums of protected counts) are met as nearly as the last turn does.

    Source: Deming & Stephan (1940); Csiszár (1975), Theorem 3.2.

    Args:
        grain: Resolves all margins.
        margins: Those of the whole release.
    """
    domain = enumerate_domain(grain.sizes)
    rows = [margin.masks for margin in margins]
    share = np.array([margin.share for margin in margins])
    layers = [
        layer[group.codes(domain)]
        for group in group_rows(grain, release.full, rows, [None] * len(rows))
        for layer in group.layers
    ]
    p = np.full(len(domain), 1 / len(domain))
    for _ in range(_TURNS):
        before = p.copy()
        for row in layers:
            inside = row >= 0
            sums = np.bincount(row[inside], weights=p[inside], minlength=len(share))
            factor = np.divide(share, sums, out=np.zeros(len(share)), where=sums > 0)
            p[inside] *= factor[row[inside]]
        p /= p.sum()
        if np.abs(p - before).max() <= _SETTLED * p.max():
            break
    return p
