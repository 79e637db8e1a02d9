"""Sums that a user says: of columns, of rows, of values, where too little is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.init.recognition import RecognisedFiles, recognise
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.command_line import recon

STARRED = """Clinic,All,Women,Men,0-17,18-64,65+
North 1,c,9,c,11,c,c
North 2,8,8,0,c,0,c
North 3,c,0,c,0,c,c
South 1,c,c,9,c,0,7
South 2,c,6,c,c,c,5
South 3,18,9,9,c,c,c
"""
BY_SEX, BY_AGE = "All = Women + Men", "All = 0-17 + 18-64 + 65+"


def _features(found: RecognisedFiles) -> dict[str, list[str]]:
    return {each.name: list(map(str, each.values)) for each in found.schema.features}


def _read(path: Path, text: str, *sums: str) -> RecognisedFiles:
    path.write_text(text)
    return recognise([path], choices=Choices(sums=tuple(map(SaidSum.of, sums))))


def test_the_right_answer_is_among_the_choices(tmp_path: Path) -> None:
    first, *_ = _read(tmp_path / "visits.csv", STARRED).questions
    assert f"--sum '{BY_SEX}' --sum '{BY_AGE}'" in first.answers.values()


def test_columns_add_up_twice_where_that_is_said(tmp_path: Path) -> None:
    found = _read(tmp_path / "visits.csv", STARRED, BY_SEX, BY_AGE)
    assert not found.questions
    assert found.doubts == found.doubts[-1:]  # of the rule alone
    assert _features(found) == {"sex": ["women", "men"], "age": ["0-17", "18-64", "65+"]}


def test_values_of_a_long_table_add_up_where_that_is_said(tmp_path: Path) -> None:
    head, *rows = (line.split(",") for line in STARRED.splitlines())
    text = "clinic,who,count\n" + "".join(
        f"{clinic},{who},{count}\n"
        for clinic, *counts in rows
        for who, count in zip(head[1:], counts, strict=True)
    )
    found = _read(tmp_path / "long.csv", text, BY_SEX, BY_AGE)
    assert len(found.schema.features) == 2
    assert {len(each.values) for each in found.schema.features} == {2, 3}


def test_rows_add_up_where_that_is_said(tmp_path: Path) -> None:
    text = "Kind,2023\nAll,c\nMurder,7\nRobbery,c\nTheft,12\nFraud,c\n"
    said = "All = Murder + Robbery + Theft + Fraud"
    path = tmp_path / "crimes.csv"
    path.write_text(text)
    found = recognise([path], choices=Choices(sums=(SaidSum.of(said),), are_kinds=True))
    assert not found.questions
    (feature,) = found.schema.features
    assert list(feature.values) == ["murder", "robbery", "theft", "fraud"]


def test_a_sum_that_numbers_break_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(STARRED.replace("18,9,9", "19,9,9"))
    text = recon("init", "visits.csv", "--sum", BY_SEX, code=4).stderr
    assert f"--sum '{BY_SEX}': numbers break it in 1 rows" in text


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("All", "say it as 'TOTAL = PART + PART', with the blanks"),
        ("All = Women", "say it as 'TOTAL = PART + PART', with the blanks"),
        ("All = Women + Girls", "no column is called so"),
    ],
)
def test_what_is_no_sum_of_the_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(STARRED)
    assert why in recon("init", "visits.csv", "--sum", said, code=2).stderr
