"""What statements say, in words; light, for pages that look them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def claim_text(claim: Mapping[str, Any], columns: Iterable[str]) -> str:
    """What a row of ``claims/`` says, as a row of ``proofs/`` has it."""
    how = "exactly" if claim["exact"] else "at least"
    return f"{how} {claim['count']} with {values_text(claim, columns)}"


def values_text(row: Mapping[str, Any], columns: Iterable[str]) -> str:
    """The values of some columns of a row; null ones are left out."""
    named = (f"{name} {row[name]}" for name in columns if row[name] is not None)
    return ", ".join(named) or "any values"
