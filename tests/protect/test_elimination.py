"""Complementary suppression: no primary cell is a combination of published ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from recon_cli.protect.elimination import choose_complementary
from recon_cli.statement.law import IntArray


def rank(matrix: IntArray) -> int:
    """By elimination in fractions."""
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    found = 0
    for column in range(matrix.shape[1]):
        at = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[found], rows[at] = rows[at], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_elimination_against_rank_in_fractions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells, atoms = int(rng.integers(2, 12)), int(rng.integers(2, 7))
    matrix = rng.integers(0, 3, (cells, atoms))
    matrix[matrix.sum(axis=1) == 0, 0] = 1
    values = matrix @ rng.integers(0, 4, atoms)
    is_primary = rng.random(cells) < 0.3
    chosen = choose_complementary(sparse.csr_array(matrix), values, is_primary)
    assert not (chosen & is_primary).any()
    published = matrix[~(chosen | is_primary)]
    for row in matrix[is_primary]:
        assert rank(np.vstack([published, row])) == rank(published) + 1
    for row in matrix[chosen]:
        more = np.vstack([published, row])
        assert any(rank(np.vstack([more, p])) == rank(more) for p in matrix[is_primary])


def two_way(counts: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """The cells of a two-way table, then sums of rows and columns, then the total."""
    atoms = np.arange(counts.size).reshape(counts.shape)
    groups = [[a] for a in range(counts.size)] + [list(r) for r in atoms]
    groups += [list(c) for c in atoms.T] + [list(range(counts.size))]
    matrix = np.array([np.isin(np.arange(counts.size), group) for group in groups]).astype(int)
    return sparse.csr_array(matrix), matrix @ counts.ravel()


def test_a_two_way_table_needs_a_rectangle() -> None:
    """Nine cells with their sums: one primary cell costs three complementary ones."""
    rows, values = two_way(np.array([[1, 9, 8], [7, 6, 5], [4, 3, 2]]))
    is_primary = np.zeros(len(values), dtype=bool)
    is_primary[0] = True
    chosen = choose_complementary(rows, values, is_primary)
    assert chosen.sum() == 3
    assert not chosen[9:].any(), "sums are greater, so they stay"


def test_more_columns_than_can_be_added_up_exactly_are_refused() -> None:
    wide = sparse.csr_array(np.ones((1, 2**13 + 1), dtype=np.int64))
    with pytest.raises(ValueError, match=r"elimination over 8,193 columns, at most 8,192"):
        choose_complementary(wide, np.array([1]), np.array([True]))
