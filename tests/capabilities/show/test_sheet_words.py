"""`recon show` calls counts as the sheets do, and says from which counts they follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import audit_drafted, recon


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shown(place: str) -> str:
    recon("init", "a.csv", "--place", "School", "--yes")
    audit_drafted()
    return " ".join(recon("show", place).stdout.split())


def test_a_count_of_a_wide_sheet_is_called_by_its_header() -> None:
    rows = [
        ",All pupils,,,Boys,,,Girls,,",
        "School,All,Year 8,Year 9,All,Year 8,Year 9,All,Year 8,Year 9",
        "Oak,40,28,12,19,11,8,21,17,c",
        "Elm,50,26,24,25,12,13,25,14,11",
        "Yew,30,13,17,11,6,5,19,7,12",
    ]
    Path("a.csv").write_text("\n".join([*rows, ""]))
    said = shown("Oak")
    assert "Girls, Year 9: 4, at least All pupils, Year 9 (12) − Boys, Year 9 (8)" in said


def test_a_count_of_a_long_sheet_is_called_by_its_values() -> None:
    numbers = {"Oak": (40, 19, 21), "Elm": (50, 25, 25), "Yew": (30, 11, 19)}
    rows = [
        f"{school},{sex},{'x' if (school, sex) == ('Oak', 'Girls') else count}"
        for school, counts in numbers.items()
        for sex, count in zip(("Everybody", "Boys", "Girls"), counts, strict=True)
    ]
    Path("a.csv").write_text("\n".join(["School,Sex,Pupils", *rows, ""]))
    assert "Girls: 21 = Everybody (40) − Boys (19)" in shown("Oak")


def test_a_place_is_called_by_its_name() -> None:
    rows = ["Oak,40,19,21", "Elm,50,c,c", "Yew,30,11,19", "All schools,120,55,65"]
    Path("a.csv").write_text("\n".join(["School,Pupils,Boys,Girls", *rows, ""]))
    said = shown("Elm")
    assert "Boys: 25 = All schools, Boys (55) − Oak, Boys (19) − Yew, Boys (11)" in said
