"""What verified claims disclose: who is singled out, and whose other columns are settled.

See *identity disclosure*, *attribute disclosure* and *inferential disclosure* in docs/glossary.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.attack.claims.groups import Groups

#: By rising strength of what is claimed about the people: each kind contains those before.
KINDS = ("identity", "attribute", "inferential")


def disclosing_groups(
    groups: Groups, lower: IntArray, upper: IntArray, share: float
) -> dict[str, BoolArray]:
    """For each kind of disclosure which groups have a column settled by theirs: Eq. (alike).

    A group whose size is verified discloses another column if as many people, in every solution,
    have one value on it. *Identity*: the group is one person. *Attribute*: it is a group of any
    size that is known to be alike. *Inferential*: at least a share of the group is alike.

    Args:
        lower: For each group its proven least size.
        upper: Its proven greatest size.
        share: The proven share from which on a value counts as inferred, above 0, at most 1.
    """
    found = {kind: np.zeros(len(lower), dtype=bool) for kind in KINDS}
    exact = (lower == upper) & (lower > 0)
    enough = _shares_of(upper, share)
    for column in range(groups.columns):
        finer = np.flatnonzero((groups.subset >> column & 1 == 1) & (lower > 0))
        group = groups.without(finer, column)
        finer, group = finer[exact[group]], group[exact[group]]
        alike = group[lower[finer] == upper[group]]
        found["attribute"][alike] = True
        found["identity"][alike[upper[alike] == 1]] = True
        found["inferential"][group[lower[finer] >= enough[group]]] = True
    return found


def disclosed_groups(groups: Groups, disclosing: dict[str, BoolArray]) -> BoolArray:
    """(kinds × columns × groups) whether at most so many known columns settle another one."""
    known = np.arange(groups.columns)
    few: BoolArray = groups.size <= known[:, None]
    return np.stack([disclosing[kind] & few for kind in KINDS])


def _shares_of(people: IntArray, share: float) -> IntArray:
    """The least number of people that are a share, as it is written, of each number of them."""
    written = Fraction(str(share))
    numbers, of_each = np.unique(people, return_inverse=True)
    least = np.array([math.ceil(written * int(number)) for number in numbers], dtype=np.int64)
    return least[of_each.ravel()]
