"""Errors of what is published, and which protections are on the frontier, against plain loops."""

from __future__ import annotations

import random

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.compare.dominance import (
    Choice,
    best_for_some_weight,
    dominated_by,
    undominated,
)
from recon_cli.capabilities.compare.errors import TOTAL, error_table, sum_errors
from recon_cli.capabilities.compare.page import compose_comparison
from recon_cli.capabilities.compare.protection_summary import ProtectionSummary
from recon_cli.publication import Publication
from recon_cli.schema import Release
from tests.support import layouts

RELEASE = recon.parse_release(layouts.SCHEMA, source="sexage.yaml")
TRUTH = layouts.counts_of(
    {
        "340210001001000": [3, 0, 1, 12, 5, 0],
        "340210001001001": [0, 0, 0, 0, 0, 0],
        "340210002002000": [1, 2, 7, 0, 4, 9],
    }
)


def published(rows: dict[str, list[int]], **options: object) -> Publication:
    frame = pl.DataFrame(
        [
            {"geoid": geoid, "table": "P99", "cell": cell, "count": count}
            for geoid, row in rows.items()
            for cell, count in enumerate(row, start=1)
        ]
    )
    return recon.publish(RELEASE, frame, **options)  # type: ignore[arg-type]


def mean_error(level: int, shown: dict[str, list[int]], cells: slice = slice(None)) -> float:
    errors = [
        abs(s - t)
        for geoid, row in TRUTH.items()
        if len(geoid) == level
        for s, t in zip(shown.get(geoid, [0] * 12)[cells], row[cells], strict=True)
    ]
    return sum(errors) / len(errors)


def found(table: pl.DataFrame, level: str, name: str, measure: str = "mae") -> float:
    return float(table.filter(level=level, table=name, size="All")[measure].item())


@pytest.mark.parametrize("seed", range(5))
def test_errors_are_those_of_every_cell(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases of a test
    shown = {g: [max(0, n + draw.choice([-1, 0, 0, 2])) for n in row] for g, row in TRUTH.items()}
    sums = sum_errors(RELEASE, published(TRUTH), published(shown))
    table = error_table(RELEASE, [sums], {})
    for level, digits in (("block", 15), ("tract", 11)):
        assert found(table, level, "P99") == pytest.approx(mean_error(digits, shown))
        assert found(table, level, "All") == pytest.approx(mean_error(digits, shown))
        assert found(table, level, TOTAL) == pytest.approx(mean_error(digits, shown, slice(1)))
        assert found(table, level, "P99", "unpublished") == 0


def test_a_cell_without_a_number_counts_whole() -> None:
    coarse = {geoid: row for geoid, row in TRUTH.items() if len(geoid) == 11}
    sums = sum_errors(RELEASE, published(TRUTH), published(coarse))
    table = error_table(RELEASE, [sums], {})
    assert found(table, "tract", "All") == 0
    assert found(table, "block", "All") == pytest.approx(mean_error(15, {}))
    assert found(table, "block", "All", "unpublished") == 100
    assert found(table, "block", "All", "total_absolute") == 100


def test_sums_of_partitions_add_up_and_weights_choose_tables() -> None:
    sums = sum_errors(RELEASE, published(TRUTH), published({g: [1] * 12 for g in TRUTH}))
    once, twice = (error_table(RELEASE, [sums] * n, {}) for n in (1, 2))
    assert once.drop("cells").equals(twice.drop("cells"))
    none = error_table(RELEASE, [sums], {"P99": 0.0})
    assert none.filter(level="block", table="All", size="All")["mae"].to_list() == [None]
    assert found(none, "block", "P99") == found(once, "block", "P99")


@pytest.mark.parametrize("seed", range(20))
def test_the_frontier_is_what_no_other_choice_beats(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases of a test
    choices = [
        Choice(
            str(i),
            (draw.randint(0, 3), draw.randint(0, 2)),
            {name: draw.choice([None, 0, 1, 2, 3, 3]) for name in ("gain", "certain")},
        )
        for i in range(9)
    ]
    beaten = dominated_by(choices)

    def beats(one: Choice, other: Choice) -> bool:
        ours = (*one.errors, one.risks["gain"], one.risks["certain"])
        theirs = (*other.errors, other.risks["gain"], other.risks["certain"])
        pairs = [(a, b) for a, b in zip(ours, theirs, strict=True)]
        if any(a is None or b is None for a, b in pairs):
            return False
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)  # type: ignore[operator]

    expected = {each.name for each in choices if any(beats(other, each) for other in choices)}
    assert set(beaten) == expected
    by_name = {each.name: each for each in choices}
    assert all(beats(by_name[by], by_name[name]) for name, by in beaten.items())
    assert set(beaten.values()) <= {each.name for each in undominated(choices)}


def test_less_of_one_risk_does_not_dominate_with_more_of_another() -> None:
    exact = Choice("none", (0.0,), {"gain": 9.0, "certain": 90.0})
    swapped = Choice("swap", (1.0,), {"gain": 5.0, "certain": 95.0})
    rounded = Choice("round", (1.0,), {"gain": 6.0, "certain": 20.0})
    coarser = Choice("coarser", (1.0,), {"gain": 6.0, "certain": 30.0})
    beaten = dominated_by([exact, swapped, rounded, coarser])
    assert beaten == {"coarser": "round"}


@pytest.mark.parametrize("seed", range(20))
def test_some_weight_leads_to_the_lower_hull_only(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - cases of a test
    choices = [
        Choice(str(i), (draw.randint(0, 9),), {"certain": draw.randint(0, 9)}) for i in range(8)
    ]
    points = {each.name: (each.measures[0], each.measures[1]) for each in choices}
    # in the plane: weights only matter where two choices tie, or at the ends
    steps = [(1, 0), (0, 1)] + [
        (max(b[1] - a[1], a[1] - b[1]), abs(b[0] - a[0]))
        for a in points.values()
        for b in points.values()
        if (a[0] - b[0]) * (a[1] - b[1]) < 0
    ]
    expected = set()
    for u, v in steps:
        sums = {name: u * e + v * r for name, (e, r) in points.items()}
        expected |= {name for name, total in sums.items() if total == min(sums.values())}
    assert {each.name for each in best_for_some_weight(choices)} == expected


def test_the_page_says_best_for_some_weight_of_the_hull_only() -> None:
    sums = sum_errors(RELEASE, published(TRUTH), published(TRUTH))
    errors = error_table(RELEASE, [sums], {})
    page = compose_comparison(
        RELEASE,
        [summary("none", 0, 9), summary("between", 4, 6), summary("all", 5, 0)],
        dict.fromkeys(("none", "between", "all"), errors),
        people=300,
    )
    text = " ".join(page.sections[0].text)
    assert "**none** and **all** are each the best choice for some weights" in text
    assert "no weights make **between** the best" in text
    people = next(fact for fact in page.facts if fact.label == "people")
    assert people.value == "300"  # the truth's, not the most that were reconstructed


def summary(name: str, error: float, certain: float) -> ProtectionSummary:
    return ProtectionSummary(
        name, name, unit_error=error, region_error=None, total_error=None, unpublished=0,
        people=447, certain=certain, disclosed=None, agreement=None, precision=None, guessed=None,
    )  # fmt: skip


def test_levels_of_the_release_are_kept_in_order() -> None:
    release: Release = RELEASE
    sums = sum_errors(release, published(TRUTH), published(TRUTH))
    table = error_table(release, [sums], {})
    assert table["level"].unique(maintain_order=True).to_list() == ["block", "tract"]
    assert table["mae"].sum() == 0
