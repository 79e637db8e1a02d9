"""Real and hand-made samples as portals serve them: drafted by init, ingested, counts compared.

The counts of a sample are read a second time here, by other means than the program's.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml

from tests.support.command_line import recon
from tests.support.layouts import SCHEMA
from tests.support.paths import SHARED, needs_shared

SOURCES = SHARED / "data" / "sources"
HAND = SOURCES / "handmade_same_table"
pytestmark = needs_shared

P5 = """\
release: sf1_p5
title: 2010 Census, table P5
features:
  hispanic: {categories: [false, true]}
  race: {categories: [white, black, aian, asian, nhpi, other, two_or_more]}
geography:
  levels: [{level: block, digits: 15}, {level: tract, digits: 11}, {level: county, digits: 5}]
  partition: county
microdata: [hispanic, race]
histogram: [hispanic, race]
families:
  - levels: [block, tract]
    cells: [total, {by: hispanic, cells: [total, {by: race}]}]
    tables: {P5: {code: "P005####"}}
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def ingested(*paths: Path, release: str | None = None) -> pl.DataFrame:
    """What init and ingest make of files without anybody's help: ``geoid, table, cell, count``."""
    named = () if release is None else ("--release", release)
    recon("init", *paths, *named)
    (work,) = [line for line in Path("recon.yaml").read_text().splitlines() if "work:" in line[:5]]
    recon("ingest", "-q")
    path = f"{work.partition(' ')[2]}/tables/**/*.parquet"
    counts = pl.read_parquet(path, hive_partitioning=False)
    return counts.select("geoid", "table", "cell", "count")


def nonzero(frame: pl.DataFrame) -> dict[tuple[str, str, int], int]:
    return {(g, t, cell): n for g, t, cell, n in frame.sort("geoid", "table", "cell").iter_rows()}


def data_of(archive: Path) -> list[list[str]]:
    with zipfile.ZipFile(archive) as opened:
        (name,) = [each for each in opened.namelist() if each.endswith("-Data.csv")]
        return list(csv.reader(io.StringIO(opened.read(name).decode("utf-8-sig"))))


def test_data_census_gov() -> None:
    """19 tracts, five tables in five zips."""
    folder = SOURCES / "data_census_gov_pl2020_il_adams"
    archives = [path for path in sorted(folder.glob("*.zip")) if ".H1." not in path.name]
    expected = {}
    for archive in archives:
        codes, _, *rows = data_of(archive)
        for row in rows:
            for code, text in zip(codes[2:], row[2:], strict=True):
                if code and int(text):
                    table, _, number = code.removesuffix("N").partition("_")
                    expected[row[0].removeprefix("1400000US"), table, int(number)] = int(text)
    assert nonzero(ingested(*archives)) == expected
    assert len(expected) > 1000


def test_factfinder_with_revised_counts() -> None:
    found = ingested(SOURCES / "aff_2010_sf1" / "DEC_10_SF1_P1_with_ann.csv")
    assert nonzero(found) == {
        ("01001", "P1", 1): 54571,
        ("01003", "P1", 1): 182265,
        ("01073", "P1", 1): 658466,
        ("01081", "P1", 1): 140247,
        ("01097", "P1", 1): 412992,
    }


def test_census_api_blocks_sum_to_tracts() -> None:
    """Real counts of 2010: three whole tracts in two files, blocks and tracts."""
    Path("p5.yaml").write_text(P5)
    folder = SOURCES / "census_api_json_2010_nj"
    found = ingested(*sorted(folder.glob("*.json")), release="p5.yaml")
    expected = {}
    for path in folder.glob("*.json"):
        header, *rows = json.loads(path.read_text())
        for row in rows:
            cell = dict(zip(header, row, strict=True))
            geoid = cell["state"] + cell["county"] + cell["tract"] + cell.get("block", "")
            for code, text in cell.items():
                if code.startswith("P005") and int(text):
                    expected[geoid, "P5", int(code[4:])] = int(text)
    assert nonzero(found) == expected
    blocks = found.filter(pl.col("geoid").str.len_chars() == 15)
    summed = blocks.group_by(pl.col("geoid").str.head(11), "table", "cell").agg(
        pl.col("count").sum()
    )
    tracts = found.filter(pl.col("geoid").str.len_chars() == 11)
    assert nonzero(summed.select(found.columns)) == nonzero(tracts)
    assert tracts["count"].sum() == 11246


def test_an_inconsistent_cube_of_a_statistical_office() -> None:
    """Its list of dimensions is longer than that of their sizes."""
    found = ingested(SOURCES / "jsonstat_ons" / "QS104EW.json")
    assert sorted(found["count"]) == [27573376, 28502536, 56075912]


def test_a_spreadsheet_of_a_planning_office() -> None:
    """Counts and percentages side by side; init says what it could not tell."""
    path = SOURCES / "xlsx_nyc_dcp" / "nyc_decennialcensusdata_cut.xlsx"
    said = " ".join(recon("init", path).stdout.split())
    assert "'Pop1' is everybody" in said
    assert "'Male P' is the share of 'Male' among 'Pop1'" in said
    assert "counts" not in said.partition("read as")[2]
    config = yaml.safe_load(Path("recon.yaml").read_text())
    columns = config["ingest"]["mapping"]["labels"]["columns"]
    assert "FemP" not in columns
    found = ingested_again()
    assert 783228 in found["count"].to_list()


def ingested_again() -> pl.DataFrame:
    recon("ingest", "-q")
    return pl.read_parquet("work/**/tables/**/*.parquet", hive_partitioning=False)


# --- one table by hand in twelve layouts ----------------------------------------------------------


def tidy() -> dict[tuple[str, int], int]:
    with (HAND / "tidy.csv").open() as file:
        return {(r["geoid"], int(r["cell"])): int(r["count"]) for r in csv.DictReader(file)}


SEX_BY_AGE = re.sub(
    r"geography:.*?partition: county\n",
    "geography:\n  levels: [{level: area, digits: 4}, {level: town, digits: 2}]\n"
    "  partition: town\n",
    SCHEMA,
    flags=re.DOTALL,
).replace("[block, tract]", "[area, town]")


@pytest.mark.parametrize(
    ("name", "unpublished"),
    [
        ("eurostat.tsv", [("A102", 8)]),
        ("jsonstat2_eurostat.json", [("A102", 8)]),
        ("nomis_api.csv", []),
        ("ons_bulk_wide.csv", []),
        ("sdmx_csv_2_0.csv", []),
        ("sdmx_eurostat.csv", [("A102", 8)]),
    ],
)
def test_one_table_by_hand(name: str, unpublished: list[tuple[str, int]]) -> None:
    """With a schema; the confidential count is zero in truth and unknown in the table.

    A flag that agencies use is a statement, any other a count that is not there.
    """
    Path("sexage.yaml").write_text(SEX_BY_AGE)
    found = {(g, cell): n for g, _, cell, n in ingested(HAND / name, release="sexage.yaml").rows()}
    flagged = {key for key, count in found.items() if count is None}
    assert {key: count for key, count in found.items() if key not in flagged} == {
        key: count for key, count in tidy().items() if count
    }
    if flagged:
        assert sorted(flagged) == unpublished
        assert "suppressed" in Path("recon.protection.yaml").read_text()
        return
    coverage = json.loads(next(Path("work").glob("*/tables/_coverage.json")).read_text())
    lacking = [each for each in _cells(coverage) if len(each) < 12]
    assert bool(lacking) == bool(unpublished)


def _cells(coverage: object) -> Iterator[list[int]]:
    """Every list of cell numbers in the coverage."""
    if isinstance(coverage, dict):
        for each in coverage.values():
            yield from _cells(each)
    elif isinstance(coverage, list) and coverage and all(isinstance(n, int) for n in coverage):
        yield coverage
    elif isinstance(coverage, list):
        for each in coverage:
            yield from _cells(each)


@pytest.mark.parametrize(
    "name", ["census_api_2020.json", "nhgis0001_ds999_2021_block.csv"], ids=["api", "nhgis"]
)
def test_one_table_by_hand_under_census_codes(name: str) -> None:
    Path("sexage.yaml").write_text(SCHEMA)
    found = ingested(HAND / name, release="sexage.yaml")
    areas = {"250090010011000": "A101", "250090010011001": "A102"}
    assert {(areas[g], cell): n for g, _, cell, n in found.rows()} == {
        key: count for key, count in tidy().items() if count and key[0] != "A1"
    }


def test_a_filtered_table_has_no_totals() -> None:
    Path("sexage.yaml").write_text(SEX_BY_AGE)
    found = ingested(HAND / "ons_filter_long.csv", release="sexage.yaml")
    cells = (6, 7, 8, 10, 11, 12)
    assert {(g, cell): n for g, _, cell, n in found.rows()} == {
        key: n for key, n in tidy().items() if n and key[0] != "A1" and key[1] in cells
    }


def test_rounded_and_suppressed_tables() -> None:
    """Rounded counts are read as they are; texts in place of counts by a law that lists them."""
    Path("sexage.yaml").write_text(SEX_BY_AGE)
    found = ingested(HAND / "statsnz_rr3.csv", release="sexage.yaml")
    with (HAND / "statsnz_rr3.csv").open() as file:
        numbers = [int(row["Value"]) for row in csv.DictReader(file) if row["Value"].isdigit()]
    assert sorted(found["count"].drop_nulls()) == sorted(filter(None, numbers))
    laws = yaml.safe_load(Path("recon.protection.yaml").read_text())["statements"]
    assert laws[0]["markers"] == ["..C"]


def test_a_profile_of_characteristics() -> None:
    Path("sexage.yaml").write_text(SEX_BY_AGE)
    found = ingested(HAND / "statcan_profile_2021.csv", release="sexage.yaml")
    with (HAND / "statcan_profile_2021.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    expected = [int(row[at]) for row in rows for at in (11, 13, 15) if int(row[at])]
    assert sorted(found["count"]) == sorted(expected)
