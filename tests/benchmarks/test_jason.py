"""The page of JASON's claims is what the command makes, and derived figures are those printed."""

from __future__ import annotations

from benchmarks.jason import arithmetic, carried, page, spectrum
from tests.support.paths import ROOT


def test_the_page_is_the_command_s() -> None:
    assert (ROOT / "docs" / "jason.md").read_text() == page()


def test_tables_as_printed() -> None:
    rows = [row for row in (*arithmetic(), *carried()) if row[0].startswith(("Table 6", "A.2"))]
    assert len(rows) == 7
    assert [row for row in rows if row[2] != row[3]] == []


def test_what_an_unasked_sum_keeps() -> None:
    for asked, sd in spectrum(31).items():
        assert abs(sd**2 - 2 * (1 + 1 / (asked + 1))) < 1e-9
