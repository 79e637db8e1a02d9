"""The packaged census schema against the published description of its 4,188 cells."""

from __future__ import annotations

import csv

import pytest

from recon_cli.schema import Release, load_release
from tests.support.paths import FACTS, needs_shared

FLAGS = ("w", "b", "ai", "as", "nh", "sor")


@pytest.fixture(scope="module")
def release() -> Release:
    return load_release("sf1_2010")


def predicate(row: dict[str, str], release: Release) -> tuple[int, ...]:
    """The masks of one row of sf1_cells.csv, value by value."""
    sex, age, race, hispanic = release.features
    low, high = int(row["age_min"]), int(row["age_max"])
    fewest, most = int(row["races_min"] or 1), int(row["races_max"] or 6)

    def race_counts(value: int) -> bool:
        wanted = [row[flag] for flag in FLAGS]
        picked = [bool(value >> i & 1) for i in range(6)]
        flags = all(not w or (w == "Y") == p for w, p in zip(wanted, picked, strict=True))
        return flags and fewest <= sum(picked) <= most

    hispanic_rows = {"": (False, True), "N": (False,), "Y": (True,)}
    return (
        sum(1 << i for i, v in enumerate(sex.values) if row["sex"] in {"", v}),
        sum(1 << i for i, v in enumerate(age.values) if low <= int(v) <= high),
        sum(1 << i for i, v in enumerate(race.values) if race_counts(int(v))),
        sum(1 << i for i, v in enumerate(hispanic.values) if v in hispanic_rows[row["hispanic"]]),
    )


@needs_shared
def test_every_cell_equals_its_published_description(release: Release) -> None:
    with (FACTS / "sf1_cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    cells = [
        (table.name, code, "block" in table.levels, cell)
        for table in release.tables
        for code, cell in zip(table.codes, table.cells, strict=True)
    ]
    assert len(rows) == len(cells) == 4188
    for row, (table, code, in_blocks, cell) in zip(rows, cells, strict=True):
        assert (table, code) == (row["table"], row["cell"])
        assert in_blocks == (row["level"] == "block"), code
        assert (cell.tally is not None) == (row["kind"] == "tally"), code
        assert cell.masks == predicate(row, release), code


@needs_shared
def test_segments_equal_the_published_layout(release: Release) -> None:
    with (FACTS / "sf1_segments.csv").open() as file:
        rows = list(csv.DictReader(file))
    segments = release.layouts["sf1-legacy"]["segments"]
    assert sum(len(segment["tables"]) for segment in segments.values()) == len(rows) == 34
    for row in rows:
        segment = segments[int(row["segment"])]
        assert segment["columns"] == int(row["segment_columns"])
        assert segment["tables"][row["table"]] == int(row["first_column"])
        assert len(release.table_by_name[row["table"]].cells) == int(row["cells"])


def test_shape_of_the_release(release: Release) -> None:
    assert len(release.tables) == 34
    assert sum(len(table.cells) for table in release.tables) == 4188
    assert len(release.column_groups("agebin").masks) == 38
    assert [t.name for t in release.select_tables("block")][-1] == "P14"
    assert len(release.select_tables("block+tract")) == 34
