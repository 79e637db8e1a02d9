"""A run from a CSV file with suppressed cells, and the protection file beside it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from recon_cli.errors import SourceError
from tests.support.command_line import recon

SCHEMA = (
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}, old: {categories: [false, true]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex, old]\nhistogram: [sex, old]\nfamilies:\n"
    "  - {levels: [plot], cells: [total, {by: sex}, {by: sex, cells: [{by: old}]}], "
    "tables: {T: {}}}\n"
)
COUNTS = "geoid,table,cell,count\n" + "".join(
    f"A101,T,{cell},{count}\n" for cell, count in enumerate((9, 5, 4, 3, "*", "<3", 3), start=1)
)
CONFIG = (
    "release: wards.yaml\nwork: work\ningest: {source: tidy, paths: [counts.csv]}\nreconstruct:\n"
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "wards.yaml").write_text(SCHEMA)
    (tmp_path / "counts.csv").write_text(COUNTS)
    (tmp_path / "protection.yaml").write_text("statements:\n  - law: {suppressed: {below: 3}}\n")
    (tmp_path / "run.yaml").write_text(CONFIG)
    return tmp_path / "run.yaml"


def test_suppressed_counts_are_read_reconstructed_and_verified(config: Path) -> None:
    printed = recon("run", "-c", str(config)).stdout
    assert "7 cells, 5 equal, 2 within what their law allows" in " ".join(printed.split())
    work = config.parent / "work"
    tables = pl.read_parquet(work / "tables/**/*.parquet", hive_partitioning=False)
    assert tables.filter(pl.col("count").is_null()).select("cell", "low", "high", "law").rows() == [
        (5, 1, 2, 0),
        (6, 1, 2, 0),
    ]
    laws = json.loads((work / "tables" / "_statements.json").read_text())
    assert laws["statements"] == [{"law": {"suppressed": {"below": 3}}}]
    records = pl.read_parquet(work / "microdata/**/*.parquet", hive_partitioning=False)
    assert records.height == 9
    assert records["certain"].all()
    verified = " ".join(recon("verify", "-c", str(config)).stdout.split())
    assert "no published cell contradicts the records" in verified
    assert "7, 5 equal, 2 within what their law allows" in verified


@pytest.mark.parametrize("command", ["confidence", "leave-one-out"])
def test_what_needs_exact_counts_refuses_others_and_says_what_to_do(
    config: Path, command: str
) -> None:
    with (config.parent / "run.yaml").open("a") as file:
        file.write("link: {gains: [old], exact: [sex], binned: [sex]}\n")
    recon("run", "-c", str(config), "--until", "reconstruct")
    arguments = ["--set", "leave_one_out.gains=[old]"] if command == "leave-one-out" else []
    error = recon(command, "-c", str(config), *arguments, code=SourceError.exit_code).stderr
    said = " ".join(error.split())
    assert f"recon {command} needs exact counts; some of these are suppressed" in said
    assert ("recon.leave_one_out_protected" in said) == (command == "leave-one-out")


def test_another_law_is_another_input(config: Path) -> None:
    recon("run", "-c", str(config))
    law = "statements:\n  - law: {suppressed: {below: 3, flagged: may-be-zero}}\n"
    (config.parent / "protection.yaml").write_text(law)
    assert "2 done" in recon("run", "-c", str(config)).stdout
    assert "all up to date" in recon("run", "-c", str(config)).stdout


def test_a_number_of_people_that_no_table_says_is_not_stated(config: Path) -> None:
    rounded = "geoid,table,cell,count\nA101,T,1,9\nA101,T,2,6\nA101,T,3,3\n"
    (config.parent / "counts.csv").write_text(rounded)
    (config.parent / "protection.yaml").write_text("statements:\n  - law: {rounded: {base: 3}}\n")
    recon("run", "-c", str(config))
    records = pl.read_parquet(config.parent / "work/microdata/**/*.parquet").height
    for geoid in ((), ("A10",), ("A101",)):  # everything, a ward, a plot
        said = " ".join(recon("show", *geoid, "-c", str(config)).output.split())
        assert f"{records} reconstructed; the tables in use do not say how many" in said
        assert f"at least {records}" not in said
    assert "0 people" not in recon("status", "-c", str(config)).output


def test_nothing_is_published_under_a_law_that_does_not_fit(config: Path) -> None:
    law = "statements:\n  - law: {rounded: {base: 3}}\n"
    (config.parent / "protection.yaml").write_text(law)
    result = recon("run", "-c", str(config), code=SourceError.exit_code)
    assert "counts.csv: line 6: geoid A101, table T, cell T_5: the law 'rounded' " in result.stderr
    assert not (config.parent / "work" / "tables").exists()


@pytest.mark.parametrize(
    ("law", "counts", "words"),
    [
        ("{suppressed: {below: 3}}", COUNTS, "suppressed (below 3)"),
        ("{rounded: {base: 3}}", "geoid,table,cell,count\nA101,T,1,9\n", "rounded (base 3)"),
    ],
)
def test_the_report_names_the_law_that_its_proofs_rest_on(
    config: Path, law: str, counts: str, words: str
) -> None:
    (config.parent / "counts.csv").write_text(counts)
    (config.parent / "protection.yaml").write_text(f"statements:\n  - law: {law}\n")
    recon("run", "-c", str(config))
    for further in ("solvar", "claims", "status"):
        recon("report", "-c", str(config))
        report = (config.parent / "work" / "report" / "report.md").read_text()
        condition = f"What is proven here is proven if the counts were published by: {words}."
        assert condition in " ".join(report.split())
        recon(further, "-c", str(config))


def test_a_unit_is_shown_with_what_its_counts_prove_and_by_which_law(config: Path) -> None:
    recon("run", "-c", str(config))
    shown = " ".join(recon("show", "A101", "-c", str(config), "--why", "1").stdout.split())
    assert "published by: suppressed (below 3)" in shown
    assert "1 to 2" in shown
    assert "all certain" in shown
    assert "proven by propagation of bounds" in shown


def test_every_claim_repeats_the_law_that_it_is_proven_under(config: Path) -> None:
    recon("run", "-c", str(config))
    printed = " ".join(recon("claims", "-c", str(config)).stdout.split())
    assert "proven if counts are suppressed (below 3)" in printed
    work = config.parent / "work"
    claims = pl.read_parquet(work / "claims" / "**" / "*.parquet", hive_partitioning=False)
    assert claims.height
    assert set(claims["law"]) == {"suppressed (below 3)"}
    for folder in ("claims", "disclosures"):
        manifest = json.loads((work / folder / "_manifest.json").read_text())
        assert manifest["notes"]["laws"] == ["suppressed (below 3)"]
