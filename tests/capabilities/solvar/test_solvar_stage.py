"""`recon solvar` as a user runs it: shipped releases, real tracts, budgets, disagreements."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.score.variability import (
    cumulative_solvar,
    solvar_percentiles,
    variability_by_size,
)
from recon_cli.capabilities.solvar import batch
from recon_cli.errors import DisagreementError
from recon_cli.page.sizes import Sizes
from recon_cli.solve import ends
from tests.support.command_line import recon
from tests.support.paths import DATA, ROOT, needs_shared


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("clinic")
    recon("run", "--until", "reconstruct", "-c", ROOT / "configs" / "clinic.yaml", "--work", work)
    return work


@pytest.fixture(scope="module")
def reconstructed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder of the toy county."""
    work = tmp_path_factory.mktemp("toy")
    recon("run", "--until", "reconstruct", "-c", ROOT / "configs" / "toy.yaml", "--work", work)
    return work


@pytest.fixture
def toy(reconstructed: Path, tmp_path: Path) -> tuple[object, ...]:
    """Options of a run of the toy county, in a work folder of the test's own."""
    shutil.copytree(reconstructed, tmp_path, dirs_exist_ok=True)
    return ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path)


def test_tract_equalities_leave_no_more_solutions_than_tract_bounds(
    toy: tuple[object, ...], tmp_path: Path
) -> None:
    modes = {}
    for mode in ("relaxed", "exact"):
        recon("solvar", "--mode", mode, *toy)
        modes[mode] = read(tmp_path / "solvar").sort("geoid_block")
    relaxed, exact = modes["relaxed"], modes["exact"]
    assert set(exact["status"]) == {"proven"}
    assert (exact["solvar_pct"] <= relaxed["solvar_upper_pct"] + 1e-9).all()
    assert (exact["certain_records"] >= relaxed["certain_records"]).all()
    assert exact["certain_records"].sum() > relaxed["certain_records"].sum()
    # the run's own seed orders units of equal solvar
    written = (tmp_path / "solvar" / "percentiles.csv").read_text()
    assert written == solvar_percentiles(exact, seed=1).write_csv(float_precision=4)
    assert written != solvar_percentiles(exact, seed=0).write_csv(float_precision=4)


@pytest.mark.parametrize("mode", ["relaxed", "exact"])
def test_both_modes_on_a_release_that_is_not_a_census(clinic: Path, mode: str) -> None:
    shared = ("-c", ROOT / "configs" / "clinic.yaml", "--work", clinic, "--mode", mode)
    settings = ("--set", "solvar.diameter=true", "--set", "solvar.unit_seconds=0.05")
    assert "solvar: done" in recon("solvar", *shared, *settings).output
    units = read(clinic / "solvar")
    assert units["population"].sum() == 900
    assert "proven" in set(units["status"])
    assert (units["solvar_pct"] <= units["diameter_pct"] + 1e-9).all()
    assert (units["diameter_upper_pct"] <= 2 * units["solvar_upper_pct"] + 1e-9).all()
    intervals = read(clinic / "intervals")
    columns = ["gender", "ageband", "insurance", "smoker", "conditions"]
    assert intervals.columns == ["geoid_clinic", *columns, "lower", "upper", "exact"]
    certain = intervals.group_by("geoid_clinic").agg(pl.col("lower").sum())
    joined = units.join(certain, on="geoid_clinic", how="left")
    assert (joined["certain_records"] == joined["lower"].fill_null(0)).all()
    flags, records = read(clinic / "certainty"), read(clinic / "microdata")
    assert flags.drop("certain").equals(records.select("geoid_clinic", *columns))
    assert flags["certain"].sum() == units["certain_records"].sum()
    assert (flags["certain"] >= records["certain"]).all()
    found = (
        read(clinic / "microdata")
        .group_by("geoid_clinic", *columns)
        .len()
        .join(intervals, on=["geoid_clinic", *columns], how="left", nulls_equal=True)
    )
    assert (found["len"] <= found["upper"]).all()
    assert (found["len"] >= found["lower"]).all()
    assert len(read(clinic / "regions")) == (3 if mode == "exact" else 0)
    assert "up to date" in recon("solvar", *shared, *settings).output


def test_what_the_budget_does_not_prove_is_an_interval(clinic: Path) -> None:
    shared = ("-c", ROOT / "configs" / "clinic.yaml", "--work", clinic)
    recon("solvar", *shared, "--set", "solvar.unit_seconds=0.1")
    proven = read(clinic / "solvar").filter(status="proven")
    recon("solvar", *shared, "--set", "solvar.total_seconds=0.000000001")
    units = read(clinic / "solvar")
    assert "bounded" in set(units["status"])
    assert (units.filter(status="bounded")["solvar_upper_pct"] > 0).all()
    units = units.filter(pl.col("geoid_clinic").is_in(proven["geoid_clinic"].implode()))
    assert len(units) == len(proven) > 6
    assert (units["solvar_pct"] <= proven["solvar_pct"] + 1e-9).all()
    assert (units["solvar_upper_pct"] >= proven["solvar_pct"] - 1e-9).all()
    assert (units["certain_records"] <= proven["certain_upper"]).all()
    assert (units["certain_upper"] >= proven["certain_records"]).all()


def test_a_disagreement_is_loud_and_keeps_the_model(
    toy: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disagree(*_: object) -> None:
        raise DisagreementError("the engines differ", json.dumps({"lower": [0]}))

    monkeypatch.setattr(batch, "reach_in_blocks", lambda *_, **__: None)  # leaves all to engines
    monkeypatch.setattr(ends, "confirm_infeasible", disagree)
    message = recon("solvar", *toy, code=8).output
    assert "the engines differ" in message
    assert "tract" in message
    (kept,) = (tmp_path / "disagreements").glob("*.json")
    assert str(kept) in message
    assert json.loads(kept.read_text()) == {"lower": [0]}
    assert not (tmp_path / "solvar").exists()


def test_a_second_engine_without_time_bounds_and_proves_no_zero(
    toy: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recon("solvar", *toy)
    confirmed = read(tmp_path / "solvar").sort("geoid_block")
    certain = read(tmp_path / "intervals")
    monkeypatch.setattr(batch, "reach_in_blocks", lambda *_, **__: None)  # leaves all to engines
    monkeypatch.setattr(batch, "CONFIRMATION", 0.0)
    monkeypatch.setattr(ends, "_CONFIRMATION", 0.0)
    recon("solvar", *toy, "--force")
    bounded = read(tmp_path / "solvar").sort("geoid_block")
    by_solver = bounded.filter(pl.col("method") == "solver")
    assert by_solver.height > 0
    assert (by_solver["solvar_upper_pct"] > 0).all()
    assert (bounded["solvar_upper_pct"] >= confirmed["solvar_upper_pct"]).all()
    assert (bounded["certain_records"] <= confirmed["certain_records"]).all()
    assert (bounded["certain_upper"] >= bounded["certain_records"]).all()
    assert read(tmp_path / "intervals")["exact"].sum() < certain["exact"].sum()


@needs_shared
def test_real_tracts_have_no_variability_with_tract_tables(tmp_path: Path) -> None:
    paths = ", ".join(str(path) for path in sorted((DATA / "sf1").glob("*.zip")))
    config = tmp_path / "recon.yaml"
    config.write_text(
        "release: sf1_2010\nwork: bt\n"
        f"ingest: {{source: sf1-legacy, paths: [{paths}]}}\nreconstruct: {{tables: block+tract}}\n"
    )
    recon("run", "-c", config)
    recon("solvar", "-c", config)
    units = read(tmp_path / "bt" / "solvar")
    assert units["population"].sum() == units["certain_records"].sum() == 20_969
    assert (units["solvar_upper_pct"] == 0).all()
    assert set(units["status"]) == {"proven"}
    assert read(tmp_path / "bt" / "certainty")["certain"].sum() == 20_969

    recon("reconstruct", "-c", config, "--work", tmp_path / "bt", "--tables", "block")
    recon("solvar", "-c", config)
    units = read(tmp_path / "bt" / "solvar")
    assert units.filter(pl.col("solvar_pct") > 0).height == 16
    assert set(units["status"]) == {"proven"}


def units_frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "geoid_block": ["a", "b", "c", "d"],
            "population": [5, 20, 75, 0],
            "solvar_pct": [0.0, 10.0, 20.0, 0.0],
            "solvar_upper_pct": [0.0, 10.0, 40.0, 0.0],
            "certain_records": [5, 10, 30, 0],
            "uniques": [5, 4, 3, 0],
            "status": ["proven", "proven", "bounded", "proven"],
        }
    )


def test_result_tables() -> None:
    units = units_frame()
    assert cumulative_solvar(units) == (17.0, 32.0)
    table = solvar_percentiles(units)
    assert (table["lowest_solvar_pct"] <= table["solvar_pct"]).all()
    assert (table["lowest_solvar_pct"][1:] >= table["solvar_pct"][:-1]).all()
    assert table["population"].sum() == 100
    assert table.row(-1) == (100, 40.0, 40.0, 80.0, 0, 100, 32.0, 64.0)
    at_35 = table.filter(percentile=35).row(0, named=True)
    assert (at_35["solvar_pct"], at_35["cumulative_population"]) == (10.0, 25)
    by_size = variability_by_size(units, Sizes((1, 10, 50)))
    assert by_size["size"].to_list() == ["All", "1-9", "10-49", "50+"]
    everything = by_size.row(0, named=True)
    assert everything["unique_pct"] == 12.0
    assert everything["zero_solvar_units"] == 1
    assert everything["zero_solvar_population_pct"] == 5.0
    assert everything["certain"] == 45
    assert everything["certain_elsewhere"] == 40
    assert everything["unproven_units"] == 1
    uncounted = variability_by_size(units.with_columns(uniques=None), Sizes((1, 10, 50)))
    assert uncounted["unique"].null_count() == uncounted["unique_pct"].null_count() == 4


def test_percentiles_break_ties_at_random_but_repeatably() -> None:
    units = pl.DataFrame(
        {
            "geoid_block": [f"{n:04d}" for n in range(2000)],
            "population": range(1, 2001),
            "solvar_pct": 0.0,
            "solvar_upper_pct": 0.0,
        }
    )
    table = solvar_percentiles(units)
    assert table.equals(solvar_percentiles(units.sample(fraction=1.0, shuffle=True, seed=1)))
    # in order of geoids the first twentieth would have 5,050 people, a mean one has 100,050
    assert 70_000 < table["population"][0] < 130_000
    assert table["population"].sum() == units["population"].sum()
    assert not table.equals(solvar_percentiles(units, seed=1))
