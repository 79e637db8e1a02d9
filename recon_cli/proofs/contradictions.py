"""That no records have a region's counts: a sum of published counts that cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from scipy import sparse

from recon_cli import reconcheck
from recon_cli.model.constraints import LinearConstraints
from recon_cli.model.grain import Grain
from recon_cli.model.plan import Plan
from recon_cli.model.program import IntegerProgram
from recon_cli.proofs.derivation import MULTIPLES, Budget, ScopeProver
from recon_cli.proofs.scope_rows import OPEN, RowSource
from recon_cli.proofs.tables import PublishedTables, grain_lines, within_region
from recon_cli.publication import Publication
from recon_cli.solve.linear_relaxation import LinearRelaxation

#: More than any count has to change by.
_MANY: Final = 10**7


def proof_of_region(
    plan: Plan, published: Publication, region: str, seconds: float
) -> tuple[str, str] | None:
    """What a region published, and a proof that its counts contradict each other.

    Args:
        plan: Which tables are in use.
        published: The counts of some regions.
        region: Its geoid.
        seconds: Deterministic, for the relaxation.

    Returns:
        Two texts, which the checker accepts; None where none was found: only whole numbers
        contradict, or the region tells more kinds of records apart than the checker takes.
    """
    here = within_region(plan.release, published, region)
    text = PublishedTables(plan.release, here, plan.tables).text
    proof = contradiction_proof(text, plan.grain, seconds)
    return None if proof is None else (text, proof)


def contradiction_proof(text: str, grain: Grain, seconds: float) -> str | None:
    """A proof that the counts of a text of tables contradict each other; see `proof_of_region`."""
    tables: Any = reconcheck.Tables(text.splitlines())
    header = ["recon-proof 1", *grain_lines(grain)]
    atoms: list[list[int]] = reconcheck.Proof(tables, header).atoms
    if math.prod(map(len, atoms)) > reconcheck.MOST_KINDS:
        return None
    try:
        kinds: Any = reconcheck.Clique(tables, atoms, range(len(atoms)))
        scope: Any = reconcheck.Scope(tables, [kinds], set().union(*tables.units))
        lines = next(_lines(RowSource(tables, [kinds]), scope, Budget(seconds)), None)
    except reconcheck.Refused:
        return None
    if lines is None:
        return None
    proof = [*header, "in all", *lines, "contradiction"]
    tables.work = 0
    results: Any = reconcheck.Proof(tables, proof).results
    return "\n".join(proof) + "\n" if results[-1][2] else None


def _lines(source: RowSource, scope: Any, budget: Budget) -> Iterator[list[str]]:
    """Lines that contradict each other, the shortest way first."""
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
    """Whether rows with the weights of a least change contradict each other.

    The duals of Eq. (slack): where some change is needed, they add up to more than there is.
    """
    rows = prover.rows
    height, width = rows.A.shape
    if not height:
        return False
    one = sparse.identity(height, dtype=np.int64, format="csr")
    A = sparse.csr_array(sparse.hstack([rows.A, one, -one]))
    most = np.where(rows.most == OPEN, _MANY, rows.most)
    upper = np.concatenate([np.minimum(prover.high, _MANY), np.full(2 * height, _MANY)])
    lower = np.concatenate([prover.low, np.zeros(2 * height, dtype=np.int64)])
    constraints = LinearConstraints(A, np.maximum(rows.least, 0), most)
    cost = np.concatenate([np.zeros(width), np.ones(2 * height)])
    relaxation = LinearRelaxation(IntegerProgram(constraints, lower, upper))
    vertex = relaxation.solve(cost, prover.budget.left)
    prover.budget.spend(vertex.deterministic_time)
    return len(vertex.duals) > 0 and any(
        prover.add(terms)
        for multiple in MULTIPLES
        if (terms := prover.weighted(vertex.duals, multiple))
    )
