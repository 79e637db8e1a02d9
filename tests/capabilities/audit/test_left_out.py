"""Counts that are left out of tables are audited as suppressed ones without a law."""

from __future__ import annotations

import itertools
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.audit.left_out import (
    coverage_with_left_out,
    left_out_counts,
    with_left_out,
)
from recon_cli.coverage import CoveragePattern
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import parse_release
from tests.support.enumeration import TooManyError, published_rows, solutions
from tests.support.populations import (
    publish,
    random_overlap,
    random_records,
    random_release,
    random_units,
    suppressed,
)
from tests.support.properties import SEEDS, examples

WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}, old: {categories: [false, true]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex, old]\nhistogram: [sex, old]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [total, {by: sex}, {by: sex, cells: [{by: old}]}], "
    "tables: {T: {}}}\n",
    source="wards",
)


def tidy(*rows: tuple[str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(
        [(geoid, "T", cell, count) for geoid, cell, count in rows], schema=COUNTS, orient="row"
    )


def test_a_count_that_is_left_out_and_follows_is_recovered() -> None:
    """Men are left out, and follow; of old women, the others and the total say nothing else."""
    counts = tidy(("A101", 1, 9), ("A101", 2, 5), ("A101", 6, 1))
    published = recon.publish(WARDS, counts, absent="unpublished", geounits=["A101"])
    audit = recon.audit_counts(WARDS, published)
    assert audit.select("cell", "low", "high", "least", "greatest", "status").rows() == [
        (3, 0, None, 4, 4, "recovered"),
        (4, 0, None, 0, 5, "safe"),
        (5, 0, None, 0, 5, "safe"),
        (7, 0, None, 3, 3, "recovered"),
    ]
    assert audit["is_exact"].all()


def test_a_table_that_is_published_whole_leaves_nothing_out() -> None:
    rows = [("A101", cell, count) for cell, count in enumerate((9, 5, 4, 3, 2, 1, 3), start=1)]
    for absent in ("zero", "unpublished"):
        published = recon.publish(WARDS, tidy(*rows), absent=absent)
        assert recon.audit_counts(WARDS, published).is_empty()
    without_sums = recon.publish(WARDS, tidy(*rows[3:]), absent="unpublished")
    assert recon.audit_counts(WARDS, without_sums).is_empty()


def test_a_sum_that_other_units_have_is_left_out() -> None:
    cells = ((1, 2, 3, 4, 5, 6, 7), (2, 3, 4, 5, 6, 7))
    patterns = tuple(CoveragePattern("plot", {"T": each}) for each in cells)
    whole = coverage_with_left_out(WARDS, patterns)
    assert [pattern.cells["T"] for pattern in whole] == [cells[0]] * 2
    assert coverage_with_left_out(WARDS, patterns[1:]) == patterns[1:]


@examples(15)
@given(seed=SEEDS)
def test_the_audit_of_left_out_counts_equals_enumeration(seed: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 2)
    whole = publish(release, random_records(release, seed, 3, units), units)
    published = suppressed(release, whole, seed)
    assume(release.geography.unit.name in published.geounits["level"])
    coverage = coverage_with_left_out(release, published.coverage)
    expected = left_out_counts(published, coverage)
    assume(not expected.is_empty())
    try:
        every = solutions(release, published, release.tables, limit=300)
    except TooManyError:
        assume(False)
        raise
    audit = recon.audit_counts(release, published)
    keys = ["geoid", "table", "cell"]
    assert audit.select(keys).rows() == expected.sort(keys).rows()
    values = list(itertools.product(*(feature.values for feature in release.features)))
    homes = published.geounits.filter(level=release.geography.unit.name)["geoid"]
    domain = list(itertools.product(homes.to_list(), values))
    of_all = Publication(published.geounits, published.counts, coverage, published.protection)
    rows = {row.cell: row for row in published_rows(release, of_all, release.tables, domain)}
    place = {record: i for i, record in enumerate(domain)}
    shown = audit.select(*keys, "least", "greatest", "is_exact", "status")
    for geoid, table, cell, least, greatest, is_exact, status in shown.rows():
        row = replace(rows[geoid, table, cell], low=0)
        counts = {
            sum(row.weights.get(place[record], 0) * n for record, n in solution)
            for solution in every
        }
        assert least <= min(counts)
        assert greatest is None or max(counts) <= greatest
        if is_exact and greatest is not None:
            assert (least, greatest) == (min(counts), max(counts))
        assert status != "recovered" or len(counts) == 1


@examples(10)
@given(seed=SEEDS, neighbourhoods=st.booleans())
def test_every_count_of_a_unit_that_areas_cut_equals_enumeration(
    seed: int, neighbourhoods: bool
) -> None:
    """Also where neighbourhoods are looked at first: what they say safe has two whole solutions."""
    release = random_overlap(seed)
    unit = release.geography.unit.name
    units = random_units(release, seed, 3)
    published = publish(release, random_records(release, seed, 3, units), units)
    try:
        every = solutions(release, published, release.tables, limit=300)
    except TooManyError:
        assume(False)
        raise
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "recon_cli.capabilities.reconstruct.region_blocks._LESS", 0 if neighbourhoods else 30
        )
        audit = recon.audit_counts(release, published, ask=(unit,))
    of_unit = audit.filter(level=unit)
    whole = with_left_out(release, published, {unit: release.tables})
    values = list(itertools.product(*(feature.values for feature in release.features)))
    domain = list(itertools.product(units, values))
    rows = {row.cell: row for row in published_rows(release, whole, release.tables, domain)}
    place = {record: i for i, record in enumerate(domain)}
    shown = of_unit.select("geoid", "table", "cell", "least", "greatest", "is_exact", "status")
    for geoid, table, cell, least, greatest, is_exact, status in shown.rows():
        weights = rows[geoid, table, cell].weights
        counts = {
            sum(weights.get(place[record], 0) * n for record, n in solution) for solution in every
        }
        assert least <= min(counts)
        assert greatest is None or max(counts) <= greatest
        if is_exact and greatest is not None:
            assert (least, greatest) == (min(counts), max(counts))
        assert status != "recovered" or counts == {least}
        assert status != "safe" or greatest is None or len(counts) > 1
