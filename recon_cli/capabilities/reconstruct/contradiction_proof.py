"""Proofs that no records have a region's counts, of the least change, and a change as small.

Some sum of published counts cannot hold. A lower bound of the change is weak duality: Eq. (slack)
of docs/method.md. If weighted rows count every possible record at least 0 times, their sum is at
least 0 for any records; the amount by which the published counts fall short of that must be made up
by changes, each counted at most with its weight.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli import reconcheck
from recon_cli.arrays import IntArray
from recon_cli.ask.question import ContradictionProof
from recon_cli.model.grain import Grain
from recon_cli.model.plan import Plan
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.proof.derivation import MULTIPLES, Budget, ScopeProver, Terms
from recon_cli.proof.scope_rows import OPEN, RowSource
from recon_cli.proof.tables import PublishedTables, grain_lines, possible_values, within_region
from recon_cli.publication import Publication
from recon_cli.schema import bits
from recon_cli.solve.linear_relaxation import WHOLE, LinearRelaxation, Vertex


def proof_of_region(
    plan: Plan, published: Publication, region: str, seconds: float
) -> ContradictionProof | None:
    """Find a proof that the counts of a region contradict each other.

    Args:
        seconds: Deterministic seconds for the relaxation.

    Returns:
        None where none was found: only whole numbers contradict, or the region tells more kinds
        of records apart than the checker takes.
    """
    here = within_region(plan.release, published, region)
    text = PublishedTables(plan.release, here, plan.tables).text
    return contradiction_proof(text, plan.grain, seconds)


def contradiction_proof(text: str, grain: Grain, seconds: float) -> ContradictionProof | None:
    """Find a proof that the counts in a text of tables contradict; see `proof_of_region`."""
    tables: Any = reconcheck.Tables(text.splitlines())
    header = ["recon-proof 1", *grain_lines(grain)]
    atoms: list[list[int]] = reconcheck.Proof(tables, header).atoms
    if math.prod(map(len, atoms)) > reconcheck.MOST_KINDS:
        return None
    try:
        kinds: Any = reconcheck.Clique(tables, atoms, range(len(atoms)))
        scope: Any = reconcheck.Scope(tables, [kinds], set().union(*tables.units))
        source, budget = RowSource(tables, [kinds]), Budget(seconds)
        lines = next(_lines(source, scope, budget), None)
        if lines is None:
            return None
        change = least_change(source, scope.units, budget)
        proof = [*header, "in all", *lines, "contradiction", *change.lines]
        if not _is_accepted(tables, proof):
            return None
        changed = change.witness(text, header)
        is_shown = changed is not None and _is_accepted(
            reconcheck.Tables(changed[0].splitlines()), changed[1].splitlines()
        )
    except reconcheck.Refused:
        return None
    text_of = "\n".join(proof) + "\n"
    return ContradictionProof(text, text_of, change.least, changed if is_shown else None)


def _is_accepted(tables: Any, proof: list[str]) -> bool:
    tables.work = 0  # the limit is for reading a text
    results: Any = reconcheck.Proof(tables, proof).results
    return all(is_proven for *_, is_proven in results)


def _lines(source: RowSource, scope: Any, budget: Budget) -> Iterator[list[str]]:
    """Yield lines that contradict each other, the shortest proof first."""
    prover = ScopeProver.of(source, scope, budget)
    for find in (_adds_up, ScopeProver.propagate, _adds_up):
        if find(prover):
            needed = sorted(prover.closure({len(prover.log) - 1}))
            yield [prover.text(prover.log[at]) for at in needed]
    for place, counts in enumerate(scope.tables.counts):
        for cell, (low, _) in counts.items():
            predicates = scope.tables.cells[cell]
            if not low or not scope.cliques[0].kinds(predicates):
                continue
            if scope.count(place, predicates) == ({}, True):  # zeros rule out whom it counts
                yield [f"p -*{place}:{cell[0]}.{cell[1]}"]


def _adds_up(prover: ScopeProver) -> bool:
    """Test whether rows with the weights of a least change contradict each other.

    The duals of Eq. (slack): if some change is needed, their sum exceeds the right-hand side.
    """
    duals = vertex_of_change(prover, np.arange(prover.rows.A.shape[1])).duals
    return len(duals) > 0 and any(
        prover.add(terms) for multiple in MULTIPLES if (terms := prover.weighted(duals, multiple))
    )


#: More than any count has to change by.
_MANY: Final = 10**7
#: Most kinds of records, over all units and including those that published zeros exclude, among
#: which a change is sought.
_WIDEST: Final = 2_000_000


@dataclass(frozen=True)
class LeastChange:
    """The least change of contradicting counts.

    Attributes:
        least: Lower bound of the total change; any contradiction proves at least 1.
        lines: Lines of a proof that the change is more than 1.
        prover: Prover of a scope in which no zero excludes a kind; None if there was no search.
        people: For each unknown of `prover` the number of records, of a solution that needs about
            as small a change; empty if none is found.
    """

    least: int
    lines: tuple[str, ...]
    prover: ScopeProver | None
    people: IntArray

    def witness(self, tables: str, header: Sequence[str]) -> tuple[str, str] | None:
        """Return tables with a change as small as the least, and a proof of their records.

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
        """Map units to records, with the first possible values of their atoms."""
        found: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for at in np.flatnonzero(self.people).tolist():
            unit = int(prover.rows.unit[at])
            _, *words = prover.words_of(int(prover.rows.unknowns[at])).split()
            masks = [int(word, 16) for word in words]
            first = tuple(next(bits(mask)) for mask in masks)
            values = next(possible_values(masks, prover.scope.tables.zeros), first)
            found.setdefault(unit, []).append((int(self.people[at]), values))
        return found


def least_change(source: RowSource, units: Collection[int], budget: Budget) -> LeastChange:
    """Bound the change of the counts of some units, including those of their areas.

    Args:
        source: Source of a publication, over all kinds of records at once.
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
    if len(values) and np.abs(values - np.rint(values)).max() <= WHOLE:
        people = np.zeros(A.shape[1], dtype=np.int64)
        people[columns] = np.rint(values).astype(np.int64)
    lines = (f"change {least} {words}",) if least > 1 else ()
    return LeastChange(max(least, 1), lines, prover, people)


def vertex_of_change(prover: ScopeProver, columns: IntArray) -> Vertex:
    """Find the vertex of the least change of counts, Eq. (slack); an empty one if there is none.

    Its values are those of the unknowns in ``columns``, then the additions to each row, then the
    subtractions.
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
    """Return the change that weighted rows prove, and their text, without unnecessary zeros."""
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
