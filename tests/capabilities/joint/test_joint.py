"""Two releases in one program: soundness against every joint solution, and against true towns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

from recon_cli.errors import ContradictionError
from tests.support.enumeration import Solution, TooManyError, solutions
from tests.support.joint_worlds import (
    HOUSEHOLDS,
    STEP,
    UNIT,
    ask,
    check_towns,
    compositions,
    is_linked,
    published,
    releases,
)

Row = tuple[object, ...]


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
    found = check_towns(HOUSEHOLDS, has_members=has_members, step=STEP)
    assert found.shared > found.signatures // 10
    for each in found.kinds:
        assert each.unsound == 0
        assert each.joint > 0
        assert each.complete > found.signatures // 3


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


def test_a_contradiction_names_no_table_of_other_columns() -> None:
    """Of a child without minors at home, H3 alone tells minors; H1 and H2 do not."""
    people, _ = published([(UNIT, (("holder", "adult"), ("child", "young")))])
    _, homes = published([(UNIT, (("holder", "adult"), ("child", "adult")))])
    with pytest.raises(ContradictionError) as error:
        ask(people, homes)
    assert "between persons' table P1 cell 2 (P1-2) and homes' table H3;" in str(error.value)
