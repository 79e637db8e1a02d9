"""What noisy measurements leave: estimates with intervals, and likely records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import minimize

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.estimate.question import estimate_counts
from recon_cli.capabilities.measurements import joint_fit
from recon_cli.capabilities.measurements.draws import cells_of, measurement_noise
from recon_cli.capabilities.measurements.joint_fit import (
    Sums,
    dispersion,
    fit_people,
    likeliest,
    likely_records,
)
from recon_cli.capabilities.measurements.measurements import Measurements, chain, read_measurements
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.measurements.symmetry import exchangeable_classes, symmetric_basis
from recon_cli.capabilities.noise.measured import (
    measure_counts,
    noise_protection,
    published_levels,
    release_text,
)
from recon_cli.capabilities.protect.counts import count_records
from recon_cli.chance import KeyedChance
from recon_cli.errors import SourceError
from recon_cli.publication import Publication
from recon_cli.schema import Release, load_release, parse_release
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units
from tests.support.properties import draws

CLINIC = load_release("clinic_visits")
STRATEGY = """
strategy: small
rho: {rho}
queries: {{total: [], payer: [insurance], detailed: [insurance, smoker]}}
levels:
  district: {{share: 1/2, queries: {{total: 1/4, payer: 1/4, detailed: 1/2}}}}
  clinic: {{share: 1/2, queries: {{total: 1/4, detailed: 3/4}}}}
"""
#: Groups of unequal size, and other queries at each level.
UNEQUAL = """
strategy: small
rho: {rho}
queries:
  total: []
  insured: [insured]
  old: [ageband, smoker]
  detailed: [insurance, ageband]
  all: [insurance, ageband, smoker]
levels:
  district: {{queries: {{total: 1/4, insured: 1/4, old: 1/2}}}}
  clinic: {{queries: {{total: 1/4, old: 1/4, detailed: 1/4, insured: 1/4, all: 1/4}}}}
"""

#: Units tell marginals alone; above, a district knows all cells.
MARGINALS = """
strategy: small
rho: {rho}
queries:
  total: []
  payer: [insurance]
  old: [ageband, smoker]
  all: [insurance, ageband, smoker]
levels:
  district: {{queries: {{total: 1/4, all: 3/4}}}}
  clinic: {{queries: {{total: 1/4, payer: 1/4, old: 1/2}}}}
"""


def published(
    folder: Path, rho: str, seed: int, text: str = STRATEGY
) -> tuple[Release, Publication, pl.DataFrame]:
    """A release of measurements, its noisy publication, and the true counts."""
    units = [unit for unit in random_units(CLINIC, 4, 9) if unit[:3] == "001"] or ["001001"]
    records = random_records(CLINIC, 4, 90, [*units, "001001", "001002", "001003"])
    (folder / "s.yaml").write_text(text.format(rho=rho))
    strategy = load_strategy(str(folder / "s.yaml"), CLINIC)
    levels = published_levels(strategy, CLINIC)
    release = parse_release(release_text(strategy, CLINIC, levels), source="s")
    truth = count_records(release, records)
    counts = measure_counts(
        strategy, levels, truth,
        lambda level, each, geoids: measurement_noise(
            KeyedChance.for_study(seed).named(level), each, geoids, cells_of(each.query)
        ),
    )  # fmt: skip
    noisy = counts.select("geoid", "table", "cell", "count").with_columns(
        low=pl.lit(0, pl.Int32), high=pl.lit(None, pl.Int32), law=pl.lit(0, pl.Int8)
    )
    protection = noise_protection(strategy, levels)
    return release, Publication.of(
        release, truth.geounits, noisy, truth.coverage, protection
    ), counts  # fmt: skip


def dense_estimates(measurements: Measurements) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariance of all unit histograms by one large generalised least squares."""
    places, rows, values, weights = chain(measurements.hierarchy), [], [], []
    for each, place in zip(measurements.levels, places, strict=True):
        rows.append(np.kron(each.operator.toarray(), place.toarray().T))
        values.append(each.noisy.ravel())
        weights.append(np.repeat(each.weight, each.noisy.shape[1]))
    design, noisy, weight = np.vstack(rows), np.concatenate(values), np.concatenate(weights)
    variance = np.linalg.pinv(design.T @ (weight[:, None] * design), rcond=1e-9, hermitian=True)
    return variance @ (design.T @ (weight * noisy)), variance


@pytest.mark.parametrize(
    "text", [STRATEGY, UNEQUAL, MARGINALS], ids=["equal", "unequal", "marginals"]
)
def test_two_passes_are_the_generalised_least_squares_of_everything(
    tmp_path: Path, text: str
) -> None:
    release, noisy, _ = published(tmp_path, "1", 3, text)
    measurements = read_measurements(release, noisy)
    rows = estimate_counts(measurements, 90)
    mean, variance = dense_estimates(measurements)
    places = chain(measurements.hierarchy)
    at = 0
    for each, place in zip(measurements.levels, places, strict=True):
        design = np.kron(each.operator.toarray(), place.toarray().T)
        size = each.noisy.size
        part = rows[at : at + size]
        shape = (each.noisy.shape[1], each.noisy.shape[0])
        estimate = part["estimate"].to_numpy().reshape(shape).T.ravel()
        sd = part["sd"].to_numpy().reshape(shape).T.ravel()
        assert estimate == pytest.approx(design @ mean, abs=1e-8)
        assert sd**2 == pytest.approx(np.diag(design @ variance @ design.T), abs=1e-8)
        at += size
    assert at == len(rows)


def test_classes_that_the_measurements_treat_alike(tmp_path: Path) -> None:
    release, noisy, _ = published(tmp_path, "1", 3, UNEQUAL)
    measurements = read_measurements(release, noisy)
    sizes = measurements.domain.sizes
    groups = {
        feature.name: exchangeable_classes(sizes, measurements.levels, f).tolist()
        for f, feature in enumerate(release.features)
        if sizes[f] > 1
    }
    assert groups == {"age": [0] * 5, "insurance": [0, 0, 1], "smoker": [0, 0]}
    basis = symmetric_basis(sizes, measurements.levels)
    histograms = np.random.default_rng(1).random((measurements.domain.size, 3))
    values = basis.to_basis(histograms)
    assert (values**2).sum() == pytest.approx((histograms**2).sum())
    blocks = [block.of(values) for block in basis.blocks]
    assert sum(each.size for each in blocks) == histograms.size
    assert max(block.size for block in basis.blocks) == 2


def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    inside = total = 0
    for seed in draws(16, 40):
        release, noisy, counts = published(tmp_path, "1", seed)
        rows = estimate_counts(read_measurements(release, noisy), 80)
        true = rows.join(counts.select("geoid", "table", "cell", "true"),
                         on=["geoid", "table", "cell"])  # fmt: skip
        inside += true.filter(pl.col("true").is_between(pl.col("low"), pl.col("high"))).height
        total += true.height
    assert 0.79 < inside / total < 0.9  # whole numbers in an interval: no less than it says


def test_likely_records_of_nearly_exact_measurements_are_the_records(tmp_path: Path) -> None:
    release, noisy, counts = published(tmp_path, "10000000", 1)
    measurements = read_measurements(release, noisy)
    fitted = fit_people(measurements)
    records = likely_records(measurements, fitted)
    found = count_records(release, records.with_columns(
        gender=pl.lit("woman"), age=pl.lit(20, pl.Int16), conditions=pl.lit(1, pl.Int16)
    )).counts  # fmt: skip
    true = counts.filter(pl.col("true") > 0).select("geoid", "table", "cell", count="true")
    columns = ["geoid", "table", "cell"]
    assert found.sort(columns).equals(true.cast(found.schema).sort(columns))
    assert records["gender"].null_count() == len(records)


def test_the_dual_finds_the_minimum_of_what_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_fit, "_ROUNDS", 1)
    monkeypatch.setattr(joint_fit, "_NEAR", 1e-8)
    chance = np.random.default_rng(4)
    operator = sparse.csr_array(
        np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    )
    expected = chance.uniform(0.5, 6, (4, 3))
    whole = sparse.csr_array(np.ones((3, 1)))
    sums = [
        Sums(operator, None, chance.uniform(-2, 12, (4, 3)), chance.uniform(0.5, 4, (4, 3))),
        Sums(operator, whole, chance.uniform(5, 30, (4, 1)), chance.uniform(0.5, 4, (4, 1))),
    ]
    spread = dispersion(sums, expected)
    assert 1 < spread < 100

    def objective(flat: FloatArray) -> float:
        people = flat.reshape(expected.shape)
        squares = sum(
            ((each.counts(people) - each.noisy) ** 2 / each.variance).sum() for each in sums
        )
        entropy = (people * np.log(people / expected) - people + expected).sum()
        return float(squares / 2 + entropy / spread)

    found = likeliest(sums, expected, 1000)
    direct = minimize(
        objective, found.ravel(), bounds=[(1e-9, None)] * 12, options={"ftol": 1e-15, "gtol": 1e-9}
    )
    assert objective(found.ravel()) == pytest.approx(direct.fun, abs=1e-6)
    assert found.ravel() == pytest.approx(direct.x, abs=1e-2)


def test_units_that_measure_marginals_are_composed_like_the_level_above(tmp_path: Path) -> None:
    release, noisy, _ = published(tmp_path, "10000000", 1, MARGINALS)
    measurements = read_measurements(release, noisy)
    fitted = fit_people(measurements)
    assert np.array_equal(fitted.people, fit_people(measurements).people)
    for each, place in zip(measurements.levels, chain(measurements.hierarchy), strict=True):
        off = each.operator[:, fitted.cells] @ fitted.people @ place - each.noisy
        assert np.abs(off).max() < 2


def test_counts_without_noise_are_refused(tmp_path: Path) -> None:
    records = random_records(CLINIC, 4, 40, ["001001"])
    with pytest.raises(SourceError, match="every count must have Gaussian or geometric noise"):
        read_measurements(CLINIC, count_records(CLINIC, records))


def test_from_records_to_likely_records_and_intervals(tmp_path: Path) -> None:
    records = random_records(CLINIC, 5, 80, random_units(CLINIC, 5, 6))
    records.write_csv(tmp_path / "patients.csv")
    (tmp_path / "s.yaml").write_text(STRATEGY.format(rho="4"))
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\n"
        "noise: {records: patients.csv, strategy: s.yaml, study_seed: 0}\n"
    )
    work = tmp_path / "work"
    recon("protect", "noise", "-c", tmp_path / "run.yaml")
    (tmp_path / "read.yaml").write_text(
        "release: work/noisy/release.yaml\nwork: attack\nestimate:\nreconstruct:\n"
        "ingest: {paths: [work/noisy], source: tidy}\n"
    )
    recon("run", "-c", tmp_path / "read.yaml")
    assert (work / "noisy").is_dir()
    frames = {
        name: pl.read_parquet(tmp_path / f"attack/{name}/**/*.parquet", hive_partitioning=False)
        for name in ("microdata", "blocks", "estimates")
    }
    assert frames["blocks"]["status"].unique().to_list() == ["likely"]
    assert not frames["microdata"]["certain"].any()
    assert 40 < len(frames["microdata"]) < 120
    assert (frames["estimates"]["low"] <= frames["estimates"]["high"]).all()
    again = recon("run", "-c", tmp_path / "read.yaml", "--work", tmp_path / "two", "--workers", "2")
    assert again.exit_code == 0
    two = pl.read_parquet(tmp_path / "two/microdata/**/*.parquet", hive_partitioning=False)
    assert two.equals(frames["microdata"])
