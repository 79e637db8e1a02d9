"""The Census Bureau's microdata, read as published, are what the same people are in our words."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from click.testing import CliRunner

from recon_cli.capabilities.records.files import open_records
from recon_cli.capabilities.records.layout import layout_names, record_layout
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.cli import main
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from tests.support.attacks import people, swapped
from tests.support.demonstration import persons_as_published
from tests.support.paths import SHARED

SF1 = load_release("sf1_2010")
SAMPLE = SHARED / "data" / "sources" / "ppmf_2010_perry_al"


@pytest.mark.parametrize("separator", [",", "|"])
def test_what_is_published_is_linked_as_ours(tmp_path: Path, separator: str) -> None:
    truth = people(300, 1)
    found = swapped(truth, 1).drop("pik", strict=False)
    truth.write_parquet(tmp_path / "truth.parquet")
    found.write_parquet(tmp_path / "ours.parquet")
    name = "persons.csv" if separator == "," else "persons.txt"
    persons_as_published(found).write_csv(tmp_path / name, separator=separator)
    if separator == "|":
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(f"# a remark, with commas, before the headers\n{text}")
    config: dict[str, Any] = {
        "release": "sf1_2010",
        "work": "work",
        "link": {
            "cef": "truth.parquet",
            "sources": {"ours": "ours.parquet", "MDF": {"path": name, "layout": "mdf_2010"}},
            "attackers": {"CEF_atkr": "cef"},
        },
        "score": {"threshold": 0},
    }
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
    for command in ("link", "score"):
        result = CliRunner().invoke(main, [command, "-c", str(tmp_path / "c.yaml")])
        assert result.exit_code == 0, result.output
    rates = pl.read_parquet(tmp_path / "work/score/rates.parquet")
    ours, theirs = (
        rates.filter(source=source, table="table08_agreement").drop("source")
        for source in ("ours", "MDF")
    )
    assert ours.height > 0
    assert theirs.equals(ours)
    putative = rates.filter(table="table12_all", rate="putative", block_size="All")
    assert putative["source"].is_in(["ours", "MDF"]).sum() == 2
    assert putative.filter(source="ours")["count"].item() == (
        putative.filter(source="MDF")["count"].item()
    )


def test_other_codes_of_a_source_link_it_anew(tmp_path: Path) -> None:
    truth = people(60, 1)
    truth.write_parquet(tmp_path / "truth.parquet")
    coded = truth.with_columns(pl.col("sex").replace({"male": "m", "female": "f"}))
    coded.drop("pik").write_csv(tmp_path / "coded.csv")

    def link(**values: str) -> str:
        source = {"path": "coded.csv", "values": {"sex": values}}
        config = {
            "release": "sf1_2010",
            "work": "work",
            "link": {"cef": "truth.parquet", "sources": {"R": source}, "guessers": {}},
        }
        (tmp_path / "c.yaml").write_text(yaml.safe_dump(config))
        result = CliRunner().invoke(main, ["link", "-c", str(tmp_path / "c.yaml")])
        assert result.exit_code == 0, result.output
        return result.output

    assert "up to date" not in link(m="male", f="female")
    assert "up to date" in link(m="male", f="female")
    assert "up to date" not in link(m="female", f="male")


@pytest.mark.skipif(not SAMPLE.exists(), reason="needs ../shared")
def test_a_real_file_has_its_published_tables() -> None:
    release = load_release("pl_2020")
    packed = SAMPLE / "ppmf_20210428_eps12-2_P_01105.csv.gz"
    file = open_records("MDF", packed, release, record_layout("ppmf_pl", release))
    (partition,) = file.slices()
    names = ["geoid_block", *(feature.name for feature in release.features)]
    records = file.read(partition, names)
    assert records.height == 10_588
    ages = records.with_columns(
        pl.col("age").cast(pl.Int16),
        pl.col("race").cast(pl.Int16),
        pl.col("hispanic").str.to_lowercase() == "true",
    )
    with gzip.open(SAMPLE / "pl_counts_tidy.csv.gz", "rb") as packed_counts:
        counts = pl.read_csv(packed_counts.read(), schema_overrides={"geoid": pl.String})
    key = ["geoid", "table", "cell"]
    made = tabulate(release, ages).select(*key, "count").sort(key)
    assert made.rows() == counts.select(*key, "count").sort(key).rows()


def test_ages_beyond_the_last_are_of_the_last() -> None:
    values = record_layout("mdf_2010", SF1).values["age"]
    assert values == {str(age): 110 for age in range(111, 116)}
    assert record_layout("mdf_2010", load_release("dhc_2020")).values.get("age", {}) == {}
    assert "sex" not in record_layout("mdf_2010", load_release("pl_2020")).values


def test_a_layout_that_is_not_there() -> None:
    with pytest.raises(
        ConfigError, match=r"no layout 'mdf' \(there is mdf_2010, mdf_units, ppmf_pl\)"
    ):
        record_layout("mdf", SF1)
    assert layout_names() == ("mdf_2010", "mdf_units", "ppmf_pl")
