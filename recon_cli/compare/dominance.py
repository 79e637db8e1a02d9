"""Which protections no other one beats in error and in every measure of risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A protection as an officer sees it.

    Attributes:
        name: Its name.
        errors: Of what is published, one number a kind of count; less is better.
        risks: Measure → what can be found; less is better. None where it was not measured.
    """

    name: str
    errors: tuple[float, ...]
    risks: Mapping[str, float | None]

    @property
    def is_placed(self) -> bool:
        """Whether every measure was taken."""
        return None not in self.risks.values()

    def dominates(self, other: Choice) -> bool:
        """Whether it is as good in every error and every risk, and better in one.

        A choice of which some risk was not measured neither dominates nor is dominated.
        """
        if not (self.is_placed and other.is_placed):
            return False
        mine, theirs = self._all(), other._all()
        return mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True))

    def _all(self) -> list[float]:
        risks = [self.risks[name] for name in sorted(self.risks)]
        return [*self.errors, *(risk for risk in risks if risk is not None)]


def dominated_by(choices: Sequence[Choice]) -> dict[str, str]:
    """Name of each dominated choice → that of one on the frontier that dominates it.

    Args:
        choices: With different names, and the same errors and measures.

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
    """The choices that none dominates, by their errors, then by name.

    Those of which some risk was not measured are left out: they have no place.
    """
    on_it = [
        each
        for each in choices
        if each.is_placed and not any(other.dominates(each) for other in choices)
    ]
    return sorted(on_it, key=lambda each: (each.errors, each.name))
