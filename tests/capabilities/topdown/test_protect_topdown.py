"""`recon protect topdown`: from records to other records."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.schema import load_release
from tests.capabilities.topdown.test_topdown import COARSE, FINE, STRATEGY
from tests.support.command_line import recon
from tests.support.populations import random_records, random_units

CLINIC = load_release("clinic_visits")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    records = random_records(CLINIC, 5, 200, random_units(CLINIC, 5, 8))
    records.write_csv(tmp_path / "patients.csv")
    for name, queries in (("coarse", COARSE), ("fine", FINE)):
        text = STRATEGY.format(name=name, rho="2", queries=queries)
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "run.yaml").write_text(
        "release: clinic_visits\nwork: work\nseed: 3\n"
        "topdown: {study_seed: 3, records: patients.csv, strategies: [coarse.yaml, fine.yaml]}\n"
    )
    return tmp_path / "run.yaml"


def microdata(work: Path) -> pl.DataFrame:
    return pl.read_parquet(work / "mdf/**/*.parquet", hive_partitioning=False)


@pytest.mark.parametrize("levels", ["[nation, district, clinic]", "[clinic]"])
def test_records_are_the_same_for_any_number_of_workers(config: Path, levels: str) -> None:
    folder = config.parent
    setting = ("--set", f"topdown.levels={levels}")
    printed = recon("protect", "topdown", "-c", config, "--workers", "1", *setting).stdout
    assert "fine" in printed
    assert "one record changed" in printed
    recon("protect", "topdown", "-c", config, "--workers", "2", "--work", folder / "two", *setting)
    one, two = microdata(folder / "work"), microdata(folder / "two")
    assert one.equals(two)
    assert one.height > 50
    recon("data", "tabulate", "-c", config, "--set", f"tabulate.records={folder / 'work/mdf'}",
          "--to", folder / "mdf.study.parquet")  # fmt: skip


def test_two_strategies_of_one_name_are_refused(config: Path) -> None:
    """They would share all noise of the queries of one name."""
    again = config.with_name("again.yaml")
    again.write_text(STRATEGY.format(name="fine", rho="6", queries=FINE))
    given = f"topdown.strategies=[{config.with_name('fine.yaml')}, {again}]"
    said = recon("protect", "topdown", "-c", config, "--set", given, code=2).stderr
    assert "two are named 'fine', and noise is drawn by name" in " ".join(said.split())
    assert not (config.parent / "work" / "mdf").exists()


def test_an_invariant_is_exact(config: Path) -> None:
    recon("protect", "topdown", "-c", config, "--workers", "1", "--set",
          "topdown.invariant={query: total, levels: [nation, district]}")  # fmt: skip
    truth = pl.read_csv(config.parent / "patients.csv", infer_schema=False)
    counts = [
        frame.group_by(pl.col("geoid_clinic").str.head(3)).len().sort("geoid_clinic").rows()
        for frame in (truth, microdata(config.parent / "work"))
    ]
    assert counts[0] == counts[1]


def test_a_query_is_exact_at_all_levels(config: Path) -> None:
    recon("protect", "topdown", "-c", config, "--workers", "1", "--set",
          "topdown.invariant={query: total, levels: all}")  # fmt: skip
    truth = pl.read_csv(config.parent / "patients.csv", infer_schema=False)
    made = microdata(config.parent / "work")
    by_clinic = [f.group_by("geoid_clinic").len().sort("geoid_clinic") for f in (truth, made)]
    assert by_clinic[0].equals(by_clinic[1])


def test_levels_that_end_above_the_unit_spend_nothing_below(config: Path) -> None:
    home = config.parent
    level = ("--set", "topdown.levels=[nation, district]")
    said = recon("protect", "topdown", "-c", config, "--workers", "1", *level).stdout
    assert "districts with" in said
    made = microdata(home / "work")
    assert set(made["geoid_clinic"].str.len_chars()) == {3}  # no more than the district is said
    whole = recon("protect", "topdown", "-c", config, "--work", home / "whole").stdout
    rho = [float(text.split("ρ ")[1].split(",")[0]) for text in (said, whole)]
    assert rho[0] < rho[1]
    records = f"tabulate.records={home / 'work/mdf'}"
    to = ("--to", home / "mdf.study.parquet", "--set", records)
    recon("data", "tabulate", "-c", config, *to, "--set", "tabulate.levels=[district]")
    counts = pl.read_parquet(home / "mdf.study.parquet")
    assert set(counts["geoid"].str.len_chars()) == {3}
    one = counts["table"].unique().sort()[0]
    assert counts.filter(table=one)["count"].sum() >= len(made)
    refused = recon("data", "tabulate", "-c", config, *to, code=4).stderr
    assert "not a geoid of level 'clinic'" in refused


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("topdown.levels=[nation]", "'district' is missing"),
        ("topdown.strategies=[fine.yaml, coarse.yaml]", "'coarse' tells less apart than 'fine'"),
        ("topdown.strategies=coarse.yaml", "does not tell all values of 'gender' apart"),
        ("topdown.levels=[nation, clinic]", "'district' is missing"),
        ("topdown.levels=[clinic, district]", "the last must be 'clinic'"),
        ("topdown.invariant={query: colour, levels: [nation]}", "has no query 'colour'"),
        ("topdown.invariant={query: total, levels: [district]}", "expected the first of"),
    ],
)
def test_what_does_not_fit_is_named(
    config: Path, setting: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    assert message in recon("protect", "topdown", "-c", config, "--set", setting, code=2).stderr
