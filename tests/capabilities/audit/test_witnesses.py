"""Witnesses: every one has the published counts, and what they show is what the audit finds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.capabilities.suppress.primary import PrimaryRules
from recon_cli.capabilities.suppress.suppression import (
    SuppressionOptions,
    suppress_counts,
    suppression_protection,
)
from recon_cli.chance import KeyedChance
from recon_cli.publication import Publication
from recon_cli.schema import parse_release

KEY = ["geoid", "table", "cell"]
TOWNS = parse_release(
    "release: towns\ntitle: Streets in towns of two counties\n"
    "features: {sex: {categories: [women, men]}, age: {categories: [young, middle, old]}}\n"
    "geography: {levels: [{level: street, digits: 4}, {level: town, digits: 3}, "
    "{level: county, digits: 1}], partition: county}\n"
    "microdata: [sex, age]\nhistogram: [sex, age]\nfamilies:\n"
    "  - {levels: [street, town], cells: [total, {by: sex}, {by: sex, cells: [{by: age}]}], "
    "tables: {T: {}}}\n",
    source="towns",
)


def flagged(seed: int, number: int, below: int = 3) -> Publication:
    """Small counts flagged, nothing more: some are recovered, some are not."""
    rng = np.random.default_rng(seed)
    records = pl.DataFrame(
        {
            "geoid_street": rng.choice(["A101", "A102", "A103", "A201", "B101"], number),
            "sex": rng.choice(["women", "men"], number),
            "age": rng.choice(["young", "middle", "old"], number, p=[0.6, 0.3, 0.1]),
        }
    )
    law = recon.parse_law({"suppressed": {"below": below}})
    protection = recon.Protection((recon.Statement(law),))
    truth = count_records(TOWNS, records)
    counts = recon.protect_counts(TOWNS, truth, protection, chance=KeyedChance.for_study(1))
    return recon.publish(TOWNS, tidy_counts(truth, counts), protection=protection)


def differing(witnesses: list[pl.DataFrame], safety: int) -> set[tuple[str, str, int]]:
    """The cells whose counts are the safety range apart in two of some sets of records."""
    counted = pl.concat(
        recon.tabulate(TOWNS, each).with_columns(number=pl.lit(at))
        for at, each in enumerate(witnesses)
    )
    spread = counted.group_by(KEY).agg(
        pl.col("count").max() - pl.col("count").min(), seen=pl.len(), most=pl.col("count").max()
    )
    everywhere = pl.col("seen") == len(witnesses)
    wide = pl.when(everywhere).then("count").otherwise("most") >= safety
    return set(spread.filter(wide).select(KEY).rows())


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
def test_witnesses_show_what_the_audit_calls_safe(seed: int, safety: int) -> None:
    published = flagged(seed, 40)
    audit = recon.audit_counts(TOWNS, published, seed=1, safety=safety)
    witnesses = recon.find_witnesses(TOWNS, published, audit.select(KEY), safety=safety)
    for each in witnesses:
        assert recon.verify(TOWNS, published, each).ok
    shown = differing(witnesses, safety)
    assert shown == set(audit.filter(status="safe").select(KEY).rows())
    again = recon.find_witnesses(TOWNS, published, audit.select(KEY), safety=safety)
    assert all(one.equals(other) for one, other in zip(witnesses, again, strict=True))


def test_few_witnesses_show_many_counts() -> None:
    rng = np.random.default_rng(5)
    records = pl.DataFrame(
        {
            "geoid_street": rng.choice(["A101", "A102", "A103", "A104"], 120),
            "sex": rng.choice(["women", "men"], 120),
            "age": rng.choice(["young", "middle", "old"], 120, p=[0.85, 0.1, 0.05]),
        }
    )
    truth, rules = count_records(TOWNS, records), PrimaryRules(3)
    suppressed = suppress_counts(TOWNS, truth, SuppressionOptions(rules))
    law = suppression_protection(rules)
    published = recon.publish(TOWNS, tidy_counts(truth, suppressed), protection=law)
    primary = suppressed.filter("primary")
    witnesses = recon.find_witnesses(TOWNS, published, primary)
    assert len(witnesses) < primary.height
    assert set(primary.select(KEY).rows()) <= differing(witnesses, 1)


def test_of_recovered_counts_there_is_only_one_set() -> None:
    published = flagged(2, 40)
    audit = recon.audit_counts(TOWNS, published, seed=1)
    recovered = audit.filter(status="recovered")
    assert recovered.height
    assert len(recon.find_witnesses(TOWNS, published, recovered)) == 1


def test_an_unknown_table_is_refused() -> None:
    published = flagged(2, 20)
    with pytest.raises(recon.ReconError, match="X9"):
        recon.find_witnesses(TOWNS, published, published.counts, tables=["X9"])
