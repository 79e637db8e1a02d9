"""Explanations against plain search: they imply the claim, and none of their cells can go."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache, lru_cache

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recon_cli.capabilities.reconstruct.facts import (
    EVERYWHERE,
    Facts,
    PublishedCell,
    Scope,
    facts_around,
    record_counts_of,
)
from recon_cli.capabilities.show.counterexamples import Claim
from recon_cli.capabilities.show.minimal_explanation import (
    Explanation,
    SearchEffort,
    find_explanation,
)
from recon_cli.errors import StageError
from recon_cli.publication import Publication
from recon_cli.schema import Release, Value
from tests.support.enumeration import Record, TooManyError, solutions
from tests.support.populations import (
    possible_records,
    publish,
    random_records,
    random_release,
    random_units,
    suppressed,
    with_random_rules,
)
from tests.support.properties import SEEDS, examples


def claim_of(release: Release, values: tuple[Value, ...], least: int) -> Claim:
    """At least so many people with exactly these values."""
    at = [f.position[v] for f, v in zip(release.features, values, strict=True)]
    return Claim(tuple(1 << i for i in at), least)


def explanation_of(
    release: Release, published: Publication, records: pl.DataFrame, unit: str, claim: Claim
) -> Explanation:
    @cache
    def facts_of(scope: Scope) -> Facts:
        return facts_around(release, published, release.tables, unit, scope)

    people = record_counts_of(release, records, facts_of(Scope.UNIT).units)
    return find_explanation(facts_of, people, claim, SearchEffort())


def can_be_less(
    release: Release, units: list[str], unit: str, claim: Claim, cells: list[PublishedCell]
) -> bool:
    """Whether some records, of all that there could be, meet the cells and break the claim.

    Knows nothing of classes, grains or bounds: every record of every unit, served one at a time.
    """
    kinds: set[tuple[tuple[int, ...], bool]] = set()
    for place in units:
        for values in itertools.product(*(feature.values for feature in release.features)):
            at = [f.position[v] for f, v in zip(release.features, values, strict=True)]
            weights = []
            for cell in cells:
                counts = release.geography.inside(place, cell.geoid) and all(
                    mask >> i & 1 for mask, i in zip(cell.cell.masks, at, strict=True)
                )
                tally = cell.cell.tally
                weights.append(
                    int(counts) if tally is None or not counts else int(values[tally]).bit_count()
                )
            inside = place == unit and all(m >> i & 1 for m, i in zip(claim.masks, at, strict=True))
            kinds.add((tuple(weights), inside))
    useful = sorted(kind for kind in kinds if any(kind[0]))

    @lru_cache(maxsize=200_000)
    def search(rest: tuple[int, ...], room: int) -> bool:
        waiting = [i for i, count in enumerate(rest) if count]
        if not waiting:
            return True
        row = waiting[0]
        return any(
            search(tuple(r - w for r, w in zip(rest, weights, strict=True)), room - inside)
            for weights, inside in useful
            if weights[row]
            and room >= inside
            and all(r >= w for r, w in zip(rest, weights, strict=True))
        )

    return search(tuple(cell.count for cell in cells), claim.least - 1)


def least_people(every: set[frozenset[tuple[Record, int]]]) -> Counter[Record]:
    """What all solutions have in common."""
    first, *others = (Counter(dict(solution)) for solution in every)
    for other in others:
        first &= other
    return first


@examples(5, most=100)
@given(seed=SEEDS, people=st.integers(1, 5), hide=st.booleans())
def test_every_certain_record_against_plain_search(seed: int, people: int, hide: bool) -> None:
    release = random_release(seed)
    if seed % 2:
        release = with_random_rules(release, seed)
    units = random_units(release, seed, 3)
    records = possible_records(release, random_records(release, seed, people, units))
    published = publish(release, records, units)
    assume(release.geography.unit.name in published.geounits["level"])
    if hide:
        published = suppressed(release, published, seed)
    try:
        certain = least_people(solutions(release, published, release.tables, limit=600))
    except TooManyError:
        assume(False)
        raise
    assume(certain)
    counts = {(g, t, c): n for g, t, c, n in published.counts.iter_rows()}
    for (unit, values), least in list(certain.items())[:2]:
        claim = claim_of(release, values, least)
        explanation = explanation_of(release, published, records, unit, claim)
        cells = list(explanation.cells)
        assert cells
        assert explanation.is_minimal
        for cell in cells:
            assert cell.count == counts.get((cell.geoid, cell.table.name, cell.cell.number), 0)
        assert not can_be_less(release, units, unit, claim, cells)
        for cell in cells:
            others = [other for other in cells if other is not cell]
            assert can_be_less(release, units, unit, claim, others)
        own = [cell for cell in cells if cell.geoid in {unit, EVERYWHERE}]
        assert (explanation.scope is Scope.UNIT) == (len(own) == len(cells))
        facts = facts_around(release, published, release.tables, unit, Scope.UNIT)
        alone = (facts.published_cell(fact) for fact in range(int(facts.first[-1])))
        if any(not can_be_less(release, units, unit, claim, [cell]) for cell in alone):
            assert len(cells) == 1


@examples(5, most=100)
@given(seed=SEEDS, people=st.integers(1, 5))
def test_what_is_not_certain_is_refused(seed: int, people: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)
    published = publish(release, records, units)
    assume(release.geography.unit.name in published.geounits["level"])
    try:
        certain = least_people(solutions(release, published, release.tables, limit=600))
    except TooManyError:
        assume(False)
        raise
    names = [feature.name for feature in release.features]
    rows = Counter(records.select(release.geoid_column, *names).iter_rows())
    (unit, *values), there = rows.most_common(1)[0]
    least = certain[unit, tuple(values)]
    assume(least < there)
    claim = claim_of(release, tuple(values), least + 1)
    with pytest.raises(StageError, match="do not force"):
        explanation_of(release, published, records, unit, claim)
