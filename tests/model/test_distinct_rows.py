"""Equal rows of a matrix are found as by comparing each with each."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from recon_cli.model.distinct_rows import distinct_columns, distinct_rows


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_the_same_where_all_their_entries_and_keys_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = (int(random.integers(0, 12)), int(random.integers(1, 4)))
    dense, key = random.integers(-1, 2, shape), random.integers(0, 2, shape[0])
    first, same = distinct_rows(sparse.csr_array(dense), key)
    whole = np.column_stack([dense, key])
    assert np.array_equal(whole[first[same]], whole)
    assert len(first) == len(np.unique(whole, axis=0))
    assert np.array_equal(same[first], np.arange(len(first)))
    ordered, kind = distinct_columns(sparse.csc_array(dense.T), key)
    assert ordered.tolist() == [at for at, one in enumerate(kind) if one not in kind[:at]]
    assert np.array_equal(whole[ordered[kind]], whole)
    assert len(ordered) == len(first)


def test_rows_that_only_share_their_projections_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blind = SimpleNamespace(integers=lambda *_ends, size, dtype: np.zeros(size, dtype))
    monkeypatch.setattr(np.random, "default_rng", lambda _seed: blind)
    rows = sparse.csr_array([[1, 0], [0, 1], [1, 0], [0, 1]])
    first, same = distinct_rows(rows)
    assert np.array_equal(rows[first[same]].toarray(), rows.toarray())
    assert same[0] == same[2]
