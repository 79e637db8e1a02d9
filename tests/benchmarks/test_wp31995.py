"""The page of the main study is what the command makes, and its figures follow from the print."""

from __future__ import annotations

import pytest

from benchmarks.wp31995 import derived, leaf_cells, misprints, page, zero_words
from recon_cli.schema import load_release
from tests.support.paths import ROOT


def test_the_page_is_the_command_s() -> None:
    assert (ROOT / "docs" / "wp31995.md").read_text() == page()


def test_what_table_7_adds_up_to() -> None:
    assert zero_words() == "4,308,382 blocks (69.41%), 88,589 thousand people"


@pytest.fixture(scope="module")
def words() -> dict[str, str]:
    """What is derived of each figure."""
    return {what: text for _, what, _, text in derived()}


def test_statistics_are_leaf_cells(words: dict[str, str]) -> None:
    release = load_release("sf1_2010")
    assert (leaf_cells(release, "block"), leaf_cells(release, "tract")) == (773, 3296)
    assert words["of all blocks"].endswith("8,563,523,581 leaf cells")
    assert words["of all tracts"].endswith("240,795,872 leaf cells")
    assert words["of blocks and tracts with people"].endswith("5,037,094,047")


def test_the_ventile_between_65_and_70_percent_is_not_all_zero(words: dict[str, str]) -> None:
    assert words["mean variability of the ventile from 65 to 70%"].startswith("at least 0.34%: ")
    assert words["people whom 32 tables have fewer than 34, thousand"].startswith("14,271")
    assert "2.8 to 3.5%" in words["variability in the row of 75%"]


def test_misprints_are_shown_by_the_print_itself() -> None:
    assert any("49.8%" in row[1] for row in misprints())
