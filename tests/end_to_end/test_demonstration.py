"""A demonstration file, as published, is linked, attacked, scored and compared by configs alone."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import polars as pl
import pytest

from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.demonstration import persons_as_published, units_as_published
from tests.support.paths import ROOT
from tests.support.populations import random_records, random_units


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped configs beside 400 made-up people, and files in which every fourth moved."""
    home = tmp_path_factory.mktemp("demonstration")
    files = home / "demonstration"
    files.mkdir()
    shutil.copytree(ROOT / "configs", home / "configs")
    recon(
        *("data", "synth", "-q", "--work", home / "made", "--set", "release=sf1_2010"),
        *("--set", "synth.people=400", "--set", "seed=3"),
    )
    persons = pl.read_parquet(home / "made" / "persons" / "**" / "*.parquet")
    units = pl.read_parquet(home / "made" / "households" / "**" / "*.parquet")
    persons.write_parquet(files / "truth.parquet")
    units.write_parquet(files / "true_units.parquet")
    _packed(persons_as_published(_moved(persons)), files / "persons.csv.gz")
    _packed(units_as_published(_moved(units)), files / "units.csv.gz")
    return home


def _moved(records: pl.DataFrame) -> pl.DataFrame:
    """Move every fourth record to the place of the one four before."""
    place, at = pl.col("geoid_block"), pl.int_range(pl.len())
    return records.with_columns(pl.when(at % 4 == 0).then(place.shift(4)).otherwise(place)).filter(
        pl.col("geoid_block").is_not_null()
    )


def _packed(frame: pl.DataFrame, path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("# made up, in the layout of 2023\n")
        file.write(frame.write_csv(separator="|"))


@pytest.mark.parametrize(
    ("config", "tables"), [("demonstration", "rMDF_bt"), ("demonstration_units", "rMDF_b")]
)
def test_linked_scored_and_compared_by_configs_alone(home: Path, config: str, tables: str) -> None:
    recon("run", "-q", "-c", home / "configs" / f"{config}.yaml", "--workers", "1")
    work = home / "work" / config
    rates = pl.read_parquet(work / "score" / "rates.parquet")
    agreement = rates.filter(rate="agree_binned", block_size="All", against="CEF")
    found = dict(agreement.select("source", "pct").iter_rows())
    assert 50 < found["MDF"] < 100
    assert abs(found["MDF"] - found[tables]) < 10
    compared = pl.read_parquet(work / "comparison" / "comparison.parquet")
    rows = {row["name"]: row for row in compared.iter_rows(named=True)}
    assert rows["none"]["unit_error"] == 0 < rows["demonstration"]["unit_error"]
    assert rows["demonstration"]["agreement"] is None or (
        abs(rows["demonstration"]["agreement"] - found[tables]) < 10
    )


def test_what_a_layout_says_of_a_unit_is_what_its_tables_count(home: Path) -> None:
    truth = pl.read_parquet(home / "demonstration" / "true_units.parquet")
    _packed(units_as_published(truth), home / "whole.csv.gz")
    made = []
    for name, layout in (("whole.csv.gz", "mdf_units"), ("demonstration/true_units.parquet", None)):
        config = home / "tabulate.yaml"
        records = f"{{path: {name}, layout: {layout}}}" if layout else name
        config.write_text(
            f"release: dhc_2020_households\ntabulate: {{records: {records}, to: counts.parquet}}\n"
        )
        recon("data", "tabulate", "-q", "-c", config)
        made.append(pl.read_parquet(home / "counts.parquet").sort("geoid", "table", "cell"))
    assert made[0].equals(made[1])
    assert made[0]["count"].sum() > truth.height


def test_persons_of_the_detailed_product_are_those_of_their_tables(home: Path) -> None:
    release = load_release("dhc_2020")
    people = random_records(release, 3, 60, random_units(release, 3, 4))
    people.write_parquet(home / "people.parquet")
    persons_as_published(people).write_csv(home / "persons.csv")
    made = []
    for records in ("people.parquet", "{path: persons.csv, layout: mdf_2010}"):
        (home / "tabulate.yaml").write_text(
            f"release: dhc_2020\ntabulate: {{records: {records}, to: counts.parquet}}\n"
        )
        recon("data", "tabulate", "-q", "-c", home / "tabulate.yaml")
        made.append(pl.read_parquet(home / "counts.parquet").sort("geoid", "table", "cell"))
    assert made[0].equals(made[1])
    assert made[0].filter(table="P18")["count"].sum() > 0


def test_an_id_cannot_have_a_name_of_our_own(home: Path) -> None:
    truth = pl.read_parquet(home / "demonstration" / "true_units.parquet")
    truth.rename({"household": "unit"}).write_parquet(home / "renamed.parquet")
    config = home / "configs" / "demonstration_units.yaml"
    given = ("--work", home / "work" / "renamed", "--set", "link.id=unit")
    where = ("--set", f"link.cef={home / 'renamed.parquet'}", "--set", "link.guessers={}")
    files = ("--set", f"link.sources={{MDF: {home / 'renamed.parquet'}}}")
    found = recon("link", "-c", config, *given, *where, *files, code=4).output
    assert "column 'unit' has a name that linking uses itself" in " ".join(found.split())


def test_what_was_published_is_not_protected_again(home: Path) -> None:
    config = home / "configs" / "demonstration.yaml"
    key = "compare.protections.demonstration.swap={setting: lo}"
    assert "one protection each" in recon("compare", "-c", config, "--set", key, code=2).output
    twice = "[{published: {path: a.csv}}, {round: {}}]"
    key = f"compare.protections.demonstration={twice}"
    found = recon("compare", "-c", config, "--set", key, code=2).output
    assert "only coarser may follow" in " ".join(found.split())


def test_a_compressed_file_for_study_stays_one(home: Path) -> None:
    shutil.copy(home / "demonstration" / "persons.csv.gz", home / "persons.study.csv.gz")
    config = home / "tabulate.yaml"
    config.write_text(
        "release: sf1_2010\ntabulate:\n  records: {path: persons.study.csv.gz, layout: mdf_2010}\n"
        "  to: counts.parquet\n"
    )
    assert ".study.parquet" in recon("data", "tabulate", "-c", config, code=2).output
