"""Two releases in one program: soundness against every joint solution, and against true towns."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from itertools import combinations_with_replacement

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
    UNIT,
    compositions,
    is_linked,
    published,
    records,
    releases,
)

Row = tuple[object, ...]
#: Random towns that are compared with those that have the same counts.
TOWNS = int(os.environ.get("RECON_EXAMPLES", "150"))


def ask(people: Publication, homes: Publication, seconds: float = 20.0) -> Answer:
    """What both releases together prove."""
    first, second, joint = releases()
    one = PartInput(first, first.tables, people.coverage)
    other = PartInput(second, second.tables, homes.coverage)
    question = JointQuestion.of(joint, one, other, JointOptions(1, seconds))
    return question.ask(RegionData(people, partner=homes, partition="S"))


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


def test_claims_hold_in_every_town_with_the_same_counts() -> None:
    rng = np.random.default_rng(5)
    every = compositions()
    pairs = list(combinations_with_replacement(range(len(every)), 2))[: TOWNS // 2]
    towns = [*pairs, *rng.integers(len(every), size=(TOWNS - len(pairs), 3)).tolist()]
    places = [f"S{number:04d}1" for number in range(len(towns))]
    homes = [
        (place, every[kind]) for place, kinds in zip(places, towns, strict=True) for kind in kinds
    ]
    both = published(homes, places=places)
    truth = [by_place(frame) for frame in records(homes)]
    signature = [by_place(part.counts.with_columns(pl.col("geoid").str.head(5))) for part in both]
    alike: dict[object, list[str]] = defaultdict(list)
    for place in places:
        alike[tuple(frozenset(each[place[:5]].items()) for each in signature)].append(place)
    answer = ask(*both)
    assert any(len(places_alike) > 1 for places_alike in alike.values())
    for side, folder in enumerate(("joint", "joint_partner")):
        claimed = by_place(answer.frames[folder].drop("proof"))
        for places_alike in alike.values():
            for place in places_alike:
                for other in places_alike:
                    assert not claimed[place] - truth[side][other]
        assert answer.frames[folder].filter(proof="joint").height


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
