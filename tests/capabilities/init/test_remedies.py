"""Each remedy that a refusal prints is one: its flags are taken, and it is not refused again."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.questions import Said
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.errors import SourceError
from tests.support.command_line import recon

TABLE = (
    "Place,Male,Female,Total\nAshby,12,9,21\nBrill,15,11,26\nCorley,*,14,16\nDenby,20,8,28\n"
    "All places,49,42,91\n"
)
LONG = (
    "place,sex,measure,value\nAshby,Male,Number,12\nAshby,Male,Change,-1\nAshby,Female,Number,9\n"
    "Ashby,Female,Change,2\nBrill,Male,Number,15\nBrill,Male,Change,0\nBrill,Female,Number,11\n"
    "Brill,Female,Change,-3\n"
)


def remedies(path: Path) -> list[str]:
    """Return the flags of each remedy of a refusal."""
    with pytest.raises(SourceError, match="is no count; mend it") as refused:
        recognise([path])
    return re.findall(r"`recon init ([^`]*)`", str(refused.value))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (TABLE + "Change on 2022,-3,4,1\n", "--leave-out 'Change on 2022'"),
        (
            "Sex,2023,2022,Change\nMale,120,115,5\nFemale,130,133,-3\nTotal,250,248,2\n",
            "--leave-out Change",
        ),
        (
            "Place,Male,Female,Total,Gain\nAshby,12,9,21,-2\nBrill,15,11,26,4\nCorley,*,14,16,-1\n"
            "Denby,20,8,28,0\nAll places,49,42,91,1\nChange on 2022,-3,4,1,2\n",
            "--leave-out 'Change on 2022' --leave-out Gain",
        ),
        (
            'Place,Male,Female,Total\nAshby,"1,012",9,"1,021"\nBrill,"1,115",8,"1,123"\n'
            'Corley,"1,254",11,"1,265"\nGain,"1,012",-1,"1,011"\n',
            "--leave-out Gain",
        ),
        (LONG, "--where measure=Number"),
    ],
)
def test_what_is_offered_works(tmp_path: Path, text: str, first: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    offered = remedies(path)
    assert offered
    assert offered[0] == first
    for flags in offered:
        said = Said().with_flags(flags)
        recognise([path], None, said.mapping, said.choices(codes_first=False))


def test_a_row_that_breaks_a_sum_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE + "Change on 2022,3,4,1\n")
    asked = [each for each in recognise([path]).questions if "they add up in" in each.text]
    flags = asked[0].answers["leave 'Change on 2022' out"]
    assert flags == "--leave-out 'Change on 2022'"
    said = Said().with_flags(flags)
    found = recognise([path], None, said.mapping, said.choices(codes_first=False))
    assert not found.questions
    assert [each.column for each in found.left_out] == ["Change on 2022"]


def test_a_value_that_is_in_no_sum_counts_some(tmp_path: Path) -> None:
    rows = [
        (place, kind, number)
        for place, *numbers in (
            ("Ashby", 12, 9, 21, 3),
            ("Brill", 15, 11, 26, 7),
            ("Corley", 8, 14, 22, 5),
        )
        for kind, number in zip(("Male", "Female", "All", "Abroad"), numbers, strict=True)
    ]
    path = tmp_path / "table.csv"
    path.write_text("place,kind,value\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    (asked,) = recognise([path]).questions
    for flags in asked.answers.values():
        said = Said().with_flags(flags)
        found = recognise([path], None, said.mapping, said.choices(codes_first=False))
        assert not found.questions
    assert found.left_out


def test_one_of_several_tables_below_each_other_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = TABLE.replace("Denby,20,8,28", "Denby,21,8,29").replace("49,42,91", "50,42,92")
    Path("table.csv").write_text(f"2022,,,\n{TABLE},,,\n2023,,,\n{more}")
    (asked,) = recognise([Path("table.csv")]).questions
    assert asked.answers == {
        "'table.csv, table 1' ('2022') is meant": "--leave-out 'table.csv, table 2'",
        "'table.csv, table 2' ('2023') is meant": "--leave-out 'table.csv, table 1'",
    }
    for number, people in ((1, 92), (2, 91)):
        left = f"table.csv, table {number}"
        told = recon("init", "table.csv", "--leave-out", left, "--below", "5", "--force").stdout
        assert f"not used 14 numbers: '{left}' of table.csv" in " ".join(told.split())
        recon("ingest")
        counts = pl.read_parquet("work/table/tables/**/*.parquet")
        assert counts["count"].max() == people
        assert counts.height == 15
