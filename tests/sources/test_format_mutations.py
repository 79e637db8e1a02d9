"""Thousands of damaged files: each is read right or refused in one line with a place.

``RECON_MUTATIONS=20000`` makes more of them than the sample that runs by default.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import os
import random
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import polars as pl
import pytest

from recon_cli.errors import ConfigError, SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources import FileMapping, open_tables
from tests.support.layouts import AGES, LAYOUTS, SCHEMA, SEXES, Layout, counts_of, write_workbook

CASES: Final = int(os.environ.get("RECON_MUTATIONS", "120"))
DELIMITED: Final = {
    "data_census_gov": "DECENNIALXX2021.P99-Data.csv",
    "factfinder": "",
    "ons_bulk": "",
    "nomis": "",
    "sdmx_csv_1": "",
    "sdmx_csv_2": "",
    "long": "",
}
COUNTS: Final = counts_of(
    {
        "340210001001000": [3, 0, 1, 12, 5, 0],
        "340210001001001": [0, 0, 0, 0, 0, 0],
        "340210002002000": [1, 2, 1311, 0, 4, 9],
    }
)
#: What has to come of a mutation: all counts, no wrong ones (some may be unpublished), a refusal.
Outcome = Literal["same", "true", "refused"]
Rows = list[list[str]]
Truth = dict[str, dict[int, int]]


@dataclass
class Grid:
    """A table as rows of cells.

    Attributes:
        rows: All rows.
        header: Index of the row of headers.
        first: Index of the first row of counts.
        notes: How many rows are below the last row of counts.
        place: The column with the geoids.
        counts: The columns with counts.
        fixed: So many columns at the left tell the format, or say what is right of them.
    """

    rows: Rows
    header: int
    first: int
    place: int
    counts: list[int]
    notes: int = 0
    fixed: int = 0

    @property
    def body(self) -> Rows:
        """Rows of counts, without those of percentages."""
        last = len(self.rows) - self.notes
        return [row for row in self.rows[self.first : last] if "Percent" not in row]

    def append(self, *rows: list[str]) -> None:
        """Put rows below the last row of counts."""
        last = len(self.rows) - self.notes
        self.rows[last:last] = rows

    def copy(self) -> Grid:
        """One to change."""
        return replace(self, rows=[list(row) for row in self.rows])


@dataclass(frozen=True)
class Mutation:
    """A change of a table."""

    name: str
    outcome: Outcome
    change: Callable[[Grid, random.Random], None]


def _set(*texts: str) -> Callable[[Grid, random.Random], None]:
    """One of the texts in place of a count."""

    def change(grid: Grid, draw: random.Random) -> None:
        is_wide = len(grid.counts) > 1
        body = grid.rows[grid.first : len(grid.rows) - grid.notes] if is_wide else grid.body
        draw.choice(body)[draw.choice(grid.counts)] = draw.choice(texts)

    return change


def _set_place(text: str) -> Callable[[Grid, random.Random], None]:
    def change(grid: Grid, draw: random.Random) -> None:
        draw.choice(grid.body)[grid.place] = text

    return change


def _shorten_place(grid: Grid, draw: random.Random) -> None:
    row = draw.choice(grid.body)
    row[grid.place] = row[grid.place][:-1]


def _drop(grid: Grid, at: int) -> None:
    for row in grid.rows:
        del row[at : at + 1]


def _drop_count_column(grid: Grid, draw: random.Random) -> None:
    _drop(grid, draw.choice(grid.counts))


def _drop_any_column(grid: Grid, draw: random.Random) -> None:
    _drop(grid, draw.randrange(len(grid.rows[grid.header])))


def _lose_header(grid: Grid, draw: random.Random) -> None:
    del grid.rows[grid.header][draw.choice(grid.counts)]


def _shift_header(grid: Grid, draw: random.Random) -> None:
    header = grid.rows[grid.header]
    header.insert(draw.randrange(len(header)), "")
    header.pop()


def _duplicate_row(grid: Grid, draw: random.Random) -> None:
    grid.append(list(draw.choice(grid.body)))


def _total_row(grid: Grid, draw: random.Random) -> None:
    total = list(draw.choice(grid.body))
    total[grid.place] = draw.choice(["Total", "TOTAL", "", "All"])
    grid.append(total)


def _note(grid: Grid, draw: random.Random) -> None:
    width = len(grid.rows[grid.header])
    note = [""] * width
    note[grid.place] = "Source: an office"
    grid.append([""] * width, note)


def _drop_row(grid: Grid, draw: random.Random) -> None:
    del grid.rows[draw.randrange(grid.first, len(grid.rows) - grid.notes)]


def _swap_columns(grid: Grid, draw: random.Random) -> None:
    one, other = draw.sample(range(grid.fixed, max(4, grid.fixed)), 2) if grid.fixed < 3 else (0, 0)
    for row in grid.rows:
        if len(row) > max(one, other):
            row[one], row[other] = row[other], row[one]


def _shuffle_rows(grid: Grid, draw: random.Random) -> None:
    last = len(grid.rows) - grid.notes
    body = grid.rows[grid.first : last]
    draw.shuffle(body)
    grid.rows[grid.first : last] = body


def _blanks(grid: Grid, draw: random.Random) -> None:
    for row in grid.rows[grid.first :]:
        row[:] = [f" {cell} " if cell else cell for cell in row]


def _many_columns(grid: Grid, draw: random.Random) -> None:
    for i, row in enumerate(grid.rows):
        row.extend(["0" if i else f"extra {j}" for j in range(17_000)])


def _header_only(grid: Grid, draw: random.Random) -> None:
    del grid.rows[grid.first :]


def _ragged(grid: Grid, draw: random.Random) -> None:
    draw.choice(grid.rows[grid.first :]).append("7")


MUTATIONS: Final = (
    Mutation("decimal comma", "refused", _set("12,5", "0,5")),
    Mutation("decimal point", "refused", _set("12.5")),
    Mutation("thousands with points", "refused", _set("1.234")),
    Mutation("negative", "refused", _set("-8")),
    Mutation("marker", "refused", _set("*", "<3", "x", "..")),
    Mutation("empty count", "refused", _set("")),
    Mutation("too large", "refused", _set("99999999999")),
    Mutation("exponent", "refused", _set("1E+3")),
    Mutation("date as geoid", "refused", _set_place("2021-01-05")),
    Mutation("month as geoid", "refused", _set_place("Jan-01")),
    Mutation("short geoid", "refused", _shorten_place),
    Mutation("geoid as number", "refused", _set_place("3.40E+14")),
    Mutation("no geoid", "refused", _set_place("")),
    Mutation("column of counts dropped", "true", _drop_count_column),
    Mutation("any column dropped", "true", _drop_any_column),
    Mutation("header lost", "refused", _lose_header),
    Mutation("header shifted", "true", _shift_header),
    Mutation("row twice", "refused", _duplicate_row),
    Mutation("total row", "refused", _total_row),
    Mutation("note below", "same", _note),
    Mutation("row dropped", "true", _drop_row),
    Mutation("columns swapped", "same", _swap_columns),
    Mutation("rows shuffled", "same", _shuffle_rows),
    Mutation("blanks around", "same", _blanks),
    Mutation("many columns", "refused", _many_columns),
    Mutation("header only", "refused", _header_only),
    Mutation("a field too many", "true", _ragged),
)

#: How the rows become bytes.
ENCODINGS: Final[tuple[Callable[[str], bytes], ...]] = (
    lambda text: text.encode(),
    lambda text: text.encode("utf-8-sig"),
    lambda text: text.encode("utf-16"),
    lambda text: text.encode("utf-16-le"),
    lambda text: text.replace("Place", "Cañon").encode("latin-1"),
    lambda text: text.replace("\r\n", "\n").encode(),
    lambda text: text.encode().removesuffix(b"\r\n"),
)


def _plain(path: Path, data: bytes) -> tuple[Path, bool]:
    path.write_bytes(data)
    return path, False


def _gzipped(path: Path, data: bytes) -> tuple[Path, bool]:
    return _plain(path.with_name(f"{path.name}.gz"), gzip.compress(data))


def _zipped(path: Path, data: bytes) -> tuple[Path, bool]:
    return _plain(path.with_name(f"{path.name}.zip"), _zip({path.name: data}))


def _zipped_twice(path: Path, data: bytes) -> tuple[Path, bool]:
    inner = _zip({path.name: data})
    return _plain(path.with_name("outer.zip"), _zip({"inner.zip": inner}))[0], True


def _zip(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return packed.getvalue()


#: How the bytes become a file, and whether it is a zip within a zip.
PACKINGS: Final[dict[str, Callable[[Path, bytes], tuple[Path, bool]]]] = {
    "plain": _plain,
    "gzip": _gzipped,
    "zip": _zipped,
    "zip in a zip": _zipped_twice,
}


@pytest.fixture(scope="module")
def release() -> Release:
    return parse_release(SCHEMA, source="sexage.yaml")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Layout, str, Grid]]:
    """Layout → its files, the name of the file to mutate, and that file's table."""
    found = {}
    for name, member in DELIMITED.items():
        folder = tmp_path_factory.mktemp(name)
        layout = LAYOUTS[name](COUNTS, folder)
        path = layout.paths[0]
        text = path.read_text() if not member else zipfile.ZipFile(path).read(member).decode()
        delimiter = ";" if name == "long" else ","
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))
        first = 2 if name in ("data_census_gov", "factfinder") else 1
        found[name] = (layout, member or path.name, _grid(rows, first))
    return found


def _grid(rows: Rows, first: int) -> Grid:
    names = rows[0]
    place = next(i for i, cell in enumerate(rows[first]) if "3402100" in cell)
    values = [i for i, each in enumerate(names) if each in ("OBS_VALUE", "Value")]
    cells = [i for i, each in enumerate(names) if each.startswith(("P99", "D0", "Sex:"))]
    fixed = {"STRUCTURE": 2, "DATAFLOW": 2, "date": 4}  # which tell the format
    return Grid(rows, 0, first, place, values or cells, fixed=fixed.get(names[0], 0))


def outcome(release: Release, source: str, path: Path, mapping: FileMapping) -> Truth | str:
    """What is published of each geounit, zeros too; or the message of the refusal."""
    try:
        opened = open_tables(release, source, [path], mapping=mapping)
        batches = list(opened.batches())
    except (SourceError, ConfigError) as error:
        return str(error)
    patterns = opened.coverage
    found: Truth = {
        geoid: dict.fromkeys(patterns[pattern].cells["P99"], 0)
        for batch in batches
        for geoid, pattern in batch.geounits.select("geoid", "pattern").iter_rows()
    }
    for geoid, _, cell, count in pl.concat([batch.counts for batch in batches]).iter_rows():
        assert cell in found[geoid], "a count that coverage does not have"
        found[geoid][cell] = count
    return found


def judge(case: str, wanted: Outcome, found: Truth | str, path: Path) -> None:
    truth = {geoid: dict(enumerate(row, start=1)) for geoid, row in COUNTS.items()}
    if isinstance(found, str):
        assert wanted != "same", f"{case}: refused: {found}"
        assert "\n" not in found, case
        assert str(path) in found or "mapping" in found, f"{case}: no place in: {found}"
        return
    assert wanted != "refused", f"{case}: read as {found}"
    for geoid, cells in found.items():
        for cell, count in cells.items():
            assert truth[geoid][cell] == count, f"{case}: {geoid} cell {cell} is {count}"
    if wanted == "same":
        assert found == truth, case


def test_damaged_tables_are_read_right_or_refused(
    release: Release, tables: dict[str, tuple[Layout, str, Grid]], tmp_path: Path
) -> None:
    draw = random.Random(20)  # noqa: S311 - cases of a test
    seen: Counter[str] = Counter()
    for number in range(CASES):
        name = draw.choice(sorted(tables))
        layout, file, original = tables[name]
        mutation = MUTATIONS[number % len(MUTATIONS)]
        changed = original.copy()
        if mutation.name == "header lost" and len(changed.counts) == 1:
            continue  # a long table is told by that header
        mutation.change(changed, draw)
        delimiter = draw.choice([";", "\t"]) if name == "long" else ","
        text = io.StringIO()
        dialect = draw.choice(["excel", "unix"])  # all is quoted in the latter
        writer = csv.writer(text, dialect, delimiter=delimiter, lineterminator="\r\n")
        writer.writerows(changed.rows)
        how = draw.randrange(len(ENCODINGS))
        packing = draw.choice(list(PACKINGS))
        path, is_nested = PACKINGS[packing](tmp_path / file, ENCODINGS[how](text.getvalue()))
        case = f"case {number}, {name}, {mutation.name}, encoding {how}, {packing}"
        wanted: Outcome = "refused" if is_nested else mutation.outcome
        judge(case, wanted, outcome(release, layout.source, path, FileMapping()), path)
        path.unlink()
        seen[mutation.name] += 1
    if CASES >= 1000:
        assert min(seen.values()) > CASES // len(MUTATIONS) // 3


def _workbook(tmp_path: Path) -> tuple[Layout, Grid]:
    """The sheet of a planning office: a title, two rows of headers, percentages, a note."""
    layout = LAYOUTS["wide"](COUNTS, tmp_path)
    upper = ["", ""] + [word for s in SEXES for word in (s[1], "", "", "", "")]
    lower = ["Area code", "Name"] + [a[1] for _ in SEXES for a in (*AGES, ("", "Percent young"))]
    rows = [["Table 99: sex by age"], [], upper, lower]
    for geoid, row in COUNTS.items():
        parts = [[*map(str, row[at : at + 4]), "33.3"] for at in (0, 4, 8)]
        rows.append([geoid, "Place", *itertools.chain.from_iterable(parts)])
    rows += [[], ["Source: an office."]]
    counts = [2 + 5 * part + at for part in range(3) for at in range(4)]
    return layout, Grid(rows, 3, 4, 0, counts, notes=2, fixed=4)


#: Sheets of a workbook beside the one with the table, and whether they leave open what is meant.
SHEETS: Final[dict[str, tuple[dict[str, Rows], bool]]] = {
    "alone": ({}, False),
    "an empty sheet": ({"Empty": []}, False),
    "sheets of empty rows": ({"One": [[]], "Two": [[""], ["", ""]]}, False),
    "another table": ({"Notes": [["Area code", "n"], ["340210001001000", "3"]]}, True),
}


def test_damaged_workbooks_are_read_right_or_refused(release: Release, tmp_path: Path) -> None:
    draw = random.Random(21)  # noqa: S311 - cases of a test
    layout, original = _workbook(tmp_path)
    mapping = FileMapping(columns=cast("dict[str, None]", layout.mapping["columns"]))
    mutations = [each for each in MUTATIONS if each.name != "many columns"]
    for number in range(CASES // 2):
        mutation = mutations[number % len(mutations)]
        changed = original.copy()
        mutation.change(changed, draw)
        named = draw.choice(list(SHEETS))
        others, is_open = SHEETS[named]
        sheets = [*others.items(), ("Data", changed.rows)]
        draw.shuffle(sheets)
        typed = {name: [[_typed(cell, draw) for cell in row] for row in r] for name, r in sheets}
        write_workbook(tmp_path / "inner.xlsx", typed)
        data = (tmp_path / "inner.xlsx").read_bytes()
        packing = draw.choice(list(PACKINGS))
        path, is_nested = PACKINGS[packing](tmp_path / "table99.xlsx", data)
        case = f"case {number}, {mutation.name}, {named}, {packing}"
        wanted: Outcome = "refused" if is_open or is_nested else mutation.outcome
        judge(case, wanted, outcome(release, layout.source, path, mapping), path)
        path.unlink()


def _typed(cell: str, draw: random.Random) -> object:
    """Numbers as numbers, now and then as text; geoids always as text."""
    if len(cell) > 9 or draw.random() < 0.2:
        return cell
    return int(cell) if cell.isdigit() else cell


@pytest.mark.parametrize("rows", [[], [[]], [["", ""], [""]]])
def test_a_workbook_of_empty_sheets(rows: Rows, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "empty.xlsx"
    write_workbook(path, {"One": rows, "Two": []})
    found = outcome(release, "sheet", path, FileMapping())
    judge("empty", "refused", found, path)
    assert "empty sheets only" in str(found)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_million_columns(rows: int, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    line = ",".join(map(str, range(1_000_000)))
    path.write_text(f"geoid,{line}\n" + f"340210001001000,{line}\n" * rows)
    found = outcome(release, "sheet", path, FileMapping())
    judge("a million columns", "refused", found, path)
    assert "a row for each count" in str(found)


def test_archives(release: Release, tmp_path: Path) -> None:
    layout = LAYOUTS["data_census_gov"](COUNTS, tmp_path)
    inner = layout.paths[0].read_bytes()
    for name, make in {"zip in a zip": inner, "a damaged zip": None, "no file": b""}.items():
        path = tmp_path / "outer.zip"
        with zipfile.ZipFile(path, "w") as archive:
            if make:
                archive.writestr("inner.zip", make)
        if make is None:
            path.write_bytes(inner[: len(inner) // 2])
        found = outcome(release, layout.source, path, FileMapping())
        judge(name, "refused", found, path)
        if name == "zip in a zip":
            assert "unpack the outer one" in str(found)


def _json_mutations() -> dict[str, tuple[Outcome, Callable[[Any], Any]]]:
    def drop_header(rows: Any) -> Any:
        return [rows[0][1:], *rows[1:]]

    def drop_variable(rows: Any) -> Any:
        return [row[1:] for row in rows]

    def null(rows: Any) -> Any:
        return [rows[0], [None, *rows[1][1:]], *rows[2:]]

    def complain(_: Any) -> Any:
        return {"error": "unknown variable"}

    return {
        "header lost": ("refused", drop_header),
        "variable dropped": ("true", drop_variable),
        "null": ("refused", null),
        "row twice": ("refused", lambda rows: [*rows, rows[-1]]),
        "no rows": ("refused", lambda rows: rows[:1]),
        "an error message": ("refused", complain),
        "other variables": ("refused", lambda rows: [["B01001_001E", *rows[0][1:]], *rows[1:]]),
    }


@pytest.mark.parametrize("name", _json_mutations())
def test_damaged_api_answers(name: str, release: Release, tmp_path: Path) -> None:
    wanted, change = _json_mutations()[name]
    path = LAYOUTS["census_api"](COUNTS, tmp_path).paths[0]
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    judge(name, wanted, outcome(release, "census-api", path, FileMapping()), path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a size too small", lambda cube: cube["size"].__setitem__(0, 2)),
        ("a value too few", lambda cube: cube["value"].pop("0")),
        ("a value out of range", lambda cube: cube["value"].update({"9999": 1})),
        ("a decimal", lambda cube: cube["value"].update({"0": 1.5})),
        ("no dimension", lambda cube: cube.pop("dimension")),
        ("no place", lambda cube: cube["id"].__setitem__(2, "sex")),
    ],
)
def test_damaged_cubes(
    name: str, change: Callable[[Any], Any], release: Release, tmp_path: Path
) -> None:
    path = LAYOUTS["json_stat_2"](COUNTS, tmp_path).paths[0]
    cube = json.loads(path.read_text())
    change(cube)
    path.write_text(json.dumps(cube))
    wanted: Outcome = "true" if name == "a value too few" else "refused"
    judge(name, wanted, outcome(release, "json-stat", path, FileMapping()), path)
