"""Which published cells force a record: a set of cells none of which can be spared.

A search by counterexample. Every alternative that breaks the claim breaks some facts, and a
forcing set must hold one of them. So take the cheapest facts that meet all alternatives known so
far; either they force the claim, or a new alternative shows what they lack. A set found so is
minimal with witnesses: for each of its facts there is an alternative that breaks no other.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from recon_cli.errors import StageError
from recon_cli.explain.contradictions import PublishedCell
from recon_cli.explain.counterexamples import (
    Claim,
    ClaimProblem,
    Implication,
    ImplicationTest,
    test_implication,
)
from recon_cli.explain.facts import Facts, RecordCounts, Scope
from recon_cli.model.grain import IntArray
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.set_cover import minimum_set_cover

#: What a fact costs by the geounit it is of: the unit's own cells are tried before all others.
_PRICE_OWN, _PRICE_ABOVE, _PRICE_OTHER = 1, 30, 300


#: Facts that a set takes in for each alternative that breaks none of it yet.
_WIDENING = 2
#: Other people that values are exchanged with, to begin with; those most alike.
_PARTNERS = 40


@dataclass(frozen=True)
class SearchEffort:
    """How hard to try, in counts and deterministic seconds, so that answers are repeatable.

    Attributes:
        rounds: Cheapest sets to try.
        steps: Times to widen a set that does not force the claim yet.
        seconds: Deterministic seconds of each search for an alternative.
        seed: For the solver's own choices.
    """

    rounds: int = 60
    steps: int = 100
    seconds: float = 2.0
    seed: int = 0

    @property
    def glance(self) -> SearchEffort:
        """Enough for a set that is easy to find, in about a second."""
        return replace(self, rounds=12, steps=0, seconds=0.5)


@dataclass(frozen=True)
class Explanation:
    """Why a claim holds.

    Attributes:
        claim: What is forced.
        cells: Published cells that force it; empty if none were found within the budget.
        scope: Whose cells had to be looked at.
        is_minimal: Whether none of the cells can be spared, each shown by an alternative.
        method: How the proof goes: ``propagation``, or ``solver`` (two engines).
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
    budget: SearchEffort,
    widest: Scope = Scope.REGION,
) -> Explanation:
    """Published cells that force a claim, the unit's own if they can.

    Args:
        facts_of: The facts of each scope; wider ones are only asked for when needed.
        people: Records of all units of the region that have all the published counts.
        claim: What all solutions have in common.
        budget: How hard to try.
        widest: The last scope to look at; where a wider one is needed no cells are found, and
            the scope of the answer is the next.

    Raises:
        StageError: An alternative breaks no published cell at all: the claim does not hold.
        SolverError: Two engines disagree on a proof.
    """
    for scope in Scope:
        if scope > widest:
            return Explanation(claim, (), scope, is_minimal=False, method="")
        found = _Search(ClaimProblem(facts_of(scope), people, claim), budget).run()
        if found is not None:
            return found
    raise StageError(
        "some records are called certain that the published cells do not force; the stage folders "
        "were made from other tables: run `recon reconstruct` and `recon solvar` again"
    )


@dataclass
class _Search:
    """The search in one scope.

    Attributes:
        breaks: For each alternative that is known the facts that it breaks, without supersets.
    """

    question: ClaimProblem
    budget: SearchEffort
    breaks: list[frozenset[int]] = field(default_factory=list)
    prices: dict[int, int] = field(default_factory=dict)
    often: Counter[int] = field(default_factory=Counter)

    def run(self) -> Explanation | None:
        """A forcing set; None if an alternative breaks no fact of this scope."""
        first = list(first_counterexamples(self.question))
        self._learn(self.question.facts.noticed(first))
        # Of one unit all facts are weighed; of many, those of a set that is known to be enough.
        found = self._cheapest() if self.question.facts.scope is Scope.UNIT else None
        if found is None:
            found = self._widen()
        if self._is_hopeless():
            return None
        return found or Explanation(
            self.question.claim, (), self.question.facts.scope, is_minimal=False, method=""
        )

    def _cheapest(self, among: set[int] | None = None) -> Explanation | None:
        """The cheapest facts that force the claim, of all or of some; None if not found."""
        for _ in range(self.budget.rounds):
            if self._is_hopeless():
                return None
            sets = self.breaks
            if among is not None:
                sets = minimal_sets({facts & among for facts in sets})
            chosen = minimum_set_cover(sets, self._price, self._effort)
            if chosen is None:
                return None
            ruling = self._rule(chosen)
            if ruling.verdict is Implication.FORCED:
                return self._forcing(chosen, ruling.method)
            if ruling.verdict is Implication.UNDECIDED:
                return None
        return None

    def _widen(self) -> Explanation | None:
        """Take in facts for every alternative until none is left, then the cheapest of them."""
        chosen: set[int] = set()
        for _ in range(self.budget.steps):
            if self._is_hopeless():
                return None
            for facts in self.breaks:
                if not facts & chosen:
                    chosen |= set(sorted(facts, key=self._rank)[:_WIDENING])
            ruling = self._rule(sorted(chosen))
            if ruling.verdict is Implication.FORCED:
                return self._cheapest(chosen) or self._spare(chosen, ruling.method)
            if ruling.verdict is Implication.UNDECIDED:
                return None
        return None

    def _spare(self, chosen: set[int], method: str) -> Explanation:
        """Leave out every fact that the others make up for, the dearest first."""
        for fact in sorted(chosen, key=lambda fact: (-self._price(fact), fact)):
            if self._is_needed(fact, chosen):
                continue
            ruling = self._rule(sorted(chosen - {fact}))
            if ruling.verdict is Implication.FORCED:
                chosen = chosen - {fact}
                method = ruling.method
        return self._forcing(sorted(chosen), method)

    def _is_hopeless(self) -> bool:
        return frozenset() in self.breaks

    def _rank(self, fact: int) -> tuple[float, int]:
        return self._price(fact) / self.often[fact], fact

    def _forcing(self, chosen: list[int], method: str) -> Explanation:
        kept = set(chosen)
        return Explanation(
            claim=self.question.claim,
            cells=tuple(self.question.facts.cell(fact) for fact in chosen),
            scope=self.question.facts.scope,
            is_minimal=all(self._is_needed(fact, kept) for fact in chosen),
            method=method,
        )

    def _is_needed(self, fact: int, chosen: set[int]) -> bool:
        """Whether a known alternative breaks this fact and no other of ``chosen``."""
        return any(facts & chosen == {fact} for facts in self.breaks)

    def _rule(self, chosen: list[int]) -> ImplicationTest:
        ruling = test_implication(self.question, chosen, self._effort)
        if ruling.verdict is Implication.OPEN:
            self._learn(self.question.facts.noticed([ruling.change]))
        return ruling

    def _learn(self, found: Iterable[frozenset[int]]) -> None:
        for facts in found:
            self.often.update(facts)
            if not any(known <= facts for known in self.breaks):
                self.breaks = [known for known in self.breaks if not facts <= known]
                self.breaks.append(facts)

    def _price(self, fact: int) -> int:
        if fact not in self.prices:
            self.prices[fact] = reading_cost(self.question.facts, fact)
        return self.prices[fact]

    @property
    def _effort(self) -> Effort:
        return Effort(self.budget.seed, self.budget.seconds)


def minimal_sets(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that hold no other one."""
    kept: list[frozenset[int]] = []
    for each in sorted(sets, key=lambda s: (len(s), sorted(s))):
        if not any(other <= each for other in kept):
            kept.append(each)
    return kept


def reading_cost(facts: Facts, fact: int) -> int:
    """How dear a fact is to a reader: few facts first, then plain ones of early tables."""
    cell = facts.cell(fact)
    conditions = sum(
        mask != full for mask, full in zip(cell.cell.masks, facts.release.full, strict=True)
    )
    table = list(facts.release.table_by_name).index(cell.table.name)
    plain = 1000 + 20 * conditions + 2 * table + (300 if cell.cell.tally is not None else 0)
    home = facts.units[facts.unit]
    if cell.geoid == home:
        return plain * _PRICE_OWN
    return plain * (_PRICE_ABOVE if home.startswith(cell.geoid) else _PRICE_OTHER)


def first_counterexamples(question: ClaimProblem) -> Iterator[RecordCounts]:
    """Changes that break a claim in plain ways.

    As many of its people as need be are gone, have another value, or have exchanged values with
    other people of the unit.

    Args:
        question: Its claim is true of its people.
    """
    facts, people, claim = question.facts, question.people, question.claim
    home = np.flatnonzero(people.unit == facts.unit)
    inside = claim.holds_of(people.positions[home])
    mine, others = home[inside], home[~inside]
    surplus = int(people.count[mine].sum()) - claim.least + 1
    before = np.cumsum(people.count[mine]) - people.count[mine]
    taken = np.clip(surplus - before, 0, people.count[mine])
    gone, number = people.positions[mine[taken > 0]], taken[taken > 0]

    def change(*more: tuple[IntArray, IntArray]) -> RecordCounts:
        positions = np.concatenate([gone, *(each for each, _ in more)])
        steps = np.concatenate([-number, *(step for _, step in more)])
        return RecordCounts(np.full(len(steps), facts.unit, dtype=np.int64), positions, steps)

    yield change()
    for f, mask in enumerate(claim.masks):
        for value in range(len(facts.release.features[f].values)):
            if not mask >> value & 1:
                other = gone.copy()
                other[:, f] = value
                yield change((other, number))
    if len(gone) != 1:
        return
    partners = people.positions[others[people.count[others] >= number[0]]]
    alike = (partners == gone[0]).sum(axis=1)
    for partner in partners[np.argsort(-alike, kind="stable")][:_PARTNERS]:
        for chosen in itertools.product([False, True], repeat=len(partner)):
            both = np.stack(
                [np.where(chosen, partner, gone[0]), np.where(chosen, gone[0], partner)]
            )
            if not claim.holds_of(both).any():
                yield change((partner[None, :], -number), (both, np.repeat(number, 2)))
