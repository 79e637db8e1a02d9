"""Making up for what a unit changed: whole people where the relaxation has halves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.solvar import batch, largest_distance
from recon_cli.capabilities.solvar.distance import (
    DIAMETER,
    FROM_INCUMBENT,
    ComponentHistogram,
    DistanceMeasure,
)
from recon_cli.capabilities.solvar.largest_distance import LargestDistances
from recon_cli.capabilities.solvar.unit_search import EffortAccount, EffortBudget
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.objectives import LinearFunctionals
from tests.support.properties import amount, draws

# Rows of one person each. Without the one of unit 0, three halves of a person are nearest, and
# one whole person (the fifth cell) is the only solution.
ROWS = ((1, 1, 1, 0, 1, 0), (1, 0, 1, 1, 1, 0), (1, 1, 0, 1, 1, 0), (0, 0, 0, 0, 1, 1))
START = (1, 0, 0, 0, 0, 1)
MOVED = np.array([0, 0, 0, 0, 0, 1])


def part_of(unit: Sequence[int], upper: Sequence[int] = (1,) * 6) -> ComponentHistogram:
    """Every cell is a histogram cell of one of the units."""
    A = sparse.csr_array(np.array(ROWS, dtype=np.int64))
    one, cells = np.ones(len(ROWS), dtype=np.int64), np.arange(6)
    none, most = np.zeros(6, dtype=np.int64), np.array(upper)
    each = sparse.csr_array(sparse.eye_array(6, dtype=np.int64))
    return ComponentHistogram(
        program=IntegerProgram(LinearConstraints(A, one, one), none, most),
        numbers=cells,
        unit=np.array(unit),
        cells=LinearFunctionals(each, none, most),
        incumbent=np.array(START),
    )


def allowance(seconds: float = 0.5) -> EffortAccount:
    return EffortAccount(EffortBudget({0: 1}, seconds), np.zeros(3, dtype=np.int64))


def whole(part: ComponentHistogram) -> list[list[IntArray]]:
    """One block, of all units."""
    return [[np.arange(len(part.incumbent))]]


def test_halves_are_asked_for_whole_people_where_they_are() -> None:
    whole = largest_distance._extended(part_of([0, 1, 1, 1, 1, 1]), 0, MOVED, allowance())
    assert whole.tolist() == [0, 0, 0, 0, 1, 0]


def test_what_only_others_could_make_up_for_is_left_to_the_full_question() -> None:
    part, spent = part_of([0, 1, 1, 1, 2, 2]), allowance()
    assert not len(largest_distance._extended(part, 0, MOVED, spent))
    assert spent.spent[0] > 0
    assert not len(largest_distance._extended(part, 0, MOVED, allowance(0.0)))


@pytest.mark.parametrize(
    ("unit", "most"), [([0, 1, 1, 1, 1, 1], [1, 2]), ([0, 1, 1, 1, 2, 2], [1, 0, 2])]
)
def test_either_way_the_answer_is_the_same(unit: list[int], most: list[int]) -> None:
    part = part_of(unit)
    found = largest_distance.maximize_each_unit(part, FROM_INCUMBENT, allowance(), whole(part))
    assert found.reached.tolist() == found.bound.tolist() == most
    assert all(part.program.is_feasible(values) for values in found.solutions)


def test_nobody_goes_where_no_solution_is() -> None:
    part = part_of([0, 1, 1, 1, 1, 1], upper=(1, 1, 1, 1, 0, 1))
    found = largest_distance.maximize_each_unit(part, FROM_INCUMBENT, allowance(), whole(part))
    assert found.bound.tolist() == [0, 0]


def random_part(seed: int) -> ComponentHistogram:
    """Three units of three cells, and rows that couple them."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 2, size=(5, 9))
    start = rng.integers(0, 3, size=9)
    none, most = np.zeros(9, dtype=np.int64), np.full(9, 2)
    return ComponentHistogram(
        program=IntegerProgram(
            LinearConstraints(sparse.csr_array(A), A @ start, A @ start), none, most
        ),
        numbers=np.arange(9),
        unit=np.repeat([0, 1, 2], 3),
        cells=LinearFunctionals(sparse.csr_array(sparse.eye_array(9, dtype=np.int64)), none, most),
        incumbent=start,
    )


EVERY = np.array(list(itertools.product(range(3), repeat=9)))


@pytest.mark.parametrize("ask", [FROM_INCUMBENT, DIAMETER])
def test_what_others_cannot_follow_is_cut_off(
    ask: DistanceMeasure, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts: list[int] = []
    real = EffortAccount.feasibility_cut

    def counted(self: EffortAccount, *words: Any) -> LinearConstraints:
        found = real(self, *words)
        cuts.append(len(found.least))
        return found

    monkeypatch.setattr(EffortAccount, "feasibility_cut", counted)
    # or one question about all of them would answer most
    monkeypatch.setattr(
        largest_distance, "_maximize_together", lambda seen, _: (0, int(seen.bound.sum()))
    )
    asked: list[int] = []
    monkeypatch.setattr(largest_distance, "_maximize_in_block", lambda _, k, *__: asked.append(k))
    for seed in draws(12, 30):
        part = random_part(seed)
        rows = part.program.constraints
        solutions = EVERY[(rows.least == EVERY @ rows.A.toarray().T).all(axis=1)]
        asked.clear()
        found = largest_distance.maximize_each_unit(part, ask, allowance(), whole(part))
        for k in range(3):
            here = solutions[:, 3 * k : 3 * k + 3]
            origins = part.incumbent[None, 3 * k : 3 * k + 3] if ask is FROM_INCUMBENT else here
            most = max(int(np.abs(here - origin).sum(axis=1).max()) for origin in origins)
            assert found.reached[k] <= most <= found.bound[k]
            if k not in asked:
                assert found.reached[k] == most == found.bound[k]
    assert sum(cuts) > 5


@pytest.mark.parametrize("ask", [FROM_INCUMBENT, DIAMETER])
def test_blocks_bound_and_reach(ask: DistanceMeasure, monkeypatch: pytest.MonkeyPatch) -> None:
    """With others as they are what is reached is a solution; with others anywhere a bound holds."""
    monkeypatch.setattr(largest_distance, "_extend_with_cuts", lambda *_: None)
    monkeypatch.setattr(
        largest_distance, "_maximize_together", lambda seen, _: (0, int(seen.bound.sum()))
    )
    settled = [0, 0]
    for seed in draws(12, 30):
        part = random_part(seed)
        rows = part.program.constraints
        solutions = EVERY[(rows.least == EVERY @ rows.A.toarray().T).all(axis=1)]
        pairs = [[np.arange(6), np.arange(6, 9)]]
        for number, blocks in enumerate((pairs, [*pairs, *whole(part)])):
            found = largest_distance.maximize_each_unit(part, ask, allowance(), blocks)
            assert all(part.program.is_feasible(values) for values in found.solutions)
            for k in range(3):
                here = solutions[:, 3 * k : 3 * k + 3]
                origins = part.incumbent[None, 3 * k : 3 * k + 3] if ask is FROM_INCUMBENT else here
                most = max(int(np.abs(here - origin).sum(axis=1).max()) for origin in origins)
                assert found.reached[k] <= most <= found.bound[k]
                settled[number] += int(found.reached[k] == found.bound[k])
    assert 0 < settled[0] < settled[1] == 3 * amount(12, 30)


def test_zero_of_all_units_together_rests_on_zero_of_each() -> None:
    part, nothing = part_of([0, 0, 0, 1, 1, 1]), np.zeros(2, dtype=np.int64)
    found = LargestDistances(np.array([0, 1]), nothing, np.array([2, 3]), [], (0, 0))
    believed, _ = batch._confirmed(part, found, DIAMETER)
    assert believed.together == (0, 5)
