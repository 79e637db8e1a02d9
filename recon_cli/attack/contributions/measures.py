"""What is proven of a publication, in numbers that can be added up and compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Proven:
    """Sums over geounits.

    Attributes:
        certain: People whose record, of all columns that the whole publication tells apart, is in
            every solution of their unit.
        disclosed: People of whom some columns settle another one (attribute disclosure).
        claims: Verified claims, of any columns.
    """

    certain: int = 0
    disclosed: int = 0
    claims: int = 0

    def __add__(self, other: Proven) -> Proven:
        return Proven(
            self.certain + other.certain,
            self.disclosed + other.disclosed,
            self.claims + other.claims,
        )


#: The measures of `Proven`.
MEASURES = ("certain", "disclosed", "claims")
