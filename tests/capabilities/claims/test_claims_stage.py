"""`recon claims` as a user runs it: a hospital with suppressed cells, and budgets that end."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import recon_cli as recon_api
from recon_cli.schema import Release, parse_release
from tests.support.command_line import recon
from tests.support.paths import ROOT

#: 500 stays in seven wards, five columns; two two-way tables by ward share the ward's totals.
SCHEMA = """\
release: stays
title: Hospital stays
features:
  sex: {categories: [woman, man]}
  age: {categories: [young, middle, old]}
  diagnosis: {categories: [heart, lung, bone, other]}
  payer: {categories: [public, private]}
  outcome: {categories: [home, care, died]}
geography: {levels: [{level: ward, digits: 2}, {level: hospital, digits: 1}], partition: hospital}
microdata: [sex, age, diagnosis, payer, outcome]
histogram: [HISTOGRAM]
families:
  - levels: [ward]
    cells: [total, {by: sex}, {by: sex, cells: [{by: diagnosis}]}]
    tables: {SD: {}}
  - levels: [ward]
    cells: [{by: age, cells: [{by: outcome}]}]
    tables: {AO: {}}
  - levels: [ward]
    cells: [{by: diagnosis, cells: [{by: payer}]}]
    tables: {DP: {}}
"""
COLUMNS = ["sex", "age", "diagnosis", "payer", "outcome"]
NAMES = {"all": ", ".join(COLUMNS), "two": "sex, diagnosis"}


def stays(release: Release) -> pl.DataFrame:
    """500 synthetic stays; some wards take few kinds of patients."""
    rng = np.random.default_rng(16)
    columns = [pl.Series("geoid_ward", rng.choice([f"H{n}" for n in range(1, 8)], 500))]
    for feature in release.features:
        shares = rng.dirichlet(np.full(len(feature.values), 2.0))
        values = pl.Series(feature.name, feature.values, feature.dtype)
        columns.append(values.gather(rng.choice(len(shares), 500, p=shares)))
    return pl.DataFrame(columns)


def suppressed_counts(counts: pl.DataFrame) -> pl.DataFrame:
    """Eight small cells of sex by diagnosis are stars, none of them a total."""
    small = (
        counts.filter((pl.col("table") == "SD") & (pl.col("cell") > 3) & (pl.col("count") < 6))
        .sort("count", "geoid", "cell")
        .head(8)
    )
    assert small.height == 8
    key = ["geoid", "table", "cell"]
    text = counts.with_columns(pl.col("count").cast(pl.String))
    stars = small.select(*key, star=pl.lit("*"))
    return text.join(stars, on=key, how="left").select(
        *key, count=pl.coalesce("star", pl.col("count"))
    )


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same counts audited with two choices of histogram columns: choice → work folder."""
    folder = tmp_path_factory.mktemp("hospital")
    made = {}
    for choice, columns in NAMES.items():
        text = SCHEMA.replace("HISTOGRAM", columns)
        (folder / f"{choice}.schema.yaml").write_text(text)
        release = parse_release(text, source=choice)
        counts = suppressed_counts(recon_api.tabulate(release, stays(release)))
        counts.write_csv(folder / "counts.csv")
        (folder / "protection.yaml").write_text(
            "statements:\n  - {markers: ['*'], law: {suppressed: {below: 6}}}\n"
        )
        (folder / f"{choice}.yaml").write_text(
            f"release: {choice}.schema.yaml\nwork: {choice}\n"
            "ingest: {source: tidy, paths: [counts.csv]}\nreconstruct:\nclaims:\nreport:\n"
        )
        recon("run", "-q", "-c", folder / f"{choice}.yaml")
        made[choice] = folder / choice
    return made


def read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=False)


def headline(work: Path) -> list[str]:
    """The paragraphs of the report above its first list."""
    text = (work / "report" / "report.md").read_text()
    return text.split("\n\n- ")[0].splitlines()


def test_a_choice_of_histogram_columns_changes_no_headline(hospital: dict[str, Path]) -> None:
    both = [headline(work) for work in hospital.values()]
    assert both[0] == both[1]
    assert any(line.startswith("**At least") and "known to be alike" in line for line in both[0])
    claims = [read(work / "claims") for work in hospital.values()]
    assert claims[0].equals(claims[1])
    assert claims[0].columns[2:7] == COLUMNS


def test_every_claim_is_true_of_the_stays(hospital: dict[str, Path]) -> None:
    truth = stays(parse_release(SCHEMA.replace("HISTOGRAM", NAMES["all"]), source="stays"))
    claims = read(hospital["all"] / "claims")
    units = read(hospital["all"] / "claim_units")
    assert set(units["status"]) == {"complete"}
    assert units["claims"].sum() == claims.height > 100
    for names, part in claims.group_by([pl.col(c).is_not_null() for c in COLUMNS]):
        spoken = [column for column, is_spoken in zip(COLUMNS, names, strict=True) if is_spoken]
        key = ["geoid_ward", *spoken]
        counted = truth.group_by(key).len("true")
        joined = part.join(counted, on=key, how="left").with_columns(pl.col("true").fill_null(0))
        assert joined.filter(pl.col("exact") & (pl.col("true") != pl.col("count"))).is_empty()
        assert joined.filter(pl.col("true") < pl.col("count")).is_empty()


def test_a_block_is_shown_with_its_claims(tmp_path: Path) -> None:
    shared = ("-c", ROOT / "configs" / "toy.yaml", "--work", tmp_path)
    recon("run", "-q", *shared, "--until", "reconstruct")
    recon("claims", "-q", *shared)
    single = read(tmp_path / "claims").filter("singleton", "maximal", k=3).row(0, named=True)
    shown = recon("show", single["geoid_block"], *shared).stdout
    assert "verified claims" in shown
    assert "exactly 1 person: " in shown
    assert "singled out" in shown


def test_a_budget_that_ends_leaves_claims_undecided_and_none_false(
    hospital: dict[str, Path], tmp_path: Path
) -> None:
    config = hospital["all"].parent / "all.yaml"
    shutil.copytree(hospital["all"], tmp_path, dirs_exist_ok=True)
    shared = ("-q", "-c", config, "--work", tmp_path)
    recon("claims", *shared, "--set", "claims.unit_seconds=0.000001")
    partial, full = read(tmp_path / "claim_units"), read(hospital["all"] / "claim_units")
    assert "partial" in set(partial["status"])
    assert partial["undecided"].sum() > 0
    assert (partial["exact_claims"] <= full["exact_claims"]).all()
    key = ["geoid_ward", *COLUMNS]
    joined = read(tmp_path / "claims").join(
        read(hospital["all"] / "claims"), on=key, how="left", nulls_equal=True, suffix="_full"
    )
    assert (joined["count"] <= joined["count_full"]).all()


def test_sums_that_prove_claims_are_shown(tmp_path: Path) -> None:
    text = SCHEMA.replace("HISTOGRAM", NAMES["all"])
    (tmp_path / "stays.yaml").write_text(text)
    release = parse_release(text, source="stays")
    recon_api.tabulate(release, stays(release).head(40)).write_csv(tmp_path / "counts.csv")
    (tmp_path / "recon.yaml").write_text(
        "release: stays.yaml\nwork: work\ningest: {source: tidy, paths: [counts.csv]}\n"
        "reconstruct:\nclaims:\nprove:\n"
    )
    said = " ".join(recon("run", "-c", tmp_path / "recon.yaml").stdout.split())
    assert "people 40 wards 7 claims" in said
    proofs, claims = (read(tmp_path / "work" / name) for name in ("proofs", "claims"))
    assert proofs.filter(source="claims").height == claims.height
    assert set(proofs.filter(source="claims")["status"]) == {"certified"}
    counts = pl.read_csv(tmp_path / "counts.csv", schema_overrides={"geoid": pl.String})
    published = {(row["table"], str(row["cell"]), row["count"]) for row in counts.rows(named=True)}
    summed = proofs.drop_nulls("sum")
    assert summed.height > 10
    for statement, total in summed.select("statement", "sum").iter_rows():
        bounds = [sum_of(each, published) for each in total.split("; ")]
        assert set(bounds) == {int(statement.split()[2 if "least" in statement else 1])}
    shown = " ".join(recon("show", "H1", "-c", tmp_path / "recon.yaml").stdout.split())
    assert "[proof: " in shown


def sum_of(text: str, published: set[tuple[str, str, int]]) -> int:
    """The value of a sum of counts of one place, each of them as published."""
    total = 0
    for sign, table, cell, number in re.findall(r"([+−]?) ?(\w+) (\d+) \(([\d,]+)\)", text):
        count = int(number.replace(",", ""))
        assert (table, cell, count) in published
        total += -count if sign == "−" else count
    return total
