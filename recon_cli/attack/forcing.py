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
from dataclasses import dataclass, field

import numpy as np

from recon_cli.attack.alternatives import Claim, Ruling, Verdict, rule_on
from recon_cli.attack.explain import PublishedCell
from recon_cli.attack.facts import Facts, People, Scope
from recon_cli.errors import StageError
from recon_cli.solve.cover import cheapest_cover
from recon_cli.solve.program import Effort

#: What a fact costs by the geounit it is of: the unit's own cells are tried before all others.
_PRICE_OWN, _PRICE_ABOVE, _PRICE_OTHER = 1, 30, 300


@dataclass(frozen=True)
class Budget:
    """How hard to try, in counts and deterministic seconds, so that answers are repeatable.

    Attributes:
        rounds: Cheapest sets to try in each scope before a set is grown fact by fact.
        steps: Facts to grow a set by, in each scope.
        seconds: Deterministic seconds of each search for an alternative.
        seed: For the solver's own choices.
    """

    rounds: int = 24
    steps: int = 150
    seconds: float = 2.0
    seed: int = 0


@dataclass(frozen=True)
class Forcing:
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


def find_forcing(
    facts_of: Callable[[Scope], Facts], people: People, claim: Claim, budget: Budget
) -> Forcing:
    """Published cells that force a claim, the unit's own if they can.

    Args:
        facts_of: The facts of each scope; wider ones are only asked for when needed.
        people: Records of all units of the region that have all the published counts.
        claim: What all solutions have in common.
        budget: How hard to try.

    Raises:
        StageError: An alternative breaks no published cell at all: the claim does not hold.
        SolverError: Two engines disagree on a proof.
    """
    scopes = list(Scope)
    for scope in scopes:
        search = _Search(facts_of(scope), people, claim, budget)
        found = search.run()
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

    facts: Facts
    people: People
    claim: Claim
    budget: Budget
    breaks: list[frozenset[int]] = field(default_factory=list)

    def run(self) -> Forcing | None:
        """A forcing set; None if an alternative breaks no fact of this scope."""
        self._learn(self.facts.noticed(list(first_alternatives(self.facts, self.people, self.claim))))
        for _ in range(self.budget.rounds):
            if frozenset() in self.breaks:
                return None
            chosen = cheapest_cover(self.breaks, self._price, self._effort())
            if chosen is None:
                break
            ruling = self._rule(chosen)
            if ruling.verdict is Verdict.FORCED:
                return self._forcing(chosen, ruling.method)
            if ruling.verdict is Verdict.UNDECIDED:
                break
        return self._grow()

    def _grow(self) -> Forcing | None:
        """Add a fact for every alternative until the claim is forced, then spare what can be."""
        chosen: set[int] = set()
        for _ in range(self.budget.steps):
            if frozenset() in self.breaks:
                return None
            missed = [facts for facts in self.breaks if not facts & chosen]
            if not missed:
                ruling = self._rule(sorted(chosen))
                if ruling.verdict is Verdict.FORCED:
                    return self._spare(chosen, ruling.method)
                if ruling.verdict is Verdict.UNDECIDED:
                    break
                continue
            often = Counter(itertools.chain.from_iterable(self.breaks))
            chosen.add(min(missed[-1], key=lambda fact: (self._price(fact) / often[fact], fact)))
        return Forcing(self.claim, (), self.facts.scope, is_minimal=False, method="")

    def _spare(self, chosen: set[int], method: str) -> Forcing:
        """Leave out every fact that the others make up for, the dearest first."""
        for fact in sorted(chosen, key=lambda fact: (-self._price(fact), fact)):
            if self._is_needed(fact, chosen):
                continue
            ruling = self._rule(sorted(chosen - {fact}))
            if ruling.verdict is Verdict.FORCED:
                chosen = chosen - {fact}
                method = ruling.method
        return self._forcing(sorted(chosen), method)

    def _forcing(self, chosen: list[int], method: str) -> Forcing:
        kept = set(chosen)
        return Forcing(
            claim=self.claim,
            cells=tuple(self.facts.cell(fact) for fact in chosen),
            scope=self.facts.scope,
            is_minimal=all(self._is_needed(fact, kept) for fact in chosen),
            method=method,
        )

    def _is_needed(self, fact: int, chosen: set[int]) -> bool:
        """Whether a known alternative breaks this fact and no other of ``chosen``."""
        return any(facts & chosen == {fact} for facts in self.breaks)

    def _rule(self, chosen: list[int]) -> Ruling:
        ruling = rule_on(self.facts, self.people, self.claim, chosen, self._effort())
        if ruling.verdict is Verdict.OPEN:
            self._learn(self.facts.noticed([ruling.change]))
        return ruling

    def _learn(self, found: Iterable[frozenset[int]]) -> None:
        for facts in found:
            if not any(known <= facts for known in self.breaks):
                self.breaks = [known for known in self.breaks if not facts <= known]
                self.breaks.append(facts)

    def _price(self, fact: int) -> int:
        return price(self.facts, fact)

    def _effort(self) -> Effort:
        return Effort(self.budget.seed, self.budget.seconds)


def price(facts: Facts, fact: int) -> int:
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


def first_alternatives(facts: Facts, people: People, claim: Claim) -> Iterator[People]:
    """Records that break a claim in an obvious way: gone, with another value, or with values
    exchanged with another record of the unit."""
    home = np.flatnonzero(people.unit == facts.unit)
    inside = claim.holds_of(people.positions[home])
    surplus = int(people.count[home[inside]].sum()) - claim.least + 1
    taken = np.minimum(people.count[home[inside]], 0)
    left = surplus
    for at, count in enumerate(people.count[home[inside]].tolist()):
        taken[at] = min(left, count)
        left -= int(taken[at])
    those = home[inside][taken > 0]
    gone, number = people.positions[those], taken[taken > 0]

    def change(extra: list[np.ndarray], count: list[np.ndarray]) -> People:
        positions = np.concatenate([gone, *extra])
        steps = np.concatenate([-number, *count])
        return People(np.full(len(steps), facts.unit, dtype=np.int64), positions, steps)

    yield change([], [])
    for f, feature in enumerate(facts.release.features):
        for value in range(len(feature.values)):
            if not claim.masks[f] >> value & 1:
                other = gone.copy()
                other[:, f] = value
                yield change([other], [number])
    if len(gone) != 1:
        return
    for partner, many in zip(people.positions[home[~inside]], people.count[home[~inside]], strict=True):
        if many < number[0]:
            continue
        for mask in itertools.product([False, True], repeat=len(partner)):
            swapped = np.where(mask, partner, gone[0])
            back = np.where(mask, gone[0], partner)
            both = np.stack([swapped, back])
            if not claim.holds_of(both).any():
                yield change([partner[None, :], both], [-number, number, number])
