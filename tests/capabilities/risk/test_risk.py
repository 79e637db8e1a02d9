"""Bayesian risk: printed figures, enumeration, identities, calibration."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

import recon_cli as recon
from recon_cli.arrays import FloatArray
from recon_cli.capabilities.measurements.density import discrete_gaussian
from recon_cli.capabilities.risk import expectation
from recon_cli.capabilities.risk.expectation import (
    expected,
    expected_known_siblings,
    expected_known_upper,
    expected_published_sampler,
    expected_two_level,
    summarize,
)
from recon_cli.capabilities.risk.log_odds import (
    MeasuredLevel,
    chain_log_odds,
    compose,
    log_odds,
    posterior,
    unique_log_odds,
)
from recon_cli.capabilities.risk.postprocessing import postprocessed, projection
from recon_cli.capabilities.risk.release import Adversaries, KnownUpper, add_evidence
from recon_cli.capabilities.risk.siblings import each_sibling_evidence
from recon_cli.capabilities.risk.two_levels import (
    Flat,
    Poisson,
    TwoLevels,
    Uniform,
    known_siblings_evidence,
    log_theta,
    published_log_odds,
    published_upper_law,
    two_level,
)

BLOCK = 2.56 * 165 / 4099 * 3945 / 4097
GROUP = 2.56 * 1256 / 4099 * 1288 / 4099
NATION = [
    *(BLOCK, GROUP, 2.56 * 687 / 4099 * 241 / 2051, 2.56 * 447 / 4099 * 754 / 4097),
    *(2.56 * 1440 / 4099 * 230 / 4097, 2.56 * 104 / 4099 * 189 / 241),
]
PUBLISHED = TwoLevels(BLOCK, GROUP, 27)
Point = tuple[int, int, int]
rhos = st.floats(0.02, 2)
priors = st.floats(0.001, 0.999)
small = st.integers(-12, 12)


@pytest.mark.parametrize(
    ("count", "mass", "posteriors", "ratios"),
    [
        (1, 0.161, (0.525, 0.216, 0.109, 0.022), (1.05, 1.08, 1.09, 1.10, 1.10)),
        (2, 0.119, (0.574, 0.252, 0.130, 0.027), (1.15, 1.26, 1.30, 1.34, 1.35)),
    ],
)
def test_table_4_as_printed(
    count: int, mass: float, posteriors: tuple[float, ...], ratios: tuple[float, ...]
) -> None:
    noise = discrete_gaussian(BLOCK)
    assert round(float(noise.p[count - noise.low]), 3) == mass
    asked = (1 / 2, 1 / 5, 1 / 10, 1 / 50, 1 / 864)
    found = [float(posterior(log_odds(count, BLOCK, p))) for p in asked]
    assert tuple(round(q, 3) for q in found[:4]) == posteriors
    assert tuple(round(q / p, 2) for q, p in zip(found, asked, strict=True)) == ratios


@pytest.mark.parametrize(
    ("p", "mean", "ratio"), [(1 / 2, 0.524, 1.05), (1 / 5, 0.225, 1.13), (1 / 10, 0.117, 1.17)]
)
def test_table_5_as_printed(p: float, mean: float, ratio: float) -> None:
    risk = expected(BLOCK, p)
    assert (round(risk.posterior, 3), round(risk.ratio, 2)) == (mean, ratio)


def test_figure_6_as_printed_is_the_published_sampler() -> None:
    found = [
        expected_published_sampler(TwoLevels(BLOCK, rho, 27), 1 / 2, siblings=0).correct
        for rho in (1, 2, 5)
    ]
    assert [round(100 * share, 2) for share in found] == [59.21, 59.24, 59.27]


def test_target_unique_on_several_levels() -> None:
    found = [expected(sum(NATION[:top]), 1 / 864).ratio for top in range(1, 7)]
    assert_allclose(found, [1.219, 1.990, 2.199, 2.434, 2.688, 2.971], atol=6e-4)
    odds = unique_log_odds([1, 2], [0.1, 0.3], 0.2)
    assert odds == pytest.approx(math.log(0.25) + 0.1 + 0.3 * 3)


def test_postprocessing_as_printed() -> None:
    found = [
        postprocessed(projection(upper, 27), BLOCK, 27, upper, 1 / 2).ratio
        for upper in (1, 2, 3, 5, 10)
    ]
    assert [round(ratio, 3) for ratio in found] == [1.032, 1.036, 1.039, 1.040, 1.040]
    assert round(expected(BLOCK, 1 / 2).ratio, 3) == 1.047


@given(rho=st.floats(0.05, 1), m=st.integers(1, 9), upper=st.integers(1, 6), p=priors)
@settings(max_examples=30, deadline=None)
def test_postprocessing_lowers_the_risk(rho: float, m: int, upper: int, p: float) -> None:
    with_upper = expected_known_upper(TwoLevels(rho, 1, m), p, siblings=upper - 1)
    processed = postprocessed(projection(upper, m), rho, m, upper, p)
    assert p - 1e-12 <= processed.posterior <= with_upper.posterior + 1e-9


@given(rho=rhos, p=priors)
@settings(max_examples=50, deadline=None)
def test_identities_of_the_expected_posterior(rho: float, p: float) -> None:
    inside, outside = expected(rho, p), expected(rho, p, truth=False)
    assert p * inside.posterior + (1 - p) * outside.posterior == pytest.approx(p)
    noise = discrete_gaussian(rho)
    square = sum(
        share * float(noise.p @ posterior(log_odds(noise.values + c, rho, p)) ** 2)
        for c, share in ((1, p), (0, 1 - p))
    )
    assert inside.posterior == pytest.approx(square / p)
    assert inside.posterior >= p - 1e-12


def test_decisions_count_ties_as_out() -> None:
    odds, weights = np.array([-1.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.5])
    inside, outside = (summarize(odds, weights, 0.5, truth=truth) for truth in (True, False))
    assert (inside.correct, outside.correct, inside.tied) == (0.5, 0.5, 0.3)


def test_ties_of_a_known_upper_count() -> None:
    assert expected_known_upper(PUBLISHED, 1 / 2, siblings=0).tied == pytest.approx(0.006, abs=1e-4)


def brute(point: Point, levels: TwoLevels, p: float, log_prior: FloatArray) -> float:
    """Log-odds by summing the joint density over every sibling count."""
    d1, d2, s = point
    joint = []
    for c in (0, 1):
        terms = [
            prior
            - levels.rho1 * (d1 - c) ** 2
            - levels.rho2 * (d2 - c - count) ** 2
            - levels.rho1 / levels.m * (s - count) ** 2
            for count, prior in enumerate(log_prior)
        ]
        joint.append(math.log((1 - p, p)[c]) + np.logaddexp.reduce(terms))
    return float(joint[1] - joint[0])


@given(
    point=st.tuples(small, small, small), rho=st.tuples(rhos, rhos), m=st.integers(1, 40), p=priors
)
@settings(max_examples=150, deadline=None)
def test_closed_form_is_enumeration(
    point: Point, rho: tuple[float, float], m: int, p: float
) -> None:
    levels = TwoLevels(*rho, m)
    d1, d2, s = (np.asarray(each) for each in point)
    flat = float(two_level(d1, d2, s, levels, p))
    exact = brute(point, levels, p, np.zeros(200))
    assert flat == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert float(expit(flat)) == pytest.approx(float(expit(exact)), abs=1e-12)
    chain = chain_log_odds(
        [MeasuredLevel(point[0], rho[0], point[2], m), MeasuredLevel(point[1], rho[1])], p
    )
    assert chain == pytest.approx(flat, abs=1e-10)
    uniform = float(two_level(d1, d2, s, levels, p, prior=Uniform(5)))
    assert uniform == pytest.approx(brute(point, levels, p, np.zeros(6)), abs=1e-11)
    counts = np.arange(80)
    log_poisson = counts * math.log(3) - np.array([math.lgamma(count + 1) for count in counts])
    poisson = float(two_level(d1, d2, s, levels, p, prior=Poisson(3)))
    assert poisson == pytest.approx(brute(point, levels, p, log_poisson), abs=1e-10)


@given(d=st.tuples(small, small, small), s=st.tuples(small, small), rho=st.tuples(rhos, rhos, rhos))
@settings(max_examples=25, deadline=None)
def test_three_levels_are_enumeration(
    d: tuple[int, int, int], s: tuple[int, int], rho: tuple[float, float, float]
) -> None:
    m, joint = (3, 2), [0.0, 0.0]
    for c, first, second in product((0, 1), range(45), range(45)):
        joint[c] += math.exp(
            -rho[0] * (d[0] - c) ** 2
            - rho[0] / m[0] * (s[0] - first) ** 2
            - rho[1] * (d[1] - c - first) ** 2
            - rho[1] / m[1] * (s[1] - second) ** 2
            - rho[2] * (d[2] - c - first - second) ** 2
        )
    levels = [
        MeasuredLevel(d[0], rho[0], s[0], m[0]),
        MeasuredLevel(d[1], rho[1], s[1], m[1]),
        MeasuredLevel(d[2], rho[2]),
    ]
    if min(joint) > 1e-290:
        found = chain_log_odds(levels, 1 / 2)
        assert found == pytest.approx(math.log(joint[1] / joint[0]), abs=1e-8)


def test_risks_of_two_levels_need_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = TwoLevels(0.3, 0.5, 3)

    def all_risks() -> list[float]:
        risks = [
            expected_two_level(levels, 0.2, 2, Poisson(1.5)),
            expected_known_upper(levels, 0.2, 2),
            expected_known_siblings(levels, 0.2),
            expected_published_sampler(levels, 0.2, 2, truth=False),
        ]
        return [x for each in risks for x in (each.posterior, each.correct, each.tied)]

    whole = all_risks()
    monkeypatch.setattr(expectation, "_AT_ONCE", 300)
    assert_allclose(all_risks(), whole, rtol=1e-13)
    monkeypatch.undo()
    tracemalloc.start()
    expected_two_level(TwoLevels(0.01, 0.02, 27), 0.5, 0, Flat())  # 7 million joint values
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_risks_that_cannot_be_summed_are_refused() -> None:
    tiny = TwoLevels(1e-4, 1e-4, 27)
    refused: tuple[Callable[[], object], ...] = (
        lambda: expected(1e-18, 0.5),
        lambda: expected_two_level(tiny, 0.5, 0, Flat()),
        lambda: expected_published_sampler(tiny, 0.5, 0),
        lambda: expected_known_siblings(TwoLevels(1e-9, 1e-9, 1), 0.5),
        lambda: expected_known_upper(TwoLevels(1e-9, 1e-9, 1), 0.5, 0),
    )
    for risk in refused:
        with pytest.raises(ValueError, match="choose a greater --rho"):
            risk()


def test_a_known_count_above_a_geounit_without_siblings_is_its_own() -> None:
    cells = pl.DataFrame(
        {"count": [2, 2], "noisy": [-3, -3], "above": [-4, -4]}
        | {"beside": [0, 5], "m": [0, 2], "siblings": [0, 4]}
    )
    for upper, alone in ((KnownUpper(), math.inf), (Flat(), 0.1 * -9 + 0.2 * -11)):
        found = add_evidence([cells, cells], Adversaries(0.1, 0.2, upper), 0.5)["two_levels"]
        assert found[0] == pytest.approx(2 * alone)
        assert np.isfinite(found[1])
    assert posterior(np.array([math.inf])) == 1


def test_the_constraint_says_nothing_of_large_counts() -> None:
    d2, s = np.array([250, 300]), np.array([240, 310])
    kappa = GROUP * (BLOCK / 27) / (GROUP + BLOCK / 27)
    assert_allclose(Flat().evidence(d2, s, PUBLISHED), kappa * (2 * (d2 - s) - 1), atol=1e-12)


def test_theta_far_below_zero_is_its_first_term() -> None:
    assert log_theta(np.array([-40.0]), 1.0)[0] == pytest.approx(-1600)


@pytest.mark.parametrize("rho1", [0.1, 0.5])
def test_a_chain_of_one_level_is_one_level(rho1: float) -> None:
    assert chain_log_odds([MeasuredLevel(3, rho1)], 0.1) == pytest.approx(
        float(log_odds(3, rho1, 0.1))
    )


def test_who_knows_the_siblings_sees_one_level_of_both_budgets() -> None:
    strongest = expected_known_siblings(PUBLISHED, 1 / 5).posterior
    assert strongest == pytest.approx(expected(BLOCK + GROUP, 1 / 5).posterior, abs=1e-3)
    assert known_siblings_evidence(np.array([5]), np.array([4]), 0.3)[0] == pytest.approx(0.3)


def test_two_releases_of_half_are_one_release() -> None:
    p, rho = 1 / 10, 0.1  # sums of two discrete Gaussians are nearly one
    half, rng = discrete_gaussian(rho / 2), np.random.default_rng(1)
    first, second = (half.draw(rng, 1000) + 1 for _ in range(2))
    both = compose([log_odds(first, rho / 2, p), log_odds(second, rho / 2, p)], p)
    assert_allclose(both, log_odds((first + second) / 2, rho, p), atol=1e-12)
    total = half.sum_of(2)
    odds = math.log(p / (1 - p)) + rho / 2 * (2 * (total.values + 2) - 2)
    assert float(total.p @ expit(odds)) == pytest.approx(expected(rho, p).posterior, abs=1e-9)


def test_table_7_prints_the_sampler() -> None:
    counts, law = published_upper_law(2, 1, -1, PUBLISHED, 1 / 2)
    assert law.sum() == pytest.approx(1)
    # of 10,000 correlated draws, so within three of their errors
    assert_allclose(100 * law[4:8], [4.6, 0.7, 0.08, 0.01], atol=0.65)
    assert counts[4] == 4


def test_the_sampler_runs_to_its_limit() -> None:
    rng = np.random.default_rng(5)
    d1, d2, s, p = 2, 1, -1, 1 / 2
    x, inside, draws = 1, 0, 15_000
    others = np.arange(60)
    for _ in range(draws):
        beside = PUBLISHED.rho_s * (2 * (x - s) - 1)
        c = int(rng.random() < expit(float(log_odds(d1, BLOCK, p)) + beside))
        weight = np.exp(-GROUP * (d2 - others) ** 2 - PUBLISHED.rho_s * (s - others + c) ** 2)
        ends = np.cumsum(np.where(others >= c, weight, 0))
        x = int(np.searchsorted(ends, rng.random() * ends[-1], side="right"))
        inside += c
    odds = published_log_odds(np.asarray(d1), np.asarray(d2), np.asarray(s), PUBLISHED, p)
    limit = posterior(odds)
    assert inside / draws == pytest.approx(float(limit), abs=0.02)


def test_the_exact_posterior_is_right_more_often_under_a_proper_prior() -> None:
    """S uniform from 0 to 5, p = 1/2; both truths."""
    levels, p, exact, published = TwoLevels(0.4, 0.6, 4), 1 / 2, 0.0, 0.0
    for siblings, truth in product(range(6), (True, False)):
        exact += expected_two_level(levels, p, siblings, Uniform(5), truth=truth).correct
        published += expected_published_sampler(levels, p, siblings, truth=truth).correct
    assert exact > published + 0.01


def test_simulated_releases_are_calibrated() -> None:
    """Of cells with posterior q a share q is in: two levels, S from its prior."""
    rng, p, levels, size = np.random.default_rng(7), 0.3, TwoLevels(0.4, 0.6, 4), 400_000
    inside = (rng.random(size) < p).astype(np.int64)
    siblings = rng.integers(0, 6, size)
    d1 = inside + discrete_gaussian(levels.rho1).draw(rng, size)
    d2 = inside + siblings + discrete_gaussian(levels.rho2).draw(rng, size)
    beside = discrete_gaussian(levels.rho1).sum_of(levels.m)
    s = siblings + beside.draw(rng, size)
    q = posterior(two_level(d1, d2, s, levels, p, prior=Uniform(5)))
    for low in np.arange(0, 1, 0.1):
        here = (q >= low) & (q < low + 0.1)
        if here.sum() > 200:
            error = 4 * math.sqrt(0.25 / here.sum())
            assert inside[here].mean() == pytest.approx(q[here].mean(), abs=error)
    assert p * q[inside == 1].mean() + (1 - p) * q[inside == 0].mean() == pytest.approx(
        p, abs=0.002
    )


@pytest.mark.parametrize("p", [0.0, 1.0, -0.5, math.nan])
def test_priors_are_probabilities(p: float) -> None:
    with pytest.raises(ValueError, match="prior: a number above 0 and below 1 is expected"):
        log_odds(1, 0.1, p)


def test_budgets_and_siblings_are_positive() -> None:
    with pytest.raises(ValueError, match="rho: a number above 0 is expected, found -1"):
        log_odds(1, -1, 0.5)
    with pytest.raises(ValueError, match="rho of the upper level"):
        TwoLevels(0.1, 0, 3)
    with pytest.raises(ValueError, match="siblings: at least 1 is expected, found 0"):
        TwoLevels(0.1, 0.1, 0)
    with pytest.raises(ValueError, match="needs siblings"):
        chain_log_odds([MeasuredLevel(1, 0.1), MeasuredLevel(1, 0.1)], 0.5)


@given(
    noisy=st.lists(small, min_size=2, max_size=4),
    d2=small,
    rho1=st.floats(0.05, 1),
    rho2=st.floats(0.05, 1),
)
@settings(max_examples=40, deadline=None)
def test_siblings_one_by_one_as_by_enumeration(
    noisy: list[int], d2: int, rho1: float, rho2: float
) -> None:
    log_prior = np.log(np.array([0.5, 0.3, 0.15, 0.05]))
    found = each_sibling_evidence(np.array(noisy), np.full(len(noisy), d2), rho1, rho2, log_prior)
    for place, evidence in enumerate(found):
        others = [count for at, count in enumerate(noisy) if at != place]
        h = [0.0, 0.0]
        for counts in product(range(4), repeat=len(others)):
            weight = sum(
                log_prior[count] - rho1 * (each - count) ** 2
                for count, each in zip(counts, others, strict=True)
            )
            for c in (0, 1):
                h[c] += math.exp(weight - rho2 * (d2 - c - sum(counts)) ** 2)
        if min(h) > 1e-100:
            assert evidence == pytest.approx(math.log(h[1] / h[0]), abs=1e-6)


def test_the_functions_are_in_the_api() -> None:
    assert recon.risk.expected(BLOCK, 1 / 2).ratio == pytest.approx(1.0474, abs=1e-4)
    assert set(recon.risk.__all__) <= set(dir(recon.risk))


def test_a_wrong_belief_about_the_count_above() -> None:
    """Against the mass of every pair of noisy counts; the figures of the study's supplement S4."""
    for truth, right in ((True, 73.97), (False, 41.92)):
        own, beside = discrete_gaussian(BLOCK), discrete_gaussian(BLOCK / 27)
        odds = BLOCK * (2 * (own.values[:, None] + truth) - 1)
        odds = odds + BLOCK / 27 * (2 * (27 - beside.values) - 1)
        decided = (odds > 1e-9) if truth else (odds <= 1e-9)
        share = float((np.outer(own.p, beside.p) * decided).sum())
        risk = expected_known_upper(PUBLISHED, 1 / 2, 0, truth=truth, believed=27)
        assert risk.correct == pytest.approx(share)
        assert round(100 * risk.correct, 2) == right


def test_a_count_above_that_is_taken_for_something_else() -> None:
    """Others are known, so that only what is left of it can be the target or the siblings."""
    cells = pl.DataFrame(
        {"count": [2, 2, 2], "noisy": [3, 3, 3], "above": [9, 9, 9]}
        | {"beside": [5, 0, 0], "m": [2, 0, 0], "siblings": [4, 0, 0]}
    )
    found = {
        believed: add_evidence([cells], Adversaries(0.1, 0.2, KnownUpper(believed)), 0.5)
        for believed in (None, 6, 2, 1)
    }
    own = 0.1 * (2 * 2 - 1)
    assert found[6]["two_levels"][0] == pytest.approx(own + 0.05 * (2 * (5 - 5) - 1))
    assert_allclose(found[None]["two_levels"], found[6]["two_levels"])
    assert found[2]["two_levels"][1] == math.inf
    assert found[1]["two_levels"][1] == -math.inf
