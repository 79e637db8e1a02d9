"""A sum of rows that chance may have made is asked about; a layout of several totals is none."""

from __future__ import annotations

from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.sources.read.choices import Choices
from tests.capabilities.init.proposal.test_reading import read

#: Tring is Garstang and Barton together in the weeks that all three have, by chance.
WEEKS = [
    ["MSOA", "2021-03-07", "2021-03-14", "2021-03-21"],
    ["Garstang", "", "14", "17"],
    ["Barton", "", "11", "7"],
    ["Romsey", "", "92", "17"],
    ["Tring", "22", "25", "24"],
    ["Ludlow", "8", "13", ""],
    ["Ashby", "", "", ""],
    ["Chalfont", "6", "", "4"],
    ["Fairford", "9", "", "6"],
    ["Kelso", "", "", "4"],
    ["Oakham", "13", "6", "4"],
    ["Ventnor", "3", "4", "7"],
    ["Halton", "6", "16", "9"],
]


def row_sums(table: ProposedTable) -> set[int]:
    return {each.line for each in table.relations.sums(Axis.ROWS) if each.support.is_strong}


def test_a_sum_of_two_rows_in_two_columns_is_asked_about() -> None:
    (question,) = read(WEEKS).questions
    assert "'Tring' is 'Garstang' + 'Barton' in 2 columns" in question.text
    assert list(question.answers.values()) == ["--apart Tring", "--total Tring"]
    for choices, expected in (
        (Choices(apart=("Tring",)), set()),
        (Choices(total=("Tring",)), {4}),
    ):
        reading = read(WEEKS, choices)
        assert not reading.questions
        assert row_sums(reading.tables[0]) == expected


def test_totals_above_each_group_show_each_other() -> None:
    rows = [["Gemeente of buurt", "Mannen", "Vrouwen"]]
    groups = {"Weert": (12, 3, 7, 9), "Venlo": (5, 31, 2, 6), "Breda": (8, 4, 11, 21)}
    for name, (a, b, c, d) in groups.items():
        rows += [[name, str(a + c), str(b + d)]]
        rows += [[f"Buurt {name} 1", str(a), str(b)], [f"Buurt {name} 2", str(c), str(d)]]
    reading = read(rows)
    assert not [each for each in reading.questions if "chance" in each.text]
    assert row_sums(reading.tables[0]) == {1, 4, 7}


def test_codes_of_places_without_totals_are_no_flags() -> None:
    """The zeros of a column were lost where a code with a footnote stood in all of their rows."""
    rows = [["LA code", "Authority", "All", "White", "Black"]]
    rows += [["", "England", "63", "40", "23"]]
    rows += [["311", "Halton", "20", "20", "0"], ["312", "Ilkley", "43", "x", "x"]]
    rows += [["313 (1)", "Ludlow", "7", "7", "0"]]
    table = read(rows).tables[0]
    assert not table.names.flags
    assert not table.withheld.any()


def test_a_sum_within_the_parts_of_another_is_chance() -> None:
    """Rounded to five, Baden-Württemberg is Hamburg and Thüringen; Germany counts all three."""
    rows: list[list[object]] = [["Land", "Zusammen", "Ausländer", "Grundschulen"]]
    rows += [["Berlin", 660, 200, 160], ["Bremen", 495, 70, 145], ["Hamburg", 215, 65, 55]]
    rows += [["Thüringen", 520, 90, 135], ["Baden-Württemberg", 730, 160, 190]]
    rows += [["Bayern", 160, 60, 70], ["Deutschland", 2785, 640, 760]]
    reading = read(rows)
    assert not reading.questions or "chance" not in reading.questions[0].text
    assert row_sums(reading.tables[0]) == {7}


def test_a_place_of_a_long_table_that_two_others_make_is_asked_about() -> None:
    rows: list[list[object]] = [["fips", "naics", "emp"]]
    numbers = {"970001": (201, 79), "970002": (193, 103), "970003": (86, 77), "970004": (81, 25)}
    numbers |= {"970005": (195, 72), "970006": (69, 38), "970007": (132, 41), "970008": (92, 25)}
    for place, (whole, part) in numbers.items():
        rows += [[place, "------", whole], [place, "11----", part], [place, "31----", "x"]]
    texts = [each.text for each in read(rows).questions]
    assert any("'970001' is '970006' + '970007' in 2 rows" in text for text in texts)
    apart = read(rows, Choices(apart=("970001",)))
    assert not any("970001" in each.text for each in apart.questions)
    (table,) = apart.tables
    assert not any(each.support.is_strong for each in table.values if each.total == "970001")
    (said,) = read(rows, Choices(total=("970001", "------"))).tables
    assert any(each.support.is_strong for each in said.values if each.total == "970001")


def test_beside_exact_sums_one_that_is_off_by_a_little_is_chance() -> None:
    """All outcomes of white people were those of no action, off by one in 138 and two in 254."""
    groups = ["No action", "Arrest", "Caution", "All outcomes"]
    kinds = ["White", "Mixed", "Asian", "All"]
    rows: list[list[object]] = [["District", *(g for g in groups for _ in kinds)]]
    rows += [["", *kinds * 4]]
    for line in (
        "D0 45 * * 53 * 0 * 10 * * 0 * 56 * * 66",
        "D1 51 * * 63 * * 0 10 * * * 7 63 5 12 80",
        "D2 113 13 12 138 18 * * 28 * * 0 7 137 21 15 173",
        "Force 209 21 24 254 36 * * 48 11 * * 17 256 32 31 319",
    ):
        rows.append(list(line.split()))
    (table,) = read(rows).tables
    told = {
        (table.header(each.line), tuple(map(table.header, each.of)))
        for each in table.relations.sums(Axis.COLUMNS)
        if each.support.is_strong
    }
    action = tuple(f"No action: {kind}" for kind in kinds[:3])
    assert ("No action: All", action) in told
    assert ("All outcomes: White", action) not in told
    assert [len(feature.values) for feature in table.lattice.features] == [3, 3]
