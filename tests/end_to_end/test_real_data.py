"""Real tracts with one known answer, end to end: what a user runs, on what agencies published."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.paths import DATA, ROOT, needs_shared

HISTOGRAM = ["geoid_block", "sex", "agebin", "race", "hispanic"]

pytestmark = needs_shared


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("six")
    paths = ", ".join(str(path) for path in sorted((DATA / "sf1").glob("*.zip")))
    path = folder / "recon.yaml"
    path.write_text(
        "release: sf1_2010\nwork: bt\nseed: 20220502\n"
        f"ingest: {{source: sf1-legacy, paths: [{paths}]}}\n"
        "reconstruct: {tables: block+tract}\n"
    )
    return path


def truth() -> pl.DataFrame:
    """The Census Bureau's own records of these tracts, in the columns of ``microdata/``."""
    records = pl.read_parquet(DATA / "published_records.parquet")
    flags = ["white", "black", "aian", "asian", "nhopi", "sor"]
    edges = load_release("sf1_2010").recode_by_name["agebin"].labels
    agebin = pl.Series([max(int(e) for e in edges if int(e) <= age) for age in range(111)])
    return records.with_columns(
        race=pl.sum_horizontal(
            pl.col(flag).cast(pl.Int16) * (1 << i) for i, flag in enumerate(flags)
        ).cast(pl.Int16),
        hispanic=pl.col("hispanic") == 1,
        agebin=agebin.cast(pl.Int16).gather(records["age"].cast(pl.Int64)),
    )


def blocks_that_differ(work: Path) -> set[str]:
    microdata = pl.read_parquet(work / "microdata" / "**" / "*.parquet", hive_partitioning=False)
    found = microdata.group_by(HISTOGRAM).len()
    expected = truth().group_by(HISTOGRAM).len()
    assert found["len"].sum() == expected["len"].sum() == 20_969
    only_found = found.join(expected, on=[*HISTOGRAM, "len"], how="anti")
    only_expected = expected.join(found, on=[*HISTOGRAM, "len"], how="anti")
    return {*only_found["geoid_block"], *only_expected["geoid_block"]}


def test_block_and_tract_tables_give_the_published_records(config: Path) -> None:
    recon("run", "-c", str(config))
    assert "every published cell" in recon("verify", "-c", str(config)).output
    assert blocks_that_differ(config.parent / "bt") == set()
    blocks = pl.read_parquet(
        config.parent / "bt" / "blocks" / "**" / "*.parquet", hive_partitioning=False
    )
    assert set(blocks["status"]) == {"unique"}
    assert set(blocks["method"]) == {"propagation"}
    assert len(blocks) == 2615


def test_block_tables_alone_give_nearly_all_blocks(config: Path) -> None:
    work = config.parent / "b"
    recon("ingest", "-c", str(config), "--work", str(work))
    recon("reconstruct", "-c", str(config), "--work", str(work), "--tables", "block")
    recon("verify", "-c", str(config), "--work", str(work))
    different = blocks_that_differ(work)
    assert len(different) <= 0.01 * truth()["geoid_block"].n_unique()
    blocks = pl.read_parquet(work / "blocks" / "**" / "*.parquet", hive_partitioning=False)
    solved = set(blocks.filter(pl.col("status") == "solved")["geoid_block"])
    assert different <= solved, "a block said to be unique is not the published one"


def test_a_release_with_fewer_tables(tmp_path: Path) -> None:
    path = tmp_path / "lp.yaml"
    path.write_text(
        "release: sf1_2010\nwork: lp\n"
        f"ingest: {{source: tidy, paths: [{DATA / 'lp_tract_29165030307.csv'}]}}\n"
        "reconstruct: {tables: block+tract}\n"
    )
    recon("run", "-c", str(path))
    recon("verify", "-c", str(path))
    microdata = pl.read_parquet(
        tmp_path / "lp" / "microdata" / "**" / "*.parquet", hive_partitioning=False
    )
    assert len(microdata) == 11
    assert dict(microdata.group_by("geoid_block").len().iter_rows()) == {
        "291650303071018": 7,
        "291650303071141": 4,
    }


def test_the_study_s_program_by_cp_sat_on_a_real_tract(tmp_path: Path) -> None:
    given = ("-c", ROOT / "configs" / "study_tract.yaml", "--work", tmp_path)
    paths = ("--set", f"ingest.paths=[{DATA / 'sf1' / 'ca2010.sf1.zip'}]")
    recon("run", "-q", *given, *paths, "--workers", "1")
    shown = recon("reconstruct", *given, *paths).output
    assert "all equal" in shown
    made = pl.read_parquet(tmp_path / "microdata" / "**" / "*.parquet", hive_partitioning=False)
    expected = truth().filter(pl.col("geoid_block").str.starts_with("06"))
    assert made.height == expected.height == 112
    assert (
        made.group_by(HISTOGRAM)
        .len()
        .join(expected.group_by(HISTOGRAM).len(), on=[*HISTOGRAM, "len"], how="anti")
        .is_empty()
    )
    units = pl.read_parquet(tmp_path / "solvar" / "**" / "*.parquet", hive_partitioning=False)
    assert units["solvar_upper_pct"].max() == 0
