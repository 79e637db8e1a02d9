"""Feasibility cuts and caps of distances, against every solution of small programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from recon_cli.capabilities.solvar import cut as cut_module
from recon_cli.capabilities.solvar.cut import feasibility_cut
from recon_cli.capabilities.solvar.distance import relax_others
from recon_cli.capabilities.solvar.objectives import distance_from
from recon_cli.model.program import LinearConstraints
from recon_cli.solve import dual_bounds
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.linear_relaxation import Vertex
from recon_cli.solve.objectives import LinearFunctionals
from tests.support.programs import program_of, random_program, solutions
from tests.support.properties import draws


@pytest.mark.parametrize("seed", draws(15, 40))
def test_what_is_cut_off_is_in_no_solution(seed: int) -> None:
    exact = random_program(seed)
    slack = np.arange(4) % 2
    rows = LinearConstraints(
        exact.constraints.A, exact.constraints.least - slack, exact.constraints.most + slack
    )
    cells, rng = np.array([0, 2, 5]), np.random.default_rng(seed)
    cut = 0
    for program in (exact, replace(exact, constraints=rows)):
        every = solutions(program)
        inside = {tuple(values[cells]) for values in every}
        for _ in range(10):
            values = every[0].copy()
            values[cells] = rng.integers(0, 3, size=3)
            found = feasibility_cut(program, cells, values, 0.5)
            assert 0 <= found.deterministic_time < 0.5
            assert all(found.rows.are_met_by(np.array(one)) for one in inside)
            if len(found.rows.least):
                cut += 1
                assert not found.rows.are_met_by(values[cells])
                assert tuple(values[cells]) not in inside
            assert not len(feasibility_cut(program, cells, values, 0.0).rows.least)
    assert cut > 0


def test_weights_that_might_overflow_cut_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of([[1, 1]], [1], upper=1)
    cells, values = np.array([0]), np.array([1, 0])
    tight = replace(program, lower=np.array([0, 1]))
    values[1] = 1
    assert len(feasibility_cut(tight, cells, values, 0.5).rows.least)
    monkeypatch.setattr(dual_bounds, "SAFE", 1.0)
    assert not len(feasibility_cut(tight, cells, values, 0.5).rows.least)


@pytest.mark.parametrize("price", [np.nan, np.inf, -1e300])
def test_prices_that_are_no_numbers_cut_nothing_off(
    price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of([[2, 1, 1], [0, 0, 0]], [0, 0], upper=2)
    strange = Vertex(np.zeros(1), np.array([price]), 0.1)
    monkeypatch.setattr(cut_module, "solve_relaxation", lambda *_: strange)
    found = feasibility_cut(program, np.array([0, 1]), np.array([2, 2, 0]), 0.5)
    assert not len(found.rows.least)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_known_of_groups_changes_no_answer(seed: int) -> None:
    whole = random_program(seed)
    every = solutions(whole)
    start = every[0]
    sums = sparse.csr_array(np.eye(7, dtype=np.int64)[:6])
    targets = LinearFunctionals(sums, np.zeros(6, dtype=np.int64), np.full(6, 2))
    group = np.array([0, 0, 1, 1, 2, 2])
    distances = np.array([np.abs(values - start)[:6] for values in every])
    most = np.array([distances[:, group == g].sum(axis=1).max() for g in range(3)])
    question = distance_from(whole, targets, start[:6])
    capped = question.capped(group, most)
    for asked in (question, capped):
        answer = maximize(asked.program, asked.objective, Effort(1, 10.0))
        assert answer.bound + asked.constant == distances.sum(axis=1).max()
    # A cap below the truth is believed: that is what makes it save work.
    below = question.capped(group, np.maximum(most - 1, 0))
    answer = maximize(below.program, below.objective, Effort(1, 10.0))
    assert answer.bound + below.constant <= np.maximum(most - 1, 0).sum()


@pytest.mark.parametrize("seed", range(12))
def test_a_unit_alone_loses_no_solution(seed: int) -> None:
    whole = random_program(seed)
    cells = np.array([0, 2, 5])
    part = relax_others(whole, cells).program
    inside = {tuple(values) for values in solutions(part)}
    assert {tuple(values[cells]) for values in solutions(whole)} <= inside
    # and no more than the rows it shares must allow: all of them, or it is no bound worth asking
    everything = relax_others(whole, np.arange(7)).program
    assert len(solutions(everything)) == len(solutions(whole))
