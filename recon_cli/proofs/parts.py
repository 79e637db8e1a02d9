"""Records of a unit alone that are not the known: its own counts hold, no area's is exceeded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram, with_rows
from recon_cli.proofs.derivation import ScopeProver
from recon_cli.proofs.record_sets import RecordSet
from recon_cli.proofs.scope_rows import OPEN
from recon_cli.reconcheck import Proof, Refused
from recon_cli.schema import bits
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import min_l1_repair

#: Values of a kind that are tried for records that nobody of the region has.
_TRIED: Final = 1000


@dataclass(frozen=True)
class PartSearch:
    """Looks for records of one unit, in a scope of its own.

    Attributes:
        prover: Of the scope, propagated.
        unit: Its number.
        known: Records of the whole region.
        effort: For each set of records.
    """

    prover: ScopeProver
    unit: int
    known: RecordSet
    effort: Effort

    @cached_property
    def people(self) -> IntArray:
        """The known number of each unknown."""
        return self.prover.cost(self.known.kinds(self.unit))

    def differing(self, count: dict[int, int], apart: int) -> Iterator[list[str]]:
        """The lines of records that have more, or less, by ``apart`` in a count."""
        row = self.prover.cost(count)
        for sign in (1, -1):
            people = self._nearest(sign * row, apart)
            if len(people) and (lines := self._lines(people)):
                yield lines

    def _nearest(self, row: IntArray, apart: int) -> IntArray:
        """The nearest solution whose sum of a row is higher by ``apart``; empty if none."""
        rows, known = self.prover.rows, self.people
        lower = np.maximum(self.prover.low, known - apart)
        upper = np.minimum(self.prover.high, known + apart)
        most = np.where(rows.most == OPEN, rows.A @ upper, rows.most)
        constraints = LinearConstraints(rows.A, np.maximum(rows.least, 0), most)
        least = np.array([int(row @ known) + apart])
        highest = int(row.clip(0) @ upper)
        if highest < least[0]:
            return np.empty(0, dtype=np.int64)
        further = LinearConstraints(sparse.csr_array(row[None]), least, np.array([highest]))
        program = with_rows(IntegerProgram(constraints, lower, upper), further)
        return min_l1_repair(program, known, self.effort).values

    def _lines(self, people: IntArray) -> list[str]:
        """Records at full grain; empty where none that the checker accepts were found."""
        lines = list[str]()
        for at in np.flatnonzero(people).tolist():
            kind = int(self.prover.rows.unknowns[at])
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
        """Values of records of a kind: of the unit's, then of others', then any."""
        for values, times in self._pool.get(kind, ()):
            yield from (values for _ in range(times))
        masks, rest = [], kind
        for atoms in self.known.atoms:
            rest, at = divmod(rest, len(atoms))
            masks.append(atoms[at])
        yield from islice(product(*map(bits, masks)), _TRIED)

    @cached_property
    def _pool(self) -> dict[int, list[tuple[tuple[int, ...], int]]]:
        """Kind → the values of known records of it and how many have them, the unit's first."""
        found: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        order = np.argsort(self.known.unit != self.unit, kind="stable").tolist()
        numbers = self.known.kind.tolist()
        for at in order:
            values = tuple(self.known.values[at].tolist())
            found.setdefault(numbers[at], []).append((values, int(self.known.times[at])))
        return found
