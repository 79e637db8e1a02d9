"""That no records have a region's counts: a sum of published counts that cannot hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from recon_cli import reconcheck
from recon_cli.model.grain import Grain
from recon_cli.model.plan import Plan
from recon_cli.proofs.derivation import MULTIPLES, Budget, ScopeProver
from recon_cli.proofs.least_changes import least_change, vertex_of_change
from recon_cli.proofs.scope_rows import RowSource
from recon_cli.proofs.tables import PublishedTables, grain_lines, within_region
from recon_cli.publication import Publication


@dataclass(frozen=True)
class ContradictionProof:
    """Texts for the checker, which accepts them.

    Attributes:
        tables: What was published.
        proof: That it contradicts itself, and by how much in total it has to change at least.
        least: So much.
        changed: The tables with such a change, and a proof that there are records with them; None
            where no change as small was found.
    """

    tables: str
    proof: str
    least: int
    changed: tuple[str, str] | None


def proof_of_region(
    plan: Plan, published: Publication, region: str, seconds: float
) -> ContradictionProof | None:
    """A proof that the counts of a region contradict each other.

    Args:
        plan: Which tables are in use.
        published: The counts of some regions.
        region: Its geoid.
        seconds: Deterministic, for the relaxation.

    Returns:
        None where none was found: only whole numbers contradict, or the region tells more kinds
        of records apart than the checker takes.
    """
    here = within_region(plan.release, published, region)
    text = PublishedTables(plan.release, here, plan.tables).text
    return contradiction_proof(text, plan.grain, seconds)


def contradiction_proof(text: str, grain: Grain, seconds: float) -> ContradictionProof | None:
    """A proof that the counts of a text of tables contradict each other; see `proof_of_region`."""
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
    """Whether the checker proves all of a proof."""
    tables.work = 0  # the limit is for reading a text
    results: Any = reconcheck.Proof(tables, proof).results
    return all(is_proven for *_, is_proven in results)


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
    duals = vertex_of_change(prover, np.arange(prover.rows.A.shape[1])).duals
    return len(duals) > 0 and any(
        prover.add(terms) for multiple in MULTIPLES if (terms := prover.weighted(duals, multiple))
    )
