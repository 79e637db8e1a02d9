"""An attacker's file in its own words: headers, codes, identifiers; mistakes are errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from recon_cli.schema import load_release
from recon_cli.store import partitions, read_partition
from tests.support.command_line import recon
from tests.support.populations import random_records
from tests.support.workbooks import workbook

CODES = {"gender": {"woman": "1", "man": "2", "nonbinary": "3"}}
TRANSLATED = {
    "columns": {"Clinic": "geoid_clinic", "Sex": "gender", "Years": "age"},
    "values": {"gender": {1: "woman", 2: "man", 3: "nonbinary"}},
    "id": "Card",
}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A truth, and what an attacker holds of it: the same people with other headers and codes."""
    folder = tmp_path_factory.mktemp("hospital")
    truth = random_records(load_release("clinic_visits"), 3, 300)
    truth = truth.with_columns(patient=pl.format("p{}", pl.int_range(pl.len())))
    truth.write_parquet(folder / "truth.parquet")
    held = truth.select("geoid_clinic", "gender", "age", "patient")
    held.write_csv(folder / "plain.csv")
    other = held.select(
        pl.col("patient").alias("Card"),
        pl.col("geoid_clinic").alias("Clinic"),
        pl.col("gender").replace_strict(CODES["gender"]).alias("Sex"),
        pl.col("age").alias("Years"),
    )
    other.write_csv(folder / "bought.csv")
    other.write_csv(folder / "semicolons.csv", separator=";")
    other.with_columns(pl.col("Sex").cast(pl.Float64)).write_parquet(folder / "bought.parquet")
    (folder / "bought.xlsx").write_bytes(workbook(other))
    other.with_columns(Sex=pl.lit("F")).write_csv(folder / "odd.csv")
    other.with_columns(Card=pl.format("0{}", "Card")).write_csv(folder / "ids.csv")
    moved = pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.lit("999")).otherwise("Clinic")
    other.with_columns(Clinic=moved).write_csv(folder / "away.csv")
    return folder


def link(hospital: Path, work: Path, attacker: Any, code: int = 0) -> str:
    """The output of `recon link` with one attacker, called X."""
    config = {
        "release": "clinic_visits",
        "work": str(work),
        "link": {"cef": "truth.parquet", "id": "patient", "attackers": {"X": attacker}},
    }
    path = hospital / f"{work.name}.yaml"
    path.write_text(yaml.safe_dump(config))
    return " ".join(recon("link", "-c", path, code=code).output.split())


def links(work: Path) -> pl.DataFrame:
    found = [read_partition(work / "links", name) for name in partitions(work / "links")]
    return pl.concat(found).sort(pl.all())


@pytest.mark.parametrize("name", ["bought.csv", "semicolons.csv", "bought.parquet", "bought.xlsx"])
def test_a_translated_file_links_like_the_same_file_in_the_releases_words(
    hospital: Path, tmp_path: Path, name: str
) -> None:
    link(hospital, tmp_path / "plain", "plain.csv")
    link(hospital, tmp_path / "other", {"path": name, **TRANSLATED})
    expected = links(tmp_path / "plain")
    assert expected.height > 250
    assert links(tmp_path / "other").equals(expected)


def test_another_translation_makes_the_links_again(hospital: Path, tmp_path: Path) -> None:
    link(hospital, tmp_path / "work", {"path": "bought.csv", **TRANSLATED})
    turned = {**TRANSLATED, "values": {"gender": {"1": "man", "2": "woman", "3": "nonbinary"}}}
    assert "up to date" not in link(hospital, tmp_path / "work", {"path": "bought.csv", **turned})


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"path": "odd.csv"}, 4, "odd.csv: column 'gender': 300 records have what is not"),
        ({"path": "odd.csv"}, 4, "the first is record 1 of the file; `columns` and"),
        ({"values": {}}, 4, "is not a value of the release (such as 'woman', 'man'"),
        ({"path": "ids.csv"}, 4, "0 of 300 identifiers are in the truth's column 'patient'"),
        ({"path": "away.csv"}, 4, "200 of 300 records would be left out: 200 in geounits without"),
        (
            {"path": "odd.csv", "values": {"gender": {"F": None}}},
            4,
            "300 of 300 records would be left out: 300 without a value that is linked on",
        ),
        (
            {"columns": {"Sexe": "gender"}},
            2,
            "no column 'Sexe' (columns: Card and 3 other",
        ),
        ({"columns": {"Sex": "gendre"}}, 2, "did you mean 'gender'?"),
        ({"columns": {"Sex": "age", "Years": "age"}}, 2, "two columns of the file are 'age'"),
        ({"values": {"gender": {"1": "F"}}}, 2, "values.gender.1: 'F' is not a value of gender"),
        ({"values": {"sex": {"1": "F"}}}, 2, "values: release 'clinic_visits' has no feature"),
        ({"header": 3}, 2, "header: unknown key"),
        ({"path": "bought.xlsx", "sheet": "no"}, 4, "no sheet 'no' with cells (sheets: 'held')"),
    ],
)
def test_a_file_in_other_words_is_an_error_not_a_low_risk(
    hospital: Path, tmp_path: Path, change: dict[str, Any], code: int, message: str
) -> None:
    attacker = {"path": "bought.csv", **TRANSLATED, **change}
    output = link(hospital, tmp_path / "work", attacker, code)
    assert "link.attackers.X" in output
    assert message in output
    assert not (tmp_path / "work" / "links").exists()


def test_a_file_that_covers_more_than_the_truth_is_allowed(hospital: Path, tmp_path: Path) -> None:
    attacker = {"path": "away.csv", **TRANSLATED, "may_leave_out": 0.7}
    assert "elsewhere 200" in link(hospital, tmp_path / "work", attacker)
    assert links(tmp_path / "work").height > 80


def test_guessers_that_the_tables_do_not_allow_name_the_key_that_turns_them_off(
    tmp_path: Path,
) -> None:
    release = load_release("clinic_visits")
    truth = random_records(release, 3, 60)
    truth.with_row_index("patient").write_parquet(tmp_path / "truth.parquet")
    config = {
        "release": "clinic_visits",
        "work": "work",
        "ingest": {"source": "tidy", "paths": ["tables.csv"]},
        "link": {"cef": "truth.parquet", "id": "patient", "gains": ["smoker", "insurance"]},
    }
    path = tmp_path / "recon.yaml"
    path.write_text(yaml.safe_dump(config))
    recon(
        "data", "tabulate", tmp_path / "truth.parquet", "-c", path, "--to", tmp_path / "tables.csv"
    )
    recon("ingest", "-c", path)
    output = " ".join(recon("link", "-c", path, code=2).output.split())
    assert "do not determine records by smoker × insurance" in output
    assert "turn guessers off (link.guessers: {})" in output
    recon("link", "-c", path, "--set", "link.guessers={}")
