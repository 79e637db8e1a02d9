"""The three offices of docs/offices.md: the page as it is printed, and its results as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.offices import OFFICES
from benchmarks.offices import check as compare
from tests.support.pages import check
from tests.support.paths import ROOT

FILES = ROOT / "fixtures" / "offices"


def test_three_offices_from_file_to_page(tmp_path: Path) -> None:
    page = ROOT / "docs" / "offices.md"
    check(page, tmp_path)
    found = {
        name: compare(name, tmp_path / f"{config}.yaml")
        for name, config in (
            ("schools", "pupils"),
            ("wards", "patients"),
            ("convictions", "courts"),
        )
    }
    assert found == {
        "schools": {"ingested": 4020, "intervals": 1189, "recovered": 491},
        "wards": {"ingested": 966, "intervals": 966, "recovered": 27},
        "convictions": {"ingested": 536, "intervals": 12, "recovered": 12},
    }
    for work in ("pupils", "patients", "courts"):
        assert (tmp_path / "work" / work / "report" / "report.html").is_file()
    assert "$ sed -i" not in page.read_text(), "what an office says are flags"


@pytest.mark.parametrize("name", list(OFFICES))
def test_the_shipped_files_are_what_is_written(name: str) -> None:
    files, _, _ = OFFICES[name]()
    folder = FILES / name if (FILES / name).is_dir() else FILES
    for file, data in files.items():
        assert (folder / file).read_bytes() == data
