"""What products spend together: against OpenDP, all outcomes and printed figures."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from recon_cli.capabilities.account.account import (
    Limit,
    Spend,
    Total,
    concentrated_epsilon,
    expected_posterior,
    spends_of,
    tight_epsilon,
)
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.schema import load_release

SF1 = load_release("sf1_2010")
DELTA = 1e-10


def strategy_spends(name: str) -> list[Spend]:
    without = ("group_quarters", "relationship")[: 1 + (name[0] == "d")]
    strategy = load_strategy(name, SF1, without)
    return spends_of(strategy, SF1.features, list(strategy.levels))


def gaussian(variance: str) -> Spend:
    return Spend("block", "q", 1 / Fraction(variance), variance=Fraction(variance))


def pure(epsilon: str) -> Spend:
    return Spend("", "q", Fraction(epsilon), is_pure=True)


@pytest.mark.parametrize("rho", [0.01, 0.5, 2.5562, 20])
@pytest.mark.parametrize("delta", [1e-12, 1e-10, 1e-6, 1e-3])
def test_the_conversion_is_that_of_opendp(rho: float, delta: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    scale = 1 / math.sqrt(2 * rho)
    measured = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
    expected = measured.map(1).epsilon(delta)
    assert concentrated_epsilon(rho, delta) == pytest.approx(expected, abs=2e-3)


def test_figures_of_the_census_products() -> None:
    spends = strategy_spends("pl94_2020")
    total = Total.of(spends)
    assert float(total.rho or 0) == pytest.approx(2.5562, abs=1e-4)
    found = [total.of_people(people).epsilon(DELTA) for people in (1, 2, 5)]
    assert found == pytest.approx([17.14, 39.8, 138.9], abs=0.05)
    tight = tight_epsilon(spends, DELTA)
    assert tight is not None
    assert 16.4 < tight < 16.5
    both = Total.of([*spends, *strategy_spends("dhc_2020")])
    assert both.epsilon(DELTA) == pytest.approx(32.80, abs=0.01)


def laws_of(spends: list[Spend]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each cell that a change moves the chances of all outcomes, before it and after it."""
    laws = []
    for each in spends:
        if each.is_pure:
            chance = 1 / (1 + math.exp(-float(each.budget or 0)))
            laws.append((np.array([chance, 1 - chance]), np.array([1 - chance, chance])))
            continue
        v = np.arange(-14, 15)
        weights = np.exp(-(v**2) / (2 * float(each.variance or 0)))
        shifted = np.exp(-((v - 1) ** 2) / (2 * float(each.variance or 0)))
        laws += [(weights / weights.sum(), shifted / weights.sum())] * 2
    return laws


def missed(spends: list[Spend], epsilon: float) -> float:
    """Σ max(P − e^ε Q, 0) over all outcomes of a few discrete mechanisms."""
    total = 0.0
    for pairs in itertools.product(*(zip(*law, strict=True) for law in laws_of(spends))):
        total += max(
            math.prod(p for p, _ in pairs) - math.exp(epsilon) * math.prod(q for _, q in pairs), 0
        )
    return total


SPENDS = [
    [gaussian("1.5")],
    [gaussian("2"), pure("0.5")],
    [pure("0.3"), pure("1"), pure("0.3"), pure("2")],
    [pure("6"), gaussian("0.8")],
]


@pytest.mark.parametrize("spends", SPENDS)
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05])
def test_tight_is_what_all_outcomes_say(spends: list[Spend], delta: float) -> None:
    found = tight_epsilon(spends, delta)
    assert found is not None
    assert missed(spends, found) <= delta
    if found > 0.01:
        assert missed(spends, found - 0.002) > delta
    assert found <= Total.of(spends).epsilon(delta) + 1e-3


@pytest.mark.parametrize("delta", [1e-20, 1e-13, 2e-13])
def test_tight_is_not_told_below_what_sums_may_be_wrong_by(delta: float) -> None:
    assert tight_epsilon([gaussian("2")], delta) is None
    assert tight_epsilon([gaussian("2")], 4e-13) is not None


def believed(spends: list[Spend]) -> float:
    """Σ P²/(P + Q) over all outcomes: the posterior of the truth, at equal priors, expected."""
    total = 0.0
    for pairs in itertools.product(*(zip(*law, strict=True) for law in laws_of(spends))):
        true, other = (math.prod(each) for each in zip(*pairs, strict=True))
        total += true * true / (true + other) if true else 0
    return total


@pytest.mark.parametrize("spends", SPENDS)
def test_the_posterior_is_what_all_outcomes_say(spends: list[Spend]) -> None:
    found = expected_posterior(spends)
    assert found is not None
    expected = believed(spends)
    assert expected - 1e-12 <= found <= expected + 1e-3


def test_rho_bounds_the_posterior_where_no_distribution_is_known() -> None:
    unknown = Spend("block", "table", Fraction(1, 2))
    known = expected_posterior([gaussian("2")])
    assert known is not None
    assert known < (expected_posterior([unknown]) or 0) < 1
    assert expected_posterior([gaussian("1/10000")]) == pytest.approx(1, abs=1e-12)
    assert expected_posterior([]) == pytest.approx(0.5, abs=1e-9)
    assert expected_posterior([Spend("", "all counts", None)]) is None


def test_pure_products_add_up_and_the_smaller_of_two_is_told() -> None:
    many, few = [pure("0.01")] * 400, [pure("1")]
    assert Total.of(few).epsilon(DELTA) == 1
    assert Total.of(few).of_people(3).pure == 3
    assert Total.of(many).pure == 4
    assert Total.of(many).epsilon(1e-3) < 1
    assert Total.of([*few, gaussian("4")]).pure is None


def test_what_nothing_bounds_has_no_epsilon() -> None:
    total = Total.of([pure("1"), Spend("", "all counts", None)])
    assert total.rho is None
    assert total.epsilon(DELTA) == math.inf
    assert "no finite ρ" in (Limit(Fraction(8), None, DELTA).broken_by(total) or "")


def test_a_limit_of_either_kind() -> None:
    total = Total.of([gaussian("1")] * 2)
    assert Limit(Fraction(2), None, DELTA).broken_by(total) is None
    assert Limit(Fraction(199, 100), None, DELTA).broken_by(total) == "ρ 2, above the limit of 1.99"
    epsilon = concentrated_epsilon(2, DELTA)
    assert Limit(None, epsilon + 1e-9, DELTA).broken_by(total) is None
    assert Limit(None, epsilon - 0.01, DELTA).broken_by(total) is not None
