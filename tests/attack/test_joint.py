"""Two releases in one program: soundness against every joint solution, and against true towns."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest

from recon_cli.attack.joint.part import PartInput
from recon_cli.attack.joint.question import JointQuestion
from recon_cli.attack.options import JointOptions
from recon_cli.attack.question import Answer, RegionData
from recon_cli.errors import ContradictionError
from recon_cli.publication import Publication
from tests.support.enumeration import Solution, TooManyError, solutions
from tests.support.joint_worlds import (
    HOUSEHOLD,
    UNIT,
    compositions,
    is_linked,
    publish_members,
    published,
    records,
    releases,
    with_members,
)

Row = tuple[object, ...]
#: Random towns that are compared with those that have the same counts.
TOWNS = min(int(os.environ.get("RECON_EXAMPLES", "100")), 1_000)  # geoids have four digits


def ask(people: Publication, homes: Publication, members: Publication | None = None) -> Answer:
    """What the releases together prove."""
    first, second, joint = releases()
    one = PartInput(first, first.tables, people.coverage)
    other = PartInput(second, second.tables, homes.coverage)
    parts, partners = [one, other], [homes]
    if members is not None:
        third, joint = with_members()
        parts.append(PartInput(third, third.tables, members.coverage))
        partners.append(members)
    question = JointQuestion.of(joint, parts, JointOptions(1, 20.0))
    return question.ask(RegionData(people, partners=tuple(partners), partition="S"))


def counted(rows: pl.DataFrame) -> Counter[Row]:
    """How many of each row, whatever proves them."""
    return Counter(rows.drop("proof").iter_rows())


@pytest.mark.parametrize("seed", range(12))
def test_certain_are_those_of_every_joint_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = compositions()
    town = [(UNIT, every[int(rng.integers(len(every)))]) for _ in range(int(rng.integers(1, 4)))]
    people, homes = published(town, quarters=int(rng.integers(2)))
    first, second, _ = releases()
    try:
        pairs = [
            (one, other)
            for one in solutions(first, people, first.tables, 3_000)
            for other in solutions(second, homes, second.tables, 3_000)
            if is_linked(one, other)
        ]
    except TooManyError:
        pytest.skip("too many solutions")
    answer = ask(people, homes)
    assert pairs, "the truth is one"
    assert answer.frames["joint_units"].filter(status="proven").height
    for side, folder in enumerate(("joint", "joint_partner")):
        least = in_all([records_of(pair[side]) for pair in pairs])
        assert not counted(answer.frames[folder]) - least, "no claim is false"


def records_of(solution: Solution) -> Counter[Row]:
    """The place and values of each record of a solution."""
    return Counter({(place, *values): number for (place, values), number in solution})


def in_all(solutions: list[Counter[Row]]) -> Counter[Row]:
    """How many of each record every solution has."""
    least = solutions[0]
    for each in solutions[1:]:
        least = least & each
    return least


@pytest.mark.parametrize("has_members", [False, True])
def test_claims_hold_in_every_town_with_the_same_counts(*, has_members: bool) -> None:
    homes, alike = towns_alike(TOWNS, has_members=has_members)
    truth = [by_place(frame) for frame in records(homes)]
    answer = ask(*publish_all(homes, has_members=has_members))
    for side, folder in enumerate(("joint", "joint_partner")):
        claimed = by_place(answer.frames[folder].drop("proof"))
        for places in alike:
            for place, other in product(places, places):
                assert not claimed[place] - truth[side][other]
        assert answer.frames[folder].filter(proof="joint").height


def publish_all(
    homes: list[tuple[str, HOUSEHOLD]], *, has_members: bool
) -> tuple[Publication, ...]:
    """The publications of towns."""
    places = sorted({place for place, _ in homes})
    both = published(homes, places=places)
    return (*both, publish_members(homes, places)) if has_members else both


def towns_alike(
    number: int, *, has_members: bool
) -> tuple[list[tuple[str, HOUSEHOLD]], list[list[str]]]:
    """So many towns of two or three households, and which of them have the same counts."""
    rng = np.random.default_rng(5)
    every = compositions()
    towns = [list(pair) for pair in combinations_with_replacement(range(len(every)), 2)]
    towns += rng.integers(len(every), size=(8 * number, 3)).tolist()
    homes = [(f"S{at:04d}1", every[kind]) for at, kinds in enumerate(towns) for kind in kinds]
    counts = [
        by_place(part.counts.with_columns(pl.col("geoid").str.head(5)))
        for part in publish_all(homes, has_members=has_members)
    ]
    alike: dict[object, list[str]] = defaultdict(list)
    for place in dict.fromkeys(place for place, _ in homes):
        alike[tuple(frozenset(each[place[:5]].items()) for each in counts)].append(place)
    largest = sorted(alike.values(), key=len, reverse=True)[: number // 2]
    assert len(largest[number // 8]) > 1
    kept = {place for places in largest for place in places[:3]}
    return (
        [(place, members) for place, members in homes if place in kept],
        [[place for place in places if place in kept] for places in largest],
    )


def by_place(rows: pl.DataFrame) -> dict[str, Counter[Row]]:
    """The rows of each place."""
    found: dict[str, Counter[Row]] = defaultdict(Counter)
    for place, *values in rows.iter_rows():
        found[place][tuple(values)] += 1
    return found


def test_a_contradiction_names_the_link_and_tables_of_both() -> None:
    couple = (("holder", "adult"), ("spouse", "adult"))
    single = (("holder", "adult"), ("child", "adult"))
    people, _ = published([(UNIT, couple)])
    _, homes = published([(UNIT, single)])
    with pytest.raises(ContradictionError) as error:
        ask(people, homes)
    assert f"block {UNIT}" in str(error.value)
    assert "links[" in str(error.value)
    assert "persons' table" in str(error.value)
    assert "homes' table" in str(error.value)
