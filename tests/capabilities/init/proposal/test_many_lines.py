"""Sums that are only asked about, in tables of many rows and columns."""

from __future__ import annotations

import numpy as np

from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.row_totals import ask_groups_beside, said_groups
from recon_cli.capabilities.init.proposal.subsets import subset_sums
from recon_cli.sources.read.choices import NO_CHOICES

LABELS = [f"Town {i}" for i in range(5_000)]


def _block(lines: int, positions: int) -> Intervals:
    """Return random numbers of which a third is withheld."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(5, 90, (lines, positions)).astype(float)
    known = rng.random((lines, positions)) < 2 / 3
    low, high = np.where(known, numbers, 0.0), np.where(known, numbers, np.inf)
    return Intervals(low, high, known, np.ones_like(known), np.ones_like(numbers))


def test_a_list_of_thousands_is_not_searched_for_totals_that_hardly_a_number_shows() -> None:
    asked: list[OpenQuestion] = []
    for many in (999, 5_000):
        block = _block(many, 12)
        assert not said_groups(block, LABELS[:many], 1, {}, said=NO_CHOICES, ask=asked.append)


def test_all_sets_of_columns_are_compared_in_any_number_of_rows() -> None:
    block = _block(14, 20_000)
    assert list(subset_sums(block, range(14))) == []
    block.low[13] = block.low[2] + block.low[5] + block.low[11]
    block.known[13] = block.known[[2, 5, 11]].all(axis=0)
    block.high[13] = np.where(block.known[13], block.low[13], np.inf)
    (found,) = subset_sums(block, range(14))
    assert (found.total, found.parts) == (13, (2, 5, 11))
    assert found.support.shown == block.known[13].sum()
    assert ask_groups_beside(block, LABELS[:14], tuple(range(14))) is None
