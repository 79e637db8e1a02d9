"""Dinur–Nissim: printed tables, closed forms against simulation and enumeration, decoders."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from scipy.stats import norm

from recon_cli.budget import best_guess
from recon_cli.capabilities.dinur_nissim import closed_form as form
from recon_cli.capabilities.dinur_nissim.decoders import (
    box_least_squares,
    exact_solution,
    least_absolute,
    round_bits,
    within,
)
from recon_cli.capabilities.dinur_nissim.presets import FIGURES, one_sum
from recon_cli.capabilities.dinur_nissim.subset_sums import (
    AnswerNoise,
    Kind,
    attack,
    describe,
    expected_share,
    information,
    m_sequence,
)
from tests.support.command_line import recon
from tests.support.few_queries import (
    cell_budget,
    gaussian_entropy,
    lindstroem_bits,
    lindstroem_decode,
    lindstroem_matrix,
    lindstroem_queries,
    pair_entropy,
    sums_of_three_bits,
)

EXACT = AnswerNoise("none")


def test_tables_a4_and_a5_as_printed() -> None:
    eighths = {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 2, (1, 2): 1, (2, 1): 1, (2, 2): 1}
    assert sums_of_three_bits() == eighths  # (0, 2) and (2, 0) do not occur
    pairs = list(itertools.combinations([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], 2))
    entropies = [pair_entropy(*pair) for pair in pairs]
    assert pair_entropy((0, 1), (1, 2)) == 2.75 == max(entropies)


def test_table_a6_as_printed() -> None:
    exact = [f"{form.sum_entropy(m):.7g}" for m in (1, 2, 16, 128)]
    assert exact == ["1", "1.5", "3.04655", "4.547088"]
    gaussian = [f"{gaussian_entropy(m):.7g}" for m in (1, 2, 16, 128)]
    assert gaussian == ["1.047096", "1.547096", "3.047096", "4.547096"]
    assert (form.sum_entropy(0), gaussian_entropy(0)) == (0, -math.inf)


@pytest.mark.parametrize(
    ("share", "epsilon", "dispersion"),
    [(0.675, "0.042", "47.4"), (0.225, "0.014", "142"), (0.1, "0.006", "320")],
)
def test_table_6_3_as_printed(share: float, epsilon: str, dispersion: str) -> None:
    budget, scale = cell_budget(0.25, 4, share)
    assert f"{budget:.3f}" == epsilon
    assert f"{scale:.3g}" == dispersion


def test_table_a7_no_more_queries_than_printed() -> None:
    printed = {8: 6, 9: 6, 10: 7, 11: 8, 12: 9, 13: 9, 14: 9, 15: 9, 16: 10}
    printed |= {17: 11, 18: 13, 19: 13, 20: 14, 21: 14}
    ours = {n: lindstroem_queries(n) for n in printed}
    assert all(ours[n] <= printed[n] for n in printed)
    assert [ours[n] for n in (11, 12, 13, 17, 18, 19, 20, 21)] == [7, 7, 8, 10, 11, 11, 11, 12]
    assert [math.ceil(2 * n / math.log2(n)) for n in (8, 13, 21)] == [6, 8, 10]


@pytest.mark.parametrize("bits", [1, 2, 5, 9, 12])
def test_lindstroem_sums_determine_every_choice(bits: int) -> None:
    matrix = lindstroem_matrix(bits)
    assert matrix.shape == (lindstroem_queries(bits), bits)
    choices = np.array(list(itertools.product((0, 1), repeat=bits)))
    sums = choices @ matrix.T
    assert len(np.unique(sums, axis=0)) == len(choices)
    for choice in choices[:: max(1, len(choices) // 64)]:
        assert (lindstroem_decode(matrix @ choice, bits) == choice).all()


def test_lindstroem_decodes_many_bits_and_refuses_wrong_sums() -> None:
    bits = lindstroem_bits(60)
    truth = np.random.default_rng(3).integers(0, 2, bits)
    sums = lindstroem_matrix(bits) @ truth
    assert (lindstroem_decode(sums, bits) == truth).all()
    with pytest.raises(ValueError, match="no bits"):
        lindstroem_decode(sums + 7, bits)


def test_closed_form_below_half() -> None:
    found = [form.below_half(ratio) for ratio in (0.05, 0.1, 0.2, 0.3, 0.4, 0.45)]
    assert_allclose(found, [0.591, 0.631, 0.692, 0.746, 0.802, 0.836], atol=6e-4)


def test_wendel_is_the_probability_that_no_other_corner_or_edge_fits() -> None:
    # normal queries are in general position: is there a direction into the cube with Qd = 0?
    rng, bits, queries, hits = np.random.default_rng(1), 7, 4, 0
    for _ in range(300):
        Q = rng.standard_normal((queries, bits))
        inside = linprog(
            -np.ones(bits), A_eq=Q, b_eq=np.zeros(queries), bounds=(0, 1), method="highs"
        )
        hits += bool(np.max(np.asarray(inside.x)) < 1e-9)
    expected = form.unique_probability(bits, queries)
    assert abs(hits / 300 - expected) < 4 * math.sqrt(expected * (1 - expected) / 300)


def test_where_the_last_wrong_bits_vanish() -> None:
    # Figure 4-3: mean shares below 0.999 end near n/2 + 1.16 √n
    for bits in (50, 100, 400):
        ends = bits / 2 + 1.16 * math.sqrt(bits)
        assert form.exact_share(bits, round(ends + math.sqrt(bits) / 2)) > 0.999
        assert form.exact_share(bits, round(ends - math.sqrt(bits) / 2)) < 0.999


def test_small_noise_is_the_limit_of_the_noisy_form() -> None:
    assert form.noisy_share(1000, 4000, 8.0) == pytest.approx(
        form.small_noise_share(1000, 4000, 8.0), abs=0.002
    )
    needed = 1000 / 2 + (4 * 8.0 * norm.ppf(0.9)) ** 2
    assert form.small_noise_share(1000, round(needed), 8.0) == pytest.approx(0.9, abs=1e-3)
    assert form.small_noise_share(4000, 2000 + 16 * 100, 10.0) == pytest.approx(0.84, abs=0.005)


@pytest.mark.parametrize(
    ("bits", "queries", "noise", "trials", "tolerance"),
    [
        (200, 40, EXACT, 8, 0.03),
        (200, 80, EXACT, 8, 0.03),
        (200, 150, EXACT, 5, 0.01),
        (40, 200, AnswerNoise("gaussian", 5.0), 40, 0.03),
        (100, 400, AnswerNoise("gaussian", 8.0), 10, 0.025),
        (100, 100, AnswerNoise("laplace", 0.2), 10, 0.03),
    ],
)
def test_simulation_is_near_the_closed_form(
    bits: int, queries: int, noise: AnswerNoise, trials: int, tolerance: float
) -> None:
    (shares,) = attack(bits, queries, [noise], decoder="least-squares", trials=trials, seed=5)
    expected = expected_share(bits, queries, noise)
    assert expected is not None
    assert shares.mean() == pytest.approx(expected, abs=tolerance)
    row = describe(bits, queries, noise, shares, "least-squares")
    assert shares.mean() <= float(str(row["entropy_bound"])) + 0.01


def test_box_least_squares_is_at_a_minimum() -> None:
    rng = np.random.default_rng(2)
    Q = rng.integers(0, 2, (40, 12)).astype(float)
    answers = Q @ rng.integers(0, 2, 12) + rng.normal(scale=2, size=40)
    x = box_least_squares(Q.T @ Q, (Q.T @ answers)[:, None], 40)[:, 0]
    slope = Q.T @ (Q @ x - answers)
    assert (abs(slope[(x > 0.001) & (x < 0.999)]) < 0.1).all()
    assert (slope[x <= 0.001] > -0.1).all()
    assert (slope[x >= 0.999] < 0.1).all()
    assert round_bits(np.array([0.5, 0.4999])).tolist() == [1, 0]


def test_exact_sums_above_the_threshold_give_every_bit() -> None:
    (shares,) = attack(200, 130, [EXACT], decoder="least-squares", trials=5, seed=1)
    assert (shares == 1).all()
    (shares,) = attack(400, 240, [EXACT], decoder="least-squares", trials=8, seed=0)
    assert (shares == 1).all()
    rng = np.random.default_rng(4)
    Q = rng.integers(0, 2, (30, 40)).astype(float)
    truth = rng.integers(0, 2, 40).astype(float)
    x = exact_solution(Q.T @ Q, (Q.T @ Q @ truth)[:, None], 30)[:, 0]
    assert (round_bits(x) == truth).all()


def test_decoders_by_kind_of_noise() -> None:
    laplace, bounded = AnswerNoise("laplace", 0.3), AnswerNoise("bounded", 4 * math.sqrt(36))
    for noise, queries in ((laplace, 500), (bounded, 900)):
        best, squares = (
            attack(36, queries, [noise], decoder=decoder, trials=6, seed=2)[0].mean()
            for decoder in ("auto", "least-squares")
        )
        assert best > squares
    rng = np.random.default_rng(1)
    Q = rng.integers(0, 2, (90, 8)).astype(float)
    truth = rng.integers(0, 2, 8).astype(float)
    assert (round_bits(least_absolute(Q, Q @ truth)) == truth).all()
    found = within(Q, Q @ truth, 0.4)
    assert found is not None
    assert (round_bits(found) == truth).all()
    assert within(Q, Q @ truth + 1000, 0.4) is None


@pytest.mark.parametrize(
    ("bits", "queries", "most", "centre", "vertex"),
    [(64, 64, 2.0, 0.877, 0.779), (64, 2304, 32.0, 0.988, 0.879), (256, 1024, 16.0, 0.895, 0.828)],
)
def test_bounded_noise_is_decoded_to_the_centre(
    bits: int, queries: int, most: float, centre: float, vertex: float
) -> None:
    noise = AnswerNoise("bounded", most)
    (shares,) = attack(bits, queries, [noise], decoder="feasible", trials=768 // bits, seed=0)
    assert abs(shares.mean() - centre) < 0.03
    assert shares.mean() > vertex + 0.03


def test_one_noisy_sum() -> None:
    exact = [
        sum(
            math.comb(4, s) / 15 * sum(abs(z) / s * laplace_rounded(z, 1.0) for z in range(-60, 61))
            for s in range(1, 5)
        )
    ]
    assert form.sum_accuracy(4, 1.0) == pytest.approx(1 - exact[0])
    found = one_sum(300, seed=1, bits=(100, 1000))
    beyond = (found["mean"] - found["closed_form"]).abs() / found["error"]
    assert (beyond < 5).all()
    largest = form.sum_accuracy(5000, 0.1)
    assert largest > 0.99  # Figure 5-6: not to be told from 1
    assert form.sum_accuracy(100, 1.0) == pytest.approx(1 - 2 / 100, abs=1e-3)


def laplace_rounded(z: int, epsilon: float) -> float:
    """The mass of a rounded Laplace draw."""
    if z == 0:
        return 1 - math.exp(-epsilon / 2)
    return math.exp(-epsilon * abs(z)) * math.sinh(epsilon / 2)


def test_anchors_of_the_figures() -> None:
    assert form.exact_share(1000, 500) < 0.97 < form.exact_share(1000, 540)  # 4-1: half way
    assert form.unique_probability(1000, 500) == pytest.approx(0.5, abs=0.02)
    weak = form.noisy_share(4000, 4000, math.sqrt(2) / 0.01)
    assert 0.5 < weak < 0.56  # 5-7: little better than guessing
    assert form.noisy_share(4000, 80_000, math.sqrt(2) / 1.0) > 0.9999
    assert {setting.bits for setting in FIGURES["5-7"].settings} == {4000}
    assert FIGURES["4-1"].trials == 100


def test_bounds() -> None:
    assert form.fano_share(100, 0) == 0.5
    assert form.fano_share(100, 1000) == 1
    f = form.fano_share(100, 40)
    assert -f * math.log2(f) - (1 - f) * math.log2(1 - f) == pytest.approx(0.6)
    assert best_guess(1.0) == pytest.approx(0.7311, abs=1e-4)
    # 48 σ² queries: as many bits of information as there are bits
    sd = 40.0
    assert information(1000, round(48 * sd**2), AnswerNoise("gaussian", sd)) == 1000
    assert information(1000, 1000, AnswerNoise("gaussian", sd)) < 1000
    for parameter in (0.0, -1.0, math.inf, math.nan, 1e200, 1e-300):
        with pytest.raises(ValueError, match="a parameter from 1e-06 to 1,000,000"):
            AnswerNoise("laplace", parameter)


def test_the_command_writes_results_and_a_page(tmp_path: Path) -> None:
    options = ["--bits", 30, "--queries", "1x,4x", "--noise", "gaussian:2", "--trials", 2]
    result = recon("lab", "dinur-nissim", *options, "--to", tmp_path)
    assert "closed form" in result.stdout
    rows = pl.read_csv(tmp_path / "results.csv")
    assert rows["queries"].to_list() == [30, 120]
    again = tmp_path / "again"
    recon("lab", "dinur-nissim", *options, "--to", again)
    assert (again / "results.csv").read_bytes() == (tmp_path / "results.csv").read_bytes()
    assert "simulation" in (tmp_path / "dinur-nissim.html").read_text()
    wrong = recon("lab", "dinur-nissim", "--noise", "salt:2", "--to", tmp_path, code=2)
    assert "one of none, gaussian" in wrong.stderr


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "bounded"])
@pytest.mark.parametrize("parameter", [1e-6, 1e6])
def test_any_noise_that_is_allowed_can_be_decoded(kind: Kind, parameter: float) -> None:
    noise = AnswerNoise(kind, parameter)
    for queries in (3, 18):
        [shares] = attack(6, queries, [noise], trials=2, seed=1)
        found = describe(6, queries, noise, shares)["closed_form"]
        assert found is None or 0.5 <= float(found) <= 1


def test_of_two_bits_no_equation_is_known(tmp_path: Path) -> None:
    recon("lab", "dinur-nissim", "--bits", 2, "--queries", "1,3", "--to", tmp_path)
    assert pl.read_csv(tmp_path / "results.csv")["closed_form"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--queries", "infx", "--queries 'infx': a number, or 5x, is expected"),
        ("--queries", "nanx", "--queries 'nanx': a number, or 5x, is expected"),
        ("--queries", "0x", "--queries '0x': at least one query is expected"),
        ("--noise", "gaussian:inf", "--noise 'gaussian:inf': noise gaussian: a parameter from"),
        ("--noise", "none:3", "--noise 'none:3': noise none: it has no parameter"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, option: str, value: str, message: str) -> None:
    folder = tmp_path / "results"
    wrong = recon("lab", "dinur-nissim", option, value, "--to", folder, code=2)
    assert message in wrong.stderr
    assert not folder.exists()


@pytest.mark.parametrize("options", [("--bits", 1_000), ("--figure", "5-6", "--trials", 2)])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, options: tuple[object, ...]) -> None:
    file = tmp_path / "file"
    file.touch()
    wrong = recon("lab", "dinur-nissim", *options, "--to", file / "results", code=5)
    assert f"{file}" in wrong.stderr


@pytest.mark.parametrize("bits", [3, 7, 15, 31, 127, 1023])
def test_shifts_of_an_m_sequence_share_a_quarter(bits: int) -> None:
    sequence = m_sequence(bits)
    shifts = sequence[(np.arange(bits)[:, None] + np.arange(bits)) % bits]
    overlap = (bits + 1) // 4
    expected = np.full((bits, bits), overlap) + overlap * np.eye(bits, dtype=int)
    assert np.array_equal(shifts @ shifts.T, expected)


def test_127_bits_need_36_shifts_by_normal_bits() -> None:
    sequence = m_sequence(127)
    shifts = sequence[(np.arange(127)[:, None] + np.arange(127)) % 127]
    for queries, enough in ((35, False), (36, True)):
        covariance = shifts[:queries] @ shifts[:queries].T / 4
        sign, log = np.linalg.slogdet(2 * math.pi * math.e * covariance)
        assert sign == 1
        assert (log / 2 / math.log(2) >= 127) == enough
    assert form.normal_queries(127) == 36
    noise = AnswerNoise("gaussian", 3.0)
    covariance = shifts[:50] @ shifts[:50].T / 4
    bits = np.linalg.slogdet(np.eye(50) + covariance / 9)[1] / 2 / math.log(2)
    row = describe(127, 50, noise, np.ones(2), design="m-sequence")
    assert row["entropy_bound"] == pytest.approx(form.fano_share(127, bits))
    assert row["closed_form"] is None


def test_all_shifts_give_all_bits(tmp_path: Path) -> None:
    words = ["--bits", "31", "--queries", "31,40", "--design", "m-sequence", "--to", tmp_path]
    refused = recon("lab", "dinur-nissim", *words, code=2)
    assert "no 40 different shifts" in refused.stderr
    words[3] = "31"
    recon("lab", "dinur-nissim", *words)
    assert pl.read_csv(tmp_path / "results.csv")["mean"].item() == 1
    assert "**12** exact" in (tmp_path / "dinur-nissim.md").read_text()
    refused = recon("lab", "dinur-nissim", *words[:1], "30", *words[2:], code=2)
    assert "3, 7, 15" in refused.stderr
