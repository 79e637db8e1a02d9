"""The sf1-legacy source: round trips, real files, and every refusal."""

from __future__ import annotations

import csv
import dataclasses
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.tabulate.legacy_writer import write_legacy
from recon_cli.coverage import CoveragePattern
from recon_cli.errors import ConfigError, SchemaError, SourceError
from recon_cli.schema import Release, load_release
from recon_cli.sources.legacy import legacy_layout, open_legacy
from tests.support.command_line import recon
from tests.support.legacy_files import KEY, Members, invented, read, unpack
from tests.support.paths import DATA, FACTS, ROOT, needs_shared


@pytest.fixture(scope="module")
def release() -> Release:
    return load_release("sf1_2010")


def pack(members: Members, path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture(scope="module")
def small(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_legacy(release, *invented(release), tmp_path_factory.mktemp("small"))


@pytest.fixture
def broken(
    small: Path, tmp_path: Path, release: Release
) -> Callable[[Callable[[Members], None]], str]:
    """The message for a copy of the small zip after a change of its members."""

    def message(change: Callable[[Members], None]) -> str:
        members = unpack(small)
        change(members)
        path = pack(members, tmp_path / "al2010.sf1.zip")
        messages = []
        for chunk in (1, 4, 20_000):
            with pytest.raises(SourceError) as caught:
                read(release, [path], chunk_records=chunk)
            messages.append(str(caught.value))
        assert len(set(messages)) == 1, "the message must not depend on the chunk"
        assert "\n" not in messages[0]
        return messages[0]

    return message


def edit(name: str, old: str, new: str, count: int = 1) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        text = members[name].decode("latin-1")
        assert re.search(old, text, re.MULTILINE)
        members[name] = re.sub(old, new, text, count=count, flags=re.MULTILINE).encode("latin-1")

    return change


GEO = "algeo2010.sf1"
P1 = "al000012010.sf1"
P14 = "al000042010.sf1"
PCT = "al000172010.sf1"


# --- what is read -----------------------------------------------------------------------------


def test_written_counts_are_read_back(release: Release, small: Path) -> None:
    geounits, counts = invented(release)
    found, values = read(release, [small])
    assert small.name == "al2010.sf1.zip"
    assert found.equals(geounits.sort("geoid"))
    assert values.equals(counts.sort(KEY))


def test_coverage_is_complete_and_finest_first(release: Release, small: Path) -> None:
    coverage = open_legacy(release, [small]).coverage
    assert [pattern.level for pattern in coverage] == ["block", "block_group", "tract"]
    for pattern in coverage:
        pattern.check(release)
        assert pattern == CoveragePattern.complete(release, pattern.level)


@given(seed=st.integers(0, 10**6), chunk=st.integers(1, 30))
@settings(max_examples=5, deadline=None)
def test_any_counts_survive_any_chunk_size(
    seed: int, chunk: int, release: Release, tmp_path_factory: pytest.TempPathFactory
) -> None:
    geounits, counts = invented(release, seed)
    path = write_legacy(release, geounits, counts, tmp_path_factory.mktemp("any") / "x.zip")
    found, values = read(release, [path], chunk_records=chunk)
    assert found.equals(geounits.sort("geoid"))
    assert values.equals(counts.sort(KEY))


def test_folder_crlf_and_case_do_not_matter(release: Release, small: Path, tmp_path: Path) -> None:
    members = unpack(small)
    for name, data in members.items():
        (tmp_path / name.upper()).write_bytes(data.replace(b"\n", b"\r\n"))
    (tmp_path / "readme.txt").write_text("not a member")
    for chunk in (2, 20_000):
        for ours, theirs in zip(
            read(release, [tmp_path], chunk_records=chunk), read(release, [small]), strict=True
        ):
            assert ours.equals(theirs)


def test_members_in_a_folder_of_the_zip_and_no_last_line_end(
    release: Release, small: Path, tmp_path: Path
) -> None:
    members = {f"al/{name}": data.removesuffix(b"\n") for name, data in unpack(small).items()}
    path = pack(members, tmp_path / "al.zip")
    assert read(release, [path])[1].equals(read(release, [small])[1])


def test_other_summary_levels_components_and_columns_are_skipped(
    release: Release, small: Path, tmp_path: Path
) -> None:
    """Records of the state, of a place and of a tract's urban part, with cells left empty."""
    members = unpack(small)
    lines = members[GEO].decode().splitlines()
    tract = lines[0]
    extra = [
        tract[:8] + "040" + tract[11:18] + "0000000" + tract[25:],
        tract[:18] + "0000014" + tract[25:],
        tract[:8] + "160" + tract[11:18] + "0000015" + tract[25:29] + "   " + tract[32:],
    ]
    extra[1] = extra[1][:11] + "01" + extra[1][13:]
    members[GEO] = "".join(f"{line}\n" for line in [extra[0], *lines, *extra[1:]]).encode()
    for name in members:
        if name != GEO:
            columns = members[name].split(b"\n")[0].count(b",") + 1
            first, *last = (
                ",".join([*f"SF1ST,AL,000,,{number}".split(","), *[""] * (columns - 5)]) + "\n"
                for number in ("0000000", "0000014", "0000015")
            )
            members[name] = first.encode() + members[name] + "".join(last).encode()
    path = pack(members, tmp_path / "al.zip")
    for ours, theirs in zip(read(release, [path]), read(release, [small]), strict=True):
        assert ours.equals(theirs)


def test_a_folder_of_zips_is_all_of_them(release: Release, small: Path, tmp_path: Path) -> None:
    (tmp_path / small.name).write_bytes(small.read_bytes())
    write_legacy(release, *invented(release, 2, "72"), tmp_path)
    (tmp_path / "README.txt").write_text("as delivered")
    zips = sorted(tmp_path.glob("*.zip"))
    assert len(zips) == 2
    for ours, theirs in zip(read(release, [tmp_path]), read(release, zips), strict=True):
        assert ours.equals(theirs)


def test_several_states(release: Release, small: Path, tmp_path: Path) -> None:
    other = write_legacy(release, *invented(release, 2, "72"), tmp_path)
    assert other.name == "pr2010.sf1.zip"
    geounits, counts = read(release, [other, small], chunk_records=3)
    assert len(geounits) == 26
    assert len(counts) == len(read(release, [small])[1]) + len(read(release, [other])[1])


# --- real files -------------------------------------------------------------------------------


@needs_shared
def test_real_states(release: Release) -> None:
    geounits, counts = read(release, sorted((DATA / "sf1").glob("*.zip")))
    people = (
        counts.filter(pl.col("table") == "P1")
        .join(geounits, on="geoid")
        .with_columns(pl.col("geoid").str.slice(0, 11).alias("tract"))
    )
    by_level = people.group_by("level").agg(pl.col("count").sum())
    assert dict(by_level.iter_rows()) == dict.fromkeys(("block", "block_group", "tract"), 20_969)
    assert dict(geounits["level"].value_counts().iter_rows()) == {
        "block": 2615,
        "block_group": 24,
        "tract": 9,
    }
    sums = people.group_by("level", "tract").agg(pl.col("count").sum()).sort("tract")
    assert (
        sums.filter(pl.col("level") == "block")
        .drop("level")
        .equals(sums.filter(pl.col("level") == "tract").drop("level"))
    )


@needs_shared
@pytest.mark.parametrize("state", ["al", "nd"])
def test_real_round_trip(release: Release, state: str, tmp_path: Path) -> None:
    real = DATA / "sf1" / f"{state}2010.sf1.zip"
    geounits, counts = read(release, [real])
    path = write_legacy(release, geounits, counts, tmp_path)
    for ours, theirs in zip(
        read(release, [path], chunk_records=700), (geounits, counts), strict=True
    ):
        assert ours.equals(theirs)


# --- refusals: archives -----------------------------------------------------------------------


def test_missing_path_or_no_zip(release: Release, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.zip: no such file or folder"):
        open_legacy(release, [tmp_path / "nowhere.zip"])
    path = tmp_path / "al2010.sf1.zip"
    path.write_text("hello")
    with pytest.raises(SourceError, match=r"al2010\.sf1\.zip: expected a zip file or a folder"):
        open_legacy(release, [path])
    with pytest.raises(ConfigError, match="at least one"):
        open_legacy(release, [])


def test_truncated_zip(release: Release, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.zip"
    data = small.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(SourceError, match=r"cut\.zip: expected a zip file"):
        open_legacy(release, [path])


def test_corrupt_member(release: Release, small: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(small) as archive:
        at = archive.getinfo(PCT).header_offset + 30 + len(PCT) + 60
    data = bytearray(small.read_bytes())
    data[at : at + 20] = bytes(20)
    path = tmp_path / "al2010.sf1.zip"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=rf"al2010\.sf1\.zip:{PCT}: damaged or truncated"):
        read(release, [path])


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damage_is_never_read_as_other_counts(
    data: st.DataObject, release: Release, small: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any changed byte of a zip is refused, or (in a time stamp, say) changes nothing."""
    sound = read(release, [small])
    content = bytearray(small.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("damage") / "damaged.zip"
    path.write_bytes(content)
    try:
        found = read(release, [path])
    except SourceError as error:
        assert "damaged.zip" in str(error)  # noqa: PT017 - refusing is one of two right answers
    else:
        assert all(ours.equals(theirs) for ours, theirs in zip(found, sound, strict=True))


def test_geography_member_missing_or_twice(broken: Callable[..., str]) -> None:
    assert "no geography member" in broken(lambda members: members.pop(GEO))

    def double(members: Members) -> None:
        members["ndgeo2010.sf1"] = members[GEO]

    assert "expected one geography member, found 2: algeo2010.sf1, ndgeo2010.sf1" in broken(double)


def test_segment_missing_or_twice(broken: Callable[..., str]) -> None:
    found = broken(lambda members: members.pop(P14))
    assert "al00004" in found
    assert "tables P10, P11, P12, P14" in found
    assert "found none" in found

    def double(members: Members) -> None:
        members[P14.upper()] = members[P14]

    assert f"found {P14.upper()}, {P14}" in broken(double)


# --- refusals: records ------------------------------------------------------------------------


def test_member_ends_within_a_record(broken: Callable[..., str]) -> None:
    def cut(members: Members) -> None:
        lines = members[P14].split(b"\n")
        members[P14] = b"\n".join(lines[:6]) + b"\nSF1ST,AL,000,04,0000007,1,2,3"

    found = broken(cut)
    assert f"al2010.sf1.zip:{P14}: line 7: expected 244 columns, found 8" in found


def test_too_many_columns_and_blank_line(broken: Callable[..., str]) -> None:
    found = broken(edit(P1, r"0000003,(\d+)$", r"0000003,\1,0"))
    assert f"{P1}: line 3: expected 6 columns, found 7" in found

    def blank(members: Members) -> None:
        members[P1] += b"\n"

    assert f"{P1}: line 14: expected 6 columns, found 1" in broken(blank)


def test_no_lines_at_all(broken: Callable[..., str]) -> None:
    def binary(members: Members) -> None:
        members[P1] = b"x" * (3 << 20)

    assert f"{P1}: line 1: expected" in broken(binary)


def test_short_geography_line(broken: Callable[..., str]) -> None:
    found = broken(edit(GEO, r"^(.{18}0000005.*) {100}$", r"\1"))
    assert f"{GEO}: line 5: expected a header record of 500 characters, found 400" in found
    found = broken(edit(GEO, r"\A", "\n"))
    assert f"{GEO}: line 1: expected a header record of 500 characters, found 0" in found


def test_empty_or_pointless_geography(broken: Callable[..., str]) -> None:
    def empty(members: Members) -> None:
        members[GEO] = b""

    assert f"{GEO}: expected records of summary levels 101, 150, 140" in broken(empty)
    found = broken(edit(GEO, r"^(SF1ST AL)\d{3}", r"\g<1>040", count=0))
    assert "found none in the member" in found


@pytest.mark.parametrize("member", [P1, PCT])
def test_record_missing(broken: Callable[..., str], member: str) -> None:
    found = broken(edit(member, r"^SF1ST,AL,000,..,0000008,.*\n", ""))
    assert f"{member}: no record with LOGRECNO 0000008" in found
    assert "geoid 01001020200 (line 8 of the geography member)" in found


def test_block_record_missing(broken: Callable[..., str]) -> None:
    found = broken(edit(P14, r"^SF1ST,AL,000,04,0000013,.*\n", ""))
    assert (
        f"{P14}: no record with LOGRECNO 0000013, expected one for geoid 010010202001999" in found
    )


def test_block_record_in_a_tract_segment_is_skipped(
    release: Release, small: Path, tmp_path: Path
) -> None:
    members = unpack(small)
    first = members[PCT].split(b"\n")[0]
    block = first.replace(b",0000001,", b",0000003,")
    members[PCT] = members[PCT].replace(first + b"\n", first + b"\n" + block + b"\n", 1)
    path = pack(members, tmp_path / "al.zip")
    assert read(release, [path])[1].equals(read(release, [small])[1])


@pytest.mark.parametrize("number", ["0000000", "0000014"])
def test_record_unknown_to_the_geography(broken: Callable[..., str], number: str) -> None:
    def change(members: Members) -> None:
        new = f"SF1ST,AL,000,01,{number},5\n".encode()
        before = number == "0000000"
        members[P1] = new + members[P1] if before else members[P1] + new

    found = broken(change)
    line = 1 if number == "0000000" else 14
    assert f"{P1}: line {line}: LOGRECNO {number} is not in the geography member" in found


def test_record_number_twice_or_falling(broken: Callable[..., str]) -> None:
    found = broken(edit(P1, "01,0000004,", "01,0000003,"))
    assert f"{P1}: line 4: LOGRECNO 0000003 occurs twice" in found
    found = broken(edit(P1, "01,0000005,", "01,0000002,"))
    assert f"{P1}: line 5: expected LOGRECNO to rise, found 0000002 after 0000004" in found
    found = broken(edit(GEO, "  0000004  ", "  0000003  "))
    assert f"{GEO}: line 4: LOGRECNO 0000003 occurs twice" in found
    found = broken(edit(GEO, "  0000004  ", "  0000001  "))
    assert f"{GEO}: line 4: expected LOGRECNO to rise, found 0000001 after 0000003" in found


def test_record_number_is_no_number(broken: Callable[..., str]) -> None:
    found = broken(edit(P1, "01,0000004,", "01,000x004,"))
    assert f"{P1}: line 4: expected a LOGRECNO of digits, found '000x004'" in found
    found = broken(edit(GEO, "  0000004  ", "      04   "))
    assert f"{GEO}: line 4: expected a LOGRECNO of digits, found '    04 '" in found


def test_member_of_another_segment(broken: Callable[..., str]) -> None:
    found = broken(edit(P1, ",000,01,0000001", ",000,02,0000001"))
    assert f"{P1}: line 1: expected segment number (CIFSN) 01, found '02'" in found


@pytest.mark.parametrize(
    "text", ["x", "", "1.5", "-1", "2147483648", "99999999999", " 1", "+1", "1e3", "1_0", "\xbd"]
)
def test_cell_that_is_no_count(broken: Callable[..., str], text: str) -> None:
    # P12 starts at column 149 of segment 4: its third cell is column 151.
    found = broken(edit(P14, r"^((SF1ST,AL,000,04,0000003)(?:,\d+){146}),\d+", rf"\1,{text}"))
    assert (
        f"al2010.sf1.zip:{P14}: line 3, LOGRECNO 0000003, geoid 010010001001000, table P12, "
        "cell P0120003: expected a whole number from 0 to 2147483647, "
        f"found {repr(text) if text else 'nothing'}"
    ) in found


def test_last_cell_that_is_no_count(broken: Callable[..., str]) -> None:
    found = broken(edit(P14, r"(0000013,.*),\d+$", r"\1,7x"))
    assert "line 13, LOGRECNO 0000013, geoid 010010202001999, table P14, cell P0140043" in found
    assert found.endswith("found '7x'")


@pytest.mark.parametrize(
    ("at", "new", "name", "where"),
    [
        (30, "x", "COUNTY", "30 to 32"),
        (54, " ", "TRACT", "55 to 60"),
        (64, " ", "BLOCK", "62 to 65"),
    ],
)
def test_geoid_parts(broken: Callable[..., str], at: int, new: str, name: str, where: str) -> None:
    found = broken(edit(GEO, rf"^(SF1ST AL101.{{{at - 11}}}).", rf"\g<1>{new}"))
    assert f"{GEO}: line 3, LOGRECNO 0000003: expected " in found
    assert f"digits in {name}" in found
    assert f"(characters {where}), found " in found


def test_geounit_twice(
    broken: Callable[..., str], release: Release, small: Path, tmp_path: Path
) -> None:
    found = broken(edit(GEO, r"^(SF1ST AL101.{50})1003", r"\g<1>1000"))
    assert f"{GEO}: line 11, LOGRECNO 0000011: geoid 010010202001000 occurs twice" in found
    other = tmp_path / "copy.zip"
    other.write_bytes(small.read_bytes())
    with pytest.raises(SourceError, match=r"copy\.zip:algeo.*line 1.*01001000100 occurs twice.*al"):
        read(release, [small, other], chunk_records=5)


# --- refusals: layouts and writing ------------------------------------------------------------


def test_release_without_layout(small: Path) -> None:
    with pytest.raises(ConfigError, match="'clinic_visits' has no legacy layout"):
        open_legacy(load_release("clinic_visits"), [small])


@pytest.mark.parametrize(
    ("segment", "form", "message"),
    [
        (1, {"columns": 6, "tables": {}}, "no segment has P1"),
        (1, {"columns": 5, "tables": {"P1": 5}}, "segments.1: table P1 ends at column 6"),
        (1, {"columns": 6, "tables": {"P1": 4}}, "segments.1.tables.P1: first column 4 is taken"),
        (1, {"columns": 9, "tables": {"P1": 5, "P6": 6}}, "already in segment"),
        (1, {"columns": 6, "tables": {"P01": 5}}, "no table 'P01'.*did you mean 'P1'"),
        (1, {"columns": 6, "table": {"P1": 5}}, r"segments\[1\].table: unknown key"),
        (8, {"columns": 258, "tables": {"P12F": 5, "P12G": 53, "P12H": 103, "P12I": 152}}, "P12F"),
    ],
)
def test_layout_that_clashes(
    release: Release, segment: int, form: dict[str, object], message: str
) -> None:
    layout = release.layouts["sf1-legacy"]
    raw = {**layout, "segments": {**layout["segments"], segment: form}}
    changed = dataclasses.replace(release, layouts={"sf1-legacy": raw})
    with pytest.raises(SchemaError, match=message):
        legacy_layout(changed)


def partly_placed(release: Release, *names: str) -> Release:
    """The release, its layout without some tables."""
    layout = release.layouts["sf1-legacy"]
    segments = {
        number: {
            **form,
            "tables": {name: at for name, at in form["tables"].items() if name not in names},
        }
        for number, form in layout["segments"].items()
    }
    raw = {**layout, "segments": segments, "placed": "partial"}
    return dataclasses.replace(release, layouts={"sf1-legacy": raw})


def test_tables_without_a_place_are_not_read(release: Release, small: Path, tmp_path: Path) -> None:
    partial = partly_placed(release, "P1", "P12C")
    assert legacy_layout(partial).unplaced == ("P1", "P12C")
    (geounits, counts), found = read(release, [small]), read(partial, [small])
    assert found[0].equals(geounits)
    assert found[1].equals(counts.filter(~pl.col("table").is_in(["P1", "P12C"])))
    coverage = open_legacy(partial, [small]).coverage
    assert all(not {"P1", "P12C"} & set(each.cells) for each in coverage)
    with pytest.raises(ConfigError, match=r"placed: partial.*does not say where P1 is"):
        open_legacy(partial, [small], tables=["P1", "P6"])
    with pytest.raises(ConfigError, match="does not say where P1, P12C are"):
        write_legacy(partial, *invented(release), tmp_path)


def test_ingest_warns_of_tables_without_a_place(small: Path, tmp_path: Path) -> None:
    schema = (ROOT / "recon_cli/schema/releases/sf1_2010.yaml").read_text()
    schema = schema.replace("tables: {P1: 5}", "tables: {}")
    schema = schema.replace("  sf1-legacy:\n", "  sf1-legacy:\n    placed: partial\n")
    (tmp_path / "sf1.yaml").write_text(schema)
    config = tmp_path / "recon.yaml"
    config.write_text(
        f"release: sf1.yaml\nwork: work\ningest: {{source: sf1-legacy, paths: [{small}]}}\n"
    )
    shown = recon("ingest", "-c", config, width=200).output
    assert "the layout does not say where files keep 1 table: not read (P1)" in shown
    assert "warning" not in recon("ingest", "-c", config, "--set", "ingest.tables=[P6]").output


#: Releases of SF1 beyond the study's tables, and how many tables have no known place.
FURTHER = {
    "sf1_2010_relationships": 0,
    "sf1_2010_persons_in_households": 0,
    "sf1_2010_household_members": 11,
    "sf1_2010_households": 32,
}


@pytest.mark.parametrize("name", FURTHER)
def test_further_tables_of_sf1_come_back_from_a_zip(name: str, tmp_path: Path) -> None:
    whole = load_release(name)
    layout = legacy_layout(whole)
    assert len(layout.unplaced) == FURTHER[name]
    placed = dataclasses.replace(
        whole, tables=tuple(each for each in whole.tables if each.name not in layout.unplaced)
    )
    geounits, counts = invented(placed)
    counts = counts.with_columns(pl.col("count").clip(upper_bound=999))  # of everybody, too
    write_legacy(placed, geounits, counts, tmp_path / "al2010.sf1.zip")
    chosen = [table.name for table in placed.tables]
    found, back = read(whole, [tmp_path / "al2010.sf1.zip"], tables=chosen)
    assert found.equals(geounits.sort("geoid"))
    assert back.equals(counts.sort(KEY))


@needs_shared
@pytest.mark.parametrize("name", FURTHER)
def test_further_tables_of_sf1_are_where_the_bureau_keeps_them(name: str) -> None:
    with (FACTS / "cells" / "cells_2010_household.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["cell"] == "1"]
    described = {row["table"]: (int(row["segment"]), int(row["column"])) for row in rows}
    places = {
        placement.table.name: (segment.number, placement.first)
        for segment in legacy_layout(load_release(name)).segments
        for placement in segment.placements
    }
    both = described.keys() & places.keys()
    assert both
    assert {table: places[table] for table in both} == {t: described[t] for t in both}


def test_relationship_tables_fill_what_described_ones_leave() -> None:
    layout = legacy_layout(load_release("sf1_2010_persons_in_households"))
    placements = {each.number: each.placements for each in layout.segments}
    six = placements[6]
    assert [each.table.name for each in six[:4]] == ["P31", "P32", "P33", "P34"]
    assert [each.first for each in six[:4]] == [5, *(each.stop for each in six[:3])]
    assert six[3].stop == 95  # of P35, which follows
    assert placements[11][-1].stop == 259
    assert placements[12][-1].stop == 93  # of P35A


@needs_shared
def test_the_person_tables_of_real_files_are_the_same_in_a_release_with_more_tables() -> None:
    studied, more = load_release("sf1_2010"), load_release("sf1_2010_persons_in_households")
    layout = {**studied.layouts["sf1-legacy"], "placed": "partial"}
    placed = dataclasses.replace(more, layouts={"sf1-legacy": layout})
    for path in sorted((DATA / "sf1").glob("*.zip")):
        for found, expected in zip(read(placed, [path]), read(studied, [path]), strict=True):
            assert found.equals(expected)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"block": "101", "tract": "140"}, "expected a code for each level"),
        ({"block": "101", "block_group": "155", "tract": "140"}, "no summary level '155'"),
        ({"block": "101", "block_group": "140", "tract": "150"}, "have 11 digits"),
    ],
)
def test_summary_levels_that_clash(release: Release, levels: dict[str, str], message: str) -> None:
    raw = {**release.layouts["sf1-legacy"], "summary_levels": levels}
    changed = dataclasses.replace(release, layouts={"sf1-legacy": raw})
    with pytest.raises(SchemaError, match=message):
        legacy_layout(changed)
