"""The packaged redistricting and DHC schemas against published descriptions of their cells."""

from __future__ import annotations

import csv
import re
import runpy
from functools import cache

import pytest

from recon_cli.schema import Cell, Release, Table, load_release
from recon_cli.schema.features import Feature
from tests.support.paths import FACTS, ROOT, needs_shared

OPTIONS = ("white", "black", "aian", "asian", "nhpi", "sor")
#: The first digit of a group-quarters code, and what it stands for.
KINDS = {"0": "none", "1": "correctional", "2": "juvenile", "3": "nursing"}
KINDS |= {"4": "other_institution", "5": "college", "6": "military", "7": "other", "8": "other"}

CELLS = {
    "pl_2020": ("cells_pl2020.csv", {"H1"}),
    "pl_2010": ("cells_pl2020.csv", {"H1", "P5"}),
    "dhc_2020": ("cells_dhc2020_block.csv", {"P2", "P17"}),
}


def described(name: str) -> list[dict[str, str]]:
    """The cells of people that are described, but for tables that a release leaves out."""
    file, left_out = CELLS[name]
    with (FACTS / "cells" / file).open() as lines:
        rows = list(csv.DictReader(lines))
    return [
        row for row in rows if row["kind"] in {"person", "tally"} and row["table"] not in left_out
    ]


@cache
def _numbers(value: str) -> frozenset[int]:
    pairs = [part.partition("..") for part in value.split("|")]
    return frozenset(n for low, _, high in pairs for n in range(int(low), int(high or low) + 1))


def _holds(condition: str, feature: str, value: object) -> bool:
    """Whether a value meets a condition; true for a feature that the condition is not about."""
    field, sign, wanted = re.split("([=~])", condition)
    match field, sign:
        case "RACE", _ if feature == "race":
            picked = sum(1 << OPTIONS.index(option) for option in wanted.split("+"))
            return value == picked if sign == "=" else bool(int(str(value)) & picked)
        case "NRACES", _ if feature == "race":
            return int(str(value)).bit_count() in _numbers(wanted)
        case "HISP", _ if feature == "hispanic":
            return 1 + bool(value) in _numbers(wanted)
        case "AGE", _ if feature == "age":
            return value in _numbers(wanted)
        case "GQTYPE", _ if feature == "group_quarters":
            return value in {KINDS[code[0]] for code in wanted.split("|") if code[0] in KINDS}
    return field != "SEX" or feature != "sex" or value == wanted


@cache
def masks(features: tuple[Feature, ...], conditions: str) -> tuple[int, ...]:
    """Value by value, whether all conditions hold."""
    parts = [part for part in conditions.split("; ") if part]
    return tuple(
        sum(
            1 << at
            for at, value in enumerate(feature.values)
            if all(_holds(part, feature.name, value) for part in parts)
        )
        for feature in features
    )


def cells_of(release: Release) -> list[tuple[Table, str, Cell]]:
    return [
        (table, code, cell)
        for table in release.tables
        for code, cell in zip(table.codes, table.cells, strict=True)
    ]


@needs_shared
@pytest.mark.parametrize(
    ("name", "count"), [("pl_2020", 298), ("pl_2010", 288), ("dhc_2020", 2164)]
)
def test_every_cell_equals_its_published_description(name: str, count: int) -> None:
    release, rows = load_release(name), described(name)
    cells = cells_of(release)
    by_code = {row["code"]: row for row in rows}
    assert len(cells) == len(rows) == len(by_code) == count
    for table, code, cell in cells:
        row = by_code[code]
        assert (table.name, cell.number) == (row["table"], int(row["cell"]))
        assert cell.masks == masks(release.features, row["conditions"]), code
        is_total_of_mentions = row["kind"] == "tally" and "~" not in row["conditions"]
        assert (cell.tally is not None) == is_total_of_mentions, code


@needs_shared
@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_where_its_description_has_it(name: str) -> None:
    release = load_release(name)
    (layout,) = release.layouts.values()
    places = {
        code: (segment, first + cell.number - 1)
        for segment, form in layout["segments"].items()
        for table, first in form["tables"].items()
        for code, cell in zip(
            release.table_by_name[table].codes, release.table_by_name[table].cells, strict=True
        )
    }
    expected = {row["code"]: (int(row["segment"]), int(row["column"])) for row in described(name)}
    assert places == expected


@needs_shared
def test_the_schemas_are_what_the_script_makes() -> None:
    script = runpy.run_path(str(ROOT / "fixtures" / "make_releases.py"))
    for file, text in script["make"](FACTS / "cells").items():
        assert (script["RELEASES"] / file).read_text() == text
