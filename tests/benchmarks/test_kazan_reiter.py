"""The page of risk tables is what its command makes."""

from __future__ import annotations

from benchmarks.kazan_reiter import page
from tests.support.paths import ROOT


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "kazan_reiter.md").read_text() == page()
