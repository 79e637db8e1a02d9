"""`recon joint` as a user runs it: synthetic people and households of a few blocks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.show.joint_details import live_together
from recon_cli.schema import load_release
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
    recon("data", "synth", "-c", folder / "synth.yaml", "-q")
    homes = read(folder / "synth", "households").filter(vacancy="occupied")
    small = homes.group_by("geoid_block").len().sort("len", "geoid_block").head(8)
    for name, release in PARTS.items():
        records = read(folder / "synth", name)
        near = small["geoid_block"].to_list()
        if name == "households":  # one place has vacant units alone
            near += (
                records.join(homes, on="geoid_block", how="anti")["geoid_block"].head(1).to_list()
            )
        records = records.filter(pl.col("geoid_block").is_in(near))
        records.write_parquet(folder / f"{name}.parquet")
        (folder / f"{name}.yaml").write_text(PART.format(release=release, name=name))
    with (folder / "persons.yaml").open("a") as config:
        config.write("joint: {partner: households.yaml, links: sf1_2010, compositions: 500}\n")
    recon("run", "-c", folder / "households.yaml", "-q")
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What a run prints."""
    return recon("run", "-c", folder / "persons.yaml").stdout


def read(work: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(work / name / "**/*.parquet", hive_partitioning=False)


def test_certain_records_of_both_are_true(folder: Path, shown: str) -> None:
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
    assert "apart" in units["status"]
    for part in ("person", "household"):
        assert (units[f"{part}_alone"] <= units[f"{part}_joint"]).all()
        assert (units[f"{part}_joint"] <= units[f"{part}_records"]).all()
    again = recon("joint", "-c", folder / "persons.yaml").stdout
    assert "up to date" in again


def test_households_with_every_member_are_true_ones(folder: Path, shown: str) -> None:
    homes, members, units = (
        read(folder / "persons", f"joint_{name}") for name in ("compositions", "members", "units")
    )
    assert homes["households"].sum() == units["certain_with_members"].sum() > 0
    told = re.search(r"households with every member +(\d+)", shown)
    assert told, shown
    assert int(told[1]) == homes["households"].sum()
    truth = pl.read_parquet(folder / "persons.parquet")
    both = members.group_by("geoid_block", "composition").agg(
        sexes=pl.col("sex").repeat_by("members").list.explode().sort()
    )
    there = truth.group_by("geoid_block", "household").agg(sexes=pl.col("sex").sort())
    unmatched = both.join(there, on=["geoid_block", "sexes"], how="anti")
    assert unmatched.is_empty()


def test_show_says_who_lives_together() -> None:
    release = load_release(PARTS["persons"])
    columns = ["home", "relation", "sex", "agebin", "race", "hispanic"]
    couple = [
        ("married_couple", "householder", "male", 40, 1, False, 1, 1),
        ("married_couple", "child", "female", 9, 1, False, 1, 2),
    ]
    alone = ("man_alone", "householder", "male", 60, 1, False, 2, 1)
    rows = pl.DataFrame([*couple, alone], schema=[*columns, "composition", "members"], orient="row")
    (said,) = live_together(release, rows)
    assert said.value.count(";") == 1, "one household of several people"
    assert "2 × " in said.value
    assert "child" in said.value


def test_report_and_show_tell_what_the_releases_prove_together(folder: Path) -> None:
    recon("run", "-c", folder / "persons.yaml", "-q")
    units = read(folder / "persons", "joint_units")
    people, alone, together = (
        int(units[f"person_{what}"].sum()) for what in ("records", "alone", "joint")
    )
    assert alone < together
    recon("report", "-c", folder / "persons.yaml", "-q")
    page = (folder / "persons" / "report" / "report.md").read_text()
    assert f"**Yes, whole records are certain:** at least {together} of {people}" in page
    assert f"{alone} of them by their own tables: {together - alone} more" in page
    members, homes = int(units["certain_with_members"].sum()), int(units["household_records"].sum())
    asked = units["division"].is_in(["proven", "bounded", "undecided"]).sum()
    assert f"**{members}** of {homes} households" in page
    assert f"A division was looked for in {asked} blocks" in page
    assert "made from the same records" in page, "on what it rests is said beside it"
    by_size = page.partition("**Certain people by size**")[2].partition("**")[0]
    cells = [re.sub("[|,]", " ", line).split() for line in by_size.splitlines()]
    (whole,), sizes = (
        [row for row in cells if row and row[0] in names]
        for names in ({"All"}, {"1–9", "10–49", "50–99", "100–249"})
    )
    assert [int(whole[at]) for at in (2, 3, 5)] == [people, alone, together]
    assert float(whole[6]) == pytest.approx(100 * together / people, abs=0.05)
    assert [sum(int(row[at]) for row in sizes) for at in (2, 3, 5)] == [people, alone, together]
    most = units.filter(pl.col("person_joint") > pl.col("person_alone")).row(0, named=True)
    shown = recon("show", most["geoid_block"], "-c", folder / "persons.yaml", width=160).stdout
    certain = read(folder / "persons", "joint").filter(geoid_block=most["geoid_block"])
    assert certain.height == most["person_joint"]
    said = f"at least {most['person_joint']} of {most['person_records']}"
    assert said in shown
    assert f"{most['person_alone']} of them by their own release" in shown
    assert "only together" in shown
    assert "not used by the reconstruction" not in shown


@pytest.mark.parametrize(
    ("part", "tables"), [("persons", "tables/"), ("households", "../households/tables/")]
)
def test_counts_ingested_anew_leave_the_report_without_what_others_proved(
    folder: Path, tmp_path: Path, part: str, tables: str
) -> None:
    shutil.copytree(folder, tmp_path / "other")
    config = tmp_path / "other" / "persons.yaml"
    recon("run", "-c", config, "-q")
    records = pl.read_parquet(tmp_path / "other" / f"{part}.parquet")
    records.filter(pl.col("geoid_block") > records["geoid_block"].min()).write_parquet(
        tmp_path / "other" / f"{part}.parquet"
    )
    recon("run", "-c", config.with_name(f"{part}.yaml"), "--until", "ingest", "-q")
    recon("report", "-c", config, "-q")
    page = (tmp_path / "other" / "persons" / "report" / "report.md").read_text()
    assert f"joint/ was made from other {tables} than those there now" in page
    assert "given away:**" not in page


def test_a_contradiction_of_both_releases_is_on_a_page_of_the_work_folder(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "other")
    config = tmp_path / "other" / "persons.yaml"
    recon("run", "-c", config, "--until", "ingest", "-q")
    homes = pl.read_parquet(tmp_path / "other" / "households.parquet")
    block = str(homes["geoid_block"].max())
    here = (pl.col("geoid_block") == block) & (pl.col("vacancy") == "occupied")
    other = pl.col("householder_origin").replace_strict(
        {"hispanic": "not_hispanic", "not_hispanic": "hispanic"}, default=None
    )
    turned = pl.when(here).then(other).otherwise("householder_origin")
    homes.with_columns(householder_origin=turned).write_parquet(
        tmp_path / "other" / "households.parquet"
    )
    recon("run", "-c", config.with_name("households.yaml"), "--until", "ingest", "-q")
    said = " ".join(recon("joint", "-c", config, code=6).stderr.split())
    assert f"block {block}: the counts of persons and of households are possible" in said
    assert "persons/contradictions/" in said
    page = (config.parent / "persons" / "contradictions" / f"{block}.md").read_text()
    assert page.startswith(f"# block {block}: no records have all of these counts\n")
    assert "| links[0] (equal) |" in page
    assert "are those of sf1_2010_households" in page
    recon("purge", "-c", config, "--yes")
    assert not (config.parent / "persons" / "contradictions").exists()


def test_links_of_other_releases_are_refused(folder: Path) -> None:
    other = ["--set", f"joint.partner={folder / 'persons.yaml'}"]
    said = recon("joint", "-c", folder / "persons.yaml", *other, code=2).stderr
    assert "household: sf1_2010_households" in said


@pytest.fixture
def unbounded(tmp_path: Path) -> Path:
    """Girls of a block, and homes of one member: nothing says how many boys there are."""
    schema = """\
release: {name}
title: t
record: {record}
features: {{{feature}}}
microdata: [{column}]
histogram: [{column}]
geography: {{levels: [{{level: block, digits: 2}}], partition: block}}
families:
- {{levels: [block], cells: [total], tables: {{T: {{universe: {universe}}}}}}}
"""
    people = {"name": "people", "record": "person", "column": "sex"}
    homes = {"name": "homes", "record": "household", "column": "size"}
    people |= {"feature": "sex: {categories: [girl, boy]}", "universe": "{sex: [girl]}"}
    homes |= {"feature": 'size: {range: "1..3"}', "universe": "{size: [1]}"}
    links = "joint: j\nparts: {person: people, household: homes}\nlinks:\n"
    links += "- {sum: {person: {}, household: {}}, size: size, top: 3}\n"
    (tmp_path / "links.yaml").write_text(links)
    (tmp_path / "c.csv").write_text("geoid,table,cell,count\nA1,T,1,2\n")
    for part in (people, homes):
        (tmp_path / f"{part['name']}.schema.yaml").write_text(schema.format(**part))
        config = f"release: {part['name']}.schema.yaml\nwork: {part['name']}\n"
        config += "ingest: {source: tidy, paths: [c.csv], absent: unpublished}\n"
        if part is people:
            config += "joint: {partner: homes.yaml, links: links.yaml, compositions: 9}\n"
        (tmp_path / f"{part['name']}.yaml").write_text(config)
    recon("ingest", "-c", tmp_path / "homes.yaml")
    return tmp_path


def test_what_no_table_bounds_is_open_not_nothing(unbounded: Path) -> None:
    told = recon("run", "-c", unbounded / "people.yaml", "--until", "joint").stdout
    assert "no table bounds people or households" in told
    assert re.search(r"proven +open", told)
    recon("report", "-c", unbounded / "people.yaml")
    page = (unbounded / "people/report/report.md").read_text()
    assert "**Open:** in 1 block no table bounds the people or the households" in page
    for text in (told, page):
        assert not re.search(r"\b0 \(0%\)|\*\*0\*\* of 0", text)
