"""Places with names and no codes: drafted geoids, and a run from an office's table to its audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from recon_cli.capabilities.ingest.options import Mapping
from recon_cli.capabilities.init.place_parents import PlaceSum
from recon_cli.capabilities.init.place_tree import PlaceTree
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.init.survey import Survey, rounding_base
from recon_cli.cli import main
from recon_cli.errors import SourceError

TABLE = """\
School,Year 1 girls,Year 1 boys,Year 2 girls,Year 2 boys,Total
Ashby,*,*,0,14,17
St Birch,5,5,*,0,11
Cedar,0,0,5,9,14
Elm,9,4,<3,5,20
"""


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["A101", "A102"], {"A101": "A101", "A102": "A102"}),
        (["E01", "E02", "W01"], {"E01": "E01", "E02": "E02", "W01": "W01"}),
        (["1", "12", "13", "2"], {"1": "A1", "12": "A2", "13": "A3", "2": "A4"}),
        (["Ashby", "Elm"], {"Ashby": "A1", "Elm": "A2"}),
        (["All schools", "Ashby", "Elm"], {"All schools": "A", "Ashby": "A1", "Elm": "A2"}),
        (
            ["North / Ash", "South / Elm"],
            {"North": "A1", "North / Ash": "A11", "South": "A2", "South / Elm": "A21"},
        ),
    ],
)
def test_names_are_numbered_and_codes_kept(places: list[str], expected: dict[str, str]) -> None:
    tree = PlaceTree()
    counts = [[9.0] if place.startswith("All") else [4.0] for place in places]
    tree.add(
        "a.csv",
        [tuple(place.split(" / ")) for place in places],
        [],
        Intervals.exact(np.array(counts)),
        {},
    )
    assert tree.geoids() == expected


def test_codes_that_begin_with_that_of_the_whole_are_geoids() -> None:
    tree = PlaceTree()
    paths = [("Land",), ("Ash",), ("Elm",)]
    codes = {0: "A1", 1: "A101", 2: "A102"}
    tree.add("a.csv", paths, [PlaceSum(0, (1, 2))], Intervals.exact(np.ones((3, 1))), codes)
    assert tree.geoids() == {"Land": "A1", "Ash": "A101", "Elm": "A102"}


def test_sums_say_what_is_part_of_what() -> None:
    tree = PlaceTree()
    sums = [PlaceSum(0, (1, 4)), PlaceSum(1, (2, 3))]
    names = ["Land", "North", "Ash", "Elm", "South"]
    tree.add("a.csv", [(name,) for name in names], sums, Intervals.exact(np.ones((5, 1))), {})
    assert tree.geoids() == {"Land": "A", "North": "A1", "Ash": "A11", "Elm": "A12", "South": "A2"}
    # A sheet of names alone has the places of the other.
    tree.add("b.csv", [("Elm",), ("Ash",)], [], Intervals.exact(np.ones((2, 1))), {})
    assert tree.paths()["Elm"] == ("North", "Elm")


def test_an_offices_table_with_names_and_stars_is_audited_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schools.csv").write_text(TABLE, encoding="utf-8")
    done = CliRunner().invoke(main, ["init", "schools.csv"])
    assert done.exit_code == 2, done.output  # one row shows that they add up, by chance perhaps
    done = CliRunner().invoke(main, ["init", "schools.csv", "--total", "Total"])
    assert done.exit_code == 0, done.output
    assert "protection.yaml" in done.output
    done = CliRunner().invoke(main, ["run", "--until", "audit"])
    assert done.exit_code == 0, done.output
    audit = pl.read_parquet("work/schools/audit/**/*.parquet")
    # Names in the file's order: Ashby A1, St Birch A2, Cedar A3, Elm A4.
    found = {
        (geoid, cell): (least, greatest, status)
        for geoid, cell, least, greatest, status in audit.select(
            "geoid", "cell", "least", "greatest", "status"
        ).rows()
    }
    assert found == {
        ("A1", 1): (0, 3, "safe"),
        ("A1", 2): (0, 3, "safe"),
        ("A2", 3): (1, 1, "recovered"),
        ("A4", 3): (2, 2, "recovered"),
    }


ROUNDED = """\
Practice,Total,Male 0-15,Male 16-64,Male 65+,Female 0-15,Female 16-64,Female 65+
Ash,140,40,15,20,35,*,30
Birch,90,15,*,10,5,25,30
Cedar,130,15,25,35,5,35,15
Elm,130,10,*,10,40,40,30
"""


def test_counts_that_look_rounded_are_drafted_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("practices.csv").write_text(ROUNDED, encoding="utf-8")
    done = CliRunner().invoke(main, ["init", "practices.csv"])
    assert done.exit_code == 2, done.output
    assert "1 question to be answered" in done.output
    done = CliRunner().invoke(main, ["init", "practices.csv", "--total", "Total"])
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "whether counts are rounded, and how: all are multiples of 5" in said
    draft = Path("recon.protection.yaml").read_text(encoding="utf-8")
    assert "- {markers: ['*'], law: {suppressed: {flagged: may-be-zero}}}" in draft
    assert "- {law: {rounded: {base: 5}}}" in draft
    done = CliRunner().invoke(main, ["run", "--until", "audit"])
    assert done.exit_code == 0, done.output
    audit = pl.read_parquet("work/practices/audit/**/*.parquet")
    assert set(audit["status"]) == {"safe"}


TIDY_SCHEMA = """\
release: wards
title: Wards
features: {sex: {categories: [women, men]}}
geography: {levels: [{level: ward, digits: 3}], partition: ward}
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward], cells: [total, {by: sex}], tables: {T: {}}}
"""


@pytest.mark.parametrize(
    ("counts", "law"),
    [
        ((9, "*", "*"), "  - {law: {suppressed: {flagged: may-be-zero}}}"),
        ((10**6, 10**5, 9 * 10**5), "  - {law: {rounded: {base: 100000}}}"),
    ],
)
def test_tidy_files_with_protected_counts_are_drafted_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: tuple[object, ...], law: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.schema.yaml").write_text(TIDY_SCHEMA)
    rows = "".join(f"A10,T,{cell},{count}\n" for cell, count in enumerate(counts, start=1))
    Path("wards.csv").write_text(f"geoid,table,cell,count\n{rows}")
    arguments = ["init", "wards.csv", "--release", "wards.schema.yaml"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert law in Path("recon.protection.yaml").read_text().splitlines()
    assert CliRunner().invoke(main, ["run", "--until", "audit"]).exit_code == 0
    # A law that is there already stays, and is the one that is used.
    Path("recon.protection.yaml").rename("protection.yaml")
    done = CliRunner().invoke(main, [*arguments, "--force"])
    assert done.exit_code == 0, done.output
    assert "protection.yaml, as it is there" in done.output
    assert "not told" not in done.output
    assert not Path("recon.protection.yaml").exists()
    assert CliRunner().invoke(main, ["run", "--until", "audit"]).exit_code == 0


def test_a_tidy_file_with_other_texts_is_refused_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wards.schema.yaml").write_text(TIDY_SCHEMA)
    Path("wards.csv").write_text("geoid,table,cell,count\nA10,T,1,9\nA10,T,2,many\n")
    done = CliRunner().invoke(main, ["init", "wards.csv", "--release", "wards.schema.yaml"])
    assert done.exit_code == SourceError.exit_code
    assert "line 3: geoid A10, table T, cell 2: expected a whole number" in done.output


@pytest.mark.parametrize(
    ("positive", "divisor", "base"),
    [(48, 5, 5), (8, 5, None), (9, 5, 5), (20, 2, 2), (19, 2, None), (500, 1, None), (0, 0, None)],
)
def test_few_multiples_may_be_chance(positive: int, divisor: int, base: int | None) -> None:
    found = Survey(pl.Series(["A1"]), 1, {}, {}, positive=positive, divisor=divisor)
    assert rounding_base([found]) == base
    exact = Survey(pl.Series(["A1"]), 1, {}, {}, positive=3, divisor=1)
    assert rounding_base([found, exact]) is None


def test_a_geoid_has_letters_and_digits_only() -> None:
    with pytest.raises(ValueError, match="letters and digits only"):
        Mapping(geoids={"Ashby": "A-1"})


def test_a_place_of_one_group_is_no_sum_of_some_of_another(tmp_path: Path) -> None:
    """20 = 12 + 8 and 10 = 6 + 4 in another district are chance, whatever the numbers say."""
    lines = ["District,School,All,Girls,Boys", "Ash,Oak,20,10,10", "Ash,Elm,31,14,17"]
    lines += ["Birch,Yew,12,6,6", "Birch,Fir,8,4,4", "Birch,Ivy,40,21,19"]
    (tmp_path / "office.csv").write_text("\n".join([*lines, ""]))
    found = recognise([tmp_path / "office.csv"])
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    assert {geoids["Birch / Yew"][:-1], geoids["Birch / Fir"][:-1]} == {geoids["Birch / Ivy"][:-1]}


def test_the_total_of_all_groups_may_stand_behind_that_of_the_last(tmp_path: Path) -> None:
    # Stars leave no sum shown: that 'Total' is of its heading's schools is read off its word.
    table = tmp_path / "schools.csv"
    table.write_text(
        "School,All,Girls,Boys\n"
        "North,,,\nAsh,30,c,c\nBirch,14,c,c\nTotal,44,21,23\n"
        "South,,,\nCedar,17,c,c\nElm,26,c,c\nTotal,43,20,23\nCounty,87,41,46\n"
    )
    found = recognise([table])
    assert found.mapping["geoids"] == {
        "North / Total": "A1",
        "North / Ash": "A11",
        "North / Birch": "A12",
        "South / Total": "A2",
        "South / Cedar": "A21",
        "South / Elm": "A22",
        "South / County": "A",
    }


def test_rows_with_parts_of_their_own_within_one_group_stay_apart() -> None:
    rows = [
        ("All",),
        ("Executive",),
        ("Executive", "Departments"),
        ("Executive", "Departments", "State"),
        ("Executive", "Departments", "Defence"),
        ("Executive", "Agencies"),
        ("Executive", "Agencies", "Post"),
        ("Executive", "Agencies", "Peace"),
        ("Courts",),
    ]
    counts = np.array([[15], [10], [6], [1], [5], [4], [3], [1], [5]], dtype=float)
    sums = [
        PlaceSum(0, (1, 8)),
        PlaceSum(1, (2, 5)),
        PlaceSum(2, (3, 4)),
        PlaceSum(5, (6, 7)),
    ]
    tree = PlaceTree()
    tree.add("sheet", rows, sums, Intervals.exact(counts), {})

    geoids = tree.geoids()

    assert len(set(geoids.values())) == len(rows)
    assert geoids["Executive / Agencies / Post"].startswith(geoids["Executive / Agencies"])
