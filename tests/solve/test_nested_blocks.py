"""Ends by nested blocks against enumeration; every proof added up, every witness looked at."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.ledger import Arrays, Combination, Confirmation, Ledger, Witness
from recon_cli.model.program import IntegerProgram, LinearConstraints
from recon_cli.solve import nested_blocks
from recon_cli.solve.cp_sat import Effort
from recon_cli.solve.feasibility import Feasibility, solve_nested
from recon_cli.solve.near_vertices import NearVertex, NearVertices
from recon_cli.solve.nested_blocks import find_ends, reach_in_blocks
from tests.support.properties import amount, draws

Levels = tuple[tuple[IntArray, ...], ...]


def nested(seed: int) -> tuple[IntegerProgram, IntArray, IntArray, Levels]:
    """Four units of two cells in two districts, rows of units, districts and all of them.

    Returns:
        The program, all its solutions, the functionals, and the blocks.
    """
    rng = np.random.default_rng(seed)
    blocks: Levels = (
        tuple(np.arange(2 * u, 2 * u + 2) for u in range(4)),
        tuple(np.arange(4 * d, 4 * d + 4) for d in range(2)),
        (np.arange(8),),
    )
    truth = rng.integers(0, 3, 8)
    rows = []
    for columns in itertools.chain.from_iterable(blocks):
        for _ in range(2):
            row = np.zeros(8, dtype=np.int64)
            row[columns] = rng.choice([-1, 0, 1, 1, 2], len(columns))
            rows.append(row)
    A = np.stack(rows)
    slack = rng.integers(0, 3, (2, len(A)))
    constraints = LinearConstraints(sparse.csr_array(A), A @ truth - slack[0], A @ truth + slack[1])
    program = IntegerProgram(constraints, np.zeros(8, np.int64), np.full(8, 2))
    points = np.array(list(itertools.product(range(3), repeat=8)))
    sums = points @ A.T
    inside = ((sums >= constraints.least) & (sums <= constraints.most)).all(axis=1)
    functionals = A[(A != 0).any(axis=1)]
    return program, points[inside], functionals, blocks


@pytest.mark.parametrize("seed", draws(12, 25))
def test_ends_hold_all_solutions_and_can_be_checked(seed: int) -> None:
    program, every, functionals, blocks = nested(seed)
    found = solve_nested(program, blocks, seed)
    assert found.outcome is Feasibility.SOLVED
    assert program.is_feasible(found.values)
    rows = sparse.csr_array(functionals)
    ledger = find_ends(program, rows, found.values, blocks, Effort(seed, 100.0))
    ledger.recheck()
    values = every @ functionals.T
    assert (ledger.lower <= values.min(axis=0)).all()
    assert (ledger.upper >= values.max(axis=0)).all()
    np.testing.assert_array_equal(ledger.least, values.min(axis=0))
    np.testing.assert_array_equal(ledger.greatest, values.max(axis=0))


@pytest.mark.parametrize("seed", [15, 17, 18, 19])
def test_rounding_finds_a_way_out_of_circles(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # With costs that differ always as much, engines have to be asked for the whole of these.
    monkeypatch.delattr("recon_cli.solve.feasibility.solve_program")
    program, _, _, blocks = nested(seed)
    assert program.is_feasible(solve_nested(program, blocks, seed).values)


def test_without_effort_bounds_stay_valid() -> None:
    program, every, functionals, blocks = nested(3)
    rows = sparse.csr_array(functionals)
    ledger = find_ends(program, rows, every[0], blocks, Effort(0, 0.0))
    ledger.recheck()
    values = every @ functionals.T
    assert (ledger.lower <= values.min(axis=0)).all()
    assert (ledger.upper >= values.max(axis=0)).all()


@pytest.mark.parametrize("seed", draws(12, 25))
def test_blocks_alone_go_on_from_every_known_solution(seed: int) -> None:
    program, every, functionals, blocks = nested(seed)
    known = [every[0], every[len(every) // 2], every[-1]]
    ledger = Ledger(program, sparse.csr_array(functionals), known)
    before = ledger.least.copy(), ledger.greatest.copy()
    reach_in_blocks(ledger, blocks[:1], Effort(seed, 100.0))
    ledger.recheck()
    values = every @ functionals.T
    assert (ledger.lower <= values.min(axis=0)).all()
    assert (ledger.upper >= values.max(axis=0)).all()
    assert (ledger.least <= before[0]).all()
    assert (ledger.greatest >= before[1]).all()


def test_vertices_are_taken_as_long_as_they_close_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 12 by 12 under its margins, where each vertex empties and fills many cells."""
    size = 12
    cells = np.arange(size * size).reshape(size, size)
    rows = np.zeros((2 * size, size * size), dtype=np.int64)
    for at in range(size):
        rows[at, cells[at]] = rows[size + at, cells[:, at]] = 1
    total = np.full(2 * size, size)
    constraints = LinearConstraints(sparse.csr_array(rows), total, total)
    ones = np.ones(size * size, dtype=np.int64)
    program = IntegerProgram(constraints, np.zeros_like(ones), size * ones)
    asked = 0
    walk = nested_blocks._Search._walk

    def counted(self: nested_blocks._Search, columns: IntArray, change: IntArray) -> bool:
        nonlocal asked
        asked += 1
        return walk(self, columns, change)

    monkeypatch.setattr(nested_blocks._Search, "_walk", counted)
    ledger = Ledger(program, sparse.csr_array(np.eye(size * size, dtype=np.int64)), [ones])
    reach_in_blocks(ledger, [[np.arange(size * size)]], Effort(1, 10.0))
    assert not ledger.is_open_anywhere.any()
    assert (ledger.upper == size).all()
    assert nested_blocks._EXPLORED < asked < 3 * size
    ledger.recheck()


def districts(number: int, size: int = 2) -> tuple[IntegerProgram, sparse.csr_array, Levels]:
    """Districts of five cells, of which no two, or no more, are filled; two have halves as vertex.

    Returns:
        The program, the sum of each district, and the blocks.
    """
    chosen = itertools.combinations(range(5), size)
    pairs = np.array([np.isin(np.arange(5), each) for each in chosen])
    ones = np.ones(5 * number, dtype=np.int64)
    of_districts = np.kron(np.eye(number, dtype=np.int64), pairs.astype(np.int64))
    A = sparse.csr_array(np.vstack([of_districts, ones]))
    most = np.append(np.ones(A.shape[0] - 1, dtype=np.int64), 4 * number)
    program = IntegerProgram(LinearConstraints(A, 0 * most, most), 0 * ones, ones)
    sums = sparse.csr_array(np.eye(number, dtype=np.int64).repeat(5, axis=1))
    cells = np.arange(5 * number)
    levels = tuple(np.split(cells, 5 * number)), tuple(np.split(cells, number)), (cells,)
    return program, sums, levels


def test_engines_prove_of_a_district_what_no_vertex_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_blocks._Search, "settle", lambda *_, **__: None)
    program, sums, levels = districts(3)
    ledger = find_ends(program, sums, np.zeros(15, dtype=np.int64), levels, Effort(1, 10.0))
    ledger.recheck()
    assert ledger.upper.tolist() == ledger.greatest.tolist() == [1, 1, 1]
    assert isinstance(ledger.end(0, -1).why, Confirmation)


def test_engines_find_solutions_of_a_district_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_blocks._Search, "settle", lambda *_, **__: None)
    monkeypatch.setattr(NearVertices, "reach", lambda *_: NearVertex(np.empty(0), np.empty(0), 0.0))
    monkeypatch.setattr(nested_blocks, "_EXPLORED", 0)
    program, sums, levels = districts(2)
    ledger = find_ends(program, sums, np.zeros(10, dtype=np.int64), levels, Effort(1, 10.0))
    ledger.recheck()
    assert ledger.greatest.tolist() == [1, 1]


def test_what_is_kept_of_a_walk_grows_with_the_region_alone() -> None:
    sizes = []
    for number in (10, 40):
        program, sums, levels = districts(number, 5)
        known = np.zeros(5 * number, dtype=np.int64)
        ledger = find_ends(program, sums, known, levels, Effort(1, 10.0))
        assert not ledger.is_open_anywhere.any()
        assert len(ledger.walk) >= number
        ledger.recheck()
        sizes.append(sum(array.size for array in ledger.state().values()))
    assert sizes[1] < 5 * sizes[0]


def test_a_second_search_walks_on_from_the_first() -> None:
    program, _, functionals, blocks = nested(4)
    ledger = Ledger(program, sparse.csr_array(functionals), [nested(4)[1][0]])
    for seed in range(3):
        reach_in_blocks(ledger, blocks, Effort(seed, 100.0))
        assert program.is_feasible(ledger.walked)
    ledger.recheck()


def test_districts_of_a_large_region_get_more_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_blocks._Search, "_optimise", lambda *_: None)
    program, sums, levels = districts(40, 5)
    known, found = np.zeros(200, dtype=np.int64), []
    enough = find_ends(program, sums, known, levels, Effort(1, 10.0)).effort
    for variables in (200, 20):
        monkeypatch.setattr(nested_blocks, "_AT_ONCE", variables)
        ledger = find_ends(program, sums, known, levels, Effort(1, enough / 5))
        ledger.recheck()
        found.append(np.count_nonzero(ledger.is_open_anywhere))
    assert found[0] > found[1] == 0


def one_row() -> Ledger:
    """Two cells that are three together."""
    rows = LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([3]), np.array([3]))
    program = IntegerProgram(rows, np.zeros(2, np.int64), np.full(2, 3))
    return Ledger(program, sparse.csr_array(np.array([[2, 1]])), [np.array([0, 3])])


def test_an_open_end_is_no_number_of_a_combination() -> None:
    rows = LinearConstraints(sparse.csr_array(np.array([[1, 1]])), np.array([3]), np.array([OPEN]))
    program = IntegerProgram(rows, np.zeros(2, np.int64), np.array([5, OPEN]))
    at_least, at_most = (Combination(1, np.array([0]), np.array([w])) for w in (1, -1))
    assert at_least.bound(program, np.array([1, 1])) == 3
    for combination, functional in ((at_most, [-1, -1]), (at_least, [0, -1]), (at_least, [1, 0])):
        with pytest.raises(ValueError, match="whose end is open"):
            combination.bound(program, np.array(functional))


def test_a_combination_that_proves_less_than_it_says_is_found() -> None:
    ledger = one_row()
    three = Combination(1, np.array([0]), np.array([1]))
    ledger.prove(0, 1, 3, three)
    ledger.recheck()
    ledger.prove(0, -1, -3, three)
    with pytest.raises(ValueError, match="do not add up"):
        ledger.recheck()


def test_a_witness_that_is_no_solution_is_found() -> None:
    ledger = one_row()
    ledger.see(np.array([8]), Witness(0, np.array([0]), np.array([4])))
    with pytest.raises(ValueError, match="no solution"):
        ledger.recheck()


def test_weights_beyond_64_bits_are_added_up() -> None:
    ledger = one_row()
    scale = 2**62
    huge = Combination(scale, np.array([0]), np.array([scale], dtype=np.int64))
    assert huge.bound(ledger.program, np.array([2, 1])) == 3


class Kept:
    """A keeper that keeps every state, and gives one back as a file would."""

    def __init__(self, begin: Arrays | None = None) -> None:
        self.begin, self.states = begin, list[bytes]()

    def load(self) -> Arrays | None:
        return self.begin

    def save(self, state: Callable[[], Arrays]) -> None:
        file = io.BytesIO()
        np.savez(file, **state())  # type: ignore[arg-type]
        self.states.append(file.getvalue())


@pytest.mark.parametrize("seed", [3, 4, 8, 15])
def test_a_search_that_is_taken_up_anywhere_ends_as_if_undisturbed(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recon_cli.solve.nested_blocks._TOLD", 0.0)
    program, _, functionals, blocks = nested(seed)
    known = solve_nested(program, blocks, seed).values
    find = partial(
        find_ends, program, sparse.csr_array(functionals), known, blocks, Effort(seed, 100.0)
    )
    undisturbed = Kept()
    end = find(keeper=undisturbed).state()
    number = len(undisturbed.states)
    assert number > 5
    for at in np.random.default_rng(seed).permutation(number)[: amount(8, number)]:
        with np.load(io.BytesIO(undisturbed.states[at]), allow_pickle=False) as begin:
            ledger = find(keeper=Kept(dict(begin)))
        ledger.recheck()
        np.testing.assert_equal(dict(ledger.state()), dict(end))


def test_a_search_of_something_else_is_not_taken_up() -> None:
    program, _, functionals, blocks = nested(3)
    known = solve_nested(program, blocks, 3).values
    rows, kept = sparse.csr_array(functionals), Kept()
    end = find_ends(program, rows, known, blocks, Effort(3, 100.0), keeper=kept)
    fewer = sparse.csr_array(functionals[1:])
    with np.load(io.BytesIO(kept.states[-1]), allow_pickle=False) as state:
        other = find_ends(program, fewer, known, blocks, Effort(3, 100.0), keeper=Kept(dict(state)))
    other.recheck()
    np.testing.assert_array_equal(other.least, end.least[1:])
