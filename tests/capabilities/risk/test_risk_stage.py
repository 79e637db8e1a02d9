"""`recon plan risk`: from files to summary, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import poisson

from recon_cli.capabilities.measurements.density import discrete_gaussian
from recon_cli.capabilities.risk.expectation import expected, expected_known_upper
from recon_cli.capabilities.risk.log_odds import log_odds
from recon_cli.capabilities.risk.siblings import each_sibling_evidence
from recon_cli.capabilities.risk.two_levels import TwoLevels, two_level
from tests.support.command_line import recon

CELLS = ("P12", 3), ("P12", 4), ("P12", 27)
RHO = {"block": 0.3, "tract": 0.6}
DIGITS = {"block": 15, "tract": 11}


def counts() -> pl.DataFrame:
    """Two counties of two tracts of 40 blocks each."""
    rng = np.random.default_rng(4)
    rows = [
        (f"{county}{tract:06}{1000 + block}", table, cell, int(rng.poisson(1.5)))
        for county in ("01001", "01003")
        for tract in (100, 200)
        for block in range(40)
        for table, cell in CELLS
    ]
    return pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")


def measure(truth: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng, parts = np.random.default_rng(seed), []
    for level, digits in DIGITS.items():
        sums = truth.group_by(
            pl.col("geoid").str.head(digits), "table", "cell", maintain_order=True
        ).agg(pl.col("count").sum())
        noise = discrete_gaussian(RHO[level]).draw(rng, len(sums))
        variance = pl.lit(1 / (2 * RHO[level]))
        parts.append(sums.with_columns(noisy=pl.col("count") + noise, variance=variance))
    return pl.concat(parts).drop("count")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    truth = counts()
    truth.filter(pl.col("count") > 0).write_csv(tmp_path / "truth.csv")
    for seed in (1, 2):
        measure(truth, seed).write_parquet(tmp_path / f"noisy{seed}.parquet")
    path = tmp_path / "recon.yaml"
    path.write_text(
        "release: sf1_2010\nwork: work\nrisk:\n  truth: truth.csv\n"
        "  measurements: [noisy1.parquet]\n"
        "  noise: {block: {rho: 0.3}, tract: {rho: 3*2/10}}\n  priors: [1/2, uniform]\n"
    )
    return path


def run(config: Path, *settings: str, code: int = 0) -> str:
    options = [word for setting in settings for word in ("--set", setting)]
    result = recon(
        "plan", "risk", "release", "-c", str(config), "--workers", "1", *options, code=code
    )
    return result.stdout + result.stderr


def read(config: Path) -> pl.DataFrame:
    folder = config.parent / "work" / "risk"
    files = [path for path in folder.rglob("*.parquet") if path.name != "summary.parquet"]
    return pl.concat(pl.read_parquet(path) for path in sorted(files)).sort("prior", "geoid", "cell")


def test_every_person_is_scored(config: Path) -> None:
    shown = run(config)
    truth = counts()
    assert f"{truth['count'].sum():,}" in shown
    found = read(config).filter(pl.col("prior") == 0.5)
    assert len(found) == truth.filter(pl.col("count") > 0).height
    assert set(read(config)["prior"]) == {0.5, 1 / len(CELLS)}
    row = found.row(5, named=True)
    noisy = pl.read_parquet(config.parent / "noisy1.parquet").filter(cell=row["cell"])
    of_tract = noisy.filter(pl.col("geoid").str.starts_with(row["geoid"][:11]))
    [above] = of_tract.filter(geoid=row["geoid"][:11])["noisy"]
    beside = of_tract.filter(pl.col("geoid").str.len_chars() == 15)
    s = beside.filter(pl.col("geoid") != row["geoid"])["noisy"].sum()
    point = [np.asarray(each) for each in (row["noisy"] - row["known"], above - row["known"], s)]
    odds = two_level(point[0], point[1], point[2], TwoLevels(0.3, 0.6, 39), 0.5)
    assert row["log_odds"] == pytest.approx(float(odds))
    assert (row["decision"] == "in") is (row["log_odds"] > 0)
    summary = pl.read_csv(config.parent / "work" / "risk" / "summary.csv")
    mean = dict(summary.filter(prior=0.5).select("adversary", "posterior").iter_rows())
    assert mean["one_level"] == pytest.approx(expected(0.3, 0.5).posterior, abs=0.03)
    assert mean["siblings_known"] == pytest.approx(expected(0.9, 0.5).posterior, abs=0.1)


def test_the_report_shows_the_risk(config: Path) -> None:
    run(config)
    assert "up to date" in recon("run", "-c", str(config), "--only", "risk").stdout
    recon("report", "-c", str(config))
    page = (config.parent / "work/report/report.md").read_text()
    assert "Noisy counts: what an adversary may believe" in page
    assert "uses the level above, too" in page


def test_measurements_may_be_a_publication(config: Path) -> None:
    run(config)
    found = read(config)
    noisy = pl.read_parquet(config.parent / "noisy1.parquet").rename({"noisy": "count"})
    (config.parent / "noisy").mkdir()
    noisy.write_parquet(config.parent / "noisy/part.parquet")
    run(config, f"risk.measurements=[{config.parent / 'noisy'}]")
    assert read(config).equals(found)


def test_releases_compose(config: Path) -> None:
    both = 'risk.measurements=["' + '","'.join(
        str(config.parent / f"noisy{seed}.parquet") for seed in (1, 2)
    )
    run(config, both + '"]', "risk.upper.prior=none", "risk.priors=[1/2]")
    found = read(config)
    frames = [pl.read_parquet(config.parent / f"noisy{seed}.parquet") for seed in (1, 2)]
    row = found.row(7, named=True)
    key = {name: row[name] for name in ("geoid", "table", "cell")}
    total = sum(
        float(log_odds(frame.filter(**key)["noisy"][0] - row["known"], 0.3, 0.5))
        for frame in frames
    )
    assert row["log_odds"] == pytest.approx(total)


@pytest.mark.parametrize(
    "prior", ["uniform:200", "poisson:58", "known", "known:60", "as-published"]
)
def test_priors_on_the_siblings(config: Path, prior: str) -> None:
    run(config, f"risk.upper.prior={prior}", "risk.priors=[1/2]")
    summary = pl.read_csv(config.parent / "work" / "risk" / "summary.csv")
    mean = dict(summary.select("adversary", "posterior").iter_rows())
    assert mean["two_levels"] == pytest.approx(mean["one_level"], abs=0.1)
    assert mean["siblings_known"] > 0.5


@pytest.mark.parametrize("prior", ["uniform:6", "poisson:1.5"])
def test_siblings_one_by_one(config: Path, prior: str) -> None:
    run(config, f"risk.upper={{prior: '{prior}', siblings: each}}", "risk.priors=[1/2]")
    found = read(config)
    noisy = pl.read_parquet(config.parent / "noisy1.parquet")
    row = found.row(11, named=True)
    tract = row["geoid"][:11]
    cell = noisy.filter(table=row["table"], cell=row["cell"])
    units = cell.filter(
        pl.col("geoid").str.len_chars() == 15, pl.col("geoid").str.starts_with(tract)
    )
    units = units.sort("geoid")
    above = cell.filter(geoid=tract)["noisy"][0] - row["known"]
    counts = np.arange(7 if prior == "uniform:6" else 80)
    plain = np.zeros(len(counts)) if prior == "uniform:6" else poisson.logpmf(counts, 1.5)
    weights = np.asarray(plain, dtype=np.float64)
    added = each_sibling_evidence(
        units["noisy"].to_numpy(), np.full(len(units), above), 0.3, 0.6, weights
    )[units["geoid"].index_of(row["geoid"])]
    assert row["log_odds"] == pytest.approx(
        float(log_odds(row["noisy"] - row["known"], 0.3, 0.5)) + added, abs=1e-6
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "risk.upper={prior: flat, siblings: each}",
            "siblings: each needs the prior uniform:K or poisson:MEAN",
        ),
        ("risk.noise.block.rho=0", "rho: a number above 0 is expected, found 0"),
        ("risk.noise.block.rho=-1", "products and quotients of numbers, expected, found '-1'"),
        ("risk.noise.block.variance=9", "variance 9 and rho 0.3 disagree"),
        ("risk.noise={tract: {rho: 1}}", "noise: missing level 'block'"),
        ("risk.noise={block: {sensitivity: 1}}", "rho or variance is expected"),
        ("risk.noise={parish: {rho: 1}}", "no level 'parish'"),
        ("risk.priors=[2]", "prior: a number above 0 and below 1 is expected, found '2'"),
        (
            "risk.upper.prior=gamma",
            "poisson:MEAN, known, known:K, none or as-published",
        ),
        ("risk.truth=nothing.csv", "nothing.csv: no such file or folder"),
    ],
)
def test_wrong_settings_are_refused(config: Path, setting: str, message: str) -> None:
    assert message in run(config, setting, code=2)


def test_wrong_measurements_are_refused(config: Path) -> None:
    path = config.parent / "noisy1.parquet"
    noisy = pl.read_parquet(path)
    block = pl.col("geoid").str.len_chars() == 15

    def refused(frame: pl.DataFrame) -> str:
        frame.write_parquet(path)
        return run(config, code=4)

    unknown = noisy.with_columns(cell=pl.col("cell").replace(27, 270))
    assert "has no cell 270 of a table 'P12'" in refused(unknown)
    assert "records are in the cell, but it is not measured" in refused(noisy.filter(block))
    empty = counts().filter(pl.col("count") == 0).row(0, named=True)
    absent = (pl.col("geoid") == empty["geoid"]) & (pl.col("cell") == empty["cell"])
    assert "measured for 39 of 40 geounits below it" in refused(noisy.filter(~absent))
    assert "given twice" in refused(pl.concat([noisy, noisy.head(1)]))
    assert "variance 5, but risk.noise.block says" in refused(
        noisy.with_columns(variance=pl.when(block).then(5.0).otherwise("variance"))
    )
    group = noisy.head(1).with_columns(pl.col("geoid").str.head(12))
    assert "is of no level with noise (block, tract)" in refused(pl.concat([noisy, group]))
    assert "no column 'noisy'" in refused(noisy.drop("noisy"))


def test_a_value_that_is_no_number_is_refused(config: Path) -> None:
    noisy = pl.read_parquet(config.parent / "noisy1.parquet").with_columns(
        pl.col("noisy").cast(str)
    )
    word = noisy.with_columns(noisy=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("many")))
    word.with_columns(pl.col("noisy").fill_null(noisy["noisy"])).write_csv(
        config.parent / "noisy.csv"
    )
    said = run(config, f"risk.measurements=[{config.parent / 'noisy.csv'}]", code=4)
    assert "noisy.csv: a number is expected in every count" in said
    assert "many" not in said, "a value is no word of a message"
    truth = counts().with_columns(pl.col("count").cast(str).replace("1", "one"))
    truth.write_csv(config.parent / "truth.csv")
    assert "truth.csv: a number is expected in every count" in run(config, code=4)


def test_the_uniform_prior_is_of_all_files_and_partitions(config: Path) -> None:
    path = config.parent / "noisy2.parquet"
    noisy = pl.read_parquet(path)
    more = noisy.filter(pl.col("cell") == 27, pl.col("geoid").str.starts_with("01001"))
    pl.concat([noisy, more.with_columns(cell=pl.lit(28, pl.Int64))]).write_parquet(path)
    for order in ((1, 2), (2, 1)):
        files = ",".join(str(config.parent / f"noisy{seed}.parquet") for seed in order)
        run(config, f"risk.measurements=[{files}]", "risk.priors=[uniform]")
        assert set(read(config)["prior"]) == {1 / 4}


def test_expected_before_a_release() -> None:
    result = recon(
        *("plan", "risk", "expected", "--rho", "block=2.56*165/4099*3945/4097"),
        *("--rho", "obg=0.2465", "--prior", "1/2", "--rho-grid", "0.1:1:log"),
    )
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["0.09923", "one", "level", "0.5", "0.5237", "1.047", "0.5889", "0"] in lines
    assert len(lines) == 1 + 5 * 14
    for word, message in (
        ("block=0", "found 0"),
        ("0.3", "LEVEL=RHO is expected"),
        ("block=1/10000000000000000000", "choose a greater --rho"),
    ):
        assert message in recon("plan", "risk", "expected", "--rho", word, code=2).stderr


def test_expected_of_a_known_count_above() -> None:
    result = recon("plan", "risk", "expected", "--rho", "block=0.0992", "--rho", "obg=0.2465")
    found = expected_known_upper(TwoLevels(0.0992, 0.2465, 27), 0.5, siblings=0)
    [row] = [line.split() for line in result.stdout.splitlines() if "known upper" in line]
    assert row[3:] == ["0.5", *(f"{x:.4g}" for x in (found.posterior, found.ratio))] + [
        f"{x:.4g}" for x in (found.correct, found.tied)
    ]
