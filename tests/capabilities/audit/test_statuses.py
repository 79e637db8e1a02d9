"""What a count is called, by the width of what is left of it and by what its law withholds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.audit.statuses import statuses
from recon_cli.frames import OPEN
from recon_cli.schema import parse_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.enumeration import solutions

PAIRS = parse_release(
    "release: pairs\ntitle: Women and men in wards\n"
    "features: {sex: {categories: [women, men]}}\n"
    "geography: {levels: [{level: ward, digits: 3}], partition: ward}\n"
    "microdata: [sex]\nhistogram: [sex]\nfamilies:\n"
    "  - {levels: [ward], cells: [total, {by: sex}], tables: {T: {}}}\n",
    source="pairs",
)


@pytest.mark.parametrize(
    ("proven", "seen", "required", "status"),
    [
        ((2, 2), (2, 2), 1, "recovered"),
        ((1, 2), (1, 2), 1, "safe"),
        ((1, 2), (1, 2), 2, "narrowed"),
        ((1, 3), (1, 2), 2, "undecided"),
        ((1, 2), (1, 1), 2, "undecided"),
        ((1, OPEN), (1, OPEN), 5, "safe"),
        ((1, OPEN), (1, 2), 5, "undecided"),
    ],
)
def test_a_status_needs_solutions_or_a_proof(
    proven: tuple[int, int], seen: tuple[int, int], required: int, status: str
) -> None:
    lower, upper, seen_lower, seen_upper = (np.array([end]) for end in (*proven, *seen))
    found = statuses(lower, upper, seen_lower, seen_upper, np.array([required]))
    assert found.tolist() == [status]


def audited(
    law: Mapping[str, object], total: str, women: str, men: str, *markers: str
) -> list[tuple[object, ...]]:
    """Width, kind, safety range and status of the women and men of a ward: as enumerated."""
    counts = pl.DataFrame(
        [("A10", "T", cell, count) for cell, count in enumerate((total, women, men), start=1)],
        schema=["geoid", "table", "cell", "count"],
        orient="row",
    )
    protection = Protection((Statement(parse_law(law), markers=markers or None),))
    published = recon.publish(PAIRS, counts, protection=protection)
    audit = recon.audit_counts(PAIRS, published)
    shown = audit.select("width", "suppression", "required", "status").rows()
    every = [dict(each) for each in solutions(PAIRS, published, PAIRS.tables)]
    for cell, width in audit.filter(pl.col("cell") > 1).select("cell", "width").rows():
        sex = PAIRS.features[0].values[cell - 2]
        found = {people.get(("A10", (sex,)), 0) for people in every}
        assert width == max(found) - min(found)
    return shown


def test_a_small_count_keeps_all_that_its_flag_admits() -> None:
    law = {"suppressed": {"below": 5}}
    assert audited(law, "5", "*", "*") == [(3, "primary", 3, "safe")] * 2
    assert audited(law, "3", "*", "*", "*") == [(1, "primary", 3, "narrowed")] * 2
    assert audited(law, "2", "*", "*", "*") == [(0, "primary", 3, "recovered")] * 2


def test_a_count_that_may_be_complementary_keeps_the_threshold() -> None:
    law = {"suppressed": {"below": 3, "complementary": True}}
    assert audited(law, "4", "*", "*") == [(2, "unknown", 3, "narrowed")] * 2
    assert audited(law, "5", "*", "*") == [(3, "unknown", 3, "safe")] * 2
    assert audited(law, "3", "*", "*") == [(1, "primary", 3, "narrowed")] * 2


def test_a_marker_that_names_its_threshold_is_of_a_primary_count() -> None:
    law = {"suppressed": {"complementary": True}}
    assert audited(law, "4", "<4", "*") == [
        (2, "primary", 2, "safe"),
        (2, "unknown", 1, "safe"),
    ]


def test_what_is_proven_not_to_be_small_is_complementary() -> None:
    law = {"suppressed": {"below": 5, "complementary": True}}
    assert audited(law, "9", "<5", "*") == [
        (3, "primary", 3, "safe"),
        (3, "complementary", 5, "narrowed"),
    ]


def test_numbers_have_no_threshold_and_zeros_of_small_counts_do() -> None:
    assert {row[1:3] for row in audited({"rounded": {"base": 3}}, "6", "3", "3")} == {(None, 1)}
    found = audited({"zeroed": {"below": 4}}, "4", "0", "0")
    assert {row[1:] for row in found} == {(None, 3, "narrowed")}
