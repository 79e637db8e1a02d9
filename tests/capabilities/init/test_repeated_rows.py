"""Rows that a sheet prints again: a total above and below its parts; percentages of all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.questions import Said
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.errors import SourceError
from tests.support.command_line import recon

HEADER = "Place,Male,Female,Total\n"
PARTS = "Ashby,12,9,21\nBrill,15,11,26\nCorley,*,14,16\nDenby,20,8,28\n"
WHOLE = "All places,49,42,91\n"
SHARES = (
    "Ashby,57,43,100\nBrill,58,42,100\nCorley,*,88,100\nDenby,71,29,100\nAll places,54,46,100\n"
)


def read(path: Path, text: str, flags: str = "") -> RecognisedFiles:
    path.write_text(text)
    said = Said().with_flags(flags)
    return recognise([path], None, said.mapping, said.choices(codes_first=False))


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + PARTS + WHOLE,
        WHOLE + PARTS + WHOLE.replace("All places", "Total"),
        (WHOLE + PARTS + WHOLE).replace("All places", "County"),
    ],
)
def test_a_total_above_and_below_its_parts_is_one(tmp_path: Path, text: str) -> None:
    flags = "--total County" if "County" in text else ""
    found = read(tmp_path / "table.csv", HEADER + text, flags)
    assert not found.questions
    assert not found.left_out
    ((_, reading),) = found.readings
    assert reading.tables[0].repeated == {6: 1}
    assert (reading.roles[6] == reading.roles[1]).all()


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + PARTS + WHOLE.replace("49", "48"),  # another number
        "Ashby,12,9,21\nBrill,15,11,26\nCorley,*,14,16\nAshby,12,9,21\n",  # no total
    ],
)
def test_other_rows_of_one_name_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceError, match="already"):
        read(tmp_path / "table.csv", HEADER + text)


def test_what_is_withheld_is_withheld_in_both_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "Total,3,42,45\nAshby,1,9,10\nBrill,2,11,13\nCorley,0,14,14\nDenby,0,8,8\n"
    Path("table.csv").write_text(f"{HEADER}{rows}Total,3,42,45\n")
    recon("init", "table.csv")
    recon("export", "--suppressed", "safe", "--below", "5")
    first, *_, last = Path("safe/table.csv").read_text().splitlines()[1:7]
    assert first == last
    assert "*" in first


@pytest.mark.parametrize(
    ("above", "below"),
    [("Number,,,\n", "percent,,,\n"), (",Number,,\n", ",Per cent,,\n"), ("", "%,,,\n")],
)
def test_percentages_below_the_counts_are_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, above: str, below: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("table.csv")
    found = read(path, HEADER + above + PARTS + WHOLE + below + SHARES)
    assert not found.questions
    assert sum(each.cells for each in found.left_out) == 14
    assert sorted(found.mapping["geoids"]) == ["All places", "Ashby", "Brill", "Corley", "Denby"]  # type: ignore[call-overload]
    recon("init", "table.csv", "--below", "5")
    recon("ingest")
    counts = pl.read_parquet("work/table/tables/**/*.parquet")
    assert counts.height == 15
    assert counts["count"].max() == 91


def test_kinds_below_a_heading_of_percentages_are_left_out_too(tmp_path: Path) -> None:
    rows = "0-15,12,9,21\n16-34,18,11,29\n35-64,*,14,16\n65+,9,8,17\nTotal,41,42,83\n"
    shares = "0-15,29,21,25\n16-34,44,26,35\n35-64,*,33,19\n65+,22,19,20\nTotal,100,100,100\n"
    text = f"Age,Male,Female,Total\nNumber,,,\n{rows}percent,,,\n{shares}"
    found = read(tmp_path / "table.csv", text)
    assert found.mapping["labels"]["rows"]["0-15"] == {"age": "0-15"}  # type: ignore[index]
    assert sum(each.cells for each in found.left_out) == 14


def test_a_division_names_its_places_once(tmp_path: Path) -> None:
    rows = "County,149,142,291\nAshby,32,39,71\nBrill,55,41,96\nCorley,22,24,46\nDenby,40,38,78\n"
    zones = "Zone X,100,90,190\nZone Y,49,52,101\n"
    (asked,) = read(tmp_path / "table.csv", HEADER + rows + zones).questions
    assert "table.csv" not in asked.text
    assert "and 0 more" not in " ".join((asked.text, *asked.answers))
    for flags in asked.answers.values():
        assert not read(tmp_path / "table.csv", HEADER + rows + zones, flags).questions


def test_percentages_of_places_in_a_column_of_districts_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        ("North", "Ashby", 12, 9, 21),
        ("North", "Brill", 15, 11, 26),
        ("South", "Corley", 8, 14, 22),
        ("South", "Denby", 20, 8, 28),
    ]
    shares = [(*names, round(100 * a / n), round(100 * b / n), 100) for *names, a, b, n in rows]
    lines = ["District,Place,Male,Female,Total", "Number,,,,"]
    lines += [",".join(map(str, row)) for row in rows]
    lines += ["Percent,,,,", *(",".join(map(str, row)) for row in shares)]
    Path("table.csv").write_text("\n".join(lines) + "\n")
    recon("init", "table.csv")
    recon("ingest")
    counts = pl.read_parquet("work/table/tables/**/*.parquet")
    assert counts["count"].to_list().count(100) == 0
    assert counts.height == 12


def test_a_row_beside_percentages_is_left_out_by_its_own_words(tmp_path: Path) -> None:
    text = f"{HEADER}Number,,,\n{PARTS}{WHOLE}Change on 2022,3,4,1\npercent,,,\n{SHARES}"
    path = tmp_path / "table.csv"
    (asked,) = (each for each in read(path, text).questions if "they add up in" in each.text)
    flags = asked.answers["leave 'Change on 2022' out"]
    assert not read(path, text, flags).questions
