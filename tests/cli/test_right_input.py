"""Rightly made input with nobody somewhere, and thresholds above all counts, ends in an answer."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from recon_cli.cli import main
from tests.support.command_line import recon

FEATURES = "features: {sex: {categories: [girl, boy]}}\nmicrodata: [sex]\nhistogram: [sex]\n"
TOWNS = (
    "geography: {levels: [{level: school, digits: 4}, {level: town, digits: 2}], partition: town}\n"
)
BY_SEX = "families:\n- {levels: [school, town], cells: [total, {by: sex}], tables: {T: {}}}\n"
#: B1 is a partition without people.
COUNTS = "A101,T,1,5\nA101,T,2,4\nA101,T,3,1\nA1,T,1,5\nA1,T,2,4\nA1,T,3,1\nB101,T,1,0\nB1,T,1,0\n"


def write(folder: Path, schema: str, counts: str, run: str, ingest: str = "") -> Path:
    (folder / "r.yaml").write_text("release: r\ntitle: t\n" + schema)
    (folder / "c.csv").write_text("geoid,table,cell,count\n" + counts)
    begin = "release: r.yaml\nwork: work\nworkers: 1\n"
    begin += f"ingest: {{source: tidy, paths: [c.csv]{ingest}}}\n"
    (folder / "run.yaml").write_text(begin + run)
    return folder / "run.yaml"


def read(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"work/{name}/**/*.parquet", hive_partitioning=False)


def test_nobody_is_left_out_where_nobody_lives(tmp_path: Path) -> None:
    schools = "geography: {levels: [{level: school, digits: 2}], partition: school}\n"
    families = "families:\n- {levels: [school], cells: [{by: sex}], tables: {T: {}}}\n"
    (tmp_path / "list.csv").write_text("geoid\nA1\nA2\n")
    (tmp_path / "truth.csv").write_text("geoid_school,sex\nA1,girl\n")
    run = write(
        tmp_path,
        FEATURES + schools + families,
        "A1,T,1,1\n",
        "reconstruct:\nleave_one_out: {records: truth.csv, gains: [sex]}\n",
        ", geounits: list.csv",
    )
    recon("run", "-c", run, "--until", "leave-one-out")
    assert read(tmp_path, "leave_one_out")["geoid_school"].to_list() == ["A1"]


def test_nothing_is_suppressed_where_nobody_lives(tmp_path: Path) -> None:
    run = write(
        tmp_path, FEATURES + TOWNS + BY_SEX, COUNTS, "suppress: {counts: exact, below: 3}\n"
    )
    recon("ingest", "-c", run, "--work", tmp_path / "exact")
    told = recon("protect", "suppress", "-c", run, "--set", f"suppress.counts={tmp_path / 'exact'}")
    assert "warning" in told.stdout


def test_an_atom_outside_the_only_area_that_tells_a_column(tmp_path: Path) -> None:
    areas = "geography: {unit: atom, areas: [{area: ward}, {area: square}]}\n"
    families = """families:
- {levels: [square], cells: [total], tables: {T0: {}}}
- {levels: [ward], cells: [{by: sex}], tables: {T1: {}}}
"""
    (tmp_path / "look.csv").write_text("atom,ward,square\nx1,,S0\nx2,W1,S0\n")
    run = write(
        tmp_path,
        FEATURES + areas + families,
        "S0,T0,1,2\nW1,T1,1,1\nW1,T1,2,0\n",
        "reconstruct:\nsolvar:\nclaims:\n"
        "check: {rules: [{certain_records: {}, most: 0}, {disclosed: {known: 1}, most: 0}]}\n",
        ", membership: look.csv",
    )
    recon("run", "-c", run, "--until", "claims")
    people = read(tmp_path, "microdata").sort("geoid_atom")
    assert people["geoid_atom"].to_list() == ["x1", "x2"]
    assert people["sex"].to_list() == [None, "girl"]
    recon("check", "-c", run, code=21)


def test_a_school_of_a_town_that_is_not_listed_is_audited(tmp_path: Path) -> None:
    levels = """geography:
  levels: [{level: school, digits: 5}, {level: town, digits: 3}, {level: land, digits: 1}]
  partition: land
families:
- {levels: [school, town, land], cells: [total, {by: sex}], tables: {T: {}}}
"""
    (tmp_path / "law.yaml").write_text("statements:\n- {law: {suppressed: {below: 3}}}\n")
    run = write(
        tmp_path,
        FEATURES + levels,
        "A0101,T,1,*\nA01,T,1,*\nA,T,1,4\nA,T,2,*\n",
        "audit:\n",
        ", absent: unpublished, protection: law.yaml",
    )
    recon("run", "-c", run, "--until", "audit")
    found = read(tmp_path, "audit").filter(geoid="A", cell=2)
    assert found.select("least", "greatest").rows() == [(1, 2)]


@pytest.mark.parametrize(
    ("law", "ends"),
    [
        ("{suppressed: {below: 4000000000}}", (1, None)),
        ("{zeroed: {below: 4000000000}}", (0, None)),
        ("{rounded: {base: 4000000000}}", (0, None)),
        ("{rounded: {base: 4000000001, how: nearest}}", (0, 2_000_000_000)),
    ],
)
def test_thresholds_above_all_counts(
    tmp_path: Path, law: str, ends: tuple[int, int | None]
) -> None:
    (tmp_path / "law.yaml").write_text(f"statements:\n- {{law: {law}}}\n")
    shown = "*" if "suppressed" in law else "0"
    families = "families:\n- {levels: [school], cells: [total], tables: {T: {}}}\n"
    run = write(
        tmp_path,
        FEATURES + TOWNS + families,
        f"A101,T,1,{shown}\nA102,T,1,{shown}\n",
        "audit:\n",
        ", protection: law.yaml, absent: unpublished",
    )
    recon("run", "-c", run, "--until", "audit")
    found = read(tmp_path, "audit")
    assert set(found.select("low", "high").rows()) == {ends}
    assert set(found.select("least", "greatest").rows()) == {ends}


ABOUT_PEOPLE = """\
reconstruct:
check:
  rules:
  - {certain_records: {}, most: 0}
  - {disclosed: {known: 1}, most: 0}
  - {disclosed: {known: 0, kind: identity}, most: 0}
  - {geography: {at_least: 4}, most: 0}
  - {certain_records: {columns: [sex]}, most: 0}
  - {categories: {columns: [sex], at_least: 9, totals: nation.csv}, most: 0}
"""


def test_a_town_without_a_row_has_nobody_where_absent_rows_are_zeros(tmp_path: Path) -> None:
    """Its school has a row of stars, which may be zero; with people it would be a lost row."""
    levels = "[{level: school, digits: 4}, {level: town, digits: 3}, {level: county, digits: 1}]"
    families = BY_SEX.replace("school, town", "school, town, county")
    star = "{suppressed: {below: 3, flagged: may-be-zero}}"
    (tmp_path / "law.yaml").write_text(f"statements: [{{levels: [school], law: {star}}}]\n")
    stars = "A101,T,1,*\nA101,T,2,*\nA101,T,3,*\nA201,T,1,5\nA201,T,2,5\nA20,T,1,5\nA20,T,2,5\n"
    run = write(
        tmp_path,
        FEATURES + f"geography: {{levels: {levels}, partition: county}}\n" + families,
        stars + "A,T,1,5\nA,T,2,5\n",
        "reconstruct:\naudit:\n",
        ", absent: zero, protection: law.yaml",
    )
    recon("run", "-c", run)
    assert read(tmp_path, "audit").select("geoid", "status").unique().rows() == [
        ("A101", "recovered")
    ]
    (tmp_path / "c.csv").write_text((tmp_path / "c.csv").read_text().replace("1,*", "1,4"))
    refused = CliRunner().invoke(main, ["run", "-c", str(run)])
    assert refused.exit_code == 4
    assert "its town A10 is not in the release" in refused.output
    (tmp_path / "places.txt").write_text("geoid\nA101\nA201\n")
    listed = ["run", "-c", str(run), "--set", f"ingest.geounits={tmp_path / 'places.txt'}"]
    contradicted = CliRunner().invoke(main, listed)
    assert "no true counts within what they state fit together" in contradicted.output


def verdicts(folder: Path, run: Path) -> list[str]:
    (folder / "nation.csv").write_text("sex,count\ngirl,5\nboy,50\n")
    recon("check", "-c", run, "--json", folder / "verdicts.json", code=21)
    found = json.loads((folder / "verdicts.json").read_text())
    return [rule["verdict"] for rule in found["rules"]]


@pytest.mark.parametrize("cells", ["[total]", "[total, {by: sex}]"])
def test_rules_about_people_are_judged_by_tables_of_totals(tmp_path: Path, cells: str) -> None:
    counts = "A101,T,1,1\nA1,T,1,1\nB101,T,1,2\nB1,T,1,2\n"
    schema = FEATURES + TOWNS + BY_SEX.replace("[total, {by: sex}]", cells)
    run = write(tmp_path, schema, counts, ABOUT_PEOPLE, ", absent: unpublished")
    assert verdicts(tmp_path, run) == ["kept"] * 4 + ["undecided"] * 2
    recon("report", "-c", run)
    page = (tmp_path / "work/report/report.md").read_text()
    assert "say how many people there are, and no more" in page
    assert "given away" not in page.split("##")[0]


def test_a_partition_of_published_zeros_alone_has_nobody(tmp_path: Path) -> None:
    counts = "A101,T,1,3\nA101,T,2,2\nA101,T,3,1\nA1,T,1,3\nA1,T,2,2\nA1,T,3,1\nB1,T,1,0\n"
    run = write(tmp_path, FEATURES + TOWNS + BY_SEX, counts, "reconstruct:\nsolvar:\nclaims:\n")
    recon("run", "-c", run, "--until", "claims")
    assert read(tmp_path, "microdata")["geoid_school"].to_list() == ["A101"] * 3


def test_rules_about_people_are_undecided_under_noise(tmp_path: Path) -> None:
    law = "statements:\n- {law: {gaussian: {variance: 1.0}}}\n"
    (tmp_path / "law.yaml").write_text(law)
    run = write(tmp_path, FEATURES + TOWNS + BY_SEX, COUNTS, ABOUT_PEOPLE, ", protection: law.yaml")
    assert verdicts(tmp_path, run) == ["undecided"] * 6


#: A kind of release → its counts, its law, who lives there.
SMALL = {
    "an empty partition": (
        "A101,T,1,3\nA101,T,2,2\nA101,T,3,1\nA1,T,1,3\nA1,T,2,2\nA1,T,3,1\nB101,T,1,0\n",
        "",
        "A101,girl\nA101,girl\nA101,boy\n",
    ),
    "nobody": ("A101,T,1,0\nA1,T,1,0\n", "", ""),
    "one person": ("A101,T,1,1\nA101,T,2,1\nA1,T,1,1\nA1,T,2,1\n", "", "A101,girl\n"),
    "totals alone": ("A101,T,1,2\nA1,T,1,2\n", "", "A101,girl\nA101,boy\n"),
    "all withheld": ("A101,T,1,*\nA101,T,2,*\nA1,T,1,*\n", "suppressed: {below: 3}", "A101,girl\n"),
}
#: What a run is asked, and of which releases it says in a line why it cannot answer.
ASKED: dict[str, dict[str, str]] = {
    "reconstruct": {},
    "solvar": {},
    "claims": {"totals alone": "nothing can be claimed"},
    "audit": {},
    "prove": {},
    "confidence": {"all withheld": "needs exact counts"},
    "contributions": {"totals alone": "nothing can be claimed"},
    "leave-one-out": {
        "totals alone": "the tables in use tell nothing of sex",
        "all withheld": "needs exact counts",
    },
    "attribute": {},
    "verify": {},
    "plan capacity": {
        "nobody": "no person is in any school",
        "all withheld": "needs exact counts",
    },
    "show A101": {},
    "estimate": dict.fromkeys(SMALL, "every count must have Gaussian or geometric noise"),
    "protect suppress": {},
    "protect round": {},
    "protect cellkey": {},
    "report": {},
    "check": {},
}
SECTIONS = """\
confidence: {solutions: 2}
leave_one_out: {records: truth.csv, gains: [sex]}
attribute: {attackers: {LIST: list.csv}}
check: {rules: [{certain_records: {}, most: 0}, {recovered: {below: 3}, most: 0}]}
suppress: {records: truth.csv, below: 3}
round: {records: truth.csv}
cellkey: {records: truth.csv}
"""


@pytest.mark.parametrize("kind", SMALL)
def test_every_command_answers_on_a_small_release(tmp_path: Path, kind: str) -> None:
    counts, law, people = SMALL[kind]
    schema = FEATURES + TOWNS + BY_SEX
    absent = ", absent: unpublished" if kind in {"totals alone", "all withheld"} else ""
    if law:
        (tmp_path / "law.yaml").write_text(f"statements:\n- {{law: {{{law}}}}}\n")
        absent += ", protection: law.yaml"
    (tmp_path / "truth.csv").write_text("geoid_school,sex\n" + people)
    (tmp_path / "list.csv").write_text("name,geoid_school,sex\nAnn,A101,girl\n")
    run = write(tmp_path, schema, counts, SECTIONS, absent)
    recon("ingest", "-c", run)
    for command, refused in ASKED.items():
        result = CliRunner().invoke(main, [*command.split(), "-c", str(run)])
        why = refused.get(kind)
        assert (why is None) == (result.exit_code in {0, 20, 21}), command + result.output
        if why is not None:
            assert why in result.stderr
            assert len(result.stderr.splitlines()) == 1
