"""Areas that need not nest: what the schema says, and what the membership file does."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.ingest.membership import read_membership
from recon_cli.errors import ConfigError, ReconError, SchemaError, SourceError
from recon_cli.schema import AreaGeography, Release, parse_release

SCHEMA = """
release: people
title: People by ward and by square
features: {sex: {categories: [female, male]}}
geography:
  unit: atom
  areas: [{area: ward, within: district}, {area: district}, {area: square}]
microdata: [sex]
histogram: [sex]
families:
  - {levels: [ward, square], cells: [total, {by: sex}], tables: {T1: {}}}
"""
LOOKUP = "atom,ward,district,square\nx1,E05,D1,S17\nx2,E05,D1,S18\nx3,E06,D1,S18\n"


def bound(folder: Path, lookup: str = LOOKUP, schema: str = SCHEMA) -> Release:
    path = folder / "lookup.csv"
    path.write_text(lookup)
    release = parse_release(schema, source="people.yaml")
    return release.with_membership(read_membership(release, {path: {}}))


def geography(release: Release) -> AreaGeography:
    assert isinstance(release.geography, AreaGeography)
    return release.geography


def test_levels_are_finest_first_whatever_the_order(tmp_path: Path) -> None:
    levels = [level.name for level in bound(tmp_path).geography.levels]
    assert levels == ["atom", "ward", "district", "square", "all"]


def test_places_are_looked_up(tmp_path: Path) -> None:
    release = bound(tmp_path)
    by_name = release.geography.by_name
    assert by_name["ward"].enclosing("x2") == "E05"
    assert by_name["ward"].enclosing(pl.Series(["x1", "E06", "S18", "S17"])).to_list() == [
        "E05",
        "E06",
        None,
        "E05",
    ]
    assert by_name["district"].encloses(by_name["ward"])
    assert not by_name["square"].encloses(by_name["ward"])
    assert release.geography.inside("x3", "S18")
    assert not release.geography.inside("E05", "S17")
    assert release.region.name == "overlap"


def test_a_chain_of_areas_is_one_region(tmp_path: Path) -> None:
    lookup = "atom,ward,district,square\na,1,,5\nb,1,,6\nc,2,,6\nd,3,,7\n"
    release = bound(tmp_path, lookup)
    assert release.region.name == "overlap"
    assert [release.region.enclosing(each) for each in "abcd"] == ["a+", "a+", "a+", "d+"]
    assert release.region.enclosing("3") == "d+"


def test_codes_that_two_levels_share_have_their_level(tmp_path: Path) -> None:
    release = bound(tmp_path, "atom,ward,district,square\nx1,1,D,1\nx2,1,D,2\n")
    assert release.geography.by_name["ward"].enclosing("x1") == "ward:1"
    assert release.geography.by_name["square"].enclosing("x2") == "square:2"
    find = geography(release).find
    assert (find("2"), find("ward:1"), find("D")) == ("square:2", "ward:1", "D")
    with pytest.raises(ConfigError, match="'1' is the code of ward:1 and of square:1"):
        find("1")


def test_rows_are_the_units_where_no_column_names_them(tmp_path: Path) -> None:
    release = bound(tmp_path, "ward,district,square\nE05,D1,S17\nE05,D1,S17\nE06,D1,\n")
    assert list(geography(release).listed([])) == ["E05+D1+S17", "E06+D1+"]


@pytest.mark.parametrize(
    ("lookup", "message"),
    [
        (LOOKUP + "x4,E05,D2,S19\n", "line 5: ward E05 has two districts, D1 (x1), D2 (x4)"),
        (LOOKUP + "x4,E05,,S19\n", "line 5: ward E05 has two districts, D1 (x1), none (x4)"),
        (LOOKUP + "x2,E06,D1,S18\n", "line 5: atom x2 is in wards E05 and E06"),
        ("atom,ward,district\nx1,E05,D1\n", "no column square; table T1 is published by it"),
        (LOOKUP + "x4,E/5,D1,S19\n", "line 5: ward 'E/5': a code has no slashes"),
        (LOOKUP + "x_,E05,D1,S19\n", "line 5: atom 'x_': a code has no slashes"),
        (LOOKUP + ",E05,D1,S19\n", "line 5: no atom"),
        ("atom,ward,district,square\n", "expected a row for each atom"),
    ],
)
def test_what_is_wrong_with_a_membership_file(tmp_path: Path, lookup: str, message: str) -> None:
    with pytest.raises(ReconError) as caught:
        bound(tmp_path, lookup)
    assert message in str(caught.value)
    assert "lookup.csv" in str(caught.value)


def test_an_area_in_two_partitions_is_named(tmp_path: Path) -> None:
    schema = SCHEMA.replace("unit: atom", "unit: atom\n  partition: district")
    lookup = LOOKUP + "x4,E07,D2,S18\n"
    with pytest.raises(
        SchemaError,
        match=r"lookup.csv: line 5: partition district: square S18 lies in districts D1 and D2; "
        "use partition: all",
    ):
        bound(tmp_path, lookup, schema)
    lost = "lookup.csv: line 3: atom x2 is in no district, which files are split by"
    with pytest.raises(SchemaError, match=lost):
        bound(tmp_path, "atom,ward,district,square\nx1,E05,D1,S17\nx2,E06,,S18\n", schema)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("within: district", "within: county", "which is no area system"),
        ("{area: district}", "{area: district, within: ward}", "ward is within district is within"),
        ("area: square", "area: all", "'all' is a reserved name"),
        ("unit: atom", "levels: []", "give exactly one of levels, areas"),
    ],
)
def test_what_is_wrong_with_a_schema(old: str, new: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        parse_release(SCHEMA.replace(old, new), source="people.yaml")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ward,E09,T1,1,5", "counts.csv: line 3: ward E09 is not in "),
        (
            "parish,E05,T1,1,5",
            "expected one of the levels atom, ward, district, square; found parish",
        ),
        ("district,D1,T1,1,5", "table T1 is not published at level district"),
    ],
)
def test_rows_of_counts_that_do_not_fit(tmp_path: Path, row: str, message: str) -> None:
    release = bound(tmp_path)
    counts = tmp_path / "counts.csv"
    counts.write_text(f"level,geoid,table,cell,count\nward,E05,T1,1,3\n{row}\n")
    with pytest.raises(SourceError) as caught:
        recon.read_published(release, [counts])
    assert message in str(caught.value)


def test_places_need_the_membership_file() -> None:
    release = parse_release(SCHEMA, source="people.yaml")
    with pytest.raises(ConfigError, match="is in a membership file, which was not given"):
        release.geography.unit.enclosing("x1")


def test_totals_over_the_same_units_that_differ_are_a_contradiction(tmp_path: Path) -> None:
    release = bound(tmp_path, "atom,ward,district,square\nx1,E05,D1,S17\nx2,E05,D1,S18\n")
    rows = [("E05", "T1", 1, 5), ("S17", "T1", 1, 2), ("S18", "T1", 1, 2)]
    counts = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")
    published = recon.publish(release, counts, absent="unpublished")
    with pytest.raises(recon.ReconError, match=r"the least change .* possible is 1 in 1 cell"):
        recon.reconstruct(release, published)


def test_columns_of_other_names_and_others_besides(tmp_path: Path) -> None:
    """A lookup as offices publish it: names beside codes, a row for each finer place."""
    path = tmp_path / "lookup.csv"
    path.write_text(
        "PCD,OA21CD,WD22CD,WD22NM,LAD22CD,GRID\n"
        "AB1,x1,E05,Moor,D1,S17\nAB2,x1,E05,Moor,D1,S17\nAB3,x2,E05,Moor,D1,S18\n"
    )
    release = parse_release(SCHEMA, source="people.yaml")
    names = {"atom": "OA21CD", "ward": "WD22CD", "district": "LAD22CD", "square": "GRID"}
    bound = release.with_membership(read_membership(release, {path: names}))
    assert bound.geography.unit.enclosing("x1") == "x1"
    assert bound.geography.by_name["square"].enclosing("x2") == "S18"
    with pytest.raises(ConfigError, match="columns: no level 'parish'"):
        read_membership(release, {path: {"parish": "WD22CD"}})


DISTRICTS = """
release: people
title: Blocks, and districts that cut their tracts
features: {sex: {categories: [female, male]}}
geography:
  unit: block
  areas: [{area: tract}, {area: congress}, {area: senate}]
microdata: [sex]
histogram: [sex]
families:
  - {levels: [block, tract, congress, senate], cells: [total, {by: sex}], tables: {T1: {}}}
"""


def assignments(folder: Path) -> dict[Path, dict[str, str]]:
    """A file for each plan, as the census publishes its assignments of blocks to districts."""
    blocks = [f"0107300510{tract}00{block}" for tract in (1, 2) for block in (1, 2)]
    plans = {"CD": ["01", "01", "01", "02"], "SLDU": ["007", "008", "008", "008"]}
    files = {}
    for plan, level in (("CD", "congress"), ("SLDU", "senate")):
        path = folder / f"BlockAssign_ST01_AL_{plan}.txt"
        rows = [f"{block}|{code}" for block, code in zip(blocks, plans[plan], strict=True)]
        path.write_text("BLOCKID|DISTRICT\n" + "\n".join(rows) + "\n")
        files[path] = {"block": "BLOCKID", level: "DISTRICT"}
    path = folder / "tracts.csv"
    path.write_text("block,tract\n" + "".join(f"{each},{each[:11]}\n" for each in blocks))
    return files | {path: {}}


def test_assignment_files_are_joined_by_their_blocks(tmp_path: Path) -> None:
    release = parse_release(DISTRICTS, source="people.yaml")
    files = assignments(tmp_path)
    bound = release.with_membership(read_membership(release, files))
    by_name = bound.geography.by_name
    assert by_name["congress"].enclosing("01073005102002") == "02"
    assert by_name["senate"].enclosing("01073005101001") == "007"
    assert not by_name["congress"].encloses(by_name["tract"])
    again = dict(reversed(files.items()))
    assert release.with_membership(read_membership(release, again)).digest == bound.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("01073005102002|02\n", ""),
            r"CD.txt: no block 01073005102002, which \S*SLDU.txt: line 5 lists",
        ),
        (("BLOCKID", "GEOID"), "no column BLOCKID: files are joined by their units"),
        (("DISTRICT", "CD118"), "no column DISTRICT; table T1 is published by it"),
        (("BLOCKID|DISTRICT", "BLOCKID|tract"), "no column DISTRICT"),
        (("|02\n", "|02\n01073005102002|01\n"), "block 01073005102002 is in congresses 02 and 01"),
    ],
)
def test_files_that_do_not_fit_together_are_named(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    release = parse_release(DISTRICTS, source="people.yaml")
    files = assignments(tmp_path)
    path = next(iter(files))
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(SourceError, match=message):
        read_membership(release, files)


def test_what_two_files_say_is_found_in_the_one_that_says_it(tmp_path: Path) -> None:
    release = parse_release(
        DISTRICTS.replace("{area: senate}", "{area: senate, within: congress}"), source="people"
    )
    membership = read_membership(release, assignments(tmp_path))
    message = r"_CD.txt: line 5: senate 008 has two congresses, 01 \(01.1002\), 02 \(01.2002\)"
    with pytest.raises(SchemaError, match=message.replace("01.", "0107300510")):
        release.with_membership(membership)


def test_a_system_in_two_files_is_refused(tmp_path: Path) -> None:
    release = parse_release(DISTRICTS, source="people.yaml")
    files = assignments(tmp_path)
    first, second, _ = files
    with pytest.raises(SourceError, match=r"CD\.txt, too"):
        read_membership(release, files | {second: {"block": "BLOCKID", "congress": "DISTRICT"}})
    with pytest.raises(SourceError, match="no column tract"):
        read_membership(release, {each: files[each] for each in (first, second)})


def test_a_crosswalk_that_cuts_a_unit_is_refused(tmp_path: Path) -> None:
    """Shares of a unit are no lookup: which of its people are where is not known."""
    path = tmp_path / "crosswalk.csv"
    path.write_text("atom,ward,district,square,weight\nx1,E05,D1,S17,0.6\nx1,E06,D1,S17,0.4\n")
    release = parse_release(SCHEMA, source="people.yaml")
    with pytest.raises(SourceError, match="atom x1 is in wards E05 and E06"):
        read_membership(release, {path: {}})
