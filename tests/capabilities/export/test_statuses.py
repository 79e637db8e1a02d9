"""Copies of files with more than counts: statuses of SDMX, and printed means."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.support.command_line import recon

HEADER = "STRUCTURE,STRUCTURE_ID,ACTION,SEX,GEO,TIME_PERIOD,OBS_VALUE,OBS_STATUS,CONF_STATUS"
#: Numbers of men and women in each place, and all.
COUNTS = {"A1": (12, 2, 14), "A2": (9, 11, 20), "A3": (15, 8, 23)}


def test_the_status_of_what_is_withheld_is_that_of_the_standard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"dataflow,X:Y(1.0),I,{sex},{place},2021,{number},A,F"
        for place, numbers in COUNTS.items()
        for sex, number in zip("MFT", numbers, strict=True)
    ]
    Path("counts.csv").write_text("\n".join((HEADER, *rows)) + "\n")
    recon("init", "counts.csv", "--total", "T", "--yes")
    recon("export", "--suppressed", "safe", "--below", "5")
    with Path("safe/counts.csv").open(newline="") as file:
        copies = list(csv.DictReader(file))
    starred = [row for row in copies if row["OBS_VALUE"] == "*"]
    assert {row["GEO"] for row in starred} >= {"A1"}
    assert {(row["OBS_STATUS"], row["CONF_STATUS"]) for row in starred} == {("Q", "C")}
    shown = [row for row in copies if row["OBS_VALUE"].isdigit()]
    assert shown
    assert {(row["OBS_STATUS"], row["CONF_STATUS"]) for row in shown} == {("A", "F")}


def test_a_file_with_means_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        "Ward,All,Men,Women,Mean age",
        "Ashby,17,9,8,54.18",
        "Brill,29,15,14,36.66",
        "Corley,23,12,11,50.48",
        "Denby,11,*,8,36.27",
        "Elton,11,*,8,48.00",
        "All wards,91,42,49,44.75",
    ]
    Path("wards.csv").write_text("\n".join(lines) + "\n")
    recon("init", "wards.csv", "--below", "5", "--statistic", "Mean age=mean age 0..110")
    for name in ("ingest", "audit"):
        recon(name)
    recon("export", "--to", "marked")
    marked = Path("marked/wards.marked.csv").read_text().splitlines()[1:]
    assert marked == [line.replace("*", "* [3]") for line in lines]
