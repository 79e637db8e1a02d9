"""Files drawn after publications are the same for a seed, and print what is true."""

from __future__ import annotations

from collections import Counter

import openpyxl
import pytest

from benchmarks.publications.archetypes import ARCHETYPES
from benchmarks.publications.drawing import Drawn, draw
from benchmarks.publications.judging import judge
from benchmarks.publications.people import Dimension, forest
from benchmarks.publications.tool import CellName, Count, Masks, Reading


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


def _true_reading(drawn: Drawn) -> Reading:
    """Return the right reading of a file of council areas by religion."""
    truth = drawn.truth
    religions = [node.category.label for node in truth.world.dimensions["Religion"].nodes]
    areas = ["Scotland", *(n.category.label for n in truth.world.dimensions["Council area"].nodes)]
    everybody = (1 << len(religions)) - 1
    masks = [everybody, *(1 << at for at in range(len(religions)))]
    cells: dict[CellName, Masks] = {
        ("T", number): (mask,) for number, mask in enumerate(masks, start=1)
    }
    geoids = ["A", *(f"A{number:02d}" for number in range(1, len(areas)))]
    printed = {(c.stub, c.heading): c.shown for c in truth.cells if c.shown is not None}
    heads = ["All people", *religions]
    return Reading(
        names=dict(zip(geoids, areas, strict=True)),
        counts={
            geoid: {
                ("T", number): Count(*[printed[area, head]] * 3)
                for number, head in enumerate(heads, start=1)
            }
            for geoid, area in zip(geoids, areas, strict=True)
        },
        cells=cells,
        labels={key: heads[key[1] - 1] for key in cells},
        sizes=(len(religions),),
    )


def _religions() -> Drawn:
    return draw(ARCHETYPES["scotland census"], 1)


def test_the_right_reading_is_right() -> None:
    drawn = _religions()
    assert judge(drawn.truth, _true_reading(drawn), "").name == "right"


def test_a_swap_of_two_counts_is_wrong() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    cells = reading.counts["A01"]
    cells["T", 2], cells["T", 3] = cells["T", 3], cells["T", 2]
    assert judge(drawn.truth, reading, "").name == "wrong"


def test_a_total_beside_its_parts_is_wrong() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    wider = reading.sizes[0]
    reading.cells["T", 1] = (1 << wider,)
    reading.sizes = (wider + 1,)
    assert judge(drawn.truth, reading, "").name == "wrong"


def test_a_whole_read_as_a_place_beside_its_parts_is_wrong() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    reading.counts["B"] = reading.counts.pop("A")
    reading.names["B"] = reading.names.pop("A")
    assert judge(drawn.truth, reading, "").name == "wrong"


def test_a_column_that_is_lost_is_wrong_unless_it_was_told() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    for cells in reading.counts.values():
        del cells["T", 5]
    lost = reading.labels["T", 5]
    assert judge(drawn.truth, reading, "").name == "wrong"
    assert judge(drawn.truth, reading, f"left out: {lost}").name == "in part"


def test_columns_read_as_independent_allow_more() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    width = reading.sizes[0]
    reading.sizes = (2,) * width
    for number in range(1, width + 2):
        reading.cells["T", number] = tuple(2 if at == number - 2 else 3 for at in range(width))
    assert judge(drawn.truth, reading, "").name == "looser"


def test_a_law_that_rules_out_the_truth_is_wrong() -> None:
    drawn = _religions()
    reading = _true_reading(drawn)
    count = reading.counts["A01"]["T", 2]
    assert count.printed is not None
    reading.counts["A01"]["T", 2] = Count(count.printed, count.low + 1, count.low + 2)
    assert judge(drawn.truth, reading, "").name == "wrong"
