"""Complementary suppression against enumeration: every primary cell stays open, for little."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.suppress.complementary import _Programs, choose_complementary
from recon_cli.capabilities.suppress.least_change import ChangeProgram, NestedCells, SensitiveCells
from recon_cli.capabilities.suppress.linked_cells import Neighbourhoods

#: People more in a column than there are that enumeration looks at, for each of the safety range.
MORE = 2


def two_way(counts: IntArray) -> tuple[IntArray, IntArray]:
    """The cells of a two-way table above zero, sums of rows and columns, then the total."""
    atoms = np.flatnonzero(counts.ravel())
    row, column = np.divmod(atoms, counts.shape[1])
    sums = [row == i for i in range(counts.shape[0])]
    sums += [column == j for j in range(counts.shape[1])]
    matrix = np.vstack([np.eye(len(atoms), dtype=bool), *sums, np.ones(len(atoms), dtype=bool)])
    matrix = np.unique(matrix[matrix.any(axis=1)], axis=0).astype(np.int64)
    return matrix, matrix @ counts.ravel()[atoms]


def of(
    matrix: IntArray, known: IntArray, below: int, least: int = 1, safety: int = 1
) -> SensitiveCells:
    values = matrix @ known
    rows = sparse.csr_array(matrix)
    return SensitiveCells(rows, values, values < below, known, least, safety)


def chosen(cells: SensitiveCells) -> BoolArray:
    level = np.zeros(len(cells.values), dtype=np.int64)
    units = Neighbourhoods.of(cells.rows, level, cells.known)
    cost = cells.values.astype(np.float64)
    return choose_complementary(cells, units, cost, np.random.default_rng(1))


def all_counts(cells: SensitiveCells) -> IntArray:
    """The cells of all populations with a few people more."""
    ranges = [range(each + MORE * cells.safety + 1) for each in cells.known.tolist()]
    every: IntArray = np.array(list(product(*ranges))) @ cells.rows.toarray().T
    return every


def protects(cells: SensitiveCells, counts: IntArray, hidden: BoolArray) -> bool:
    """Whether two solutions among some counts differ in each primary cell."""
    low = np.where(hidden, cells.least, cells.values)
    high = np.where(hidden, counts.max(), cells.values)
    counts = counts[((counts >= low) & (counts <= high)).all(axis=1)]
    widths = np.abs(counts - cells.values).max(axis=0)
    return bool((widths[cells.is_primary] >= cells.safety).all())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 1), st.integers(1, 2))
@example(194, 0, 2)  # what differs has four people more in a column
def test_two_solutions_differ_in_every_primary_cell(seed: int, least: int, safety: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = int(rng.integers(2, 6))
    matrix = rng.integers(0, 2, (int(rng.integers(2, 8)), atoms))
    matrix = np.unique(np.vstack([matrix, np.ones(atoms, dtype=np.int64)]), axis=0)
    matrix = matrix[matrix.any(axis=1)]
    known = rng.integers(0, 4, atoms)
    known[matrix[matrix @ known == 0].any(axis=0)] += 1  # zeros are published, and rule columns out
    cells = of(matrix, known, 3, least, safety)
    complementary = chosen(cells)
    assert not (complementary & cells.is_primary).any()
    assert protects(cells, all_counts(cells), complementary | cells.is_primary)


def least_cost(cells: SensitiveCells) -> int:
    """The least sum of complementary counts that protects, by trying all."""
    others = np.flatnonzero(~cells.is_primary).tolist()
    subsets = chain.from_iterable(combinations(others, k) for k in range(len(others) + 1))
    best, counts = int(cells.values.sum()), all_counts(cells)
    for subset in subsets:
        cost = int(cells.values[list(subset)].sum())
        if cost < best:
            hidden = cells.is_primary.copy()
            hidden[list(subset)] = True
            if protects(cells, counts, hidden):
                best = cost
    return best


@pytest.mark.parametrize("seed", range(6))
def test_no_choice_costs_less_in_small_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, (2, 3))
    counts[0, 0], counts[1, 2] = 1, 4
    matrix, _ = two_way(counts)
    cells = of(matrix, counts.ravel()[np.flatnonzero(counts)], 3)
    assert int(cells.values[chosen(cells)].sum()) == least_cost(cells)


def test_a_two_way_table_needs_a_rectangle() -> None:
    """Nine cells with their sums: one primary cell costs three complementary ones."""
    counts = np.array([[1, 9, 8], [7, 6, 5], [4, 3, 5]])
    matrix, _ = two_way(counts)
    cells = of(matrix, counts.ravel(), 2)
    complementary = chosen(cells)
    assert complementary.sum() == 3
    assert cells.values[complementary].sum() == 4 + 3 + 9


def test_a_sum_of_ones_goes_with_them() -> None:
    """Where zeros are published a flag says at least 1: ones add up to a sum that gives them away.

    So a large share of suppressed counts is in the nature of small units, not of the choice.
    """
    matrix = np.vstack([np.eye(3, dtype=np.int64), [[1, 1, 1]]])
    ones = np.array([1, 1, 1])
    assert chosen(of(matrix, ones, 3)).tolist() == [False, False, False, True]
    assert least_cost(of(matrix, ones, 3)) == 3
    assert not chosen(of(matrix, ones, 3, least=0)).any()
    assert least_cost(of(matrix, ones, 3, least=0)) == 0


def test_a_change_of_another_unit_makes_up_for_one() -> None:
    """Two units with their sums and those of both: people of the two swap a column."""
    unit = np.array([[1, 0], [0, 1], [1, 1]])
    both = np.hstack([unit, unit])
    matrix = np.vstack([np.kron(np.eye(2, dtype=np.int64), unit), both])
    known = np.array([1, 9, 20, 30])
    cells = of(matrix, known, 2)
    units = Neighbourhoods.of(cells.rows, (np.arange(9) >= 6).astype(np.int64), known)
    assert len(np.unique(units.unit)) == 2
    mine = units.of_columns(np.array([0]))
    assert units.around(mine, 0).tolist() == [0, 1]
    assert units.around(mine, 1).tolist() == [0, 1, 2, 3]
    cost = np.where(cells.is_primary, 0.0, cells.values)
    program = ChangeProgram(cells, np.arange(4))
    change, elapsed = program.least(0, cost)
    assert change is not None
    assert elapsed > 0
    assert change.touched.tolist() == [0, 1, 3, 4]
    assert change.protected.tolist() == [0]
    cheapest = float(cost[change.touched].sum())
    assert program.least(0, cost, cheapest / 2)[0] is None
    cost[1] = np.inf
    other, _ = program.least(0, cost)
    assert other is not None
    assert 1 not in other.touched


def districts(number: int, *, is_national: bool) -> tuple[SensitiveCells, Neighbourhoods]:
    """Districts of two units each, with two columns: the first has one person, or three in all."""
    unit = np.array([[1, 0], [0, 1], [1, 1]])
    units = np.kron(np.eye(2 * number, dtype=np.int64), unit)
    both = np.kron(np.eye(number, dtype=np.int64), np.hstack([unit, unit]))
    nation = np.hstack([unit] * 2 * number)
    matrix = np.vstack([units, both, nation] if is_national else [units, both])
    known = np.tile([1, 9, 2, 30], number)
    level = np.repeat([0, 1, 2], [6 * number, 3 * number, 3])[: len(matrix)]
    cells = of(matrix, known, 4)
    return cells, Neighbourhoods.of(cells.rows, level, known)


def test_programs_do_not_grow_with_the_region() -> None:
    heights = []
    for number in (3, 30):
        cells, units = districts(number, is_national=True)
        programs = _Programs(cells, units, np.inf)
        heights.append([programs.of(target, 1).height for target in (0, 7)])
        blocks = units.blocks(cells.rows)
        districts_of = blocks[: 6 * number].reshape(number, 6)
        assert (districts_of == districts_of[:, :1]).all()
        assert sorted(districts_of[:, 0].tolist()) == list(range(number))
        assert blocks[-3:].tolist() == [number] * 3
    assert heights[0] == heights[1] == [12, 12]


def test_columns_that_show_in_no_coarser_cell_join_no_districts() -> None:
    """Two districts of two units; a column of each unit is in its own cell alone."""
    units = np.kron(np.eye(4, dtype=np.int64), np.array([[1, 0], [1, 1]]))
    districts_ = np.kron(np.eye(2, dtype=np.int64), np.array([[1, 0, 1, 0]]))
    matrix = np.vstack([units, districts_])
    level = np.repeat([0, 1], [8, 2])
    found = Neighbourhoods.of(sparse.csr_array(matrix), level, np.ones(8, dtype=np.int64))
    blocks = found.blocks(sparse.csr_array(matrix))
    first, second = np.unique(blocks)
    assert blocks.tolist() == [first] * 4 + [second] * 4 + [first, second]
    assert found.around(np.array([0]), 2).tolist() == [0, 1, 2, 3]


def test_a_count_of_a_district_is_made_up_for_by_another_district() -> None:
    """Three people of a kind in each: sums of two districts go, national ones stay."""
    cells, units = districts(4, is_national=True)
    first = 24
    assert cells.values[first] == 3
    assert units.around(np.array([0, 1]), 1).tolist() == [0, 1, 2, 3]
    assert units.around(np.array([0, 1]), 1, level=1).tolist() == [0, 1, 2, 3, 4, 5]
    random = np.random.default_rng(1)
    hidden = choose_complementary(cells, units, cells.values.astype(np.float64), random)
    assert not (hidden | cells.is_primary)[-3:].any()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nested_cells_are_the_same_functionals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 3, (int(rng.integers(1, 9)), int(rng.integers(1, 6))))
    matrix = np.vstack([matrix, matrix[:1] + matrix[-1:], matrix[:1]])
    matrix = matrix[matrix.any(axis=1)]
    rows = sparse.csr_array(matrix)
    nested = NestedCells.of(rows)
    assert (nested.parts @ matrix + nested.rest.toarray() == matrix).all()
    own = np.eye(len(matrix)) - nested.parts.toarray()
    assert np.abs(np.linalg.solve(own, nested.rest.toarray()) - matrix).max(initial=0) < 1e-9
    assert (nested.rest.toarray() >= 0).all()
    assert nested.rest.nnz <= rows.nnz


def test_a_total_is_the_sum_of_its_rows() -> None:
    matrix, _ = two_way(np.ones((3, 4), dtype=np.int64))
    nested = NestedCells.of(sparse.csr_array(matrix))
    size = matrix.sum(axis=1)
    assert nested.rest.nnz == 12
    assert np.diff(nested.parts.indptr)[size == 12].tolist() == [3]


def test_without_effort_more_is_suppressed_and_all_protected() -> None:
    rng = np.random.default_rng(3)
    matrix, _ = two_way(rng.integers(0, 6, (6, 7)))
    known = np.array(rng.integers(1, 6, matrix.shape[1]))
    cells = of(matrix, known, 3)
    units = Neighbourhoods.of(cells.rows, np.zeros(len(cells.values), dtype=np.int64), known)
    cost, shares = cells.values.astype(np.float64), list[float]()

    def hidden(effort: float) -> BoolArray:
        random = np.random.default_rng(1)
        return choose_complementary(
            cells, units, cost, random, effort=effort, on_share=shares.append
        )

    hasty, careful = hidden(0.0), hidden(np.inf)
    assert cost[hasty].sum() > cost[careful].sum()
    assert shares[-1] == 1.0
    for complementary in (hasty, careful):
        found = ChangeProgram(cells, np.arange(len(known)))
        kept = np.where(complementary | cells.is_primary, 0.0, np.inf)
        for target in np.flatnonzero(cells.is_primary).tolist():
            assert found.least(target, kept)[0] is not None


def test_records_that_are_not_those_of_the_counts_are_refused() -> None:
    cells = of(np.eye(2, dtype=np.int64), np.array([1, 4]), 2)
    with pytest.raises(ValueError, match="do not have the true counts"):
        SensitiveCells(cells.rows, cells.values, cells.is_primary, cells.known + 1, 1, 1)
    with pytest.raises(ValueError, match="more people away than there are"):
        cells.difference(np.array([-2, 0]))


def test_of_many_columns_a_sample_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recon_cli.capabilities.suppress.complementary._COLUMNS", 0)
    monkeypatch.setattr("recon_cli.capabilities.suppress.complementary._SAMPLE", 2)
    matrix, _ = two_way(np.array([[1, 3, 2], [3, 2, 3]]))
    cells = of(matrix, np.array([1, 0, 2, 3, 2, 0]), 2, least=0)
    assert cells.is_primary.sum() > 2
    assert protects(cells, all_counts(cells), chosen(cells) | cells.is_primary)
