"""`recon joint` as a user runs it: synthetic people and households of a few blocks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import recon

SYNTH = "release: sf1_2010\nwork: synth\nseed: 7\nsynth: {people: 300}\n"
PART = """\
release: {release}
work: {name}
seed: 7
tabulate: {{records: {name}.parquet, to: {name}.tables.parquet, tables: block, levels: [block]}}
ingest: {{source: tidy, paths: [{name}.tables.parquet]}}
"""
PARTS = {"persons": "sf1_2010_persons_in_households", "households": "sf1_2010_households"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    (folder / "synth.yaml").write_text(SYNTH)
    recon("synth", "-c", folder / "synth.yaml", "-q")
    homes = read(folder / "synth", "households").filter(vacancy="occupied")
    small = homes.group_by("geoid_block").len().sort("len", "geoid_block").head(8)
    for name, release in PARTS.items():
        records = read(folder / "synth", name).join(small, on="geoid_block", how="semi")
        records.write_parquet(folder / f"{name}.parquet")
        (folder / f"{name}.yaml").write_text(PART.format(release=release, name=name))
    with (folder / "persons.yaml").open("a") as config:
        config.write("joint: {partner: households.yaml, links: sf1_2010}\n")
    recon("run", "-c", folder / "households.yaml", "-q")
    return folder


def read(work: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(work / name / "**/*.parquet", hive_partitioning=False)


def test_certain_records_of_both_are_true(folder: Path) -> None:
    shown = recon("run", "-c", folder / "persons.yaml").stdout
    assert "by their own tables" in shown
    units = read(folder / "persons", "joint_units")
    for part, made in (("persons", "joint"), ("households", "joint_partner")):
        certain = read(folder / "persons", made)
        truth = pl.read_parquet(folder / f"{part}.parquet")
        assert certain.height == units[f"{part[:-1]}_joint"].sum()
        assert certain["proof"].is_in(["alone", "joint"]).all()
        shared = [name for name in certain.columns if name in truth.columns]
        there = truth.cast({name: certain[name].dtype for name in shared}).group_by(shared).len()
        both = certain.group_by(shared).len("certain").join(there, on=shared, how="left")
        assert (both["certain"] <= both["len"].fill_null(0)).all()
    again = recon("joint", "-c", folder / "persons.yaml").stdout
    assert "up to date" in again


def test_links_of_other_releases_are_refused(folder: Path) -> None:
    other = ["--set", f"joint.partner={folder / 'persons.yaml'}"]
    said = recon("joint", "-c", folder / "persons.yaml", *other, code=2).stderr
    assert "household: sf1_2010_households" in said
