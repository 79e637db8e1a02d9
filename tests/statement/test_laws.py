"""Laws: what is published lies where the interval says, as often as the cost says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from recon_cli.arrays import FloatArray
from recon_cli.chance import Draws, KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.frames import OPEN
from recon_cli.statement import FLAGGED, LAWS, Law, Statement, law_document, parse_law
from recon_cli.statement.cell_key import PerturbationTable, maximum_entropy, read_perturbation_table
from recon_cli.statement.noise import TruncatedGeometric
from tests.support.protecting import draws_at

#: Draws so fine that every published number with a probability above 1/2000 is met.
DRAWS = draws_at((np.arange(4000) + 0.5) / 4000)

COUNTWISE = [
    parse_law(value)
    for value in (
        "exact",
        {"suppressed": {"below": 3}},
        {"suppressed": {"below": 5, "flagged": "may-be-zero"}},
        {"zeroed": {"below": 3}},
        {"rounded": {"base": 2}},
        {"rounded": {"base": 3}},
        {"rounded": {"base": 5}},
        {"rounded": {"base": 3, "how": "nearest"}},
        {"rounded": {"base": 5, "how": "nearest"}},
        {"rounded": {"base": 10, "how": "nearest"}},
        {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}},
        {"cellkey": {"max": 3, "variance": 1.5}},
        {"cellkey": {"max": 5, "variance": 3.0, "never": [1, 2]}},
    )
]
ANSWERS = [
    parse_law({"randomized": {"people": 14, "inside": inside, "outside": outside}})
    for inside, outside in ((0.9, 0.2), (1.0, 0.25), (0.75, 0.0))
]
NOISES = [parse_law({"gaussian": {"variance": 2.0}}), parse_law({"geometric": {"epsilon": 1.0}})]


def published_by(law: Law, count: int) -> set[int]:
    return set(law.publish(np.array(count), DRAWS).tolist())


def some(law: Law) -> str:
    return str(law_document(law))


@pytest.mark.parametrize("law", COUNTWISE, ids=some)
def test_an_interval_is_the_exact_preimage(law: Law) -> None:
    """Its ends are the least and greatest counts that give the number; no cost, no count."""
    gives: dict[int, set[int]] = {}
    for count in range(45):
        for number in published_by(law, count):
            gives.setdefault(number, set()).add(count)
    numbers = np.arange(-6, 31)
    fits = law.fits(numbers)
    for number, counts in gives.items():
        if number > 30:
            continue
        assert law.fits(np.array(number))
        low, high = law.intervals(np.array(number))
        assert (int(low), int(high)) == (min(counts), max(counts))
        cost = law.cost(np.array(number), np.arange(45))
        assert set(np.flatnonzero(np.isfinite(cost)).tolist()) == counts
    may_be_published_too = {0} if "may-be-zero" in str(law_document(law)) else set()
    expected = {number for number in gives if 0 <= number <= 30} | may_be_published_too
    assert set(numbers[fits].tolist()) == expected


@pytest.mark.parametrize(
    "law", [law for law in (*COUNTWISE, *NOISES, *ANSWERS) if law.has_cost], ids=some
)
@pytest.mark.parametrize("count", [0, 1, 2, 4, 11])
def test_frequencies_are_what_the_cost_says(law: Law, count: int) -> None:
    rng = np.random.default_rng(count)
    numbers, observed = np.unique(
        law.publish(np.array(count), draws_at(rng.random(20_000))), return_counts=True
    )
    possible = np.arange(count - 40, count + 41)
    possible = possible[law.fits(possible)]
    weight = np.exp(-law.cost(possible, np.array(count)))
    p = dict(zip(possible.tolist(), (weight / weight.sum()).tolist(), strict=True))
    expected = np.array([p[number] for number in numbers.tolist()]) * 20_000
    assert sum(p[number] for number in numbers.tolist()) > 0.999
    often = expected > 5
    if often.sum() > 1:
        rest = [20_000 - observed[often].sum()], [20_000 - expected[often].sum()]
        both = [np.append(x[often], y) for x, y in zip((observed, expected), rest, strict=True)]
        keep = both[1] > 1e-6
        assert stats.chisquare(both[0][keep], both[1][keep], sum_check=False).pvalue > 1e-4
    assert np.isinf(law.cost(np.array(5), np.array(-1)))


@pytest.mark.parametrize("law", NOISES, ids=some)
def test_noise_proves_nothing(law: Law) -> None:
    low, high = law.intervals(np.array([-3, 0, 7]))
    assert low.tolist() == [0, 0, 0]
    assert high.tolist() == [OPEN] * 3


@pytest.mark.parametrize("law", ANSWERS, ids=some)
def test_reported_counts_are_those_of_all_outcomes(law: Law) -> None:
    """Every pattern of answers of four people, two of whom are counted."""
    small = parse_law({"randomized": {**law.model_dump(), "people": 4}})
    p = np.zeros(5)
    for answers in itertools.product((0, 1), repeat=4):
        chances = [law.model_dump()[name] for name in ("inside", "inside", "outside", "outside")]
        p[sum(answers)] += math.prod(
            chance if answer else 1 - chance
            for chance, answer in zip(chances, answers, strict=True)
        )
    assert np.allclose(np.exp(-small.cost(np.arange(5), np.array(2))), p)


@pytest.mark.parametrize("law", ANSWERS, ids=some)
def test_answers_prove_what_they_rule_out(law: Law) -> None:
    numbers = np.arange(15)
    possible = np.isfinite(law.cost(numbers[:, None], numbers))
    low, high = law.intervals(numbers)
    assert low.tolist() == possible.argmax(axis=1).tolist()
    assert high.tolist() == (14 - possible[:, ::-1].argmax(axis=1)).tolist()


def test_random_rounding_is_unbiased_and_keeps_multiples() -> None:
    law = parse_law({"rounded": {"base": 5}})
    for count in range(12):
        assert law.publish(np.array(count), DRAWS).mean() == pytest.approx(count)
    assert published_by(law, 10) == {10}


def test_flags() -> None:
    flag = np.array(FLAGGED)
    cases: list[tuple[object, str, tuple[int, int]]] = [
        ({"below": 3}, "*", (1, 2)),
        ({"below": 3}, "<3", (1, 2)),
        ({"below": 5, "flagged": "may-be-zero"}, "", (0, 4)),
        ({"below": 3, "complementary": True}, "c", (1, OPEN)),
        ({}, "..", (1, OPEN)),
        ({}, "< 5", (1, 4)),
        ({"flagged": "may-be-zero"}, ":", (0, OPEN)),
    ]
    for parameters, marker, interval in cases:
        law = parse_law({"suppressed": parameters}).reading(marker)
        low, high = law.intervals(flag)
        assert (int(low), int(high)) == interval
    for name, parameters, marker, message in (
        ("suppressed", {"below": 3}, "<5", "counts below 3 are suppressed, found '<5'"),
        ("suppressed", {"below": 3}, "ca. 7", "found 'ca. 7'"),
        ("rounded", {"base": 3}, "*", "the law 'rounded' publishes numbers only, found '*'"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_law({name: parameters}).reading(marker)
    with pytest.raises(ValueError, match="no rule to suppress by"):
        parse_law("suppressed").publish(np.array(1), DRAWS)
    with pytest.raises(ValueError, match="needs whole tables"):
        parse_law({"rounded": {"base": 3, "how": "controlled"}}).publish(np.array(1), DRAWS)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("round", "no law 'round' (there are exact, suppressed, stated, zeroed, rounded"),
        ({"rounded": {"base": 3}, "exact": {}}, "expected one law"),
        (
            {"rounded": {"base": 1}},
            "rounded.base: must be greater than or equal to 2 (found 1)",
        ),
        ({"rounded": {"base": "3"}}, "rounded.base: must be a valid integer (found '3')"),
        ({"rounded": {}}, "rounded.base: missing"),
        ({"rounded": {"base": 3, "seed": 1}}, "rounded.seed: unknown key (valid keys: base, how)"),
        ({"suppressed": {"below": 1}}, "suppressed.below"),
        ({"gaussian": {"variance": 0}}, "gaussian.variance"),
        (
            {"randomized": {"people": 5, "inside": 0.2, "outside": 0.2}},
            "outside: expected a probability below that of inside",
        ),
        ({"cellkey": {"max": 2}}, "expected max and variance, or a table"),
        ({"cellkey": {"max": 2, "variance": 1, "never": [2]}}, "never: expected 1, 2"),
    ],
)
def test_a_wrong_law_is_refused(value: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_law(value)
    assert message in str(caught.value)


def test_every_law_is_in_the_registry_and_comes_back_from_its_document() -> None:
    for law in (*COUNTWISE, *NOISES, *ANSWERS):
        assert LAWS[law.name] is type(law)
        assert parse_law(law_document(law)) == law


# --- p-tables ---------------------------------------------------------------------------------


def test_rows_without_a_choice_are_arithmetic() -> None:
    """D = 2, V = 1.08, js = 1: three offsets are possible for 1, and three equations."""
    table = maximum_entropy(2, 1.08, 1)
    p = [table.probability(np.array(1), np.array(n)) for n in (0, 1, 2, 3)]
    assert np.round(p, 4).tolist() == [0.5133, 0.0, 0.46, 0.0267]
    assert table.probability(np.array(0), np.array(0)) == 1
    large = table.probability(np.array(9), np.arange(7, 12)).tolist()
    assert large == pytest.approx(large[::-1])
    assert np.dot(large, [4, 1, 0, 1, 4]) == pytest.approx(1.08)


@settings(max_examples=25, deadline=None)
@given(most=st.integers(2, 5), small=st.integers(0, 2), share=st.floats(0.25, 0.5))
def test_rows_have_the_greatest_entropy(most: int, small: int, share: float) -> None:
    variance = share * most * (small + 1)
    try:
        table = maximum_entropy(most, variance, small)
    except ConfigError:
        return
    offsets = np.arange(-most, most + 1)
    for count, p in enumerate(table.probabilities[1:], start=1):
        v = offsets[p > 1e-9]
        assert p.sum() == pytest.approx(1)
        assert p @ offsets == pytest.approx(0, abs=1e-6)
        assert p @ offsets**2 == pytest.approx(variance, abs=1e-5)
        assert ((count + v == 0) | (count + v > small)).all()
        if len(v) < 4:
            continue
        # No direction that keeps the moments gains entropy: log p is a + b v + c v² (KKT).
        basis = np.stack([np.ones(len(v)), v, v**2], axis=1)
        logs = np.log(p[p > 1e-9])
        residual = logs - basis @ np.linalg.lstsq(basis, logs, rcond=None)[0]
        assert np.abs(residual).max() < 1e-4


def test_a_row_equals_a_general_optimiser() -> None:
    offsets = np.array([-2, 0, 1, 2])  # count 2, where 1 is never published
    table = maximum_entropy(2, 1.08, 1)
    moments = np.stack([np.ones(4), offsets, offsets**2])

    def negative_entropy(p: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(np.sum(p * np.log(np.maximum(p, 1e-300))))

    found = optimize.minimize(
        negative_entropy,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints=optimize.LinearConstraint(moments, [1, 0, 1.08], [1, 0, 1.08]),
        tol=1e-12,
    )
    ours = table.probability(np.array(2), 2 + offsets)
    assert np.round(ours, 4).tolist() == np.round(found.x, 4).tolist()


def test_an_impossible_variance_is_refused() -> None:
    with pytest.raises(ConfigError, match="no offsets for count 1 have mean 0 and variance 9"):
        maximum_entropy(2, 9.0)


def test_a_table_of_ptable_is_read(tmp_path: Path) -> None:
    table = maximum_entropy(2, 1.08, 1)
    lines = ["i;j;p;v;p_int_ub"]
    for count in range(len(table.widths)):
        total = 0.0
        for v in range(-2, 3):
            p = float(table.probability(np.array(count), np.array(count + v)))
            total += p
            if p:
                lines.append(f"{count};{count + v};{p:.8f};{v};{total:.8f}")
    path = tmp_path / "ptable.csv"
    path.write_text("\n".join(lines))
    law = parse_law({"cellkey": {"table": "ptable.csv"}}, tmp_path)
    same = parse_law({"cellkey": {"max": 2, "variance": 1.08, "never": [1]}})
    counts = np.arange(12)[:, None]
    assert (law.publish(counts, DRAWS) == same.publish(counts, DRAWS)).mean() > 0.999
    path.write_text("i;j;p\n0;0;1\n1;0;0.5\n1;2;0.4\n")
    with pytest.raises(
        ConfigError, match=r"ptable.csv: p-table: the probabilities of count 1 must"
    ):
        read_perturbation_table(path)
    path.write_text("i;j;p\n0;0;1\n2;2;1\n")
    with pytest.raises(ConfigError, match="the counts i must be 0, 1, 2"):
        read_perturbation_table(path)
    path.write_text("i;j\n0;0\n")
    with pytest.raises(ConfigError, match="expected the columns i, j, p or pcv, ckey, pvalue"):
        read_perturbation_table(path)
    with pytest.raises(ConfigError, match="cannot be read as a p-table"):
        read_perturbation_table(tmp_path / "none.csv")


def test_a_table_of_the_ons_is_read_and_repeats(tmp_path: Path) -> None:
    """Counts above 750 use the rows 501 to 750 in turn, as the ONS package does."""
    rows = ["pcv,ckey,pvalue"]
    for count in range(751):
        for key in range(4):
            offset = 0 if count == 0 else -count if count < 10 else (count + 2) // 5 * 5 - count
            rows.append(f"{count},{key},{offset}")
    path = tmp_path / "ons.csv"
    path.write_text("\n".join(rows))
    law = parse_law({"cellkey": {"table": str(path)}})
    counts = np.array([3, 9, 10, 13, 748, 751, 752, 753, 1003])
    assert law.publish(counts, draws_at(np.array(0.3))).tolist() == [
        0,
        0,
        10,
        15,
        750,
        750,
        750,
        755,
        1005,
    ]
    low, high = law.intervals(np.array([0, 10, 1005]))
    assert (low.tolist(), high.tolist()) == ([0, 10, 1003], [9, 12, 1007])


def test_no_key_gives_what_a_row_misses_of_one() -> None:
    """Printed probabilities add up to 0.99999: the rest is no offset of probability zero."""
    table = PerturbationTable.of_probabilities(
        np.array([[0.0, 1.0, 0.0], [0.33333, 0.66666, 0.0]]), -1
    )
    draws = draws_at(np.array([0.0, 0.33332, 0.999995]))
    assert table.offsets_at(np.array(1), draws).tolist() == [-1, -1, 0]
    last = Draws(np.array([2**64 - 1], dtype=np.uint64), KeyedChance.for_study(0))
    assert table.offsets_at(np.array(0), last).tolist() == [0]
    assert table.probability(np.array(1), np.array([0, 1, 2])).sum() == pytest.approx(1, abs=1e-12)


def test_rounding_is_exact_at_its_end() -> None:
    """Words around a third of 2⁶⁴, which no double tells apart."""
    law = parse_law({"rounded": {"base": 3}})
    end = 2**64 // 3
    chance = KeyedChance.for_study(0)
    up = law.publish(np.array(1), Draws(np.array([0, end - 1], dtype=np.uint64), chance))
    down = law.publish(np.array(1), Draws(np.array([end + 1, 2**64 - 1], np.uint64), chance))
    assert (up.tolist(), down.tolist()) == ([3, 3], [0, 0])
    tie = law.publish(np.array(1), Draws(np.array([end], dtype=np.uint64), chance))
    assert tie.tolist() == ([3] if next(chance.further(end)) < end else [0])


def test_a_table_must_not_go_below_zero() -> None:
    with pytest.raises(ConfigError, match="count 0 may become negative"):
        PerturbationTable.of_probabilities(np.array([[0.5, 0.5]]), -1)


def test_cost_is_relative_log_probability() -> None:
    law = parse_law({"rounded": {"base": 3}})
    cost = law.cost(np.array(3), np.arange(7))
    assert cost[3] == 0
    assert cost[2] == cost[4] == pytest.approx(-math.log(2 / 3))
    assert np.isinf(cost[[0, 6]]).all()


TRUNCATED = TruncatedGeometric(epsilon=Fraction(1, 2), within=(2, 9))


def clamped(count: int) -> FloatArray:
    """Probabilities of 2 to 9 when noise is added to a count, added up far beyond the range."""
    noise = np.arange(-200, 201)
    p = np.exp(-abs(noise) / 2)
    numbers = np.clip(count + noise, 2, 9)
    found: FloatArray = np.bincount(numbers - 2, p / p.sum()).astype(np.float64)
    return found


def test_truncated_noise_costs_what_enumeration_says() -> None:
    counts, numbers = np.arange(2, 10), np.arange(2, 10)
    p = np.array([clamped(count) for count in range(2, 10)])  # true × published
    for number in numbers:
        cost = TRUNCATED.cost(np.array(number), np.arange(12))
        assert np.flatnonzero(np.isfinite(cost)).tolist() == counts.tolist()
        shift = cost[2:10] + np.log(p[:, number - 2])
        assert shift == pytest.approx(shift[0])
    assert TRUNCATED.fits(np.array([1, 2, 9, 10])).tolist() == [False, True, True, False]
    rng = np.random.default_rng(3)
    words = draws_at(rng.random(20_000))
    for count in (2, 5, 9):
        drawn = np.bincount(TRUNCATED.publish(np.array(count), words) - 2, minlength=8)
        assert stats.chisquare(drawn, p[count - 2] * 20_000).pvalue > 1e-3
    with pytest.raises(ValueError, match="outside of"):
        TRUNCATED.publish(np.array(10), words)
    with pytest.raises(ConfigError, match="then a greater one"):
        parse_law({"truncated_geometric": {"epsilon": 1, "within": [3, 3]}})


@pytest.mark.parametrize("missed", [0.01, 0.05, 0.3])
def test_tested_intervals_are_two_tests_of_every_count(missed: float) -> None:
    p = np.array([clamped(count) for count in range(2, 10)])
    kept = np.minimum(p.cumsum(axis=1), p[:, ::-1].cumsum(axis=1)[:, ::-1]) > missed / 2
    low, high = TRUNCATED.tested(np.arange(2, 10), missed)
    for published in range(8):
        counts = np.flatnonzero(kept[:, published]) + 2
        assert counts.tolist() == list(range(low[published], high[published] + 1))
    assert (p * kept).sum(axis=1).min() >= 1 - missed


@pytest.mark.parametrize(
    ("text", "ends"), [("1-9", (1, 9)), ("<5", (0, 4)), ("≤ 4", (0, 4)), ("10+", (10, OPEN))]
)
def test_a_text_says_its_interval(text: str, ends: tuple[int, int]) -> None:
    law = parse_law("stated").reading(text)
    low, high = law.intervals(np.array([FLAGGED, 12]))
    assert (low.tolist(), high.tolist()) == ([ends[0], 12], [ends[1], 12])
    above = ends[1] + 1 if ends[1] < OPEN else 0
    assert law.threshold(high[:1]).tolist() == [above], "a text without an end is of no threshold"


@pytest.mark.parametrize("text", ["[c]", "-99", "(D)", "REDACTED"])
def test_a_text_that_is_listed_is_a_flag_of_its_law(text: str) -> None:
    law = parse_law({"suppressed": {"below": 3}})
    assert Statement(law, markers=(text,)).reading(text) == law
    with pytest.raises(ValueError, match="expected a count"):
        Statement(law).reading(text)
