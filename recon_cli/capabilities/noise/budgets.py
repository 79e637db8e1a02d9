"""The privacy loss of a strategy: for manifests, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recon_cli.capabilities.measurements.strategy import Strategy

NEIGHBOURS = {"replace": "one record changed", "add-or-remove": "one record more or less"}


def budget_of(strategy: Strategy, levels: Sequence[str]) -> dict[str, object]:
    """Return the privacy loss of measuring some levels."""
    return {
        "mechanism": strategy.mechanism,
        "neighbours": strategy.neighbours,
        "delta": float(strategy.delta),
        "budget": float(strategy.budget(levels)),
        "epsilon": strategy.epsilon(levels),
    }


def spent(budget: Mapping[str, Any]) -> str:
    """Format the result of `budget_of`, as in ``ρ 2.5562, ε 17.90 at δ 1e-10``."""
    epsilon = f"ε {budget['epsilon']:.2f}"
    if budget["mechanism"] == "geometric":
        return epsilon
    return f"ρ {budget['budget']:.4f}, {epsilon} at δ {budget['delta']:.0e}"
