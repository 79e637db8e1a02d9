"""Objectives over all solutions of tiny programs: the greatest is that of enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.solvar.objectives import diameter, distance_from, loss_from
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort, Status, find_feasible, maximize
from recon_cli.solve.objectives import LinearFunctionals, Maximization, interval_ends
from tests.support.properties import draws

EFFORT = Effort(1, 10.0)
VARIABLES, FUNCTIONALS, MOST = 4, 3, 3


class Tiny:
    """A program, its solutions' values, and bounds of them that are one or two too wide."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        A, C = (random.integers(0, 2, (rows, VARIABLES)) for rows in (2, FUNCTIONALS))
        total = A @ random.integers(1, MOST + 1, VARIABLES)
        rows = LinearConstraints(sparse.csr_array(A), total - random.integers(0, 2, 2), total)
        lower, upper = np.ones(VARIABLES, dtype=np.int64), np.full(VARIABLES, MOST)
        self.program = IntegerProgram(rows, lower, upper)
        every = np.array(list(itertools.product(range(1, MOST + 1), repeat=VARIABLES)))
        self.values = np.array([C @ x for x in every if self.program.is_feasible(x)])
        self.functionals = LinearFunctionals(
            sparse.csr_array(C),
            self.values.min(axis=0) - random.integers(0, 2, FUNCTIONALS),
            self.values.max(axis=0) + random.integers(0, 3, FUNCTIONALS),
        )
        self.origin: IntArray = self.values[random.integers(len(self.values))]
        self.random = random


def check(found: Maximization, expected: int) -> None:
    """Compare the greatest value, and that more than it is impossible."""
    answer = maximize(found.program, found.objective, EFFORT)
    assert answer.status is Status.OPTIMAL
    assert answer.objective + found.constant == expected
    assert len(find_feasible(found.at_least(expected), EFFORT).values)
    assert find_feasible(found.at_least(expected + 1), EFFORT).status is Status.INFEASIBLE


@pytest.mark.parametrize("seed", draws(10, 20))
@pytest.mark.parametrize(
    ("maximization", "worth"),
    [
        (distance_from, lambda values, origin: np.abs(values - origin)),
        (loss_from, lambda values, origin: 2 * np.maximum(origin - values, 0)),
    ],
)
def test_the_farthest_solution_is_as_far(
    maximization: Callable[[IntegerProgram, LinearFunctionals, IntArray], Maximization],
    worth: Callable[[IntArray, IntArray], IntArray],
    seed: int,
) -> None:
    tiny = Tiny(seed)
    found = maximization(tiny.program, tiny.functionals, tiny.origin)
    each = worth(tiny.values, tiny.origin)
    check(found, int(each.sum(axis=1).max()))
    group = np.array([0, 0, 1])
    most = np.array([each[:, :2].sum(axis=1).max(), each[:, 2].max()])
    check(found.capped(group, most), int(each.sum(axis=1).max()))


@pytest.mark.parametrize("seed", range(10))
def test_two_solutions_are_as_far_apart_as_any(seed: int) -> None:
    tiny = Tiny(seed)
    apart = np.abs(tiny.values[:, None] - tiny.values[None]).sum(axis=2)
    check(diameter(tiny.program, tiny.functionals), int(apart.max()))


@pytest.mark.parametrize("seed", range(40))
def test_as_many_ends_are_attained_at_once_as_in_any_solution(seed: int) -> None:
    tiny = Tiny(seed)
    low, high = tiny.functionals.lower, tiny.functionals.upper
    at_lower, at_upper = tiny.random.random((2, FUNCTIONALS)) < 0.7
    at_lower, at_upper = at_lower & (low < high), at_upper & (low < high)
    ends = ((tiny.values == low) & at_lower).sum(axis=1)
    ends += ((tiny.values == high) & at_upper).sum(axis=1)
    check(interval_ends(tiny.program, tiny.functionals, at_lower, at_upper), int(ends.max()))


def test_bounds_must_be_as_many_as_functionals() -> None:
    three, two = np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for lower, upper in ((two, three), (three, two)):
        with pytest.raises(ValueError, match="3 functionals have bounds"):
            LinearFunctionals(sparse.csr_array((3, 4), dtype=np.int64), lower, upper)
