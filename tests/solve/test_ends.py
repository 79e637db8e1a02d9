"""The steps that fill a ledger, against enumeration; whatever they prove adds up again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.capabilities.audit.ends import find_ends
from recon_cli.model.ledger import Combination, Confirmation, Grounds, Ledger
from recon_cli.model.program import ConnectedParts, IntegerProgram, LinearConstraints
from recon_cli.solve.cp_sat import Effort, maximize
from recon_cli.solve.ends import EndSearch
from recon_cli.solve.objectives import LinearFunctionals, interval_ends
from tests.solve.test_constancy import random_program


def asked(rng: np.random.Generator, parts: ConnectedParts) -> sparse.csr_array:
    """Functionals that are over one part each, none empty."""
    rows = []
    for _ in range(6):
        inside = parts.of_variable == rng.integers(parts.count)
        row = rng.integers(-2, 4, len(inside)) * inside
        row[np.flatnonzero(inside)[0]] += not row.any()
        rows.append(row)
    return sparse.csr_array(np.array(rows, dtype=np.int64))


STEPS: dict[str, Callable[[EndSearch], None]] = {
    "move": lambda search: search.move(lambda: search.ledger.is_open_anywhere),
    "constants": EndSearch.prove_constants,
    "rows": lambda search: search.combine_rows(np.arange(6)),
    "duals": lambda search: search.bound_widest(lambda: search.ledger.is_open_anywhere, 0.0),
    "one": lambda search: search.bound(np.array([0]), np.array([-1])),
}


@pytest.mark.parametrize("step", STEPS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_a_step_proves_holds_in_all_solutions_and_adds_up(step: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, every = random_program(rng)
    parts = ConnectedParts.of(program)
    C = asked(rng, parts)
    ledger = Ledger(program, C, [every[0]])
    STEPS[step](EndSearch(ledger, Effort(1, 5.0), parts))
    values = every @ C.toarray().T
    assert (ledger.lower <= values.min(axis=0)).all()
    assert (ledger.upper >= values.max(axis=0)).all()
    assert (ledger.least >= values.min(axis=0)).all()
    assert (ledger.greatest <= values.max(axis=0)).all()
    assert not any(
        isinstance(ledger.end(k, sign).why, Confirmation) for k in range(6) for sign in (1, -1)
    )
    ledger.recheck()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_audit_decides_what_varies_and_says_why(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, every = random_program(rng)
    C = asked(rng, ConnectedParts.of(program))
    ledger = find_ends(program, C, every[0], Effort(1, 30.0))
    values = every @ C.toarray().T
    is_constant = values.min(axis=0) == values.max(axis=0)
    assert ((ledger.lower == ledger.upper) == is_constant).all()
    assert ((ledger.least < ledger.greatest) == ~is_constant).all()
    ledger.recheck()


def two_pairs() -> IntegerProgram:
    """Two sums of two variables, of two each."""
    A = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    two = np.full(2, 2)
    return IntegerProgram(
        LinearConstraints(sparse.csr_array(A), two, two),
        np.zeros(4, dtype=np.int64),
        np.full(4, 2),
    )


def test_a_point_is_a_solution_part_by_part() -> None:
    program = two_pairs()
    known = np.array([1, 1, 1, 1])
    point = np.array([2.0, 0.0, 2.0, 0.6])
    assert not len(program.rounded(point))
    assert not len(program.rounded(np.empty(0)))
    assert ConnectedParts.of(program).rounded(point, known).tolist() == [2, 0, 1, 1]
    assert ConnectedParts.whole(program).rounded(point, known).tolist() == known.tolist()


def test_a_sum_of_equations_rests_on_rows_and_a_wrong_combination_is_refused() -> None:
    program = two_pairs()
    known: IntArray = np.array([1, 1, 1, 1])
    ledger = Ledger(program, sparse.csr_array(np.array([[1, 1, 2, 2]])), [known])
    EndSearch(ledger, Effort(1, 1.0)).combine_rows(np.array([0]))
    assert (ledger.lower[0], ledger.upper[0]) == (6, 6)
    for sign in (1, -1):
        why = ledger.end(0, sign).why
        assert isinstance(why, Combination)
        assert why.grounds is Grounds.ROWS
    other = Ledger(program, sparse.csr_array(np.array([[1, 1, 0, 1]])), [known])
    other.prove(0, 1, 3, Combination(1, np.array([0]), np.array([1])))
    with pytest.raises(ValueError, match="do not add up to 3"):
        other.recheck()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_most_ends_that_one_solution_reaches_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program, every = random_program(rng)
    C = sparse.csr_array(rng.integers(0, 2, (6, every.shape[1])))
    values = every @ C.toarray().T
    lower, upper = values.min(axis=0), values.max(axis=0)
    varies = lower < upper
    at_lower, at_upper = varies & (rng.random(6) < 0.7), varies & (rng.random(6) < 0.7)
    functionals = LinearFunctionals(C, lower, np.where(varies, upper, lower + 1))
    wanted = interval_ends(program, functionals, at_lower, at_upper)
    found = maximize(wanted.program, wanted.objective, Effort(1, 5.0))
    reached = (at_lower & (values == lower)).sum(axis=1) + (at_upper & (values == upper)).sum(
        axis=1
    )
    assert int(wanted.objective @ found.values) + wanted.constant == int(reached.max())
