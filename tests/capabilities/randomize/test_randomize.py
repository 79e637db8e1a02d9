from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.capabilities.randomize.answers import (
    Response,
    estimate_true_counts,
    parse_response,
    randomize_records,
)
from recon_cli.capabilities.randomize.intervals import answer_of, exact_interval
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from recon_cli.statement.randomized import Randomized
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
FEATURES = {feature.name: feature for feature in CLINIC.features}
SMOKER = Response("smoker", np.array([[0.9, 0.1], [0.3, 0.7]]))
PAYER = Response.of_epsilon(FEATURES["insurance"], 1.2)
KEYS = ["geoid", "table", "cell"]


def test_epsilon_of_a_matrix_and_back() -> None:
    assert PAYER.epsilon == pytest.approx(1.2)
    assert SMOKER.epsilon == pytest.approx(math.log(7))
    assert Response("smoker", np.array([[1.0, 0.0], [0.5, 0.5]])).epsilon == math.inf


def test_estimates_are_unbiased_over_all_outcomes() -> None:
    """Every outcome of two people's answers, weighted by its probability."""
    records = random_records(CLINIC, 7, 2, ["001001"]).with_columns(
        geoid_clinic=pl.lit("001001"), smoker=pl.Series([True, False])
    )
    payers, truths = FEATURES["insurance"].values, (False, True)
    expected: pl.DataFrame | None = None
    spread: list[tuple[float, pl.DataFrame]] = []
    for smokers in itertools.product(truths, repeat=2):
        for answers in itertools.product(payers, repeat=2):
            p = 1.0
            for i in range(2):
                p *= SMOKER.matrix[int(records["smoker"][i]), int(smokers[i])]
                row = payers.index(records["insurance"][i])
                p *= PAYER.matrix[row, payers.index(answers[i])]
            reported = records.with_columns(
                smoker=pl.Series(smokers), insurance=pl.Series(answers, dtype=pl.String)
            )
            found = estimate_true_counts(CLINIC, reported, [SMOKER, PAYER])
            spread.append((p, found))
            part = found["estimate"] * p
            expected = found.with_columns(mean=part) if expected is None else (
                expected.with_columns(mean=expected["mean"] + part)
            )  # fmt: skip
    assert expected is not None
    true = expected.join(tabulate(CLINIC, records), on=KEYS, how="left").with_columns(
        pl.col("count").fill_null(0)
    )
    assert sum(p for p, _ in spread) == pytest.approx(1)
    assert np.allclose(true["mean"], true["count"], atol=1e-9)
    mean = true["mean"].to_numpy()
    variance = sum(p * (each["estimate"].to_numpy() - mean) ** 2 for p, each in spread)
    stated = sum(p * each["sd"].to_numpy() ** 2 for p, each in spread)
    assert (stated >= np.asarray(variance) - 1e-9).all()  # cut at 0, so never too small on average


@pytest.mark.parametrize(("inside", "outside"), [(0.9, 0.2), (1.0, 0.3), (0.6, 0.0), (0.55, 0.45)])
def test_exact_intervals_hold_every_count_often_enough(inside: float, outside: float) -> None:
    for people in (0, 1, 7, 30):
        law = Randomized(people=people, inside=inside, outside=outside)
        ends = [exact_interval(law, reported, 90) for reported in range(people + 1)]
        for count in range(people + 1):
            held = np.array([low <= count <= high for low, high in ends])
            assert law.probabilities(count) @ held >= 0.9 - 1e-12


def test_the_law_of_a_cell_is_that_of_all_outcomes() -> None:
    """Three people's answers: the probability of each reported count, from the cell's law."""
    records = random_records(CLINIC, 7, 3, ["001001"]).with_columns(
        gender=pl.Series(["woman", "woman", "man"]),
        smoker=pl.Series([True, False, True]),
        insurance=pl.Series(["public", "none", "none"]),
    )
    matrices = {CLINIC.feature_index[each.feature]: each.matrix for each in (SMOKER, PAYER)}
    smokers = CLINIC.table_by_name["SMOKERS"].cells
    women = next(cell for cell in smokers if cell.number == 2)
    answer = answer_of(CLINIC, women, matrices)
    assert answer is not None
    p = np.zeros(3)
    for answers in itertools.product((False, True), repeat=2):
        chances = [
            SMOKER.matrix[true, int(said)] for true, said in zip((1, 0), answers, strict=True)
        ]
        p[sum(answers)] += chances[0] * chances[1]
    law = Randomized(people=2, inside=answer.inside, outside=answer.outside)
    assert np.allclose(law.probabilities(1), p)
    found = estimate_true_counts(CLINIC, records, [SMOKER, PAYER])
    cell = found.filter(table="SMOKERS", cell=2, level="clinic").row(0, named=True)
    assert cell["exact"]
    assert (cell["low"], cell["high"]) == exact_interval(law, 1, 95)
    both = answer_of(CLINIC, CLINIC.table_by_name["INSURANCE"].cells[1], matrices)
    assert both is not None
    assert answer_of(CLINIC, CLINIC.table_by_name["PATIENTS"].cells[1], matrices) is None
    assert set(found.filter(table="PATIENTS")["exact"]) == {False}


def test_answers_are_replaced_as_often_as_the_matrix_says() -> None:
    records = random_records(CLINIC, 7, 4000, random_units(CLINIC, 7, 3))
    reported = randomize_records(CLINIC, records, [SMOKER], KeyedChance.for_study(1))
    assert reported.drop("smoker").equals(records.drop("smoker"))
    for value, chance in ((False, 0.1), (True, 0.3)):
        of = records["smoker"] == value
        share = int((reported["smoker"] != value).filter(of).sum()) / int(of.sum())
        assert share == pytest.approx(chance, abs=0.04)


@pytest.mark.parametrize(
    ("epsilon", "matrix", "message"),
    [
        (None, None, "exactly one of epsilon, matrix"),
        (1.0, [[1, 0], [0, 1]], "exactly one of epsilon, matrix"),
        (None, [[1, 0]], "2 rows of 2 numbers"),
        (None, [[0.5, 0.5], [0.5, 0.5]], "it has no inverse"),
        (None, [[0.5, 0.6], [0.5, 0.5]], "probabilities that sum to 1"),
    ],
)
def test_a_wrong_response_is_named(
    epsilon: float | None, matrix: list[list[float]] | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_response(FEATURES["smoker"], epsilon, matrix)


def test_the_command_writes_records_and_estimates(tmp_path: Path) -> None:
    random_records(CLINIC, 5, 80, random_units(CLINIC, 5, 4)).write_csv(tmp_path / "patients.csv")
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\n"
        "randomize:\n  study_seed: 3\n  records: patients.csv\n"
        "  responses: {insurance: {epsilon: 1}, smoker: {matrix: [[0.8, 0.2], [0.2, 0.8]]}}\n"
    )
    assert "insurance" in recon("protect", "randomize", "-c", tmp_path / "run.yaml").stdout
    recon("protect", "randomize", "-c", tmp_path / "run.yaml", "--work", tmp_path / "two",
          "--workers", "2")  # fmt: skip
    for name in ("randomized", "randomized_counts"):
        one, two = (
            pl.read_parquet(tmp_path / work / name / "**/*.parquet", hive_partitioning=False)
            for work in ("work", "two")
        )
        assert one.equals(two)
        assert one.height
    message = recon("protect", "randomize", "-c", tmp_path / "run.yaml", "--set",
                    "randomize.responses={colour: {epsilon: 1}}", code=2).stderr  # fmt: skip
    assert "no feature 'colour'" in message
