"""Numbers in parentheses, or with a mark behind them: as sums say, else asked about."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from recon_cli.capabilities.init.questions import Said
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.numbers import ENGLISH
from tests.support.command_line import recon

#: Totals of two rows are those with the numbers in parentheses.
SUMS = (
    "Place,Male,Female,Total\nAshby,12,(9),21\nBrill,15,11,26\nCorley,*,14,16\nDenby,20,(8),28\n"
    "Elton,9,9,18\n"
)
#: No sum tells.
ALONE = "Place,Cats,Dogs\nAshby,12,(9)\nBrill,15,11\nCorley,*,14\nDenby,20,(8)\nElton,9,(1 204)\n"
#: Totals say that another number stands behind the parentheses.
BROKEN = SUMS.replace("(9),21", "(1),21").replace("(8),28", "(2),28")


def read(path: Path, text: str, flags: str = "") -> RecognisedFiles:
    path.write_text(text)
    said = Said().with_flags(flags)
    return recognise([path], None, said.mapping, said.choices(codes_first=False))


@pytest.mark.parametrize("text", ["9¹⁾", "9 ¹)", "9¹,²", "9 1)", "9a)", "9(¹)", "9†"])
def test_a_mark_behind_a_number_is_no_part_of_it(text: str) -> None:
    number = ENGLISH.number(text)
    assert number is not None
    assert number.value == 9


@pytest.mark.parametrize("text", ["9,", "(9)", "9,,¹", "a)"])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert ENGLISH.number(text) is None


def test_sums_say_that_they_are_the_numbers(tmp_path: Path) -> None:
    found = read(tmp_path / "table.csv", SUMS)
    assert not found.questions
    assert found.markers == ("*",)
    assert found.mapping["parentheses"] == "numbers"
    assert any("numbers in parentheses" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(("text", "told"), [(ALONE, "no sum tells"), (BROKEN, "sums say that")])
def test_else_it_is_asked_and_each_answer_settles_it(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "table.csv"
    (asked,) = (each for each in read(path, text).questions if "parentheses" in each.text)
    assert told in asked.text
    first, last = asked.answers.values()
    assert (first, last) == ("--parentheses numbers", "--parentheses withheld")
    for flags, markers in ((last, 3), (first, 1)):
        found = read(path, text, flags)
        assert not any("parentheses" in each.text for each in found.questions)
        assert len(found.markers) >= markers
        assert found.mapping["parentheses"] == flags.split()[1]
    assert read(path, text, first).markers == ("*",)


def test_counts_are_ingested_as_they_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(ALONE)
    apart = ("--apart", "Cats", "--apart", "Dogs")
    recon("init", "table.csv", "--parentheses", "numbers", *apart)
    assert yaml.safe_load(Path("recon.yaml").read_text())["ingest"]["mapping"]["parentheses"]
    recon("ingest")
    counts = pl.read_parquet("work/table/tables/**/*.parquet")["count"].drop_nulls()
    assert sorted(counts) == [8, 9, 9, 11, 12, 14, 15, 20, 1204]
    recon("init", "table.csv", "--parentheses", "withheld", *apart, "--force")
    recon("ingest")
    counts = pl.read_parquet("work/table/tables/**/*.parquet")["count"].drop_nulls()
    assert sorted(counts) == [9, 11, 12, 14, 15, 20]
