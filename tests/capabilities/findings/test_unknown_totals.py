"""Exact counts that do not say how many people a place has: certain records are not all of it."""

from __future__ import annotations

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.findings.proven import claimed_records, placed_records, proven_units
from recon_cli.frames import COUNTS
from recon_cli.schema import parse_release

#: Tracts count those of kind u alone; of the one v there is only the county's count.
WARDS = parse_release(
    "release: t\ntitle: Tracts\nfeatures: {b: {categories: [u, v]}}\n"
    "geography: {levels: [{level: tract, digits: 4}, {level: county, digits: 2}], "
    "partition: county}\nmicrodata: [b]\nhistogram: [b]\nfamilies:\n"
    "  - {levels: [county], cells: [{by: b}], tables: {B: {}}}\n"
    "  - {levels: [tract], cells: [total], tables: {U: {universe: {b: [u]}}}}\n",
    source="tracts",
)


@pytest.mark.parametrize("ones", [("A101", "A102"), ("A102", "A101")])
def test_a_place_whose_placed_records_are_certain_need_not_be_unique(ones: tuple[str, str]) -> None:
    rows = [("A1", "B", 1, 3), ("A1", "B", 2, 1), (ones[0], "U", 1, 1), (ones[1], "U", 1, 2)]
    counts = pl.DataFrame(rows, schema=COUNTS, orient="row")
    published = recon.publish(WARDS, counts, geounits=["A101", "A102"])
    result = recon.reconstruct(WARDS, published)
    assert result.blocks["population"].to_list() == [None, None]
    found = recon.measure_variability(WARDS, published, result.microdata, mode="exact")
    claims = recon.find_claims(WARDS, published, result.microdata)
    claimed = claimed_records(WARDS, claims.columns, claims.claims)
    placed = placed_records(WARDS, result.microdata)
    proven = proven_units(result.blocks, placed, found.units, claimed, "exact")
    assert proven["certain"].sum() == 3
    assert "unique" not in proven["status"].to_list()
