"""Sums that a user says: of columns, of rows, of values, where too little is printed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.command_line import audit_drafted, recon

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


UNION = """Members;2022;2023;2024
Members in all;995;1090;1128
  Private;612;536;355
    Industry;353;437;153
    Building;256;97;200
    Mining;:;:;:
  Public;227;394;542
    Municipality;72;129;198
    Hospital;155;265;344
  No employer;156;160;231
    Students;14;10;:
    Pensioners;139;142;225
    Jobseekers;:;8;:
"""


def test_rows_that_are_indented_add_up_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No column shows that Private is its three kinds; that Public is its two, all do."""
    monkeypatch.chdir(tmp_path)
    Path("members.csv").write_text(UNION)
    told = recon("init", "members.csv", "--one-place", "--below", "5", "--complementary").stdout
    assert "no number shows it, and others that read so do" in " ".join(told.split())
    audit_drafted()
    found = pl.read_parquet("work/members/audit/**/*.parquet")
    known = {(row["least"], row["greatest"]) for row in found.iter_rows(named=True)}
    assert len(found) == 6
    assert {(3, 3), (2, 2)} <= known  # 612 - 353 - 256, 536 - 437 - 97


def test_rows_that_are_indented_are_asked_about_where_none_is_shown(tmp_path: Path) -> None:
    text = "\n".join(UNION.splitlines()[:6]).replace("995;1090;1128", ":;:;:")
    path = tmp_path / "members.csv"
    path.write_text(text)
    asked = recognise([path], choices=Choices(are_kinds=True)).questions
    answers = [flags for each in asked for flags in each.answers.values()]
    nested = "Private = {0}Industry + {0}Building + {0}Mining".format("Members in all / Private / ")
    assert f"--sum 'Members in all / {nested}'" in answers


@pytest.mark.parametrize("said", ["Private = Industry + Building + Mining"])
def test_rows_are_called_by_their_last_word_where_it_is_of_one(tmp_path: Path, said: str) -> None:
    path = tmp_path / "members.csv"
    path.write_text("\n".join(UNION.splitlines()[:6]))
    choices = Choices(sums=(SaidSum.of(said),), are_kinds=True)
    features = recognise([path], choices=choices).schema.features
    assert any(set(each.values) >= {"industry", "building", "mining"} for each in features)


def test_a_sum_that_numbers_break_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(STARRED.replace("18,9,9", "19,9,9"))
    text = recon("init", "visits.csv", "--sum", BY_SEX, code=4).stderr
    assert f"--sum '{BY_SEX}': numbers break it in 1 row\n" in text


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("All", "say it as 'TOTAL = PART + PART', with the blanks"),
        ("All = Women", "say it as 'TOTAL = PART + PART', with the blanks"),
        ("All = Women + Girls", "no table has all of these, each once"),
    ],
)
def test_what_is_no_sum_of_the_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(STARRED)
    assert why in recon("init", "visits.csv", "--sum", said, code=2).stderr


TENURES = """population,All households
units,Households
date,2021

ward,Total,Owned,Owned: outright,Owned: with mortgage,Rented,Rented: council,Rented: other,Free
Abbey,29,c,0,c,c,6,c,0
Castle,24,7,c,c,c,c,c,c
Park,10,c,c,0,c,c,c,0
Mill,44,c,0,c,c,5,10,0
"""
CALLED = (
    "Owned = Owned: outright + Owned: with mortgage",
    "Rented = Rented: council + Rented: other",
    "Total = Owned + Rented + Free",
)


def test_sums_that_headers_say_are_offered_together(tmp_path: Path) -> None:
    """What stands above the table, apart from it, is no word of its headers."""
    (tmp_path / "a.csv").write_text(TENURES)
    (asked,) = recognise([tmp_path / "a.csv"]).questions
    assert asked.answers["yes"] == " ".join(f"--sum '{each}'" for each in CALLED)
    assert " ".join(f"--sum '{each}'" for each in CALLED[:2]) in asked.answers.values()
    choices = Choices(sums=tuple(map(SaidSum.of, CALLED)))
    assert not recognise([tmp_path / "a.csv"], choices=choices).questions


def test_a_sum_that_headers_say_and_numbers_break_is_not_offered(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TENURES.replace("Castle,24,7,c,c", "Castle,24,7,5,5"))
    asked = recognise([tmp_path / "a.csv"]).questions
    assert asked
    assert not any(CALLED[0] in flags for each in asked for flags in each.answers.values())
