"""Sets of records, as proofs have them, to be counted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from recon_cli.model.grain import IntArray
from recon_cli.model.predicates import Masks

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RecordSet:
    """Records at full grain.

    Attributes:
        name: What the proof calls it.
        lines: The lines ``r UNIT NUMBER VALUE…``.
        unit: The number of each record's unit.
        times: How often it is there.
        values: (records × features) numbers of its values.
    """

    name: str
    lines: tuple[str, ...]
    unit: IntArray
    times: IntArray
    values: IntArray

    @classmethod
    def of(cls, name: str, lines: Sequence[str]) -> Self:
        """From its lines."""
        rows = np.array([line.split()[1:] for line in lines], dtype=np.int64)
        if not len(rows):
            rows = np.empty((0, 3), dtype=np.int64)
        return cls(name, tuple(lines), rows[:, 0], rows[:, 1], rows[:, 2:])

    def within(self, units: IntArray) -> RecordSet:
        """The records of some units."""
        at = np.isin(self.unit, units)
        lines = tuple(self.lines[place] for place in np.flatnonzero(at).tolist())
        return RecordSet(self.name, lines, self.unit[at], self.times[at], self.values[at])

    def count(self, units: IntArray, predicates: Sequence[Masks]) -> int:
        """How often some predicates count records of some units."""
        inside, total = np.isin(self.unit, units), 0
        for masks in predicates:
            chosen = inside.copy()
            for feature, mask in enumerate(masks):
                chosen &= self._has(feature, mask)
            total += int(self.times[chosen].sum())
        return total

    def _has(self, feature: int, mask: int) -> BoolArray:
        """Which records have one of some values."""
        if (feature, mask) not in self._known:
            has = [mask >> value & 1 == 1 for value in self.values[:, feature].tolist()]
            self._known[feature, mask] = np.array(has, dtype=bool)
        return self._known[feature, mask]

    @cached_property
    def _known(self) -> dict[tuple[int, int], BoolArray]:
        return {}

    def kinds(self, unit: int, atoms: Sequence[Sequence[int]]) -> dict[int, int]:
        """Number of a kind, as the checker counts them → records of it in a unit."""
        found: dict[int, int] = {}
        here = self.unit == unit
        rows = zip(self.values[here].tolist(), self.times[here].tolist(), strict=True)
        for values, times in rows:
            kind, stride = 0, 1
            for of_feature, value in zip(atoms, values, strict=True):
                kind += stride * next(n for n, atom in enumerate(of_feature) if atom >> value & 1)
                stride *= len(of_feature)
            found[kind] = found.get(kind, 0) + times
        return found
