"""What exact counts cost, against plain matrices and sums."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.account.account import expected_posterior, spends_of
from recon_cli.capabilities.frontier.invariant import (
    bits_by_level,
    count_covariance,
    invariant_bits,
    posterior_by_feature,
    whole_number_bits,
)
from recon_cli.capabilities.measurements.strategy import Strategy
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from tests.support.command_line import recon

CLINIC = load_release("clinic_visits")
TEXT = (
    "strategy: small\nrho: 2\nqueries: {{total: [], gender: [gender], bands: [ageband, gender],\n"
    "  insurance: [insurance]}}\n"
    "levels:\n  clinic: {{queries: {{{clinic}}}}}\n  district: {{queries: {{total: 1/4}}}}\n"
)
ALL = "total: 1/8, gender: 1/4, bands: 1/4, insurance: 1/8"


def strategy_of(folder: Path, queries: str = ALL) -> Strategy:
    path = folder / "small.yaml"
    path.write_text(TEXT.format(clinic=queries))
    return load_strategy(str(path), CLINIC)


def plain_covariance(strategy: Strategy, name: str) -> FloatArray:
    """Over all combinations of gender, age band and insurance, a row each."""
    sizes = {"gender": 3, "ageband": 5, "insurance": 3}
    grid = np.indices(tuple(sizes.values())).reshape(3, -1)
    at = dict(zip(sizes, grid, strict=True))
    of = {"total": [], "gender": ["gender"], "bands": ["ageband", "gender"],
          "insurance": ["insurance"]}  # fmt: skip

    def matrix(query: str) -> FloatArray:
        place = np.zeros(grid.shape[1], dtype=int)
        for column in of[query]:
            place = place * sizes[column] + at[column]
        return np.asarray(np.arange(place.max() + 1)[:, None] == place, dtype=np.float64)

    normal = sum(matrix(m.query.name).T @ matrix(m.query.name) / m.variance
                 for m in strategy.at("clinic"))  # fmt: skip
    found: FloatArray = matrix(name) @ np.linalg.pinv(normal) @ matrix(name).T
    return found


@pytest.mark.parametrize("name", ["total", "gender", "bands", "insurance"])
def test_the_covariance_is_that_of_all_combinations(tmp_path: Path, name: str) -> None:
    strategy = strategy_of(tmp_path)
    found = count_covariance(CLINIC, strategy.at("clinic"), strategy.queries[name])
    assert found == pytest.approx(plain_covariance(strategy, name), abs=1e-8)


def test_one_count_measured_by_itself_has_the_entropy_of_its_noise(tmp_path: Path) -> None:
    strategy = strategy_of(tmp_path, "total: 1/10")
    variance = strategy.at("clinic")[0].variance
    v = range(-200, 201)
    weights = [math.exp(-(each**2) / (2 * variance)) for each in v]
    chances = [each / sum(weights) for each in weights]
    plain = -sum(p * math.log2(p) for p in chances if p > 0)
    total = strategy.queries["total"]
    row = bits_by_level(CLINIC, strategy, total, ["clinic"]).row(0, named=True)
    assert row["bits"] == pytest.approx(plain, abs=1e-6)
    assert row["sd"] == pytest.approx(math.sqrt(variance))
    assert invariant_bits(np.diag([variance, variance])) == pytest.approx(2 * plain, abs=1e-6)


def test_the_entropy_passes_into_the_continuous_one() -> None:
    assert whole_number_bits(9_999) == pytest.approx(whole_number_bits(10_001), abs=1e-3)
    assert whole_number_bits(0.01) < 1e-6


def test_what_is_left_open_has_no_bits(tmp_path: Path) -> None:
    strategy = strategy_of(tmp_path, "gender: 1/4")
    with pytest.raises(ConfigError, match="leaves 'insurance' open"):
        count_covariance(CLINIC, strategy.at("clinic"), strategy_of(tmp_path).queries["insurance"])


def test_an_exact_count_settles_what_it_tells_apart(tmp_path: Path) -> None:
    strategy = strategy_of(tmp_path)
    found = posterior_by_feature(CLINIC, strategy, strategy.queries["gender"], ["clinic"])
    rows = {row["feature"]: row for row in found.iter_rows(named=True)}
    assert rows["gender"]["invariant"] == 100
    assert rows["insurance"]["invariant"] == rows["insurance"]["noise"] < 100
    spends = [each for each in spends_of(strategy, CLINIC.features, ["clinic"])
              if each.query in ("gender", "bands")]  # fmt: skip
    assert rows["gender"]["noise"] == pytest.approx(100 * (expected_posterior(spends) or 0))
    assert rows["conditions"]["noise"] == pytest.approx(50, abs=1e-6)  # nobody measures it


def test_the_command_tells_it(tmp_path: Path) -> None:
    strategy_of(tmp_path)
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\n"
        "frontier: {epsilon: [1], invariant: {strategy: small.yaml, query: gender,\n"
        "  levels: [clinic]}}\n"
    )
    recon("plan", "frontier", "-c", tmp_path / "run.yaml")
    table = pl.read_parquet(tmp_path / "work/frontier/invariant.parquet")
    assert table["level"].to_list() == ["clinic"]
    page = (tmp_path / "work/frontier/frontier.html").read_text()
    assert "What exact counts cost" in page
    asked = f"frontier.invariant={{strategy: {tmp_path}/small.yaml, query: colour}}"
    refused = recon("plan", "frontier", "-c", tmp_path / "run.yaml", "--set", asked, code=2)
    assert "frontier.invariant.query: strategy" in " ".join(refused.stderr.split())
