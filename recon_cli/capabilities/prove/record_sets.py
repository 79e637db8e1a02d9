"""Sets of records in proofs, for counting; and the search for other records of one unit.

The search treats a unit alone: its own counts hold, and no count of an area is exceeded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final, Self

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.model.predicates import Masks
from recon_cli.model.program import IntegerProgram, LinearConstraints, with_rows
from recon_cli.proof.derivation import ScopeProver
from recon_cli.proof.scope_rows import OPEN
from recon_cli.proof.tables import possible_values
from recon_cli.reconcheck import Proof, Refused
from recon_cli.schema import bits
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import min_l1_repair


@dataclass(frozen=True)
class RecordSet:
    """Records at full grain.

    Attributes:
        lines: The lines ``r UNIT NUMBER VALUE…``.
        unit: The number of each record's unit.
        times: Multiplicity of each.
        values: (records × features) numbers of its values.
        atoms: Atom of each feature: the values that are not distinguished.
    """

    name: str
    lines: tuple[str, ...]
    unit: IntArray
    times: IntArray
    values: IntArray
    atoms: Sequence[Sequence[int]]

    @classmethod
    def of(cls, name: str, lines: Sequence[str], atoms: Sequence[Sequence[int]]) -> Self:
        rows = np.array([line.split()[1:] for line in lines], dtype=np.int64)
        if not len(rows):
            rows = np.empty((0, 2 + len(atoms)), dtype=np.int64)
        return cls(name, tuple(lines), rows[:, 0], rows[:, 1], rows[:, 2:], atoms)

    def within(self, units: IntArray) -> RecordSet:
        at = np.isin(self.unit, units)
        lines = tuple(self.lines[place] for place in np.flatnonzero(at).tolist())
        return replace(
            self, lines=lines, unit=self.unit[at], times=self.times[at], values=self.values[at]
        )

    def changed(self, base: RecordSet) -> Iterator[str]:
        """Yield the lines of units in which another set has other records.

        A unit that has become empty gets a line with number 0, for a record that it had.
        """
        ours, theirs = self._by_unit, base._by_unit
        for unit in sorted(ours.keys() | theirs.keys()):
            if unit not in ours:
                *_, values = theirs[unit][0].split(maxsplit=3)
                yield f"r {unit} 0 {values}"
            elif ours[unit] != theirs.get(unit):
                yield from ours[unit]

    @cached_property
    def _by_unit(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for unit, line in zip(self.unit.tolist(), self.lines, strict=True):
            found.setdefault(unit, []).append(line)
        return found

    def count(self, units: IntArray, predicates: Sequence[Masks]) -> int:
        """Count how often some predicates count records of some units."""
        here, total = self._at(units), 0
        times = self.times[here]
        for masks in predicates:
            chosen = np.ones(len(here), dtype=bool)
            for feature, mask in enumerate(masks):
                chosen &= self._has(feature, mask)[here]
            total += int(times[chosen].sum())
        return total

    def _at(self, units: IntArray) -> IntArray:
        key = units.tobytes()
        if key not in self._places:
            self._places[key] = np.flatnonzero(np.isin(self.unit, units))
        return self._places[key]

    @cached_property
    def _places(self) -> dict[bytes, IntArray]:
        return {}

    def counts(self, asked: Sequence[Sequence[Masks]]) -> IntArray:
        """Count how often each of many lists of predicates counts records, over all units."""
        flat = [masks for predicates in asked for masks in predicates]
        owner = np.repeat(np.arange(len(asked)), [len(each) for each in asked])
        chosen = np.ones((len(flat), len(self.unit)), dtype=bool)
        for feature, of_feature in enumerate(zip(*flat, strict=True)):
            row = {mask: at for at, mask in enumerate(dict.fromkeys(of_feature))}
            has = np.array([self._has(feature, mask) for mask in row], dtype=bool)
            chosen &= has[[row[mask] for mask in of_feature]]
        total = np.zeros(len(asked), dtype=np.int64)
        np.add.at(total, owner, chosen @ self.times)
        return total

    def _has(self, feature: int, mask: int) -> BoolArray:
        """Test which records have one of some values."""
        if (feature, mask) not in self._known:
            has = [mask >> value & 1 == 1 for value in self.values[:, feature].tolist()]
            self._known[feature, mask] = np.array(has, dtype=bool)
        return self._known[feature, mask]

    @cached_property
    def _known(self) -> dict[tuple[int, int], BoolArray]:
        return {}

    @cached_property
    def kind(self) -> IntArray:
        """Return for each line the number of its kind, in the checker's numbering."""
        is_wide = math.prod(map(len, self.atoms)) > np.iinfo(np.int64).max
        kind, stride = np.zeros(len(self.unit), dtype=object if is_wide else np.int64), 1
        for of_feature, values in zip(self.atoms, self.values.T, strict=False):
            place = {value: at for at, atom in enumerate(of_feature) for value in bits(atom)}
            kind += stride * np.array([place[value] for value in values.tolist()], dtype=kind.dtype)
            stride *= len(of_feature)
        return kind

    def kinds(self, unit: int) -> dict[int, int]:
        """Map kinds to the number of records of a unit."""
        found: dict[int, int] = {}
        here = self.unit == unit
        for kind, times in zip(self.kind[here].tolist(), self.times[here].tolist(), strict=True):
            found[kind] = found.get(kind, 0) + times
        return found


#: Values of a kind that are tried for records that nobody of the region has.
_TRIED: Final = 1000


@dataclass(frozen=True)
class PartSearch:
    """Searches for other records of one unit, in a scope of its own.

    Attributes:
        prover: Prover of the scope, propagated.
        known: Records of the whole region.
        effort: Effort for each set of records.
    """

    prover: ScopeProver
    unit: int
    known: RecordSet
    effort: Effort

    @cached_property
    def people(self) -> IntArray:
        """Return the known number of each unknown."""
        return self.prover.rows.completed(self.prover.cost(self.known.kinds(self.unit)))

    def differing(self, count: dict[int, int], apart: int) -> Iterator[list[str]]:
        """Yield the lines of records in which a count differs by ``apart``."""
        row = self.prover.cost(count)
        for sign in (1, -1):
            people = self._nearest(sign * row, apart)
            if len(people) and (lines := self._lines(people)):
                yield lines

    def _nearest(self, row: IntArray, apart: int) -> IntArray:
        """Find the nearest solution with a row sum higher by ``apart``; empty if none."""
        rows, known = self.prover.rows, self.people
        is_sum = rows.unknowns < 0
        near, far = np.where(is_sum, OPEN, apart), self.prover.high
        lower = np.maximum(self.prover.low, known - near)
        upper = np.minimum(far, known + near)
        upper = np.where(is_sum, np.minimum(far, rows.completed(upper)), upper)
        most = np.where(rows.most == OPEN, rows.A @ upper, rows.most)
        constraints = LinearConstraints(rows.A, rows.lowest, most)
        least = np.array([int(row @ known) + apart])
        highest = int(row.clip(0) @ upper)
        if highest < least[0]:
            return np.empty(0, dtype=np.int64)
        further = LinearConstraints(sparse.csr_array(row[None]), least, np.array([highest]))
        program = with_rows(IntegerProgram(constraints, lower, upper), further)
        return min_l1_repair(program, known, self.effort).values

    def _lines(self, people: IntArray) -> list[str]:
        """Format records at full grain; empty if the checker accepts none."""
        lines = list[str]()
        unknowns = self.prover.rows.unknowns
        for at in np.flatnonzero((people > 0) & (unknowns >= 0)).tolist():
            kind = int(unknowns[at])
            values = Counter(islice(self._values(kind), int(people[at])))
            lines += [
                " ".join(map(str, ("r", self.unit, times, *each))) for each, times in values.items()
            ]
        proof: Any = Proof(self.prover.scope.tables, [])
        proof.scope, proof.lines = self.prover.scope, [*lines, "end"]
        try:
            proof.records({})
        except Refused:
            return []
        return lines

    def _values(self, kind: int) -> Iterator[tuple[int, ...]]:
        """Yield values of records of a kind: those of the unit first, then others', then any."""
        for values, times in self._pool.get(kind, ()):
            yield from (values for _ in range(times))
        masks, rest = [], kind
        for atoms in self.known.atoms:
            rest, at = divmod(rest, len(atoms))
            masks.append(atoms[at])
        yield from islice(possible_values(masks, self.prover.scope.tables.zeros), _TRIED)

    @cached_property
    def _pool(self) -> dict[int, list[tuple[tuple[int, ...], int]]]:
        """Map kinds to known values with the number of records, the unit's first."""
        found: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        order = np.argsort(self.known.unit != self.unit, kind="stable").tolist()
        numbers = self.known.kind.tolist()
        for at in order:
            values = tuple(self.known.values[at].tolist())
            found.setdefault(numbers[at], []).append((values, int(self.known.times[at])))
        return found
