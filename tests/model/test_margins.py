"""Margins closed under differences: their counts are right, and checks see every disagreement."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.arrays import IntArray
from recon_cli.coverage import CoveragePattern
from recon_cli.model.grain import RowGroup
from recon_cli.model.lift import plan_lift
from recon_cli.model.margins import close_margins
from recon_cli.model.planning import make_plan
from recon_cli.model.predicates import Masks
from recon_cli.schema import Release, load_release
from tests.support.populations import make_fine_plan, random_records, random_release
from tests.support.properties import SEEDS


def count(places: IntArray, release: Release, masks: Masks, tally: int | None) -> int:
    """How many people, or mentions of theirs, have a value that each mask has."""
    counted = places[((np.array(masks) >> places) & 1).all(axis=1)]
    if tally is None:
        return len(counted)
    values = release.features[tally].values
    return sum(int(values[at]).bit_count() for at in counted[:, tally].tolist())


def places_of(release: Release, records: pl.DataFrame) -> IntArray:
    """Position of the value of each person and feature among those of the feature."""
    rows = records.select([feature.name for feature in release.features]).rows()
    places = [[f.position[v] for f, v in zip(release.features, row, strict=True)] for row in rows]
    return np.array(places, dtype=np.int64).reshape(len(rows), len(release.features))


def all_columns(release: Release) -> list[tuple[str, int]]:
    return [(table.name, cell.number) for table in release.tables for cell in table.cells]


@given(seed=SEEDS, people=st.integers(0, 30))
@settings(max_examples=50, deadline=None)
def test_counts_of_margins_are_the_counts_of_people(seed: int, people: int) -> None:
    release = random_release(seed)
    places = places_of(release, random_records(release, seed, people))
    columns = all_columns(release)
    margins = close_margins(release, columns)
    published = np.array(
        [
            count(places, release, cell.masks, cell.tally)
            for table in release.tables
            for cell in table.cells
        ]
    )
    rows = margins.combine @ published
    for masks, tally, found in zip(margins.masks, margins.tally, rows, strict=True):
        assert found == count(places, release, masks, tally)
    for masks, terms in margins.known.items():
        assert sum(published[c] * n for c, n in terms.items()) == count(
            places, release, masks, None
        )
    assert not (margins.checks @ published).any()


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_rows_and_checks_lose_no_published_count(seed: int) -> None:
    release = random_release(seed)
    columns = all_columns(release)
    margins = close_margins(release, columns)
    kept = np.vstack([margins.combine.toarray(), margins.checks.toarray()])
    # Every published count is a combination of rows and checks: the two have full column rank.
    assert np.linalg.matrix_rank(kept) == len(columns)


def test_what_the_census_tables_determine() -> None:
    release = load_release("sf1_2010")
    columns = [
        (table.name, cell.number)
        for table in release.tables
        if "block" in table.levels
        for cell in table.cells
    ]
    known = close_margins(release, columns).known
    sex, _, race, hispanic = release.features
    agebin = release.column_groups("agebin")
    for mask in agebin.masks:  # P12 with P14: sex × 38 age groups
        for one in range(2):
            assert (1 << one, mask, race.full, hispanic.full) in known
    for value in range(63):  # P8 − P9: race × Hispanic
        for one in range(2):
            assert (sex.full, release.full[1], 1 << value, 1 << one) in known


def test_single_years_of_age_are_lifted_and_partial_tables_are_not() -> None:
    release = load_release("sf1_2010")
    coverage = tuple(CoveragePattern.complete(release, level) for level in ("block", "tract"))
    plan = make_plan(release, release.tables, coverage)
    assert plan.is_lifted
    assert plan.grain.sizes == (2, 38, 63, 2)
    fine = make_fine_plan(release, release.tables, coverage)
    assert not fine.is_lifted
    assert fine.grain.sizes == (2, 103, 63, 2)
    # Without PCT12 nobody knows the ages of those in no other fine table: no lift.
    some = tuple(t for t in release.tables if t.name in {"P12", "P9", "PCT12A", "PCT12H"})
    assert not make_plan(release, some, coverage).is_lifted
    assert make_plan(release, some, coverage).grain.sizes[1] == 103


def test_a_lift_needs_fine_rows_that_partition_their_sum() -> None:
    release = load_release("clinic_visits")
    coverage = tuple(
        CoveragePattern.complete(release, level.name) for level in release.geography.levels
    )
    plan = make_plan(release, release.tables, coverage)
    district = next(p for p in plan.patterns if p.level == "district")
    rows = [district.margins.masks[i] for i in range(len(district.margins.masks))]
    ages = [masks for masks in rows if not plan.grain.resolves(masks)]
    assert plan_lift(plan.grain, ages) is not None
    assert plan_lift(plan.grain, ages[1:]) is None


def test_the_first_row_of_a_group_holds_what_it_holds() -> None:
    group = RowGroup((0,), (3,), np.array([[0, -1, 1]]))
    assert group.holds(np.array([[0], [1], [2]], np.int16)).tolist() == [True, False, True]
