"""Thousands of damaged files: each is read right or refused in one line with a place.

``RECON_MUTATIONS=20000`` makes more of them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl
import pytest

from recon_cli.errors import ConfigError, SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources import FileMapping, open_tables
from tests.support.layouts import LAYOUTS, SCHEMA, Layout, counts_of

CASES: Final = int(os.environ.get("RECON_MUTATIONS", "2000"))
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


@dataclass(frozen=True)
class Mutation:
    """A change of a table's rows; the header is row 0, counts begin in row ``first``."""

    name: str
    outcome: Outcome
    change: Callable[[Rows, int, random.Random], None]


def _place(rows: Rows, first: int) -> int:
    """The column with the geoids."""
    return next(i for i, cell in enumerate(rows[first]) if "3402100" in cell)


def _counts(rows: Rows, first: int) -> list[int]:
    """Columns with counts: of wide tables those with codes or labels, else the value."""
    names = rows[0]
    values = [i for i, each in enumerate(names) if each in ("OBS_VALUE", "Value")]
    return values or [i for i, each in enumerate(names) if each.startswith(("P99", "D0", "Sex:"))]


def _set(*texts: str) -> Callable[[Rows, int, random.Random], None]:
    """One of the texts in place of a count."""

    def change(rows: Rows, first: int, draw: random.Random) -> None:
        columns = _counts(rows, first)
        wide = len(columns) > 1
        body = [row for row in rows[first:] if wide or "Percent" not in row]
        row, column = draw.choice(body), draw.choice(columns)
        row[column] = draw.choice(texts)

    return change


def _set_place(text: str) -> Callable[[Rows, int, random.Random], None]:
    def change(rows: Rows, first: int, draw: random.Random) -> None:
        row = draw.choice([row for row in rows[first:] if "Percent" not in row])
        row[_place(rows, first)] = text

    return change


def _shorten_place(rows: Rows, first: int, draw: random.Random) -> None:
    row = draw.choice([row for row in rows[first:] if "Percent" not in row])
    row[_place(rows, first)] = row[_place(rows, first)][:-1]


def _drop_count_column(rows: Rows, first: int, draw: random.Random) -> None:
    at = draw.choice(_counts(rows, first))
    for row in rows:
        del row[at]


def _drop_any_column(rows: Rows, first: int, draw: random.Random) -> None:
    at = draw.randrange(len(rows[0]))
    for row in rows:
        del row[at]


def _lose_header(rows: Rows, first: int, draw: random.Random) -> None:
    del rows[0][draw.choice(_counts(rows, first))]


def _shift_header(rows: Rows, first: int, draw: random.Random) -> None:
    rows[0].insert(draw.randrange(len(rows[0])), "")
    rows[0].pop()


def _duplicate_row(rows: Rows, first: int, draw: random.Random) -> None:
    body = [row for row in rows[first:] if "Percent" not in row]
    rows.append(list(draw.choice(body)))


def _total_row(rows: Rows, first: int, draw: random.Random) -> None:
    total = list(draw.choice([row for row in rows[first:] if "Percent" not in row]))
    total[_place(rows, first)] = draw.choice(["Total", "TOTAL", "", "All"])
    rows.append(total)


def _note(rows: Rows, first: int, draw: random.Random) -> None:
    note = [""] * len(rows[0])
    note[_place(rows, first)] = "Source: an office"
    rows += [[""] * len(rows[0]), note]


def _drop_row(rows: Rows, first: int, draw: random.Random) -> None:
    del rows[draw.randrange(first, len(rows))]


def _swap_columns(rows: Rows, first: int, draw: random.Random) -> None:
    one, other = draw.sample(range(2 if rows[0][0] in ("STRUCTURE", "DATAFLOW") else 0, 4), 2)
    if rows[0][0] == "date":
        return  # which is how the format is told
    for row in rows:
        row[one], row[other] = row[other], row[one]


def _shuffle_rows(rows: Rows, first: int, draw: random.Random) -> None:
    body = rows[first:]
    draw.shuffle(body)
    rows[first:] = body


def _blanks(rows: Rows, first: int, draw: random.Random) -> None:
    for row in rows[first:]:
        row[:] = [f" {cell} " if cell else cell for cell in row]


def _many_columns(rows: Rows, first: int, draw: random.Random) -> None:
    for i, row in enumerate(rows):
        row.extend([f"extra {j}" if not i else "0" for j in range(17_000)])


def _header_only(rows: Rows, first: int, draw: random.Random) -> None:
    del rows[first:]


def _ragged(rows: Rows, first: int, draw: random.Random) -> None:
    draw.choice(rows[first:]).append("7")


MUTATIONS: Final = (
    Mutation("decimal comma", "refused", _set("12,5", "0,5")),
    Mutation("decimal point", "refused", _set("12.5")),
    Mutation("thousands", "refused", _set("1,234", "1 234")),
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
    lambda text: gzip.compress(text.encode()),
)


@pytest.fixture(scope="module")
def release() -> Release:
    return parse_release(SCHEMA, source="sexage.yaml")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Layout, str, Rows]]:
    """Layout → its files, the name of the file to mutate, and that file's rows."""
    found = {}
    for name, member in DELIMITED.items():
        folder = tmp_path_factory.mktemp(name)
        layout = LAYOUTS[name](COUNTS, folder)
        path = layout.paths[0]
        text = path.read_text() if not member else zipfile.ZipFile(path).read(member).decode()
        delimiter = ";" if name == "long" else ","
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))
        found[name] = (layout, member or path.name, rows)
    return found


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
    release: Release, tables: dict[str, tuple[Layout, str, Rows]], tmp_path: Path
) -> None:
    draw = random.Random(20)  # noqa: S311 - cases of a test
    seen: Counter[str] = Counter()
    for number in range(CASES):
        name = draw.choice(sorted(tables))
        layout, file, rows = tables[name]
        mutation = MUTATIONS[number % len(MUTATIONS)]
        changed = [list(row) for row in rows]
        first = 2 if name in ("data_census_gov", "factfinder") else 1
        if mutation.name == "header lost" and len(_counts(rows, first)) == 1:
            continue  # a long table is told by that header
        mutation.change(changed, first, draw)
        delimiter = draw.choice([";", "\t"]) if name == "long" else ","
        text = io.StringIO()
        dialect = draw.choice(["excel", "unix"])  # all is quoted in the latter
        csv.writer(text, dialect, delimiter=delimiter, lineterminator="\r\n").writerows(changed)
        how = draw.randrange(len(ENCODINGS))
        is_packed = how == len(ENCODINGS) - 1
        path = tmp_path / (file + ".gz" * is_packed)
        path.write_bytes(ENCODINGS[how](text.getvalue()))
        case = f"case {number}, {name}, {mutation.name}, encoding {how}"
        judge(case, mutation.outcome, outcome(release, layout.source, path, FileMapping()), path)
        seen[mutation.name] += 1
    if CASES >= 1000:
        assert min(seen.values()) > CASES // len(MUTATIONS) // 3


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
