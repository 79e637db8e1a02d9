"""The cheapest cover, against every choice there is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.show import set_cover
from recon_cli.capabilities.show.set_cover import minimum_set_cover
from recon_cli.solve.cp_sat import Effort

SETS = st.lists(st.frozensets(st.integers(3, 12), min_size=1, max_size=5), max_size=9)
COSTS = st.lists(st.integers(1, 4), min_size=13, max_size=13)


@pytest.mark.parametrize("few", [0, 12], ids=["CP-SAT", "every choice"])
def test_a_cover_is_the_cheapest(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_cover, "_FEW", few)

    @given(sets=SETS, costs=COSTS)
    @settings(max_examples=80, deadline=None)
    def check(sets: list[frozenset[int]], costs: list[int]) -> None:
        cover = minimum_set_cover(sets, costs.__getitem__, Effort(1, 10.0))
        assert cover is not None
        assert cover == sorted(set(cover))
        assert all(each & set(cover) for each in sets)
        assert sum(costs[element] for element in cover) == cheapest(sets, costs)

    check()


def cheapest(sets: list[frozenset[int]], costs: list[int]) -> int:
    elements = sorted(frozenset[int]().union(*sets))
    return min(
        sum(costs[element] for element in chosen)
        for size in range(len(elements) + 1)
        for chosen in itertools.combinations(elements, size)
        if all(each & set(chosen) for each in sets)
    )


def test_without_effort_a_search_finds_nothing() -> None:
    ring = [frozenset({at, (at + 1) % 15}) for at in range(15)]  # nothing follows in an odd ring
    assert minimum_set_cover(ring, lambda _: 1, Effort(1, 0.0)) is None
    cover = minimum_set_cover(ring, lambda _: 1, Effort(1, 10.0))
    assert cover is not None
    assert len(cover) == 8
