"""Features and their recodes.

A set of values of one feature is a bit mask: bit ``i`` stands for ``feature.values[i]``. Masks make
the predicates of published cells exact, hashable and quick to intersect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recon_cli.errors import SchemaError

if TYPE_CHECKING:
    import polars as pl

Value = bool | int | str


def count_combinations(masks: Sequence[int]) -> int:
    """Count the combinations of one value of each mask.

    >>> count_combinations((0b11, 0b101, 0b1))
    4
    """
    return math.prod(mask.bit_count() for mask in masks)


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the set bits, lowest first.

    >>> list(bits(0b1011))
    [0, 1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass(frozen=True)
class Feature:
    """One feature of a record.

    Attributes:
        name: Column name in microdata.
        values: Every possible value, in published order. For a multi-select feature a value is
            the sum of its options' bits (1, 2, 4, …).
        options: The option names of a multi-select feature, else empty.
        ordered: True when the values are numbers on a scale (a range).
    """

    name: str
    values: tuple[Value, ...]
    options: tuple[str, ...] = ()
    ordered: bool = False

    def __post_init__(self) -> None:
        if not self.values:
            raise SchemaError(f"feature {self.name!r} has no values")
        if len(set(self.values)) != len(self.values):
            raise SchemaError(f"feature {self.name!r} lists a value twice")
        kinds = {type(value) for value in self.values}
        if len(kinds) != 1:
            found = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise SchemaError(f"feature {self.name!r} mixes kinds of values: {found}")

    @cached_property
    def full(self) -> int:
        """Return the mask of all values."""
        return (1 << len(self.values)) - 1

    @cached_property
    def position(self) -> dict[Value, int]:
        """Map each value to its bit position."""
        return {value: i for i, value in enumerate(self.values)}

    @property
    def dtype(self) -> type[pl.DataType]:
        """Return the polars type of the microdata column."""
        return column_dtype(self.values)

    def picked(self, count: int) -> int:
        """Return the mask of the multi-select values with exactly ``count`` options."""
        if not self.options:
            raise SchemaError(f"feature {self.name!r} is not a multi-select feature")
        return self._picked.get(count, 0)

    def includes(self, option: str) -> int:
        """Return the mask of the multi-select values that include ``option``."""
        if option not in self.options:
            known = ", ".join(self.options) or "none: it is not a multi-select feature"
            raise SchemaError(f"feature {self.name!r} has no option {option!r} (options: {known})")
        return self._included[option]

    @cached_property
    def _picked(self) -> dict[int, int]:
        """Map each number of options to the mask of the values with this many."""
        masks: dict[int, int] = {}
        for place, value in enumerate(self.values):
            count = int(value).bit_count()
            masks[count] = masks.get(count, 0) | 1 << place
        return masks

    @cached_property
    def _included(self) -> dict[str, int]:
        """Map each option to the mask of the values that include it."""
        return {
            option: sum(1 << i for i, value in enumerate(self.values) if int(value) >> at & 1)
            for at, option in enumerate(self.options)
        }


@dataclass(frozen=True)
class Recode:
    """Named groups of one feature's values, in published order.

    Groups may overlap or leave values out (``White alone or in combination``); only a recode that
    is a partition can be a microdata column.

    Attributes:
        name: Name in tables and microdata.
        feature: The recoded feature's name.
        labels: The value that a microdata column shows for each group.
    """

    name: str
    feature: str
    labels: tuple[Value, ...]
    masks: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.masks or len(self.labels) != len(self.masks):
            raise SchemaError(f"recode {self.name!r} needs one label for each of its groups")
        if 0 in self.masks:
            empty = self.labels[self.masks.index(0)]
            raise SchemaError(f"recode {self.name!r}: group {empty!r} has no values")
        if len(set(self.labels)) != len(self.labels):
            raise SchemaError(f"recode {self.name!r} lists a label twice")

    def is_partition_of(self, feature: Feature) -> bool:
        """Test whether every value of ``feature`` is in exactly one group."""
        union = 0
        for mask in self.masks:
            if union & mask:
                return False
            union |= mask
        return union == feature.full

    @property
    def dtype(self) -> type[pl.DataType]:
        """Return the polars type of a microdata column of this recode."""
        return column_dtype(self.labels)


def column_dtype(values: tuple[Value, ...]) -> type[pl.DataType]:
    """Return the polars type for ``values``: Boolean, an integer from Int16 up, or String."""
    import polars as pl  # slow to load, and not needed to read a manifest

    if all(isinstance(value, bool) for value in values):
        return pl.Boolean
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        largest = max(abs(int(value)) for value in values)
        if largest >= 2**31:
            return pl.Int64
        return pl.Int16 if largest < 2**15 else pl.Int32
    return pl.String
