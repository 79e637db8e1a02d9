"""What SDMX says of its values: whether they may be published, and in which power of ten."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.init.recognition import recognise

HEADER = "DATAFLOW,REF_AREA,SEX,TIME_PERIOD,OBS_VALUE,CONF_STATUS,UNIT_MULT"
COUNTS = {"XA": (29, 31), "XB": (15, 18), "XC": (6, 3)}


def _written(folder: Path, flag: str, power: str) -> Path:
    rows = [HEADER]
    for place, (men, women) in COUNTS.items():
        for sex, count in (("T", men + women), ("M", men), ("F", women)):
            own = flag if count < 5 else "F"
            rows.append(f"X:Y(1.0),{place},{sex},2025,{count},{own},{power}")
    path = folder / "values.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(("flag", "is_told"), [("C", True), ("D", True), ("F", False), ("", False)])
def test_values_that_are_flagged_confidential_and_shown_are_told(
    tmp_path: Path, flag: str, *, is_told: bool
) -> None:
    doubts = recognise([_written(tmp_path, flag, "0")]).doubts
    said = f"why 1 count can be seen that CONF_STATUS calls confidential ({flag})"
    assert any(said in each for each in doubts) == is_told


@pytest.mark.parametrize(("power", "is_asked"), [("3", True), ("0", False), ("", False)])
def test_values_in_thousands_are_asked_about(tmp_path: Path, power: str, *, is_asked: bool) -> None:
    asked = recognise([_written(tmp_path, "F", power)]).questions
    assert any(f"UNIT_MULT is {power}" in each.text for each in asked) == is_asked
