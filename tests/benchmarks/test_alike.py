"""How alike neighbours are in age: what is counted, on handmade people."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.alike import age_correlations, unique_shares, with_size


def _people(rows: list[tuple[str, str, int, bool]]) -> pl.DataFrame:
    names = ["geoid_block", "sex", "age", "data_defined"]
    return with_size(pl.DataFrame(rows, schema=names, orient="row"))


def test_unique_people_are_alone_among_all_and_data_defined() -> None:
    people = _people(
        [
            ("A", "male", 30, True),  # alone with his sex and agebin
            ("A", "female", 41, True),  # of the bin of the next, not of her age
            ("A", "female", 42, False),
            ("B", "male", 7, False),  # alone, and not data-defined
        ]
    )
    shares = unique_shares(people)
    assert shares[0] == 25
    assert shares[-1] == 100


@pytest.mark.parametrize(("ages", "found"), [((30, 70), 1.0), ((70, 30), -1.0)])
def test_ages_that_are_alike_correlate(ages: tuple[int, int], found: float) -> None:
    rows = [("A", "male", 30, True), ("A", "male", ages[0], True)]
    rows += [("B", "male", 70, True), ("B", "male", ages[1], True), ("B", "male", 3, True)]
    assert age_correlations(_people(rows))[0] == pytest.approx(found)
