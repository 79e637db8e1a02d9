"""Every cell has a role; names change no relation; files that were misread are read or asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.init.proposal.proposal import Proposal, propose
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.errors import SourceError
from recon_cli.sources.documents import document_of
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.roles import Role
from recon_cli.sources.tabular import read_sheet
from recon_cli.sources.tabular.sheet import sheet_of_rows
from tests.support.paths import ROOT

CASES = ROOT.parent / "shared" / "cases"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not here")


def read(rows: Sequence[Sequence[object]], choices: Choices | None = None) -> Proposal:
    sheet = sheet_of_rows("a sheet", [[str(cell) for cell in row] for row in rows])
    return propose(sheet, choices or Choices())


def read_case(name: str, choices: Choices | None = None) -> Proposal:
    return propose(read_sheet(document_of(CASES / name)), choices or Choices())


def sums(table: ProposedTable) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (table.header(each.line), tuple(map(table.header, each.of)))
        for each in table.relations.found
        if each.is_sum and each.axis.value == "columns" and each.support.is_strong
    }


def town(seed: int, places: int) -> list[list[object]]:
    """A title, a header, places with sexes and ages, a note."""
    draws = np.random.default_rng(seed)
    rows: list[list[object]] = [
        ["Pupils by sex and year", *[""] * 6],
        ["School", "All", "Girls", "Boys", "Year 7", "Year 8", "Year 9"],
    ]
    for place in range(places):
        years = draws.multinomial(draws.integers(40, 400), [0.3, 0.3, 0.4])
        girls = draws.binomial(int(years.sum()), 0.5)
        rows.append([f"School {place}", years.sum(), girls, years.sum() - girls, *years])
    return [*rows, ["* fewer than five", *[""] * 6]]


EXPECTED = {("All", ("Girls", "Boys")), ("All", ("Year 7", "Year 8", "Year 9"))}


def test_a_wide_sheet_is_read() -> None:
    (table,) = read(town(1, 6)).tables
    assert sums(table) == EXPECTED
    assert [feature.values for feature in table.lattice.features] == [
        ("Girls", "Boys"),
        ("Year 7", "Year 8", "Year 9"),
    ]
    assert not table.questions


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 12), st.data())
def test_roles_cover_all_cells_and_stars_change_no_feature(
    seed: int, places: int, data: st.DataObject
) -> None:
    rows = town(seed, places)
    row = data.draw(st.integers(2, places + 1))
    rows[row][data.draw(st.integers(1, 6))] = "*"
    reading = read(rows)
    filled = sum(str(cell) != "" for each in rows for cell in each)
    counted = reading.cells()
    assert sum(number for role, number in counted.items() if role is not Role.BLANK) == filled
    assert sums(reading.tables[0]) == EXPECTED


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_names_change_no_relation(seed: int) -> None:
    rows = town(seed, 6)
    before = read(rows).tables[0].relations.found
    rows[1] = ["x0", *(f"x{i}" for i in range(1, 7))]
    assert read(rows).tables[0].relations.found == before


def test_a_mean_and_a_count_of_something_else_are_asked_about() -> None:
    rows = town(2, 6)[1:-1]
    for number, row in enumerate(rows):
        row.append("Teachers" if not number else [7, 9, 12, 5, 31, 8][number - 1])
    (question,) = read(rows).questions
    assert "'Teachers' is in no relation to the counts" in question.text
    assert "--leave-out Teachers" in question.answers.values()
    assert not read(rows, Choices(leave_out={"Teachers": "not about pupils"})).questions


def test_a_zero_with_a_flag_is_no_zero() -> None:
    rows = [["county", "sector", "flag", "employees"]]
    for county in ("01", "02"):
        rows += [[county, "a", "", "12"], [county, "b", "S", "0"], [county, "c", "", "7"]]
    reading = read(rows)
    assert reading.tables[0].withheld.sum() == 2
    assert reading.cells()[Role.FLAG] == 2


def test_codes_in_place_of_counts_are_no_numbers() -> None:
    rows = [["area", "first", "second"]]
    rows += [[f"E{i}", "-99" if i % 3 else str(i), str(i + 4)] for i in range(9)]
    reading = read(rows)
    assert reading.tables[0].relations.codes == {-99.0}
    assert reading.cells()[Role.MARKER] == 6


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("init_crash/e6", {("Total", ("Persons 0-9", "Persons 10+"))}),
        ("init_crash/e7", {("All persons", ("Males", "Females"))}),
        ("number_header/a2", {("Total: Number", ("Sex: Male", "Sex: Female"))}),
        (
            "percent_headers/n4",
            {
                (
                    "All ages: Number",
                    tuple(f"{a}: Number" for a in ("Under 25", "25-34", "35-44", "45-54", "55+")),
                )
            },
        ),
        ("percent_headers/i6", {("Total", ("Girls", "Boys"))}),
    ],
)
@needs_cases
def test_wide_office_files_show_their_sums(
    name: str, expected: set[tuple[str, tuple[str, ...]]]
) -> None:
    assert sums(read_case(f"offices/{name}.csv").tables[0]) >= expected


@pytest.mark.parametrize(
    ("name", "dimensions"),
    [
        ("offices/long_labels/k5Value.csv", {"dim0", "dim1", "dim2", "dim3", "dim4"}),
        ("offices/long_labels/p1.csv", {"sex", "nat"}),
        ("offices/long_levels/L2.csv", {"sex"}),
        ("offices/offices/padron_2024.csv", {"Municipios", "Nacionalidad", "Sexo", "Edad"}),
        ("files/11-genesis-ffcsv/narrow.csv", {"2_variable_attribute_code"}),
    ],
)
@needs_cases
def test_long_office_files_show_the_sums_of_their_dimensions(
    name: str, dimensions: set[str]
) -> None:
    (table,) = read_case(name).tables
    assert table.names.is_long
    assert {table.header(e.dimension) for e in table.values if e.support.is_strong} == dimensions


@pytest.mark.parametrize("name", ["body.tsv", "min/mt3.tsv"])
@needs_cases
def test_two_columns_that_may_be_the_count_are_asked_about(name: str) -> None:
    reading = read_case(f"files/05-cdc-wonder/{name}")
    (asked,) = [each for each in reading.questions if "is the count?" in each.text]
    assert "--count Deaths" in asked.answers.values()


@pytest.mark.parametrize("name", ["table.csv", "min/d.csv", "min/f.csv"])
@needs_cases
def test_stars_in_every_row_are_a_question_and_no_contradiction(name: str) -> None:
    questions = read_case(f"files/02-three-singletons/{name}").questions
    assert [each.text.startswith("'Total' may be") for each in questions] == [True]


@needs_cases
def test_coordinates_are_no_people() -> None:
    reading = read_case("files/21-zensus-grid-cellkey/min/g.csv")
    (question,) = reading.questions
    assert "'x_mp_100m', 'y_mp_100m' are in no relation" in question.text


def test_cells_survive_the_way_through_csv(tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(town(4, 5))
    path = tmp_path / "town.csv"
    path.write_text(text.getvalue())
    assert sums(propose(read_sheet(document_of(path))).tables[0]) == EXPECTED


def test_a_sum_that_stars_hide_is_taken_where_others_read_so() -> None:
    header = [f"{who}: {age}" for who in ("People", "Men", "Women") for age in ("0-14", "15+", "x")]
    draws = np.random.default_rng(3)
    rows: list[list[object]] = [["Ward", *header]]
    for place in range(6):
        men, women = draws.integers(20, 90, 3), draws.integers(20, 90, 3)
        parts = [*(men + women), *men, *women]
        rows.append(
            [f"W{place}", *[c if i % 3 < 2 or i == 2 else "c" for i, c in enumerate(parts)]]
        )
        rows[-1][6] = parts[5] if place == 0 else "c"
    assert ("People: x", ("Men: x", "Women: x")) in sums(read(rows).tables[0])


def test_a_column_of_nobody_is_a_part_of_the_sum_beside_it() -> None:
    rows: list[list[object]] = [["Ward", "All", "None", "Some", "Many"]]
    rows += [[f"W{n}", 9 * n, 0, 2 * n, 7 * n] for n in (3, 5, 8, 11)]
    (table,) = read(rows).tables
    assert ("All", ("None", "Some", "Many")) in sums(table)
    assert not table.questions


def test_a_sum_that_counts_a_column_beside_its_parts_is_chance() -> None:
    rows: list[list[object]] = [
        ["School", "Persons", "White", "White Boys", "White Girls", "Asian"]
    ]
    rows[0] += ["Asian Boys", "Asian Girls", "Other", "Other Boys", "Other Girls"]
    draws = np.random.default_rng(7)
    for place in range(14):
        boys, girls = draws.integers(0, 4, 3) * 5, draws.integers(0, 4, 3) * 5
        parts = [count for b, g in zip(boys, girls, strict=True) for count in (b + g, b, g)]
        rows.append([f"S{place}", sum(boys) + sum(girls), *parts])
    for total, found in sums(read(rows).tables[0]):
        assert not any({f"{part} Boys", f"{part} Girls"} & {*found} for part in found), total


def test_a_column_that_breaks_the_sums_of_rows_is_asked_about() -> None:
    rows: list[list[object]] = [
        ["Occupation", "Women", "Usual pay, women", "Men", "Usual pay, men"],
        ["Total", 74_295, 25_878, 84_482, 36_635],
        ["Managers", 10_004, 42_316, 14_002, 60_101],
        ["Clerks", 24_290, 21_500, 30_480, "(B)"],
        ["Farmers", 40_001, 18_250, 40_000, 39_400],
    ]
    (table,) = read(rows).tables
    asked = " ".join(question.text for question in table.questions)
    assert "'Usual pay, women', 'Usual pay, men' are in no relation" in asked
    assert "'Women'" not in asked.replace("'Usual pay, women'", "")


def test_a_column_headed_as_a_percentage_is_no_count() -> None:
    """Of zeros and stars alone no number says so; neither does a percentage of what is not here."""
    rows: list[list[object]] = [["School", "Pupils", "Boys", "Girls", "Meals", "Meals %"]]
    numbers: list[tuple[int, int, object, object]]
    numbers = [(60, 60, "*", "*"), (41, 39, 0, 0), (45, 50, 0, 0), (33, 27, "*", "*")]
    rows += [[f"School {i}", str(a + b), a, b, c, d] for i, (a, b, c, d) in enumerate(numbers)]
    (table,) = read(rows).tables
    assert [table.header(at) for at in table.statistics] == ["Meals %"]
    (question,) = table.questions
    assert question.text.startswith("'Meals' is in no relation")
    above = [*rows, ["School 9", "300", 150, 150, 120, 120]]
    assert not read(above).tables[0].statistics


def test_a_total_of_which_one_number_is_printed_is_a_row() -> None:
    """It stood below the words, and became one of them: its number was lost."""
    rows: list[list[object]] = [["Court", "All", "Held", "Freed", "Men", "Women"]]
    rows += [["All courts", 64, "", "", "", ""]]
    rows += [["Ashby", 40, 31, 9, 22, 18], ["Elm", 24, 13, 11, 20, 4]]
    reading = read(rows)
    (table,) = reading.tables
    assert [path[-1] for path in table.rows] == ["All courts", "Ashby", "Elm"]
    assert table.header(1) == "All"


def test_rows_that_nobody_has_are_refused() -> None:
    rows = [["Ward", "All", "Men", "Women"], ["A", "9", "5", "4"], ["B", "7", "3", "4"]]
    with pytest.raises(SourceError, match="no row has 'C' in 'Ward'"):
        read(rows, Choices(where={"Ward": ("C",)}))


def test_letters_of_windows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    path.write_bytes(b"Ward;Total;0\x9617;18+\nA;30;5;25\nB;28;7;21\n")
    (table,) = propose(read_sheet(document_of(path))).tables
    assert [table.header(at) for at in table.counts] == ["Total", "0–17", "18+"]


def test_a_name_over_two_rows_is_one() -> None:
    rows = [
        ["Occupation", "Women", "Men"],
        ["Management, business, and", "", ""],
        ["  financial work", "9", "12"],
        ["Service work", "15", "11"],
        ["Production and", "", ""],
        ["  moving work", "4", "15"],
    ]

    grid = Grid.of(sheet_of_rows("sheet", rows))

    assert grid.texts[1:, 0].tolist() == [
        "Management, business, and financial work",
        "Service work",
        "Production and moving work",
    ]
    assert grid.indents[1:, 0].tolist() == [0, 0, 0]


def test_a_heading_over_several_rows_or_over_a_name_that_comes_again_stays() -> None:
    groups = [["Men", "", ""], ["  Young", "1", "2"], ["  Old", "3", "4"], ["All", "9", "9"]]
    again = [["Men", "", ""], [" All", "1", "2"], ["Women", "", ""], [" All", "3", "4"]]

    for rows in (groups, [*again, ["All of them", "4", "6"]]):
        grid = Grid.of(sheet_of_rows("sheet", [["", "A", "B"], *rows]))
        assert len(grid.rows) == len(rows) + 1


def test_one_number_with_a_mark_in_a_sum_is_of_thousands() -> None:
    rows = [
        ["Municipio", "Total", "Hombres", "Mujeres"],
        ["Daroca", "410", "153", "257"],
        ["Iznájar", "2.257", "1.162", "1.095"],
        ["Lerma", "57", "15", "42"],
        ["Frías", "128", "34", "94"],
        ["Huéscar", "219", "63", "156"],
    ]

    reading = propose(sheet_of_rows("sheet", rows))

    assert not reading.ambiguous
    assert reading.grid.values[2, 1:].tolist() == [2257, 1162, 1095]


@pytest.mark.parametrize(("mark", "zeros"), [("-", {"-"}), ("*", set())])
def test_a_dash_that_every_sum_shows_to_be_nobody_is_zero(mark: str, zeros: set[str]) -> None:
    rows = [[f"W{n}", n, n, mark] if n % 2 else [f"W{n}", 2 * n, n, n] for n in range(11, 17)]

    reading = read([["Ward", "Total", "Men", "Women"], *rows])

    assert reading.grid.zeros == zeros


def test_a_star_over_stars_is_not_nobody() -> None:
    """Where a total and its parts are withheld together, nothing says that they are zero."""
    rows = [[f"W{n}", 9 * n + 1, 4 * n, 5 * n + 1] for n in range(3, 8)]
    hidden = [[f"V{n}", "*", "*", "*"] for n in range(6)]

    assert not read([["Ward", "Total", "Men", "Women"], *rows, *hidden]).grid.zeros


def test_rows_of_percentages_are_no_counts() -> None:
    header = ["Offense", "Total", "Under 18", "18 and over"]
    share = ["Percent", "100.0", "25.4", "74.6"]
    rows = [["TOTAL", 201, 51, 150], ["Theft", 120, 30, 90], ["Fraud", 81, 21, 60]]

    (table,) = read([header, rows[0], share, *rows[1:]], Choices(place="Offense")).tables

    assert table.rows == (("TOTAL",), ("Theft",), ("Fraud",))
    assert table.left_rows == (("Percent", 2),)
