"""`recon protect noise`: from records to noisy measurements that `recon ingest` reads."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")
STRATEGY = """
strategy: clinic
rho: 2
queries: {total: [], by_age: [ageband, gender], payer: [insurance]}
levels:
  clinic: {share: 1/2, queries: {total: 1/10, by_age: 9/10}}
  district: {share: 1/2, queries: {total: 1/2, payer: 1/2}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    records = random_records(CLINIC, 5, 80, random_units(CLINIC, 5, 4))
    records.write_csv(tmp_path / "patients.csv")
    (tmp_path / "strategy.yaml").write_text(STRATEGY)
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nseed: 3\n"
        "noise: {study_seed: 3, records: patients.csv, strategy: strategy.yaml}\n"
    )
    return tmp_path / "run.yaml"


def test_measurements_are_a_publication_of_the_queries(config: Path) -> None:
    work = config.parent / "work"
    printed = recon("protect", "noise", "-c", config).stdout
    assert "ρ 2.0000, ε 15.57 at δ 1e-10" in printed
    counts = pl.read_parquet(work / "noisy/**/*.parquet", hive_partitioning=False)
    units = pl.read_csv(config.parent / "patients.csv", infer_schema=False)["geoid_clinic"]
    clinics, districts = units.n_unique(), units.str.head(3).n_unique()
    assert counts.height == clinics * (1 + 15) + districts * (1 + 3)
    assert (counts["count"] < 0).any()
    accuracy = pl.read_parquet(work / "private/noise/accuracy/accuracy.parquet")
    cells = accuracy.filter(level="clinic", table="by_age", size="All").row(0, named=True)
    assert cells["rmse"] == pytest.approx((1 / 0.9) ** 0.5, rel=0.4)
    declared = yaml.safe_load((work / "noisy/protection.yaml").read_text())
    law = {"gaussian": {"variance": 1.111111111112}}
    assert {"tables": ["by_age"], "levels": ["clinic"], "law": law} in declared["statements"]
    recon("ingest", "--work", work, "--set", f"release={work / 'noisy/release.yaml'}",
          "--set", f"ingest.paths=[{work / 'noisy'}]", "--set", "ingest.source=tidy",
          "--set", "ingest.absent=zero")  # fmt: skip
    tables = pl.read_parquet(work / "tables/**/*.parquet", hive_partitioning=False)
    assert tables["high"].null_count() == tables.height
    assert "up to date" in recon("protect", "noise", "-c", config).stdout


def test_workers_and_order_change_nothing(config: Path) -> None:
    recon("protect", "noise", "-c", config, "--workers", "1")
    recon("protect", "noise", "-c", config, "--workers", "2", "--work", config.parent / "other")
    frames = [
        pl.read_parquet(config.parent / work / "noisy/**/*.parquet", hive_partitioning=False)
        for work in ("work", "other")
    ]
    assert frames[0].equals(frames[1])


def test_tables_of_the_release_are_measured_as_they_are(config: Path) -> None:
    table = CLINIC.tables[0]
    level = CLINIC.finest_level(table).name
    (config.parent / "strategy.yaml").write_text(
        f"strategy: tables\nmechanism: geometric\nepsilon: 3\nneighbours: add-or-remove\n"
        f"queries: {{q: {table.name}}}\nlevels: {{{level}: {{queries: {{q: 1}}}}}}\n"
    )
    printed = recon("protect", "noise", "-c", config).stdout
    assert "ε 3.00" in printed
    assert "one record more or less" in printed
    folder = config.parent / "work/noisy"
    assert not (folder / "release.yaml").exists()
    assert "geometric" in (folder / "protection.yaml").read_text()


def test_units_without_records_are_measured_too(config: Path) -> None:
    known = pl.read_csv(config.parent / "patients.csv", infer_schema=False)["geoid_clinic"]
    listed = [*known.unique().sort(), "001999", "999001"]
    (config.parent / "all.csv").write_text("\n".join(["geoid_clinic", *listed, ""]))
    recon("protect", "noise", "-c", config, "--set", f"noise.geounits={config.parent / 'all.csv'}",
          "--workers", "1")  # fmt: skip
    counts = pl.read_parquet(config.parent / "work/noisy/**/*.parquet", hive_partitioning=False)
    assert sorted(set(counts["geoid"])) == sorted({*listed, *(each[:3] for each in listed)})
    for geoid in ("001999", "999001"):
        assert (counts["geoid"] == geoid).sum() == 16


def test_a_list_that_lacks_units_with_records_is_refused(config: Path) -> None:
    (config.parent / "all.csv").write_text("geoid_clinic\n001999\n")
    given = ("--set", f"noise.geounits={config.parent / 'all.csv'}", "--workers", "1")
    message = recon("protect", "noise", "-c", config, *given, code=4).stderr
    assert "with records are not listed, the first" in message


@pytest.mark.parametrize(
    ("setting", "message", "code"),
    [
        ("noise.levels=[country]", "'country' is no level", 2),
        ("noise.strategy=dhc_2020", "dhc_2020.yaml: queries.age_type: recodes.age3.edges: 0", 2),
        ("noise.strategy=nothing", "no strategy 'nothing'", 2),
        ("noise.geounits=nowhere.csv", "no such file", 4),
    ],
)
def test_what_does_not_fit_is_named(config: Path, setting: str, message: str, code: int) -> None:
    result = recon("protect", "noise", "-c", config, "--set", setting, code=code)
    assert message in result.stderr
