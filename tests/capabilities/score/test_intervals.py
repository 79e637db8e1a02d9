"""Intervals of rates: their coverage in simulation, their ends at 0 and 100%, draws of ties."""

from __future__ import annotations

import numpy as np
import pytest

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.score.intervals import gain_interval, interval, ratio


def resampled(counts: FloatArray, rng: np.random.Generator, resamples: int = 200) -> FloatArray:
    """Counts by geounit (last axis) → sums, then Poisson resamples of the geounits."""
    weights = rng.poisson(1.0, (counts.shape[-1], 1 + resamples)).astype(float)
    weights[:, 0] = 1
    sums: FloatArray = counts @ weights
    return sums


@pytest.mark.parametrize("alike", [0.0, 0.3])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("geounits", [1, 3, 30, 3000])
def test_intervals_cover_the_rate_that_geounits_are_drawn_from(
    geounits: int, rate: float, alike: float
) -> None:
    """``alike``: the correlation of two records of one geounit."""
    rng = np.random.default_rng(geounits)
    trials = 300 if geounits == 3000 else 1000
    of = 1 + rng.poisson(4, (trials, geounits))
    chance = np.full((trials, geounits), rate)
    if alike and 0 < rate < 1:
        both = (1 - alike) / alike
        chance = rng.beta(rate * both, (1 - rate) * both, (trials, geounits))
    part = rng.binomial(of, chance)
    sums = resampled(np.stack([part, of]).astype(float), np.random.default_rng(1))
    low, high = interval(sums[0], sums[1], "bootstrap", 95)
    assert (low >= 0).all()
    assert (high <= 100).all()
    assert (low < high).all()
    covered = ((low <= 100 * rate) & (100 * rate <= high)).mean()
    assert covered >= 0.92
    if geounits == 3000 and 0 < rate < 1:
        assert covered <= 0.99
        assert (high - low).max() < 4


def test_three_of_three_is_not_a_certainty() -> None:
    ones = np.ones((1, 3))
    sums = resampled(ones, np.random.default_rng(2), 4000)
    low, high = interval(sums, sums, "bootstrap", 95)
    assert (low[0], high[0]) == pytest.approx((29.2, 100), abs=2)
    low, high = interval(0 * sums, sums, "bootstrap", 95)
    assert (low[0], high[0]) == pytest.approx((0, 70.8), abs=2)


def test_records_of_one_geounit_count_once_where_all_agree() -> None:
    rng = np.random.default_rng(3)
    spread = resampled(np.ones((1, 300)), rng, 4000)
    together = resampled(np.full((1, 3), 100.0), rng, 4000)
    narrow = interval(spread, spread, "bootstrap", 95)[0][0]
    wide = interval(together, together, "bootstrap", 95)[0][0]
    assert narrow == pytest.approx(100 * 0.025 ** (1 / 300), abs=0.2)
    assert wide == pytest.approx(29.2, abs=2)


def test_draws_of_ties_have_a_t_interval_and_what_no_draw_changes_has_none() -> None:
    whole = np.full((2, 3), 100.0)
    part = np.array([[50.0, 48.0, 52.0], [100.0, 100.0, 100.0]])
    low, high = interval(part, whole, "draws", 95)
    assert (high - low)[0] / 2 == pytest.approx(12.706 * 8**0.5 / 2**0.5, abs=0.01)
    assert np.isnan([low[1], high[1]]).all()


@pytest.mark.parametrize(
    ("others", "reach"),
    [
        ([48.0, 52.0, 50.0], 0.0),  # both move together
        ([52.0, 48.0, 50.0], 2.0),  # and against each other
        ([49.0, 49.0, 52.0], None),  # and independently
    ],
)
def test_the_gain_over_another_rate_is_as_sure_as_they_move_together(
    others: list[float], reach: float | None
) -> None:
    """Draws of 48, 52 and 50 beside others; the draws' own rates come first."""
    whole = np.full((1, 4), 100.0)
    ours, theirs = (np.array([[50.0, *draws]]) for draws in ([48.0, 52.0, 50.0], others))
    (low, high), (other_low, other_high) = (
        interval(part, whole, "draws", 95) for part in (ours, theirs)
    )
    one, other = (high - low)[0] / 2, (other_high - other_low)[0] / 2
    expected = np.hypot(one, other) if reach is None else reach * one
    least, most = gain_interval((ours, whole), (theirs, whole), "draws", 95)
    assert (least[0], most[0]) == pytest.approx((-expected, expected), abs=1e-6)


def test_no_rate_and_one_resample_have_no_interval() -> None:
    assert np.isnan(ratio(np.array([1.0]), np.array([0.0]))).all()
    empty = np.zeros((1, 5))
    assert np.isnan(interval(empty, empty, "bootstrap", 95)).all()
    one = np.ones((1, 2))
    assert np.isnan(interval(one, one, "bootstrap", 95)).all()


@pytest.mark.parametrize("rates", [(0.3, 0.3), (0.9, 0.5), (1.0, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("geounits", [5, 30, 1000])
def test_gains_cover_the_difference_of_two_rates_of_the_same_geounits(
    geounits: int, rates: tuple[float, float]
) -> None:
    rng = np.random.default_rng(geounits)
    trials = 400
    of = 1 + rng.poisson(4, (trials, geounits))
    ours, theirs = (rng.binomial(of, rate) for rate in rates)
    sums = resampled(np.stack([ours, theirs, of]).astype(float), np.random.default_rng(1))
    low, high = gain_interval((sums[0], sums[2]), (sums[1], sums[2]), "bootstrap", 95)
    gain = 100 * (rates[0] - rates[1])
    assert (low >= -100).all()
    assert (high <= 100).all()
    assert (low < high).all()
    assert ((low <= gain) & (gain <= high)).mean() >= 0.92


def test_gains_are_narrower_where_easy_geounits_are_easy_for_both() -> None:
    rng = np.random.default_rng(5)
    of = np.full((200, 100), 10.0)
    ease = rng.beta(1, 1, of.shape)
    ours, theirs = rng.binomial(10, ease), rng.binomial(10, 0.9 * ease)
    sums = resampled(np.stack([ours, theirs, of]), rng)
    low, high = gain_interval((sums[0], sums[2]), (sums[1], sums[2]), "bootstrap", 95)
    covered = ((low <= 5) & (high >= 5)).mean()
    assert covered >= 0.92
    single = interval(sums[0], sums[2], "bootstrap", 95)
    assert (high - low).mean() < 0.8 * (single[1] - single[0]).mean()
    assert (low > 0).mean() > 0.5
