"""The rule of suppression: what a note says is quoted, what is said is drafted and proves more."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.notes import noted_rule
from tests.support.command_line import audit_drafted, recon

TABLE = """Court,All,Men,Women
Ashby,40,31,9
Elm,7,*,*
Oak,47,32,15
Yew,6,*,*
"""
NOTED = TABLE + "* fewer than 5 people\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _page() -> str:
    return Path("work/courts/report/report.html").read_text()


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("* fewer than 5 people", 5),
        ("* = 1 to 4", 5),
        ("Zahlen unter 3 unterliegen der Geheimhaltung", 3),
        ("Numbers between one and nine are suppressed", 10),
        ("Counts of less than ten are withheld", 10),
        ("c moins de 11 personnes, secret statistique", 11),
        ("Children under 5 are counted by area of residence", None),
        ("* provisional", None),
    ],
)
def test_a_note_says_the_rule(text: str, below: int | None) -> None:
    found = noted_rule(["A title", text], ["*"])
    assert (found and found.below) == below


def test_two_notes_that_differ_say_nothing() -> None:
    assert noted_rule(["* fewer than 5", "* fewer than 10 from 2020 on"], ["*"]) is None


def test_a_note_is_quoted_with_the_flags_that_say_the_same() -> None:
    Path("courts.csv").write_text(NOTED)
    told = " ".join(recon("init", "courts.csv").stdout.split())
    assert "'* fewer than 5 people' (`--below 5`, with `--complementary`" in told
    Path("plain.csv").write_text(TABLE)
    told = " ".join(recon("init", "plain.csv", "--to", "plain.yaml").stdout.split())
    assert "a narrower rule proves more page" in told


def test_what_is_said_is_the_law_that_is_audited() -> None:
    Path("courts.csv").write_text(NOTED)
    recon("init", "courts.csv")
    unknown = recon("run").stdout
    assert "safe if" in unknown
    assert "A count is safe if nobody knows by which rule" in _page()
    recon("init", "courts.csv", "--force", "--below", "5")
    known = recon("run").stdout
    assert "safe if" not in known
    assert "by which rule" not in _page()
    found = pl.read_parquet("work/courts/audit/**/*.parquet").sort("geoid", "cell")
    assert found["least"].to_list() == [3, 3, 2, 2]  # of seven, and six
    assert found["greatest"].to_list() == [4, 4, 4, 4]


def test_a_rule_of_nothing_and_half_a_rule_are_refused() -> None:
    Path("full.csv").write_text("Court,All,Men,Women\nAshby,40,31,9\nElm,22,12,10\n")
    text = recon("init", "full.csv", "--below", "5", code=2).stderr
    assert "--below 5: no text stands in place of a count" in text
    text = recon("init", "full.csv", "--zeros", code=2).stderr
    assert "--zeros: say below which number counts are suppressed" in text


ROUNDED = """Court,All,Men,Women
Ashby,42,33,9
Elm,21,12,9
Fir,69,36,36
Oak,18,12,6
Pine,90,57,30
Yew,9,6,3
"""


@pytest.mark.parametrize(("how", "greatest"), [("nearest", 10), ("random", 11)])
def test_how_counts_are_rounded_is_the_law_that_is_audited(how: str, greatest: int) -> None:
    Path("courts.csv").write_text(ROUNDED)
    assert "whether counts are rounded, and how" in recon("init", "courts.csv").stdout
    told = recon("init", "courts.csv", "--force", "--rounded", how).stdout
    assert "as it was said" in told
    assert "not told" not in told
    assert f"how: {how}" in Path("recon.protection.yaml").read_text()
    audit_drafted()
    found = pl.read_parquet("work/courts/audit/**/*.parquet").sort("geoid", "cell")
    assert found.filter(pl.col("geoid") == "A1")["greatest"][-1] == greatest  # nine women


def test_counts_that_are_said_to_be_exact_have_no_law() -> None:
    Path("courts.csv").write_text(ROUNDED.replace("69", "72").replace("90", "87"))
    recon("init", "courts.csv", "--rounded", "none")
    assert not Path("recon.protection.yaml").exists()


def test_a_rounding_that_no_number_shows_is_refused() -> None:
    Path("courts.csv").write_text(ROUNDED.replace("42", "43"))
    text = recon("init", "courts.csv", "--rounded", "nearest", code=2).stderr
    assert "--rounded nearest: the counts are not all multiples of one number" in text


def test_all_places_are_listed_where_that_is_said() -> None:
    Path("courts.csv").write_text(TABLE)
    recon("init", "courts.csv", "--below", "5", "--all-places")
    assert Path("recon.geounits.csv").read_text() == "geoid\nA1\nA2\nA3\nA4\n"
    told = recon("run", "--only", "ingest").stdout
    assert "not published exactly" not in told
    assert "  people          100\n" in told  # the files say no sum of all courts
    said = " ".join(recon("run").stdout.split())
    assert "counts are listed for every place (recon.geounits.csv)" in said
    assert "suppressed (below 5); listed for every place (recon.geounits.csv)" in _page()


def test_variability_is_offered_and_not_run() -> None:
    Path("courts.csv").write_text(TABLE)
    recon("init", "courts.csv", "--below", "5")
    text = Path("recon.yaml").read_text()
    assert "\n#solvar:\n" in text
    assert "\n  #mode: relaxed\n" in text
    recon("run")
    assert not Path("work/courts/solvar").exists()
    Path("recon.yaml").write_text(text.replace("#solvar:", "solvar:"))
    recon("run", "--only", "solvar")
    assert Path("work/courts/solvar").is_dir()


def test_the_gate_of_an_office_has_its_rule() -> None:
    Path("courts.csv").write_text(TABLE)
    recon("init", "courts.csv")
    refused = recon("check", code=2).stderr
    assert "missing (it needs rules; for example --set 'check.rules=[{recovered: " in refused
    assert "#check:\n" in Path("recon.yaml").read_text()
    recon("init", "courts.csv", "--force", "--below", "5")
    assert "  rules:\n    - {recovered: {below: 5}, most: 0}" in Path("recon.yaml").read_text()
    kept = recon("check").stdout
    assert kept.startswith("check: kept")
    assert "not asked  whether people are given away" in kept
    Path("courts.csv").write_text(TABLE.replace("7,*,*", "7,*,5"))
    assert recon("check", code=20).stdout.startswith("check: broken")


def test_a_rule_is_of_marks_alone_where_smaller_counts_are_shown() -> None:
    """Regions are often not suppressed: a shown 3 is exact, and no contradiction."""
    Path("courts.csv").write_text(TABLE + "Zeal,3,2,1\n")
    told = " ".join(recon("init", "courts.csv", "--below", "5").stdout.split())
    assert "3 counts are shown that the rule would suppress: the law is taken to be of '*'" in told
    assert "markers: ['*']" in Path("recon.protection.yaml").read_text()
    audit_drafted()
    found = pl.read_parquet("work/courts/audit/**/*.parquet")
    assert len(found) == 4


def test_a_count_that_a_percentage_narrows_is_judged_by_its_law() -> None:
    """0% of 650 is 0 to 3: of two counts that are possible one is enough by no law of five."""
    Path("offices.csv").write_text(
        "Office,All,Women,Men,Women %,Men %\nAton,300,270,30,90.0,10.0\n"
        "Bton,310,280,30,90.3,9.7\nCton,900,*,*,99.6,0.4\nEton,512,400,112,78.1,21.9\n"
        "Fton,650,*,*,100,0\nGton,333,300,33,90.1,9.9\n"
    )
    recon("init", "offices.csv", "--below", "5", "--complementary")
    audit_drafted()
    found = pl.read_parquet("work/offices/audit/**/*.parquet").sort("geoid", "cell")
    assert found.select("least", "greatest", "required", "suppression", "status").rows() == [
        (896, 896, 5, "complementary", "recovered"),
        (4, 4, 5, "primary", "recovered"),
        (647, 649, 5, "complementary", "narrowed"),
        (1, 3, 5, "primary", "narrowed"),
    ]


def test_a_text_that_says_its_interval_keeps_it_beside_a_percentage() -> None:
    Path("offices.csv").write_text(
        "Office,All,Women,Men,Women %,Men %\nAton,300,270,30,90.0,10.0\n"
        "Bton,310,280,30,90.3,9.7\nEton,512,400,112,78.1,21.9\n"
        "Fton,650,*,<5,100,0\nGton,333,300,33,90.1,9.9\n"
    )
    recon("init", "offices.csv")
    audit_drafted()
    found = pl.read_parquet("work/offices/audit/**/*.parquet").sort("geoid", "cell")
    assert found.select("cell", "least", "greatest", "required", "status").rows() == [
        (2, 647, 650, 1, "safe"),  # by no rule that is known, and the summary says so
        (3, 0, 3, 4, "narrowed"),  # 0 to 4 by the text
    ]


TWO_MARKS = TABLE.replace("Yew,6,*,*", "Yew,:,:,:")


@pytest.mark.parametrize(
    ("note", "flags", "doubt"),
    [
        (": = not available\n* fewer than 5 people\n", ["--below", "5"], "what ':' hides: a note"),
        ("", ["--below", "*=5"], None),
        ("", ["--below", "5"], "whether '*', ':' all hide counts below 5 (`--below TEXT=5`)"),
    ],
)
def test_a_rule_is_of_the_texts_that_it_is_said_of(
    note: str, flags: list[str], doubt: str | None
) -> None:
    Path("courts.csv").write_text(TWO_MARKS + note)
    told = " ".join(recon("init", "courts.csv", *flags).stdout.split())
    assert ("not told" in told) == (doubt is not None)
    assert doubt is None or doubt in told
    law = Path("recon.protection.yaml").read_text()
    is_of_one = doubt is None or "a note" in doubt
    assert ("{markers: ['*'], law: {suppressed: {below: 5}}}" in law) == is_of_one
    assert ("{markers: [':'], law: {suppressed: {flagged: may-be-zero}}}" in law) == is_of_one


@pytest.mark.parametrize("wrong", ["c=5", "five", "1", "*="])
def test_a_rule_of_a_text_that_is_not_there_is_refused(wrong: str) -> None:
    Path("courts.csv").write_text(TWO_MARKS)
    assert f"--below {wrong}: " in recon("init", "courts.csv", "--below", wrong, code=2).stderr


LONG = "district,sex,age,count\n" + "".join(
    f"{place},{sex},{age},{count}\n"
    for place, rows in {
        "North": ((3, 41, 44), (2, 38, 40), (5, 79, 84)),
        "South": ((9, 51, 60), (8, 48, 56), (17, 99, 116)),
        "West": ((7, 61, 68), (6, 58, 64), (13, 119, 132)),
    }.items()
    for sex, counts in zip(("M", "F", "T"), rows, strict=True)
    for age, count in zip(("young", "old", "all ages"), counts, strict=True)
)


@pytest.mark.parametrize("flags", [(), ("--below", "4"), ("--below", "=4")])
def test_blanks_of_a_long_file_are_counts_that_are_withheld(flags: tuple[str, ...]) -> None:
    Path("long.csv").write_text(LONG.replace("young,3", "young,").replace("young,2", "young,"))
    told = " ".join(recon("init", "long.csv", *flags).stdout.split())
    assert "what blanks mean" in told or flags
    audit_drafted()
    found = pl.read_parquet("work/long/audit/**/*.parquet")
    assert sorted(found["least"]) == sorted(found["greatest"]) == [2, 3]


def test_counts_without_a_row_are_told_and_audited() -> None:
    """Offices leave rows out where they withhold counts: what follows from the others is said."""
    rows = [
        line for line in LONG.splitlines() if not line.startswith("North") or ",young," not in line
    ]
    Path("long.csv").write_text("\n".join(rows) + "\n")
    told = " ".join(recon("init", "long.csv").stdout.split())
    assert "what 3 of 27 counts are that have no row" in told
    told = " ".join(recon("run").stdout.split())
    assert "3 of 3 that were left out (100%) follow from the others" in told


def test_a_long_file_with_every_row_has_no_such_doubt() -> None:
    Path("long.csv").write_text(LONG)
    assert "no row" not in recon("init", "long.csv").stdout


DASHED = TABLE.replace("Elm,7,*,*", "Elm,7,7,–")


@pytest.mark.parametrize(
    ("note", "flags"),
    [
        ("– = nichts vorhanden; * = weniger als 5\n", []),
        ("– nil\n", []),
        ("「*」は秘匿\uff0c「–」は該当数字なし\n", []),
        ("", ["--nil", "–"]),
    ],
)
def test_a_dash_is_nobody_where_a_note_says_so(note: str, flags: list[str]) -> None:
    Path("courts.csv").write_text(DASHED + note)
    recon("init", "courts.csv", "--below", "5", *flags)
    assert "markers" not in Path("recon.protection.yaml").read_text()
    audit_drafted()
    assert len(pl.read_parquet("work/courts/audit/**/*.parquet")) == 2


def test_a_note_that_sums_break_is_not_believed() -> None:
    Path("courts.csv").write_text(TABLE.replace("*,*", "–,–") + "– nil\n")
    told = recon("init", "courts.csv").stdout
    assert "'–' may be any" in " ".join(told.split())


def test_a_share_that_is_printed_as_a_bound_is_not_used_and_told() -> None:
    Path("wards.csv").write_text(
        "Ward,All,Served,Served %\nAton,50,44,88%\nBton,40,35,88%\nCton,90,51,57%\n"
        "Dton,10,*,≥95%\nEton,30,12,40%\n"
    )
    told = recon("init", "wards.csv", "--all-places", "--count", "Served").stdout
    assert "not used  1 number: 'Served % (bounds)'" in told
    said = " ".join(recon("run").stdout.split())
    assert "safe without numbers that are not used" in said
