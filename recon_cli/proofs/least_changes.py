"""By how much counts that contradict each other have to change in total, and a change as small.

That it is so much at least is weak duality: Eq. (slack) of docs/method.md. Rows with weights that
count no record less than never sum up to 0 at least, whoever is recorded; what the published counts
are short of that they have to change by, each by its weight at most.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli import reconcheck
from recon_cli.arrays import IntArray
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.program import IntegerProgram
from recon_cli.proofs.derivation import MULTIPLES, Budget, ScopeProver, Terms
from recon_cli.proofs.scope_rows import OPEN, RowSource
from recon_cli.schema import bits
from recon_cli.solve.linear_relaxation import LinearRelaxation, Vertex

#: More than any count has to change by.
_MANY: Final = 10**7
#: Kinds of records in all units, published zeros left aside, among which changes are looked for.
_WIDEST: Final = 2_000_000
#: A value that is no further from a whole number is one.
_WHOLE: Final = 1e-6


@dataclass(frozen=True)
class LeastChange:
    """What counts have to change by.

    Attributes:
        least: In total; any contradiction says that it is 1 at least.
        lines: Of a proof, that it is more than 1.
        prover: Of a scope in which no zero closes a kind; None where nothing was looked for.
        people: By its unknowns, records that need nearly as small a change; empty without any.
    """

    least: int
    lines: tuple[str, ...]
    prover: ScopeProver | None
    people: IntArray

    def witness(self, tables: str, header: Sequence[str]) -> tuple[str, str] | None:
        """The tables with a change no larger than the least, and a proof of its records.

        Args:
            tables: The text of what was published.
            header: The first lines of a proof.
        """
        if self.prover is None or not len(self.people):
            return None
        published, records, total = self.prover.scope.tables, self._records(self.prover), 0
        counts: list[str] = []
        for place, cells in enumerate(published.cells_at):
            sums = dict.fromkeys(cells, 0)
            for unit in published.units[place]:
                for times, values in records.get(unit, ()):
                    for cell in published.counting(cells, values):
                        sums[cell] += times
            for cell, count in sorted(sums.items()):
                low, high = published.counts[place].get(cell, (0, 0))
                step = min(count - low, 0) + (0 if high is None else max(count - high, 0))
                total += abs(step)
                ends = f"{low + step} {'inf' if high is None else high + step}"
                counts += [f"count {place} {cell[0]} {cell[1]} {ends}"]
        if total != self.least:
            return None
        kept = [line for line in tables.splitlines() if not line.startswith("count ")]
        lines = [
            " ".join(map(str, ("r", unit, times, *values)))
            for unit, some in sorted(records.items())
            for times, values in some
        ]
        proof = [*header, "in all", "set changed", *lines, "end"]
        return "\n".join([*kept, *counts]) + "\n", "\n".join(proof) + "\n"

    def _records(self, prover: ScopeProver) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
        """Unit → how many records have which values: of each atom its first."""
        found: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for at in np.flatnonzero(self.people).tolist():
            unit = int(prover.rows.unit[at])
            _, *words = prover.words_of(int(prover.rows.unknowns[at])).split()
            values = tuple(next(bits(int(word, 16))) for word in words)
            found.setdefault(unit, []).append((int(self.people[at]), values))
        return found


def least_change(source: RowSource, units: Collection[int], budget: Budget) -> LeastChange:
    """What the counts of some units have to change by, those of their areas included.

    Args:
        source: Of a publication, over all kinds of records at once.
        units: Their numbers.
        budget: What the relaxation may take.
    """
    nobody = np.empty(0, dtype=np.int64)
    if source.cliques[0].size * len(units) > _WIDEST:
        return LeastChange(1, (), None, nobody)
    free: Any = reconcheck.Scope(source.tables, source.cliques, set(units), free=True)
    prover = ScopeProver(free, source.rows(free, are_unlike=False), budget)
    A = prover.rows.A
    alike = sparse.csr_array(A.T) @ np.random.default_rng(1).integers(1 << 62, size=A.shape[0])
    columns = np.sort(np.unique(alike, return_index=True)[1])
    vertex = vertex_of_change(prover, columns)
    found = [
        _proven(prover, prover.weighted(vertex.duals, multiple))
        for multiple in (MULTIPLES if len(vertex.duals) else ())
    ]
    least, words = max(found, default=(0, ""), key=lambda each: each[0])
    values = vertex.values[: len(columns)]
    people = nobody
    if len(values) and np.abs(values - np.rint(values)).max() <= _WHOLE:
        people = np.zeros(A.shape[1], dtype=np.int64)
        people[columns] = np.rint(values).astype(np.int64)
    lines = (f"change {least} {words}",) if least > 1 else ()
    return LeastChange(max(least, 1), lines, prover, people)


def vertex_of_change(prover: ScopeProver, columns: IntArray) -> Vertex:
    """Where the change of counts is least, Eq. (slack), over some unknowns; empty if not found.

    Its values are the unknowns', then what is added to each row, then what is taken from it.
    """
    rows = prover.rows
    A, height = sparse.csr_array(rows.A[:, columns]), len(rows.names)
    if not height:
        return Vertex(np.empty(0), np.empty(0), 0.0)
    one = sparse.identity(height, dtype=np.int64, format="csr")
    most = np.where(rows.most == OPEN, _MANY, rows.most)
    upper = np.concatenate([np.minimum(prover.high[columns], _MANY), np.full(2 * height, _MANY)])
    lower = np.concatenate([prover.low[columns], np.zeros(2 * height, dtype=np.int64)])
    slack = sparse.csr_array(sparse.hstack([A, one, -one]))
    constraints = LinearConstraints(slack, np.maximum(rows.least, 0), most)
    cost = np.concatenate([np.zeros(len(columns)), np.ones(2 * height)])
    relaxation = LinearRelaxation(IntegerProgram(constraints, lower, upper))
    vertex = relaxation.solve(cost, prover.budget.left)
    prover.budget.spend(vertex.deterministic_time)
    return vertex


def _proven(prover: ScopeProver, terms: Terms) -> tuple[int, str]:
    """What weighted rows prove, and they in words; zeros that are not needed are left out."""
    rows, A = prover.rows, prover.rows.A
    weights = np.zeros(len(rows.names), dtype=np.int64)
    for weight, number in terms:
        weights[number] = weight
    total = A.T @ weights
    if not terms or (total < 0).any():
        return 0, ""
    for number in np.flatnonzero((weights > 0) & (rows.most == 0)).tolist():
        at = slice(*A.indptr[number : number + 2])
        rest = total[A.indices[at]] - weights[number] * A.data[at]
        if (rest >= 0).all():
            total[A.indices[at]] = rest
            weights[number] = 0
    kept = np.flatnonzero(weights).tolist()
    ends = np.where(weights > 0, rows.most, rows.least)
    short = -sum(int(weights[at]) * int(ends[at]) for at in kept)
    words = " ".join(f"{weights[at]}*{rows.names[at]}" for at in kept)
    return -(-short // max((abs(int(weights[at])) for at in kept), default=1)), words
