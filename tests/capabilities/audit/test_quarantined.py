"""Counts of a region that a solver must not be started on stay undecided, all of them."""

from __future__ import annotations

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.ask.quarantine import NO_QUARANTINE, Quarantine
from recon_cli.ask.question import RegionData
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import AuditQuestion
from recon_cli.model.planning import make_interval_plan
from recon_cli.schema import parse_release
from recon_cli.statement import Protection, Statement, parse_law

WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}, old: {categories: [false, true]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex, old]\nhistogram: [sex, old]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [total, {by: sex}, {by: sex, cells: [{by: old}]}], "
    "tables: {T: {}}}\n",
    source="wards",
)


@pytest.mark.parametrize(
    ("quarantine", "decided"),
    [
        (NO_QUARANTINE, 14),
        (Quarantine(split_regions=frozenset({"A10"})), 14),
        # A solver starts on each plot alone, but not on both together.
        (Quarantine(frozenset({"A10"}), excluded=frozenset({"A10"})), 0),
        (Quarantine(frozenset({"A10"}), excluded=frozenset({"A101"})), 0),
        (Quarantine(excluded=frozenset({"A10"})), 0),
    ],
)
def test_nothing_is_said_of_a_region_in_quarantine(quarantine: Quarantine, decided: int) -> None:
    """Two plots publish six people each, rounded to threes, and the ward nothing."""
    shown = {1: "6", 2: "3", 3: "3", 4: "3", 7: "3"}
    rows = [(plot, "T", cell, n) for plot in ("A101", "A102") for cell, n in shown.items()]
    counts = recon.publish(
        WARDS,
        pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row"),
        protection=Protection((Statement(parse_law({"rounded": {"base": 3}})),)),
    )
    plan = make_interval_plan(WARDS, WARDS.tables, counts.coverage)
    question = AuditQuestion(plan, Audit(seed=1, region_seconds=5.0), counts.coverage)
    audited = question.audited(RegionData(counts), quarantine=quarantine)
    assert audited.height == decided
    assert audited.filter("is_exact").height == decided
