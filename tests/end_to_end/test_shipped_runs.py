"""The shipped fixtures and configs, as a newcomer runs them, in every mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.paths import ROOT


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


@pytest.mark.parametrize(
    ("config", "tables", "people"),
    [
        ("toy", "block", 2015),
        ("toy", "block+tract", 2015),
        ("toy", "P1,P9,P12", 2015),
        ("toy", "P12,PCT12", 2015),
        ("clinic", "clinic", 900),
        ("clinic", "clinic+district", 900),
        ("clinic", "PATIENTS,DECADES", 900),
    ],
)
def test_every_selection_of_tables(tmp_path: Path, config: str, tables: str, people: int) -> None:
    shared = ("-c", ROOT / "configs" / f"{config}.yaml", "--work", tmp_path)
    recon("ingest", *shared)
    recon("reconstruct", *shared, "--tables", tables)
    assert "every published cell" in recon("verify", *shared).output
    microdata = read(tmp_path / "microdata")
    assert len(microdata) == people
    release = load_release("sf1_2010" if config == "toy" else "clinic_visits")
    assert microdata.columns == [release.geoid_column, *release.microdata, "certain"]


def test_features_that_no_table_sees_stay_unknown(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path)
    recon("ingest", *shared)
    recon("reconstruct", *shared, "--tables", "P12,PCT12")
    microdata = read(tmp_path / "microdata")
    assert microdata["race"].null_count() == len(microdata)
    assert microdata["age"].null_count() == 0
    assert not microdata["certain"].any(), "nobody is certain when race is not known"
    assert set(read(tmp_path / "blocks").filter(pl.col("population") > 0)["status"]) == {"solved"}


def test_workers_do_not_change_a_byte(tmp_path: Path) -> None:
    for workers in ("1", "2"):
        shared = ("-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path / workers)
        recon("run", *shared, "--until", "reconstruct", "--workers", workers)
    one, two = (
        {p.relative_to(tmp_path / w): p.read_bytes() for p in (tmp_path / w).rglob("*.parquet")}
        for w in ("1", "2")
    )
    assert one == two
    assert len(one) == 4 * 3  # four folders, three districts


def test_seed_decides_among_solutions_and_all_of_them_verify(tmp_path: Path) -> None:
    results = []
    for seed in ("1", "2"):
        shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path / seed)
        recon("ingest", *shared)
        recon("reconstruct", *shared, "--set", f"reconstruct.seed={seed}")
        recon("verify", *shared)
        results.append(read(tmp_path / seed / "microdata"))
    assert not results[0].equals(results[1])
    certain = [result.filter("certain").drop("certain", "age") for result in results]
    assert certain[0].sort(certain[0].columns).equals(certain[1].sort(certain[1].columns))


def test_tabulated_records_ingest_as_the_same_release(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "toy.yaml")
    recon("run", *shared, "--until", "reconstruct", "--work", tmp_path / "first")
    recon("data", "tabulate", *shared, "--work", tmp_path / "first", "--to", tmp_path / "again.csv")
    source = f"ingest={{source: tidy, paths: [{tmp_path / 'again.csv'}]}}"
    recon("ingest", *shared, "--work", tmp_path / "second", "--set", source)
    order = ["geoid", "table", "cell"]
    counts = [read(tmp_path / run / "tables").sort(order) for run in ("first", "second")]
    assert counts[0].equals(counts[1])


def test_a_wrong_record_is_found_by_verify(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path)
    recon("run", *shared, "--until", "reconstruct")
    release = load_release("sf1_2010")
    microdata = read(tmp_path / "microdata")
    changed = microdata.with_columns(
        hispanic=pl.when(pl.int_range(pl.len()) == 0)
        .then(~pl.col("hispanic"))
        .otherwise(pl.col("hispanic"))
    )
    published, found = tabulate(release, microdata), tabulate(release, changed)
    assert len(published.join(found, on=published.columns, how="anti")) > 0
    part = next((tmp_path / "microdata").rglob("*.parquet"))
    changed.write_parquet(part)
    message = recon("verify", *shared, code=5).output
    assert "microdata" in message


def test_contradicting_counts_are_named_and_nothing_is_published(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path / "run")
    counts = pl.read_csv(
        ROOT / "fixtures" / "clinic_visits.csv", schema_overrides={"geoid": pl.String}
    )
    at = counts.with_row_index().filter(
        (pl.col("geoid") == "D02003") & (pl.col("table") == "SMOKERS") & (pl.col("cell") == 2)
    )
    assert len(at) == 1
    wrong = counts.with_columns(
        count=pl.when(pl.int_range(pl.len()) == at["index"][0])
        .then(pl.col("count") + 2)
        .otherwise(pl.col("count"))
    )
    wrong.write_csv(tmp_path / "wrong.csv")
    recon("ingest", *shared, "--set", f"ingest.paths=[{tmp_path / 'wrong.csv'}]")
    message = recon("reconstruct", *shared, code=6).output
    count = at["count"][0]
    assert "clinic D02003 table SMOKERS cell 2 (SMK-002, " in message
    assert f"{count + 2} → {count}" in message
    assert (tmp_path / "run" / "tables").is_dir()
    assert not (tmp_path / "run" / "microdata").exists()
    assert not (tmp_path / "run" / "blocks").exists()


@pytest.mark.parametrize(
    ("script", "names", "made"),
    [
        ("make_fixtures.py", [], ["toy2010.sf1.zip", "clinic_visits.csv"]),
        (
            "make_hospital.py",
            ["hospital/stays.yaml"],
            [f"hospital/{name}.csv" for name in ("stays", "names", "tables", "suppressed/tables")],
        ),
    ],
)
def test_fixtures_are_reproducible(
    script: str, names: list[str], made: list[str], tmp_path: Path
) -> None:
    """``names``: what the script reads beside itself."""
    (tmp_path / "hospital" / "suppressed").mkdir(parents=True)
    for name in (script, *names):
        (tmp_path / name).write_bytes((ROOT / "fixtures" / name).read_bytes())
    subprocess.run([sys.executable, script], check=True, capture_output=True, cwd=tmp_path)
    for name in made:
        assert (tmp_path / name).read_bytes() == (ROOT / "fixtures" / name).read_bytes()
