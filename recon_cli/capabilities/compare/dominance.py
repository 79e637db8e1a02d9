"""Pareto frontiers: undominated protections, and those that are optimal for some weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import linprog

from recon_cli.arrays import FloatArray

#: Weighed sums that differ by less are equal, each measure being scaled to at most 1.
_EQUAL: Final = 1e-9


@dataclass(frozen=True)
class Choice:
    """A protection with its errors and risks.

    Attributes:
        errors: Errors of what is published, one number for each kind of count; less is better.
        risks: Measure → what can be found; less is better. None where it was not measured.
    """

    name: str
    errors: tuple[float, ...]
    risks: Mapping[str, float | None]

    @property
    def is_placed(self) -> bool:
        """Report whether every measure was taken."""
        return None not in self.risks.values()

    def dominates(self, other: Choice) -> bool:
        """Test whether a choice is nowhere worse than ``other``, and better in an error or risk.

        A choice with an unmeasured risk neither dominates nor is dominated.
        """
        if not (self.is_placed and other.is_placed):
            return False
        mine, theirs = self.measures, other.measures
        return mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True))

    @property
    def measures(self) -> list[float]:
        """List errors, then the measured risks, by name."""
        risks = [self.risks[name] for name in sorted(self.risks)]
        return [*self.errors, *(risk for risk in risks if risk is not None)]


def dominated_by(choices: Sequence[Choice]) -> dict[str, str]:
    """Map each dominated choice to one on the frontier that dominates it.

    Args:
        choices: Choices with different names, and the same errors and measures.

    >>> risky, mild = Choice("none", (0,), {"certain": 9}), Choice("a", (1,), {"certain": 4})
    >>> dominated_by([risky, mild, Choice("b", (2,), {"certain": 4})])
    {'b': 'a'}
    """
    best = undominated(choices)
    beaten = {}
    for each in choices:
        better = next((other.name for other in best if other.dominates(each)), None)
        if better is not None:
            beaten[each.name] = better
    return beaten


def undominated(choices: Sequence[Choice]) -> list[Choice]:
    """Return the undominated choices, sorted by errors, then by name.

    Choices with an unmeasured risk are left out.

    >>> mild, worse = Choice("a", (1,), {"risk": 1}), Choice("b", (2,), {"risk": 1})
    >>> [each.name for each in undominated([mild, worse])]
    ['a']
    """
    on_it = [
        each
        for each in choices
        if each.is_placed and not any(other.dominates(each) for other in choices)
    ]
    return sorted(on_it, key=lambda each: (each.errors, each.name))


def best_for_some_weight(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices with the least weighted sum of errors and risks, for some weights.

    They lie on the lower convex hull of all choices. An undominated choice above the hull is
    optimal for no weights.

    Args:
        choices: All placed, with the same errors and measures.

    >>> few, some, many = (Choice(n, (e,), {"certain": r}) for n, e, r in
    ...                    [("few", 0, 9), ("some", 4, 6), ("many", 5, 0)])
    >>> [each.name for each in best_for_some_weight([few, some, many])]
    ['few', 'many']
    """
    points = np.array([each.measures for each in choices], dtype=np.float64)
    scale = np.abs(points).max(axis=0, initial=0)
    points /= np.where(scale > 0, scale, 1)
    return [each for i, each in enumerate(choices) if _is_on_hull(points, i)]


def _is_on_hull(points: FloatArray, i: int) -> bool:
    """Test whether for some weights no point is below this one, by checking such weights."""
    behind = points - points[i]
    count = points.shape[1]
    program = linprog(  # weights of sum 1, and the least lead over the others, which is greatest
        np.r_[np.zeros(count), -1.0],
        A_ub=np.c_[-behind, np.ones(len(points))],
        b_ub=np.zeros(len(points)),
        A_eq=np.r_[np.ones(count), 0.0][None],
        b_eq=[1.0],
        bounds=[*[(0, None)] * count, (None, None)],
        method="highs",
    )
    weights = np.maximum(np.asarray(program.x, dtype=np.float64)[:count], 0)
    return bool((behind @ weights).min() >= -_EQUAL)
