"""Categories from the labels of a table's columns."""

from __future__ import annotations

import pytest

from recon_cli.capabilities.init.axes import grid_of_paths, grid_of_phrases

SEX_BY_AGE = ("Male 0-15", "Male 16-64", "Male 65+", "Female 0-15", "Female 16-64", "Female 65+")


def test_phrases_are_combinations_of_two_categories() -> None:
    grid = grid_of_phrases(("Total", *SEX_BY_AGE))
    assert grid is not None
    assert [(axis.name, axis.labels, axis.has_total) for axis in grid.axes] == [
        ("sex", ("Male", "Female"), False),
        ("age", ("0-15", "16-64", "65+"), False),
    ]
    assert grid.cells[0] == (None, None)
    assert grid.cells[1:] == tuple(
        (sex, age) for sex in ("Male", "Female") for age in ("0-15", "16-64", "65+")
    )


def test_phrases_in_any_order_with_one_category_alone() -> None:
    grid = grid_of_phrases(
        ("Stage 1 girls", "girls", "Stage 2 boys", "Stage 1 boys", "Stage 2 girls", "Stage 2")
    )
    assert grid is not None
    assert [(axis.labels, axis.has_total) for axis in grid.axes] == [
        (("Stage 1", "Stage 2"), True),
        (("girls", "boys"), True),
    ]
    assert grid.cells == (
        ("Stage 1", "girls"),
        (None, "girls"),
        ("Stage 2", "boys"),
        ("Stage 1", "boys"),
        ("Stage 2", "girls"),
        ("Stage 2", None),
    )


@pytest.mark.parametrize(
    "labels",
    [
        SEX_BY_AGE[:-1],  # a combination is missing
        (*SEX_BY_AGE, "Male 0-15"),  # one stands twice
        (*SEX_BY_AGE, "Other"),  # and something else
        ("Male", "Female", "Total"),  # nothing to part
        ("Owned home", "Rented home", "Free home"),  # one category alone
        ("Total", "All persons"),
    ],
)
def test_phrases_that_are_no_grid(labels: tuple[str, ...]) -> None:
    assert grid_of_phrases(labels) is None


def test_paths_are_a_grid_in_order_alone() -> None:
    paths = [("Sex", sex, age) for sex in ("Total", "Men") for age in ("All", "Under 5", "5+")]
    grid = grid_of_paths(paths)
    assert grid is not None
    assert [(axis.name, axis.labels, axis.has_total) for axis in grid.axes] == [
        ("sex", ("Men",), True),
        ("age", ("Under 5", "5+"), True),
    ]
    assert grid_of_paths(paths[::-1]) is None
    assert grid_of_paths([("Men",), ("Men", "5+")]) is None
