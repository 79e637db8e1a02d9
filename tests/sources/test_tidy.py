"""The tidy source and writer: round trips, what absence means, and every refusal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.coverage import Coverage, CoveragePattern
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import COUNTS, GEOUNITS
from recon_cli.schema import Cell, Release, Table, load_release
from recon_cli.schema.tables import is_sum
from recon_cli.sources import Absent, open_tidy, with_zeros, write_tidy
from tests.support.command_line import recon
from tests.support.paths import DATA, needs_shared
from tests.support.populations import random_records

BLOCK, OTHER, TRACT = "010010001001000", "010010001001001", "01001000100"

CLINIC = load_release("clinic_visits")


@pytest.fixture(scope="module")
def release() -> Release:
    return load_release("sf1_2010")


def read(
    release: Release, paths: Iterable[Path], absent: Absent = "zero", group_rows: int = 10**6
) -> tuple[pl.DataFrame, pl.DataFrame, Coverage]:
    source = open_tidy(release, list(paths), absent=absent, group_rows=group_rows)
    batches = list(source.batches())
    geounits = pl.concat([batch.geounits for batch in batches])
    counts = pl.concat([batch.counts for batch in batches])
    assert geounits.schema == GEOUNITS
    assert counts.schema == COUNTS
    assert geounits["geoid"].is_unique().all()
    for batch in batches:
        assert set(batch.counts["geoid"]) <= set(batch.geounits["geoid"])
    for pattern in source.coverage:
        pattern.check(release)
    levels = pl.Series([pattern.level for pattern in source.coverage])
    assert levels.gather(geounits["pattern"]).to_list() == geounits["level"].to_list()
    return geounits.sort("geoid"), counts.sort("geoid", "table", "cell"), source.coverage


def rows(*values: tuple[str, str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(values, schema=COUNTS, orient="row")


def refusal(release: Release, path: Path, absent: Absent = "zero") -> str:
    with pytest.raises(SourceError) as caught:
        read(release, [path], absent)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def refused(release: Release, folder: Path, text: str | bytes) -> str:
    path = folder / "counts.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return refusal(release, path)


# --- reading and writing ----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("absent", ["zero", "unpublished"])
def test_written_counts_are_read_back(
    release: Release, tmp_path: Path, suffix: str, absent: Absent
) -> None:
    counts = rows((TRACT, "PCT12", 3, 5), (BLOCK, "P1", 1, 2**31 - 1), (BLOCK, "P12", 10, 4))
    path = tmp_path / f"counts{suffix}"
    write_tidy(counts, path)
    geounits, found, _ = read(release, [path], absent)
    assert found.equals(counts.sort("geoid", "table", "cell"))
    assert geounits.select("geoid", "level").rows() == [(TRACT, "tract"), (BLOCK, "block")]


def test_written_csv(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    write_tidy(rows((OTHER, "P1", 1, 2), (BLOCK, "P6", 2, 0), (BLOCK, "P1", 1, 7)), path)
    assert path.read_text().splitlines() == [
        "geoid,table,cell,count",
        f"{BLOCK},P1,1,7",
        f"{BLOCK},P6,2,0",
        f"{OTHER},P1,1,2",
    ]
    with pytest.raises(ConfigError, match=r"\.csv or \.parquet"):
        write_tidy(rows(), tmp_path / "counts.txt")


geoids = st.sampled_from([BLOCK, OTHER, TRACT, "010030001001000", "720010001001000"])
cells = st.sampled_from([("P1", 1), ("P6", 1), ("P12", 3), ("P12", 49), ("P14", 7)])


@given(
    counts=st.dictionaries(st.tuples(geoids, cells), st.integers(0, 2**31 - 1), min_size=1),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 8)),
    absent=st.sampled_from(["zero", "unpublished"]),
)
@settings(max_examples=25, deadline=None)
def test_any_division_into_files_and_groups(
    release: Release,
    counts: dict[tuple[str, tuple[str, int]], int],
    sizes: tuple[int, int],
    absent: Absent,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files, group_rows = sizes
    folder = tmp_path_factory.mktemp("tidy")
    frame = rows(*((geoid, *cell, count) for (geoid, cell), count in counts.items()))
    paths = []
    for i in range(min(files, len(frame))):
        paths.append(folder / f"{i}{'.csv' if i % 2 else '.parquet'}")
        write_tidy(frame.gather_every(files, i), paths[-1])
    geounits, found, coverage = read(release, paths, absent, group_rows)
    assert found.equals(frame.filter(pl.col("count") > 0).sort("geoid", "table", "cell"))
    assert set(geounits["geoid"]) == set(frame["geoid"])
    if absent == "unpublished":
        for geoid, _, pattern in geounits.iter_rows():
            published = {
                (table, cell)
                for table, numbers in coverage[pattern].cells.items()
                for cell in numbers
            }
            assert published == {cell for other, cell in counts if other == geoid}
        assert len(set(geounits["pattern"])) == len(coverage)
    else:
        assert len(coverage) == geounits["level"].n_unique()


def test_cell_codes_quotes_byte_order_mark_and_crlf(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_bytes(f'\ufeffcount,"geoid",cell\r\n7,"{BLOCK}",P0120003\r\n'.encode())
    _, counts, _ = read(release, [path])
    assert counts.rows() == [(BLOCK, "P12", 3, 7)]


def test_parquet_with_codes_and_categories(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    frame = pl.DataFrame({"geoid": [BLOCK, TRACT], "cell": ["P0120003", "P0120003"]})
    frame.with_columns(pl.all().cast(pl.Categorical), count=pl.Series([2.0, 0.0])).write_parquet(
        path
    )
    geounits, counts, _ = read(release, [path])
    assert counts.rows() == [(BLOCK, "P12", 3, 2)]
    assert len(geounits) == 2


# --- what absence means -----------------------------------------------------------------------


def test_absent_is_zero_but_for_unmentioned_sums(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    # The female total is mentioned with a zero; the total and the male total are not.
    write_tidy(rows((BLOCK, "P12", 3, 5), (OTHER, "P12", 26, 0), (TRACT, "P1", 1, 5)), path)
    geounits, counts, coverage = read(release, [path])
    assert [pattern.level for pattern in coverage] == ["block", "tract"]
    assert coverage[0].cells == {"P12": tuple(range(3, 50))}
    assert coverage[1].cells == {"P1": (1,)}
    assert geounits["pattern"].to_list() == [1, 0, 0]
    assert len(counts) == 2


def test_unmentioned_tally_is_not_published(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    write_tidy(rows((BLOCK, "P6", 2, 5)), path)
    assert read(release, [path])[2] == (CoveragePattern("block", {"P6": (2, 3, 4, 5, 6, 7)}),)


def test_only_rows_are_published(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    write_tidy(
        rows((BLOCK, "P12", 3, 5), (BLOCK, "P1", 1, 5), (OTHER, "P12", 3, 0), (TRACT, "P1", 1, 5)),
        path,
    )
    geounits, counts, coverage = read(release, [path], "unpublished")
    assert coverage == (
        CoveragePattern("block", {"P1": (1,), "P12": (3,)}),
        CoveragePattern("block", {"P12": (3,)}),
        CoveragePattern("tract", {"P1": (1,)}),
    )
    assert geounits["pattern"].to_list() == [2, 0, 1]
    assert len(counts) == 3


@needs_shared
def test_real_release_with_fewer_tables(release: Release) -> None:
    geounits, counts, coverage = read(release, [DATA / "lp_tract_29165030307.csv"])
    assert geounits["level"].to_list() == ["tract", "block", "block"]
    block, tract = coverage
    assert (block.level, tract.level) == ("block", "tract")
    assert set(block.cells) == {
        *("P1", "P6", "P7", "P9", "P11", "P12", "P14"),
        *(f"P12{letter}" for letter in "ABCDEFHI"),
    }
    assert set(tract.cells) == {"PCT12", *(f"PCT12{letter}" for letter in "ABCDEFHIJKLMN")}
    # No total or subtotal is published, every other cell is: 2 × 23 age groups, 2 × 103 ages.
    assert block.cells["P12"] == (*range(3, 26), *range(27, 50))
    assert tract.cells["PCT12"] == (*range(3, 106), *range(107, 210))
    assert block.cells["P6"] == (2, 3, 4, 5, 6, 7)
    # P9 without its total, the not-Hispanic total, one race, two or more, and two to six races.
    assert len(block.cells["P9"]) == 73 - 9
    people = counts.filter(pl.col("table").is_in(["P1", "PCT12"]))
    assert dict(people.group_by("table").agg(pl.col("count").sum()).iter_rows()) == {
        "P1": 11,
        "PCT12": 11,
    }
    assert len(read(release, [DATA / "lp_tract_29165030307.csv"], "unpublished")[2]) == 3


# --- sums -------------------------------------------------------------------------------------


def sums(table: Table) -> set[int]:
    return {cell.number for cell in table.cells if is_sum(cell, table.cells)}


def test_sums_of_the_packaged_releases(release: Release) -> None:
    tables = release.table_by_name
    assert sums(tables["P1"]) == set()
    assert sums(tables["P6"]) == {1}
    assert sums(tables["P7"]) == {1, 2, 9}
    assert sums(tables["P8"]) == {1, 2, 9, 10, 26, 47, 63, 70}
    assert sums(tables["P12"]) == {1, 2, 26}
    assert sums(tables["P14"]) == {1, 2, 23}
    clinic = load_release("clinic_visits").table_by_name
    assert sums(clinic["PATIENTS"]) >= {1, 2}
    assert 1 in sums(clinic["INSURANCE"])


def table_of(*masks: tuple[int, ...]) -> Table:
    numbered = tuple(Cell(i, mask) for i, mask in enumerate(masks, start=1))
    return Table("T", "T#", ("block",), numbered)


def test_total_of_two_crossing_breakdowns() -> None:
    """Total, by one feature, by the other: only whole breakdowns make it up."""
    total, left, right, up, down = (3, 3), (1, 3), (2, 3), (3, 1), (3, 2)
    assert sums(table_of(total, left, right, up, down)) == {1}
    assert sums(table_of(total, left, up, down)) == {1}
    assert sums(table_of(total, left, up)) == set()
    assert sums(table_of(total, total)) == {1}


@given(st.lists(st.tuples(st.integers(1, 7), st.integers(1, 3)), min_size=1, max_size=7))
@settings(max_examples=200, deadline=None)
def test_sums_by_enumeration(masks: list[tuple[int, int]]) -> None:
    """Against trying every set of other cells."""
    table = table_of(*masks)
    points = [
        frozenset((i, j) for i in range(3) for j in range(2) if a >> i & 1 and b >> j & 1)
        for a, b in masks
    ]
    for cell, whole in zip(table.cells, points, strict=True):
        others = [
            part
            for number, part in enumerate(points, start=1)
            if number != cell.number and (part != whole or number > cell.number)
        ]
        expected = any(
            sum(map(len, chosen)) == len(whole) and frozenset().union(*chosen) == whole
            for size in range(1, len(others) + 1)
            for chosen in itertools.combinations(others, size)
        )
        assert is_sum(cell, table.cells) == expected
        assert math.prod(mask.bit_count() for mask in cell.masks) == len(whole)


# --- refusals ---------------------------------------------------------------------------------


def test_arguments(release: Release, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="at least one"):
        open_tidy(release, [])
    with pytest.raises(ConfigError, match="absent must be zero or unpublished, found 'none'"):
        open_tidy(release, [tmp_path / "x.csv"], absent="none")  # type: ignore[arg-type]
    assert "no such file" in refusal(release, tmp_path / "x.csv")
    (tmp_path / "x.txt").touch()
    assert "named .csv or .parquet" in refusal(release, tmp_path / "x.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found an empty file"),
        ("geoid,cell,count\n", "found a file without rows"),
        ("geoid,count\n", "found geoid, count: without cell"),
        ("geoid,cell,count,note\n", "with 'note' besides"),
        ("geoid,cell,cell,count\n", "besides"),
        ("geoid;cell;count\n", "found a file without rows"),
        ("GEOID,Cell,COUNT\n", "found a file without rows"),
        ("place,cell,count\n", "without geoid; with 'place' besides; rename them"),
    ],
)
def test_columns(release: Release, tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(release, tmp_path, text)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{BLOCK},P0120053,5", "no cell code 'P0120053'"),
        (f"{BLOCK},P012003,5", "no cell code 'P012003' in release 'sf1_2010'; did you mean P012"),
        (f"{BLOCK},,5", "no cell code None"),
        (f"{BLOCK},PCT0120001,5", "table PCT12 is not published at level block (levels: tract)"),
        (f"{BLOCK[1:]},P0010001,5", "lengths block 15, block_group 12, tract 11; found 14 (was a"),
        ("01001,P0010001,5", "geoid '01001': expected one of the lengths block 15"),
        ("01001-001001000,P0010001,5", "letters and digits, found '01001-001001000'"),
        (",P0010001,5", "letters and digits, found None"),
        (f"{BLOCK},P0120003,-1", "cell P0120003: expected a whole number from 0 to 2147483647 as"),
        (f"{BLOCK},P0120003,-1", "found '-1'"),
        (f"{BLOCK},P0120003,1.5", "found '1.5'"),
        (f"{BLOCK},P0120003,2147483648", "found '2147483648'"),
        (f"{BLOCK},P0120003,99999999999", "found '99999999999'"),
        (f"{BLOCK},P0120003,", "found nothing"),
        (f"{BLOCK},P0120003", "found nothing"),
        (f"{BLOCK},P0120003,5,5", "expected 3 fields, found 4"),
    ],
)
def test_rows_with_codes(release: Release, tmp_path: Path, row: str, message: str) -> None:
    text = f"geoid,cell,count\n{BLOCK},P0010001,7\n{row}\n{OTHER},P0010001,7\n"
    found = refused(release, tmp_path, text)
    assert "counts.csv: line 3: " in found
    assert message in found


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (f"{BLOCK},P13,1,5", "no table 'P13' in release 'sf1_2010'; did you mean P1"),
        (f"{BLOCK},,1,5", "no table None"),
        (f"{BLOCK},P12,50,5", "table P12: expected a cell from 1 to 49, found '50'"),
        (f"{BLOCK},P12,0,5", "found '0'"),
        (f"{BLOCK},P12,P0120003,5", "found 'P0120003'"),
        (f"{BLOCK},P12,,5", "found None"),
        (f"{BLOCK},PCT12,1,5", "table PCT12, cell 1: table PCT12 is not published at level block"),
    ],
)
def test_rows_with_tables(release: Release, tmp_path: Path, row: str, message: str) -> None:
    text = f"geoid,table,cell,count\n{BLOCK},P1,1,7\n{row}\n"
    found = refused(release, tmp_path, text)
    assert f"counts.csv: line 3: geoid {BLOCK}" in found
    assert message in found


def test_broken_text(release: Release, tmp_path: Path) -> None:
    head = f"geoid,cell,count\n{BLOCK},P0010001,7\n".encode()
    found = refused(release, tmp_path, head + b"\xff,P0010001,7\n")
    assert "line 3: expected UTF-8 text, found byte 0xff" in found
    found = refused(release, tmp_path, head + f'{OTHER},"P0010001,7\n'.encode())
    assert "line 3" in found


def test_cell_twice(release: Release, tmp_path: Path) -> None:
    for name, count in (("a", 7), ("b", 8)):
        text = f"geoid,cell,count\n{OTHER},P0010001,1\n{BLOCK},P0120003,{count}\n"
        (tmp_path / f"{name}.csv").write_text(text.replace(OTHER, OTHER if name == "a" else TRACT))
    for absent in ("zero", "unpublished"):
        with pytest.raises(SourceError) as caught:
            read(release, [tmp_path / "a.csv", tmp_path / "b.csv"], absent)
        found = str(caught.value)
        assert f"b.csv: line 3: geoid {BLOCK}, table P12, cell P0120003 occurs twice" in found
        assert "count 8 here, count 7 at " in found
        assert found.endswith("a.csv: line 3")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"geoid": [1001000100]}, "'geoid': expected text, so that leading zeros count, found"),
        ({"cell": ["1"]}, "'cell': expected whole numbers beside a table, found type String"),
        ({"table": [12]}, "'table': expected text"),
        ({"count": ["5"]}, "'count': expected whole numbers, found type String"),
        ({"count": [1.5]}, "row 1: geoid 01001000100, table P12, cell 3: expected a whole"),
        ({"count": [float("nan")]}, "found"),
        ({"count": [None]}, "expected"),
        ({"count": [-1]}, "found -1"),
        ({"count": [2**40]}, "found 1099511627776"),
        ({"geoid": [None]}, "expected"),
    ],
)
def test_parquet_columns(
    release: Release, tmp_path: Path, columns: dict[str, list[object]], message: str
) -> None:
    frame = {"geoid": [TRACT], "table": ["P12"], "cell": [3], "count": [5], **columns}
    path = tmp_path / "counts.parquet"
    pl.DataFrame(frame).write_parquet(path)
    assert message in refusal(release, path)


def test_damaged_parquet(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    write_tidy(rows(*((f"01001000100100{i}", "P1", 1, i) for i in range(10))), path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert "damaged or truncated" in refusal(release, path)
    path.write_bytes(content[:10] + b"\xff" * 30 + content[40:])
    assert "damaged or truncated" in refusal(release, path)
    path.write_bytes(b"")
    assert "damaged or truncated" in refusal(release, path)


def test_too_many_patterns_are_refused(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recon_cli.sources.tidy._MOST_PATTERNS", 1)
    path = tmp_path / "counts.csv"
    write_tidy(rows((BLOCK, "P12", 3, 5), (OTHER, "P12", 4, 0)), path)
    assert "are zero counts left out?" in refusal(release, path, absent="unpublished")


# what nobody is counted in is published all the same


def patients() -> pl.DataFrame:
    values = {feature.name: [feature.values[0]] * 3 for feature in CLINIC.features}
    unit = CLINIC.geography.unit
    return pl.DataFrame({CLINIC.geoid_column: ["1" * unit.digits] * 3, **values})


def test_a_table_of_zeros_is_published_again(tmp_path: Path) -> None:
    counts = tabulate(CLINIC, patients(), CLINIC.tables, None)
    levels = [level.name for level in CLINIC.geography.levels]
    found = {}
    for name, frame in (
        ("some", counts),
        ("all", with_zeros(CLINIC, CLINIC.tables, levels, counts)),
    ):
        write_tidy(frame, tmp_path / f"{name}.parquet")
        source = open_tidy(CLINIC, [tmp_path / f"{name}.parquet"])
        found[name] = {pattern.level: set(pattern.cells) for pattern in source.coverage}
        assert pl.concat([batch.counts for batch in source.batches()]).height == counts.height
    published = {
        level: {table.name for table in CLINIC.tables if level in table.levels}
        for level in levels
        if any(level in table.levels for table in CLINIC.tables)
    }
    assert found["all"] == published
    # every table of this release counts everybody, so only a part of one can be all zeros
    only = [table for table in CLINIC.tables if table.name in counts["table"].unique()]
    emptied = counts.filter(pl.col("table") != only[0].name)
    again = with_zeros(CLINIC, only, levels, emptied)
    assert set(again["table"]) == {table.name for table in only}


def test_a_subtotal_of_zeros_is_published_too(tmp_path: Path) -> None:
    counts = tabulate(CLINIC, patients(), CLINIC.tables, None)
    levels = [level.name for level in CLINIC.geography.levels]
    path = tmp_path / "counts.parquet"
    write_tidy(with_zeros(CLINIC, CLINIC.tables, levels, counts), path)
    found = {pattern.level: pattern for pattern in open_tidy(CLINIC, [path]).coverage}
    assert found == {level: CoveragePattern.complete(CLINIC, level) for level in found}


def test_a_folder_of_tidy_files_is_one_publication(tmp_path: Path) -> None:
    counts = tabulate(CLINIC, patients(), CLINIC.tables, None)
    half = counts.height // 2
    for i, part in enumerate((counts[:half], counts[half:])):
        write_tidy(part, tmp_path / f"{i}.csv")
    source = open_tidy(CLINIC, [tmp_path])
    found = pl.concat([batch.counts for batch in source.batches()])
    key = ["geoid", "table", "cell"]
    assert found.sort(key).equals(counts.sort(key).select(found.columns).cast(found.schema))


# geoids in another case


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["D01001"], "geoids D01 and d01 differ in case alone"),
        (["D01A01", "D01a01"], "geoids D01A01 and D01a01 differ in case alone"),
        (["D01A01", "D01a02"], ""),
    ],
)
def test_geoids_that_differ_in_case_alone_are_refused(
    tmp_path: Path, others: list[str], message: str
) -> None:
    """As two places they would each have a part of the people."""
    first = "d01002" if len(others) == 1 else others[0]
    lines = ["geoid,table,cell,count"]
    lines += [f"{geoid},PATIENTS,1,5" for geoid in dict.fromkeys((first, *others))]
    (tmp_path / "counts.csv").write_text("\n".join(lines) + "\n")
    config = tmp_path / "run.yaml"
    config.write_text(
        "release: clinic_visits\nwork: work\n"
        "ingest: {source: tidy, paths: [counts.csv], absent: unpublished}\n"
    )
    told = recon("ingest", "-c", config, code=4 if message else 0).output
    assert message in " ".join(told.split())
    people = tmp_path / "people.csv"
    units = sorted({first, *others})
    records = random_records(load_release("clinic_visits"), 3, 60, units, skew=False)
    assert records["geoid_clinic"].n_unique() == 2
    records.write_csv(people)
    made = tmp_path / "made.csv"
    told = recon(
        "data",
        "tabulate",
        people,
        "--release",
        "clinic_visits",
        "--to",
        made,
        code=4 if message else 0,
    ).output
    assert message in " ".join(told.split())
    told = recon(
        "protect", "round", "-c", config, "--set", f"round={{records: {people}}}",
        code=4 if message else 0,
    ).output  # fmt: skip
    assert not message or "differ in case alone" in " ".join(told.split())
