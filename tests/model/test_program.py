"""Connected parts of a system, against scipy's own search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from recon_cli.arrays import IntArray
from recon_cli.model.program import connected_parts


@st.composite
def systems(draw: st.DrawFn) -> tuple[sparse.csr_array, IntArray]:
    rows, columns = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    A = rng.random((rows, columns)) < draw(st.sampled_from((0.0, 0.05, 0.15, 0.4)))
    return sparse.csr_array(A.astype(np.int64)), rng.integers(0, 2 * columns + 1, columns)


@given(system=systems(), is_grouped=st.booleans())
@settings(max_examples=200, deadline=None)
def test_parts_are_those_that_a_search_finds(
    system: tuple[sparse.csr_array, IntArray], is_grouped: bool
) -> None:
    A, groups = system
    rows, columns = A.shape
    dense = A.toarray() != 0
    edges = np.zeros((rows + columns,) * 2, dtype=bool)
    edges[:rows, rows:] = dense
    if is_grouped:
        edges[rows:, rows:] = groups[:, None] == groups[None, :]
    _, expected = csgraph.connected_components(sparse.csr_array(edges), directed=False)
    row_part, column_part = connected_parts(A, groups if is_grouped else None)
    assert np.concatenate([row_part, column_part]).tolist() == expected.tolist()


@pytest.mark.parametrize("order", ["along", "shuffled"])
def test_a_long_chain_is_one_part(order: str) -> None:
    size = 5_000
    places = np.arange(size)
    if order == "shuffled":
        places = np.random.default_rng(0).permutation(size)
    row = np.repeat(np.arange(size - 1), 2)
    column = places[np.column_stack([np.arange(size - 1), np.arange(1, size)]).ravel()]
    A = sparse.csr_array((np.ones(len(row), dtype=np.int64), (row, column)), (size - 1, size))
    row_part, column_part = connected_parts(A)
    assert not row_part.any()
    assert not column_part.any()
