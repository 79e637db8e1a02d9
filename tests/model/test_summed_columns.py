"""Sums instead of single values, against all histograms of single values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from recon_cli.arrays import IntArray
from recon_cli.frames import OPEN
from recon_cli.model.summed_columns import SummedColumns, ValueRows, sum_columns


def random_rows(seed: int) -> tuple[ValueRows, IntArray]:
    """Two units with cells of two sexes and some values; counts, and sums over one or both."""
    random = np.random.default_rng(seed)
    values = np.sort(random.choice(7, size=4, replace=False))
    cells = [(unit, sex, v) for unit in range(2) for sex in range(2) for v in values]
    cells = [cell for cell in cells if random.random() < 0.7] or cells[:2]
    unit = np.array([cell[0] for cell in cells])
    sex, value = (np.array([cell[at] for cell in cells]) for at in (1, 2))
    plain, by_value, least, most = [], [], [], []
    for place in range(2):
        here = unit == place
        for group in (here, here & (sex == 0), here & (value > 3)):
            if group.any():
                count = int(random.integers(0, 3))
                plain.append(group.astype(int))
                by_value.append(np.zeros(len(cells), dtype=int))
                least.append(count)
                most.append(count + int(random.integers(0, 2)))
        for group in (here, here & (sex == 0)):
            if group.any() and random.random() < 0.8:
                plain.append(-int(random.integers(0, 9)) * group)
                by_value.append(int(random.integers(1, 4)) * group)
                least.append(int(random.integers(-3, 4)))
                most.append(OPEN)
    rows = ValueRows(
        sparse.csr_array(np.array(plain)),
        sparse.csr_array(np.array(by_value)),
        value,
        np.array(least),
        np.array(most),
    )
    return rows, unit


def solutions(rows: ValueRows, most: int = 2) -> list[tuple[int, ...]]:
    every = np.array(list(itertools.product(range(most + 1), repeat=len(rows.values))))
    total = every @ rows.rows.A.toarray().T
    fits = ((total >= rows.least) & (total <= rows.most)).all(axis=1)
    return [tuple(x) for x in every[fits].tolist()]


def projected(summed: SummedColumns, x: IntArray) -> IntArray:
    found = np.zeros(len(summed.unit), dtype=np.int64)
    np.add.at(found, summed.people, x)
    has = summed.excess >= 0
    np.add.at(found, summed.excess[has], (summed.offset * x)[has])
    return found


@pytest.mark.parametrize("seed", range(60))
def test_sums_have_exactly_the_solutions_of_single_values(seed: int) -> None:
    rows, unit = random_rows(seed)
    if len(unit) > 7:
        kept = np.arange(len(unit)) < 7
        rows = ValueRows(
            sparse.csr_array(rows.plain[:, kept]),
            sparse.csr_array(rows.by_value[:, kept]),
            rows.values[kept],
            rows.least,
            rows.most,
        )
        unit = unit[kept]
    summed = sum_columns(rows, unit)
    assert (np.diff(summed.unit) >= 0).all()
    known = {tuple(projected(summed, np.array(x)).tolist()) for x in solutions(rows)}
    for sums in sorted(known)[:300]:
        assert summed.rows.are_met_by(np.array(sums))
        placed = summed.placed(np.array(sums))
        assert (placed >= 0).all()
        assert rows.rows.are_met_by(placed)
        assert tuple(projected(summed, placed).tolist()) == sums
    # The other way: what the sums admit is the projection of some people.
    width = len(summed.unit)
    is_excess = np.isin(np.arange(width), summed.excess)
    tops = np.where(is_excess, 2 * summed.span.max(initial=0), 2)
    if np.prod(tops + 1) <= 20_000:
        every = np.array(list(itertools.product(*(range(top + 1) for top in tops))))
        total = every @ summed.rows.A.toarray().T
        fits = ((total >= summed.rows.least) & (total <= summed.rows.most)).all(axis=1)
        for sums in map(tuple, every[fits][:300].tolist()):
            placed = summed.placed(np.array(sums))
            assert rows.rows.are_met_by(placed)
            assert tuple(projected(summed, placed).tolist()) == sums


def test_functionals_of_whole_runs_keep_their_values() -> None:
    rows, unit = random_rows(3)
    summed = sum_columns(rows, unit)
    everybody = sparse.csr_array(np.ones((1, len(unit)), dtype=np.int64))
    x = np.arange(len(unit)) % 3
    assert summed.functionals(everybody) @ projected(summed, x) == [x.sum()]
    apart = np.flatnonzero(summed.offset > 0)
    if len(apart):
        one = np.zeros((1, len(unit)), dtype=np.int64)
        one[0, apart[0]] = 1
        with pytest.raises(ValueError, match="tells values apart"):
            summed.functionals(sparse.csr_array(one))
