"""How the budget of noise is worded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEIGHBOURS = {"replace": "one record changed", "add-or-remove": "one record more or less"}


def spent(notes: Mapping[str, Any], which: str) -> str:
    """``ρ 2.5562, ε 17.90 at δ 1e-10``."""
    epsilon = f"ε {notes[f'{which}epsilon']:.2f}"
    if notes["mechanism"] == "geometric":
        return epsilon
    return f"ρ {notes[f'{which}budget']:.4f}, {epsilon} at δ {notes['delta']:.0e}"
