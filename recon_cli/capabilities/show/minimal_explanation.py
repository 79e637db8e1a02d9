"""Minimal sets of published cells that imply a claim, found by implicit hitting sets.

Every counterexample violates some facts, at least one of which is in any set of facts that implies
the claim. So the search takes the cheapest facts that hit all known counterexamples: either these
imply the claim, or a new counterexample is found (as for minimum unsatisfiable subsets: Ignatiev et
al. 2015). The resulting set is provably minimal: for each of its facts there is a counterexample
that violates no other. If some values of the people are known, published cells that exclude other
values are tried first (`find_exclusion`).

See *minimal explanation* and *hitting set* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.reconstruct.facts import (
    EVERYWHERE,
    Facts,
    PublishedCell,
    RecordCounts,
    Scope,
)
from recon_cli.capabilities.show.counterexamples import (
    Claim,
    Implication,
    ImplicationProblem,
    ImplicationResult,
    decide_implication,
)
from recon_cli.capabilities.show.set_cover import minimum_set_cover
from recon_cli.errors import StageError
from recon_cli.model.predicates import Masks
from recon_cli.schema import bits
from recon_cli.solve.cp_sat import Effort

#: Cost of a fact by its geounit: the unit's own cells are tried before all others.
_COST_OWN, _COST_ENCLOSING, _COST_OTHER = 1, 30, 300
#: Facts that are added to a growing set for each counterexample that it does not hit yet.
_GROWTH = 2
#: Number of other people, the most similar ones, with whom values are exchanged at first, and most
#: values that are exchanged at once.
_PARTNERS, _EXCHANGED = 40, 2


@dataclass(frozen=True)
class SearchEffort:
    """Budgets of the search in counts and deterministic seconds, so that answers are repeatable.

    Attributes:
        rounds: Minimum hitting sets to try.
        steps: Times to grow a set that does not imply the claim yet.
        seconds: Deterministic seconds of each search for a counterexample.
    """

    rounds: int = 60
    steps: int = 100
    seconds: float = 2.0
    seed: int = 0

    @property
    def quick(self) -> SearchEffort:
        """Return a budget for a set that is easy to find, in about a second."""
        return replace(self, rounds=12, steps=0, seconds=0.5)


@dataclass(frozen=True)
class Explanation:
    """A set of published cells that implies a claim.

    Attributes:
        claim: Claim that is implied.
        cells: Published cells that imply it; empty if none were found within the effort.
        scope: Scope of the cells that were needed.
        is_minimal: Whether none of the cells can be omitted, each shown by a counterexample.
        method: Kind of proof: ``propagation``, or ``solver`` (two engines).
    """

    claim: Claim
    cells: tuple[PublishedCell, ...]
    scope: Scope
    is_minimal: bool
    method: str


def find_explanation(
    facts_of: Callable[[Scope], Facts],
    people: RecordCounts,
    claim: Claim,
    effort: SearchEffort,
    widest: Scope = Scope.REGION,
) -> Explanation:
    """Find published cells that imply a claim, the unit's own if possible.

    Args:
        facts_of: The facts of each scope; wider ones are only asked for when needed.
        people: Records of all units of the region that have all the published counts.
        claim: Claim that all solutions satisfy.
        widest: The widest scope to search; if it is not enough, no cells are found, and the scope
            of the answer is the next wider one.

    Raises:
        StageError: A counterexample breaks no published cell at all: the claim does not hold.
        SolverError: Two engines disagree on a proof.
    """
    alone = cheapest_alone(facts_of(Scope.UNIT), claim)
    if alone is not None:
        return Explanation(claim, (alone,), Scope.UNIT, is_minimal=True, method="propagation")
    for scope in Scope:
        if scope > widest:
            return Explanation(claim, (), scope, is_minimal=False, method="")
        problem = ImplicationProblem(facts_of(scope), people, claim)
        explanation = _HittingSetSearch(problem, effort).run()
        if explanation is not None:
            return explanation
    raise StageError(
        "some records are called certain that the published cells do not force; the stage folders "
        "were made from other tables: run `recon reconstruct` and `recon solvar` again"
    )


@dataclass
class _HittingSetSearch:
    """The search in one scope.

    Attributes:
        to_hit: Sets of facts that known counterexamples violate, without supersets of others.
        costs: Cost of each fact, computed on demand.
        occurrences: Number of counterexamples that violate each fact.
    """

    problem: ImplicationProblem
    effort: SearchEffort
    to_hit: list[frozenset[int]] = field(default_factory=list)
    costs: dict[int, int] = field(default_factory=dict)
    occurrences: Counter[int] = field(default_factory=Counter)

    def run(self) -> Explanation | None:
        """Find a set that implies the claim; None if a counterexample violates no fact here."""
        facts = self.problem.facts
        self._learn(list(simple_counterexamples(self.problem)))
        # In one unit all facts are tried; in several, those of a set that is known to be enough.
        explanation = self._cheapest() if facts.scope is Scope.UNIT else None
        if explanation is None:
            explanation = self._grow()
        if self._is_refuted():
            return None
        return explanation or Explanation(
            self.problem.claim, (), facts.scope, is_minimal=False, method=""
        )

    def _cheapest(self, among: set[int] | None = None) -> Explanation | None:
        """Find the cheapest facts that imply the claim, of all or of some; None if not found."""
        for _ in range(self.effort.rounds):
            if self._is_refuted():
                return None
            sets = self.to_hit
            if among is not None:
                sets = minimal_sets({facts & among for facts in sets})
            chosen = minimum_set_cover(sets, self._cost, self._solver_effort)
            if chosen is None:
                return None
            result = self._decide(chosen)
            if result.implication is Implication.IMPLIED:
                return self._explanation(chosen, result.method)
            if result.implication is Implication.UNDECIDED:
                return None
        return None

    def _grow(self) -> Explanation | None:
        """Add facts until no counterexample is left, then find the cheapest of them."""
        chosen: set[int] = set()
        for _ in range(self.effort.steps):
            if self._is_refuted():
                return None
            for facts in self.to_hit:
                if not facts & chosen:
                    chosen |= set(sorted(facts, key=self._cost_per_occurrence)[:_GROWTH])
            result = self._decide(sorted(chosen))
            if result.implication is Implication.IMPLIED:
                return self._cheapest(chosen) or self._shrink(chosen, result.method)
            if result.implication is Implication.UNDECIDED:
                return None
        return None

    def _shrink(self, chosen: set[int], method: str) -> Explanation:
        """Remove every redundant fact, the most expensive first."""
        for fact in sorted(chosen, key=lambda fact: (-self._cost(fact), fact)):
            if self._is_needed(fact, chosen):
                continue
            result = self._decide(sorted(chosen - {fact}))
            if result.implication is Implication.IMPLIED:
                chosen = chosen - {fact}
                method = result.method
        return self._explanation(sorted(chosen), method)

    def _is_refuted(self) -> bool:
        """Test whether a counterexample violates no fact at all."""
        return frozenset() in self.to_hit

    def _explanation(self, chosen: list[int], method: str) -> Explanation:
        kept = set(chosen)
        return Explanation(
            claim=self.problem.claim,
            cells=tuple(self.problem.facts.published_cell(fact) for fact in chosen),
            scope=self.problem.facts.scope,
            is_minimal=all(self._is_needed(fact, kept) for fact in chosen),
            method=method,
        )

    def _is_needed(self, fact: int, chosen: set[int]) -> bool:
        """Test whether a known counterexample violates this fact and no other of ``chosen``."""
        return any(facts & chosen == {fact} for facts in self.to_hit)

    def _decide(self, chosen: list[int]) -> ImplicationResult:
        result = decide_implication(self.problem, chosen, self._solver_effort)
        if result.implication is Implication.REFUTED:
            self._learn([result.counterexample])
        return result

    def _learn(self, counterexamples: list[RecordCounts]) -> None:
        for facts in self.problem.facts.broken_by(counterexamples, self.problem.room):
            self.occurrences.update(facts)
            if not any(known <= facts for known in self.to_hit):
                self.to_hit = [known for known in self.to_hit if not facts <= known]
                self.to_hit.append(facts)

    def _cost(self, fact: int) -> int:
        if fact not in self.costs:
            self.costs[fact] = reading_cost(self.problem.facts, fact)
        return self.costs[fact]

    def _cost_per_occurrence(self, fact: int) -> tuple[float, int]:
        return self._cost(fact) / self.occurrences[fact], fact

    @property
    def _solver_effort(self) -> Effort:
        return Effort(self.effort.seed, self.effort.seconds)


def cheapest_alone(facts: Facts, claim: Claim) -> PublishedCell | None:
    """Find the unit's cheapest cell that implies a claim alone: inside it, with as large a count.

    If there is one, no other set is cheaper, since two facts cost more than any one.

    Args:
        facts: Facts of the unit alone.
        claim: Claim about at least one person, so that it needs some fact.
    """
    found: list[int] = []
    for own, low, first in zip(facts.cells, facts.low, facts.first.tolist(), strict=False):
        implies = low >= claim.least
        for inside, mask in zip(own.inside, claim.masks, strict=True):
            claimed = np.isin(np.arange(inside.shape[1]), list(bits(mask)))
            implies &= ~inside[:, ~claimed].any(axis=1)
        found += [first + i for i in np.flatnonzero(implies) if own.cells[i][1].tally is None]
    if not found:
        return None
    return facts.published_cell(min(found, key=lambda fact: (reading_cost(facts, fact), fact)))


def minimal_sets(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Return the sets that include no other one.

    >>> minimal_sets([frozenset({1}), frozenset({1, 2})])
    [frozenset({1})]
    """
    kept: list[frozenset[int]] = []
    for each in sorted(sets, key=lambda s: (len(s), sorted(s))):
        if not any(other <= each for other in kept):
            kept.append(each)
    return kept


def reading_cost(facts: Facts, fact: int) -> int:
    """Return the cost of a fact to its reader: few facts first, then simple, early ones."""
    cell = facts.published_cell(fact)
    conditions = sum(
        mask != full for mask, full in zip(cell.cell.masks, facts.release.full, strict=True)
    )
    table = facts.table_number.get(cell.table.name, 0)
    plain = 1000 + 20 * conditions + 2 * table + (300 if cell.cell.tally is not None else 0)
    home = facts.units[facts.unit]
    if cell.geoid in {home, EVERYWHERE}:
        return plain * _COST_OWN
    encloses = facts.release.geography.inside(home, cell.geoid)
    return plain * (_COST_ENCLOSING if encloses else _COST_OTHER)


def simple_counterexamples(problem: ImplicationProblem) -> Iterator[RecordCounts]:
    """Yield changes that violate a claim in simple ways.

    Just enough of its people are removed, get another value, or exchange values with other people
    of the unit.

    Args:
        problem: Its claim is true of its people.
    """
    facts, people, claim = problem.facts, problem.people, problem.claim
    home = np.flatnonzero(people.unit == facts.unit)
    inside = claim.contains(people.positions[home])
    claimed, others = home[inside], home[~inside]
    surplus = int(people.count[claimed].sum()) - claim.least + 1
    before = np.cumsum(people.count[claimed]) - people.count[claimed]
    taken = np.clip(surplus - before, 0, people.count[claimed])
    removed, number = people.positions[claimed[taken > 0]], taken[taken > 0]

    def change(*added: tuple[IntArray, IntArray]) -> RecordCounts:
        positions = np.concatenate([removed, *(each for each, _ in added)])
        steps = np.concatenate([-number, *(step for _, step in added)])
        return RecordCounts(np.full(len(steps), facts.unit, dtype=np.int64), positions, steps)

    yield change()
    for f, mask in enumerate(claim.masks):
        for value in range(len(facts.release.features[f].values)):
            if not mask >> value & 1:
                other = removed.copy()
                other[:, f] = value
                yield change((other, number))
    if len(removed) != 1:
        return
    partners = people.positions[others[people.count[others] >= number[0]]]
    alike = (partners == removed[0]).sum(axis=1)
    for partner in partners[np.argsort(-alike, kind="stable")][:_PARTNERS]:
        for exchanged in _exchanges(len(partner)):
            both = np.stack(
                [np.where(exchanged, partner, removed[0]), np.where(exchanged, removed[0], partner)]
            )
            if not claim.contains(both).any():
                yield change((partner[None, :], -number), (both, np.repeat(number, 2)))


def _exchanges(features: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield the sets of features that two people exchange; complements are equivalent."""
    for size in range(min(_EXCHANGED, features // 2) + 1):
        for chosen in itertools.combinations(range(features), size):
            exchanged = np.zeros(features, np.bool_)
            exchanged[list(chosen)] = True
            yield exchanged


@dataclass(frozen=True)
class Exclusion:
    """Cells that exclude everybody inside some masks.

    Attributes:
        cells: The published cells that exclude them, each once.
        needs_people: Whether some cell is not empty, but full with the claim's people.
    """

    cells: tuple[PublishedCell, ...]
    needs_people: bool


def find_exclusion(facts: Facts, others: Sequence[Masks], claim: Claim) -> Exclusion | None:
    """Find for each of ``others`` a cell around it that is empty, or full with the claim's people.

    Args:
        facts: Facts of the unit alone.
        others: Masks that nobody may be inside of.
        claim: A claim about people who are inside none of ``others``.

    Returns:
        None if no single cell excludes one of ``others``.
    """
    found: dict[int, bool] = {}
    people = _around(facts, claim.masks)
    high = np.concatenate([np.empty(0, np.int64), *facts.high])
    counts_people = np.array(
        [cell.tally is None for pattern in facts.cells for _, cell in pattern.cells], dtype=bool
    )
    for masks in others:
        around = _around(facts, masks) & counts_people
        empty = around & (high == 0)
        full = around & people & (high == claim.least)
        chosen = np.flatnonzero(empty if empty.any() else full).tolist()
        if not chosen:
            return None
        found[min(chosen, key=lambda fact: (reading_cost(facts, fact), fact))] = not empty.any()
    cells = tuple(facts.published_cell(fact) for fact in found)
    return Exclusion(cells, any(found.values()))


def _around(facts: Facts, masks: Masks) -> BoolArray:
    """Return the facts whose cells contain all records inside some masks."""
    found = []
    for own in facts.cells:
        contains = np.ones(len(own.cells), dtype=bool)
        for inside, mask in zip(own.inside, masks, strict=True):
            contains &= inside[:, list(bits(mask))].all(axis=1)
        found.append(contains)
    return np.concatenate([np.empty(0, bool), *found])
