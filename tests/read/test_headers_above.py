"""Rows of short words under a header row that says some of the same."""

from __future__ import annotations

from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.regions import Regions
from recon_cli.sources.tabular.sheet import sheet_of_rows

_ROWS = [
    ["", "Foo", "", "Qq"],
    ["Zzz", "Aa", "Bb", "Qq"],
    ["P1", "0", "x", "16"],
    ["P2", "6", "x", "84"],
    ["P3", "x", "12", "34"],
]


def _tables(rows: list[list[str]]) -> list[tuple[tuple[int, ...], list[int]]]:
    found = Regions.of(Grid.of(sheet_of_rows("sheet", rows)))
    return [(each.header, each.body.tolist()) for each in found.tables]


def test_a_word_below_itself_is_still_a_header() -> None:
    assert _tables(_ROWS) == [((0, 1), [2, 3, 4])]


def test_a_place_withheld_whole_is_none() -> None:
    rows = [_ROWS[0], _ROWS[1], ["P0", "x", "x", "x"], *_ROWS[2:]]

    assert _tables(rows) == [((0, 1), [2, 3, 4, 5])]


def test_two_places_withheld_whole_are_none() -> None:
    rows = [_ROWS[0], _ROWS[1], *_ROWS[2:5], ["P4", "c", "c", "c"], ["P5", "c", "c", "c"]]

    assert _tables(rows) == [((0, 1), [2, 3, 4, 5, 6])]
