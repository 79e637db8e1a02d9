"""Statements in words; light, for pages that look them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Prefix of the totals of ``proofs/`` that count, by folder, statements that are only confirmed.
CONFIRMED: Final = "confirmed_"


def claim_text(claim: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Describe a row of ``claims/``, as a row of ``proofs/`` has it."""
    return f"{size_text(claim, claim['count'])} with {values_text(claim, columns)}"


def size_text(claim: Mapping[str, Any], people: object) -> str:
    """Describe the number of people in a row of ``claims/``.

    Args:
        people: The claim's ``count``, as a number or in words.
    """
    if claim["exact"]:
        return f"exactly {people}"
    most = claim.get("at_most")
    return f"at least {people}" if most is None else f"at least {people}, at most {most}"


def values_text(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """Describe the values of some columns of a row, without null ones."""
    named = (f"{name} {row[name]}" for name in columns if row[name] is not None)
    return ", ".join(named) or "any values"
