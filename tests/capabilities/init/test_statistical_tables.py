"""What `recon init` makes of tables as statistical yearbooks print them, with made-up numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest
import yaml

from recon_cli.schema import Release, load_release
from tests.support.command_line import recon

Rows = list[list[object]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def book(**sheets: Rows) -> str:
    own = openpyxl.Workbook()
    own.remove(own.worksheets[0])
    for name, rows in sheets.items():
        sheet = own.create_sheet(name)
        for row in rows:
            sheet.append(row)
    own.save("book.xlsx")
    return "book.xlsx"


def asked(*flags: str, code: int = 2) -> str:
    return " ".join(recon("init", "book.xlsx", *flags, code=code).stderr.split())


def read(*flags: str) -> tuple[Release, pl.DataFrame, str]:
    """Return the schema, the counts and what was said."""
    told = recon("init", "book.xlsx", "--force", *flags).stdout
    recon("ingest")
    said = yaml.safe_load(Path("recon.yaml").read_text())
    counts = pl.read_parquet(Path(said["work"]) / "tables/**/*.parquet")
    return load_release(said["release"]), counts, " ".join(told.split())


def crimes(seed: int = 3) -> dict[str, list[int]]:
    """Return counts of kinds in two regions, and of both together."""
    rng = np.random.default_rng(seed)
    north, south = (rng.integers(40, 900, 3).tolist() for _ in range(2))
    both = [a + b for a, b in zip(north, south, strict=True)]
    return {k: [sum(v), *v] for k, v in (("All", both), ("North", north), ("South", south))}


def test_rows_of_changes_between_rows_of_counts_are_left_out() -> None:
    rows: Rows = [["Region", "Year", "Crimes", "Theft", "Fraud", "Arson"]]
    later = crimes(4)
    for name, counts in crimes().items():
        rows.append([name, "2016", *counts])
        rows.append([None, "2017", *later[name]])
        rows.append([None, "Percent change", 1.5, -2.1, -0.5, 3])
    book(Data=rows)
    _, counts_read, told = read()
    assert "not used 12 numbers: 'Percent change' of book.xlsx" in told
    numbers = {n for row in rows[1:] if row[1] != "Percent change" for n in row[2:]}
    assert set(counts_read["count"].to_list()) == numbers
    assert counts_read["geoid"].n_unique() == 3
    read("--leave-out", "Percent change")


def test_rates_below_each_row_of_counts_are_left_out() -> None:
    rows: Rows = [["Region", None, "Crimes", "Theft", "Fraud", "Arson"]]
    for name, counts in crimes().items():
        rows.append([name, "Number", *counts])
        rows.append([None, "Rate per 1,000", *(each / 7 for each in counts)])
    book(Data=rows)
    _, counts_read, told = read()
    assert "not used 12 numbers: 'Rate per 1,000' of book.xlsx" in told
    assert set(counts_read["count"].to_list()) == {n for row in rows[1::2] for n in row[2:]}


def ages(width: int = 4) -> tuple[Rows, list[list[int]]]:
    rng = np.random.default_rng(8)
    inner = rng.integers(20, 400, (5, width)).tolist()
    total = np.sum(inner, axis=0).tolist()
    under = [a + b + 7 for a, b in zip(inner[0], inner[1], strict=True)]
    names = ["Total", "Under 22", "0 to 9", "10 to 17", "18 to 39", "40 to 64", "65 and over"]
    lines = [total, under, *inner]
    kinds = ["Theft", "Fraud", "Arson", "Other"][:width]
    rows: Rows = [["Age", "All", *kinds]]
    rows += [[name, sum(own), *own] for name, own in zip(names, lines, strict=True)]
    return rows, lines


def test_a_row_beside_those_that_add_up_is_asked_about() -> None:
    rows, lines = ages()
    book(Data=rows)
    shown = asked()
    assert "'Under 22': in no relation to the other counts" in shown
    schema, counts, _ = read("--count", "Under 22")
    assert sum(lines[1]) in counts["count"].to_list()
    # It is some of 18 to 39, and all below.
    cut = ["0-9", "10-17", "18-21", "22-39", "40-64", "65+"]
    assert cut in [list(each.values) for each in schema.features]
    _, counts, _ = read("--leave-out", "Under 22")
    assert sum(lines[1]) not in counts["count"].to_list()
    assert sum(lines[0]) in counts["count"].to_list()


def test_columns_that_exclude_each_other_are_values_beside_a_total() -> None:
    rng = np.random.default_rng(4)
    rows: Rows = [["Town", "All", "Men", "Women", "Theft", "Fraud"]]
    for town in ("Ash", "Elm", "Fir", "Oak", "Yew"):
        men, women, theft = rng.integers(50, 90, 3).tolist()
        rows.append([town, men + women, men, women, theft // 3, theft // 2])
    book(Data=rows)
    assert "--apart Theft --apart Fraud" in asked()
    schema, counts, _ = read("--apart", "Theft", "--apart", "Fraud")
    assert [list(each.values) for each in schema.features][1] == ["theft", "fraud", "other"]
    assert set(counts["count"].to_list()) == {n for row in rows[1:] for n in row[1:]}


def test_a_subtotal_that_another_total_skips_is_inside_it() -> None:
    rng = np.random.default_rng(5)
    rows: Rows = [["Town", "All", "Under 15", "Under 18", "18 and over", "0-9", "10-14", "15-17"]]
    rows[0] += ["18-39", "40-64", "65+"]
    for town in ("Ash", "Elm", "Fir", "Oak", "Yew"):
        own = rng.integers(5, 90, 6).tolist()
        rows.append([town, sum(own), sum(own[:2]), sum(own[:3]), sum(own[3:]), *own])
    book(Data=rows)
    schema, _, _ = read()
    (age,) = schema.features
    assert list(age.values) == ["0-9", "10-14", "15-17", "18-39", "40-64", "65+"]


def test_some_of_totals_of_several_years_are_asked_about() -> None:
    rng = np.random.default_rng(6)
    head: Rows = [["Cause", "Total", None, "Under 18", None], [None, 2008, 2017, 2008, 2017]]
    numbers: list[list[int]] = []
    for at in range(5):
        one, two = rng.integers(50, 90, 2).tolist()
        numbers.append([one + 40 * (at % 2), two + 20, one // 3, two // 4])
    kinds = ["All", "Theft", "Fraud", "Arson", "Trespass", "Other"]
    lines = [[sum(own) for own in zip(*numbers, strict=True)], *numbers]
    book(Data=[*head, *([kind, *own] for kind, own in zip(kinds, lines, strict=True))])
    assert "'Under 18: 2008', 'Under 18: 2017': in no relation" in asked()
    schema, _, _ = read("--count", "Under 18: 2008", "--count", "Under 18: 2017")
    assert sorted(len(each.values) for each in schema.features) == [2, 2, 5]


def test_what_is_in_no_relation_to_sums_is_no_whole_of_them() -> None:
    rng = np.random.default_rng(7)
    rows: Rows = [["Town", "Crimes", "Theft", "Fraud", "Thefts", "Cars", "Bikes", "Population"]]
    for town in ("Ash", "Elm", "Fir", "Oak", "Yew"):
        own = rng.integers(50, 90, 4).tolist()
        crimes_of = [sum(own[:2]), *own[:2], sum(own[2:]), *own[2:]]
        rows.append([town, *crimes_of, int(rng.integers(5_000, 90_000))])
    book(Data=rows)
    assert "'Population' is in no relation to the counts" in asked()
    _, counts, _ = read("--yes")
    assert not {row[-1] for row in rows[1:]} & {*counts["count"].to_list()}


def test_a_column_of_footnotes_makes_no_labels_of_numbers_before_it() -> None:
    rng = np.random.default_rng(9)
    rows: Rows = [["Town", "Men", "Women", "All", None, "Theft", "Fraud"]]
    for town in ("Ash", "Elm", "Fir", "Oak", "Yew", "Zed"):
        men, women = rng.integers(50, 900, 2).tolist()
        theft = int(rng.integers(5, men + women))
        mark = "\\7" if town == "Fir" else None
        rows.append([town, men, women, men + women, mark, theft, men + women - theft])
    book(Data=rows)
    _, counts, _ = read()
    numbers = {n for row in rows[1:] for n in row[1:] if isinstance(n, int)}
    assert set(counts["count"].to_list()) == numbers


@pytest.mark.parametrize("note", ["[In thousands (91 represents 91,000)]", "Zahlen in Tausend"])
def test_numbers_in_thousands_are_asked_about(note: str) -> None:
    rows, _ = ages()
    del rows[2]
    book(Data=rows, Notes=[["About"], [note]])
    assert "numbers in thousands or millions are no counts" in asked()
    assert "in thousands or millions" in asked("--sheet", "Data")
    recon("init", "book.xlsx", "--yes")


@pytest.mark.parametrize("unit", ["million dollars", "Mio. €", "1,000 barrels a day"])
def test_money_that_adds_up_is_asked_about(unit: str) -> None:
    rows, _ = ages()
    del rows[2]
    rows[0] = [rows[0][0], *(f"{name} ({unit})" for name in rows[0][1:])]
    book(Data=rows)
    assert "of money, or another measure, by these words" in asked()


def test_a_sheet_that_cannot_be_read_names_the_others() -> None:
    rows, _ = ages()
    del rows[2]
    broken = [*rows[:3], [*rows[3][:3], 2.5, *rows[3][4:]], *rows[4:]]
    book(New=rows, Old=broken)
    assert "name the sheets to read: `recon init --sheet" in asked(code=4)
    recon("init", "book.xlsx", "--sheet", "New")


def test_a_sum_of_places_by_chance_is_not_shown_again_by_a_sum_of_columns() -> None:
    rng = np.random.default_rng(10)
    rows: Rows = [["City", "Population", "Employees", "Officers", "Civilians"]]
    for at in range(120):
        officers, civilians = int(rng.integers(3, 60)), int(rng.integers(0, 20))
        if at == 60:
            officers, civilians = 24, 10
        if 61 <= at <= 64:
            officers, civilians = (9, 7, 5, 3)[at - 61], (5, 3, 2, 0)[at - 61]
        people = int(rng.integers(800, 90_000))
        rows.append([f"Town {chr(65 + at % 26)}{at}", people, officers + civilians, officers])
        rows[-1].append(civilians)
    book(Data=rows)
    _, counts, _ = read("--leave-out", "Population")
    assert len({len(each) for each in counts["geoid"].unique()}) == 1


def test_rows_keep_their_words_when_one_above_them_is_left_out() -> None:
    rng = np.random.default_rng(12)
    rows: Rows = [["Level", "All", "Men", "Women"]]

    def add(label: str, of: list[int]) -> None:
        men = int(rng.integers(1, of[0]))
        rows.append([label, of[0], men, of[0] - men])

    for label, size in (("All pupils", 900), ("  Nursery", 300), ("  School", 600)):
        add(label, [size])
    for label, size in (("  Pupils in town", 500), ("    Nursery", 120), ("    School", 380)):
        add(label, [size])
    book(Data=rows)
    _, counts, _ = read("--leave-out", "All pupils / Pupils in town", "--yes")
    assert {900, 300, 600} <= set(counts["count"].to_list())
    assert 500 not in counts["count"].to_list()


def test_a_header_of_kinds_and_places_is_of_kinds() -> None:
    rows, lines = ages()
    del rows[2]
    north = [each // 3 for each in lines[0]]
    south = [each - own for each, own in zip(lines[0], north, strict=True)]
    rows += [["North", sum(north), *north], ["South", sum(south), *south]]
    rows[0][0] = "Age, region"
    book(Data=rows)
    schema, counts, _ = read()
    assert counts["geoid"].n_unique() == 1
    assert max(counts["count"].to_list()) == rows[1][1]
    assert sorted(len(each.values) for each in schema.features) == [2, 4, 5]


def test_percentages_within_groups_are_of_the_group() -> None:
    rng = np.random.default_rng(13)
    head = ["All", "Blue", "Green", "Poor: All", "Poor: Blue", "Poor: Green"]
    rows: Rows = [["Town", *head, "Percent poor: All", "Percent poor: Blue", "Percent poor: Green"]]
    for at in range(9):
        blue, green = rng.integers(300, 900, 2).tolist()
        both = [blue + green + 40 + at, blue, green]
        poor = [int(rng.integers(90, 300)) for _ in both]
        poor[0] = poor[1] + poor[2] + 5
        shares = [round(100 * p / n, 1) for p, n in zip(poor, both, strict=True)]
        rows.append([f"Town {at}", *both, *poor, *shares])
    book(Data=rows)
    _, counts, told = read("--count", "Blue", "--count", "Green", "--yes")
    assert "counts the same" not in told
    numbers = {n for row in rows[1:] for n in row[1:7]}
    assert set(counts["count"].to_list()) == numbers


def test_a_row_without_numbers_is_left_out() -> None:
    rows, lines = ages()
    rows[2][1:] = ["-"] * len(rows[2][1:])
    book(Data=rows)
    _, counts, _ = read("--leave-out", "Under 22", "--yes")
    assert sum(lines[0]) in counts["count"].to_list()


def test_a_row_that_numbers_the_columns_says_nothing() -> None:
    """Ages among *darunter* are nested by what they say, in any language."""
    header: list[object] = ["Region", "Insgesamt", "Männer", "Frauen", "darunter", None, None, None]
    ages: list[object] = ["15 bis unter 25 Jahre", "15 bis unter 20 Jahre", "55 Jahre und älter"]
    rows: Rows = [
        ["Deutschland", 252, 135, 117, 53, 20, 31, 22],
        ["Mölln", 100, 60, 40, 22, 9, 14, 6],
        ["Vechta", 57, 31, 26, 12, 4, 9, 11],
        ["Lübben", 95, 44, 51, 19, 7, 8, 5],
    ]
    second: list[object] = [None, None, None, None, *ages, "Schwerbehinderte"]
    book(Arbeitslose=[header, second, list(range(1, 9)), *rows])
    schema, _, _ = read()
    assert {each.name: each.values for each in schema.features} == {
        "sex": ("manner", "frauen"),
        "age": ("15-19", "20-24", "55+", "other"),
        "schwerbehinderte": ("schwerbehinderte", "not_schwerbehinderte"),
    }
