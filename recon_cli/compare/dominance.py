"""Which protections no other one beats in both error and risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A protection as an officer sees it.

    Attributes:
        name: Its name.
        error: Of what is published; less is better.
        risk: Of what can be found; less is better. None where it was not measured.
    """

    name: str
    error: float
    risk: float | None


def dominated_by(choices: Sequence[Choice]) -> dict[str, str]:
    """Name of each dominated choice → that of one on the frontier that dominates it.

    A choice dominates another if it is at least as good in both and better in one. A choice
    whose risk was not measured neither dominates nor is dominated.

    Args:
        choices: With different names.

    >>> dominated_by([Choice("none", 0, 9), Choice("a", 1, 4), Choice("b", 2, 4)])
    {'b': 'a'}
    """
    found: dict[str, str] = {}
    measured = [(each.name, each.error, each.risk) for each in choices if each.risk is not None]
    ordered = sorted(measured, key=lambda each: (each[1], each[2]))
    best: tuple[str, float, float] | None = None
    for name, error, risk in ordered:
        if best is not None and risk >= best[2] and (error, risk) != best[1:]:
            found[name] = best[0]
        else:
            best = (name, error, risk)
    return found


def undominated(choices: Sequence[Choice]) -> list[Choice]:
    """The choices that none dominates, from the least error to the least risk."""
    beaten = dominated_by(choices)
    on_it = [each for each in choices if each.risk is not None and each.name not in beaten]
    return sorted(on_it, key=lambda each: (each.error, -(each.risk or 0), each.name))
