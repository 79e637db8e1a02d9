"""Structural zeros: combinations of values that no record has, whatever is published.

See *structural zero* in docs/glossary.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class StructuralZero:
    """A rule between features: records with some values have only some values elsewhere.

    Attributes:
        when: For every feature of the release, in order, the values that the rule is about.
        only: For every feature the values that such a record can have.
        is_definition: Whether it follows from what the features mean; else it is an assumption.
        why: One line for people.
    """

    when: tuple[int, ...]
    only: tuple[int, ...]
    is_definition: bool = False
    why: str = ""

    @cached_property
    def impossible(self) -> tuple[tuple[int, ...], ...]:
        """Predicates that together hold of exactly the records that the rule forbids."""
        excluded = [when & ~only for when, only in zip(self.when, self.only, strict=True)]
        return tuple(
            (*self.when[:f], mask, *self.when[f + 1 :]) for f, mask in enumerate(excluded) if mask
        )
