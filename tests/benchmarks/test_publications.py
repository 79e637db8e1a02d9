"""Files drawn after publications are the same for a seed, and print what is true."""

from __future__ import annotations

from collections import Counter

import openpyxl
import pytest

from benchmarks.publications.archetypes import ARCHETYPES
from benchmarks.publications.drawing import draw
from benchmarks.publications.people import Dimension, forest


@pytest.mark.parametrize("name", list(ARCHETYPES))
def test_a_seed_draws_the_same_bytes_and_prints_under_its_law(name: str) -> None:
    archetype = ARCHETYPES[name]
    drawn = draw(archetype, 3)
    assert draw(archetype, 3).data == drawn.data
    assert draw(archetype, 4).data != drawn.data
    counts = [cell for cell in drawn.truth.cells if cell.kind == "count"]
    assert counts
    for cell in counts:
        assert cell.true == drawn.truth.world.count(cell.condition)
        if cell.shown is not None and not cell.law.random:
            assert abs(cell.shown - (cell.true or 0)) <= cell.law.base / 2
        if cell.law.below == 0 and cell.law.base == 1:
            assert cell.shown == cell.true


def test_parts_add_up_to_the_whole_in_the_truth() -> None:
    for name in ("fbi arrests by race", "genesis wide", "statistik austria"):
        world = draw(ARCHETYPES[name], 1).truth.world
        for dimension in world.dimensions.values():
            for node in dimension.nodes:
                if node.category.parts and node.category.whole:
                    parts = [n for n in dimension.nodes if n.above[-1:] == (node.category,)]
                    assert world.count({dimension.name: node.leaves}) == sum(
                        world.count({dimension.name: part.leaves}) for part in parts
                    )


def test_some_of_a_whole_are_fewer_leaves_than_it() -> None:
    whole = Dimension("x", forest("A{B}|C"))
    assert [len(node.leaves) for node in whole.nodes] == [2, 1, 1]
    assert Dimension("x", forest("A"), whole=False).size == 2


def test_every_archetype_names_its_publication() -> None:
    assert len(ARCHETYPES) >= 40
    assert all("," in archetype.after for archetype in ARCHETYPES.values())
    assert len({archetype.after for archetype in ARCHETYPES.values()}) == len(ARCHETYPES)
    fields = Counter(archetype.field for archetype in ARCHETYPES.values())
    assert set(fields) == {"population", "schools", "health", "justice", "labour", "religion"}


def test_a_printed_count_stands_where_the_truth_says(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for name in ("statistik austria", "scotland homicide", "statssa sheets"):
        drawn = draw(ARCHETYPES[name], 2)
        if not drawn.file.endswith(".xlsx"):
            continue
        (path := tmp_path / "drawn.xlsx").write_bytes(drawn.data)
        book = openpyxl.load_workbook(path)
        for cell in drawn.truth.cells:
            if cell.kind == "count" and cell.shown is not None:
                value = book[cell.sheet].cell(cell.row, cell.column).value
                assert value in (cell.shown, "-")
