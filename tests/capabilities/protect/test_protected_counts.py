"""Protected counts of records: by their law, alike for equal sets of records, and how far off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.protect.counts import (
    PROTECTED,
    count_records,
    protect_counts,
    require_zeros_kept,
    tidy_counts,
)
from recon_cli.chance import KeyedChance
from recon_cli.errors import ConfigError
from recon_cli.schema import load_release
from recon_cli.statement import Protection, Statement, parse_law
from tests.support.populations import random_records, random_units

study = KeyedChance.for_study

CLINIC = load_release("clinic_visits")
RECORDS = random_records(CLINIC, 5, 400, random_units(CLINIC, 5, 6))


def under(law: Any, **where: Any) -> Protection:
    return Protection((Statement(parse_law(law), **where),))


@pytest.mark.parametrize("keys", ["records", "cells"])
@pytest.mark.parametrize(
    "law",
    [
        {"rounded": {"base": 3}},
        {"rounded": {"base": 5, "how": "nearest"}},
        {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}},
        {"suppressed": {"below": 3}},
        {"zeroed": {"below": 3}},
    ],
    ids=str,
)
def test_published_counts_prove_intervals_that_hold_the_truth(law: Any, keys: Any) -> None:
    protection = under(law)
    protected = protect_counts(CLINIC, RECORDS, protection, chance=study(3), keys=keys)
    assert protected.schema == PROTECTED
    true = protected.select("geoid", "table", "cell", pl.col("true").alias("count"))
    assert true.equals(recon.tabulate(CLINIC, RECORDS))
    published = recon.publish(
        CLINIC, tidy_counts(count_records(CLINIC, RECORDS), protected), protection=protection
    )
    verification = recon.verify(CLINIC, published, RECORDS)
    assert verification.ok
    assert verification.cells_compared > protected.height
    if "suppressed" not in law:
        assert (protected["count"] != protected["true"]).any()
    other = protected["count"].ne_missing(protected["true"]).sum()
    assert (verification.cells_within, verification.cells_unbounded) == (other, 0)


def test_what_bounds_nothing_is_not_called_equal() -> None:
    """A mark that may stand for any count, and noise, leave nothing to compare."""
    counts = recon.tabulate(CLINIC, RECORDS)
    hidden = {"suppressed": {"below": 3, "flagged": "may-be-zero", "complementary": True}}
    starred = pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("*"))
    marked = counts.with_columns(count=starred.otherwise(pl.col("count").cast(pl.String)))
    shown = recon.publish(CLINIC, marked, protection=under(hidden, markers=("*",)))
    found = recon.verify(CLINIC, shown, RECORDS)
    assert (found.ok, found.cells_within, found.cells_unbounded) == (True, 0, 5)
    noisy = recon.publish(CLINIC, counts, protection=under({"gaussian": {"variance": 4.0}}))
    found = recon.verify(CLINIC, noisy, RECORDS)
    assert (found.ok, found.cells_within) == (True, 0)
    assert found.cells_unbounded == found.cells_compared


def test_the_seed_decides_and_the_order_of_records_does_not() -> None:
    protection = under({"rounded": {"base": 3}})
    first = protect_counts(CLINIC, RECORDS, protection, chance=study(3))
    again = RECORDS.reverse()
    assert protect_counts(CLINIC, again, protection, chance=study(3)).equals(first)
    assert not protect_counts(CLINIC, RECORDS, protection, chance=study(4)).equals(first)


def test_equal_sets_of_records_are_published_alike() -> None:
    """A total is published in many tables: with keys of records it is the same in all."""
    protection = under({"rounded": {"base": 5}})
    totals = [
        (table.name, cell.number)
        for table in CLINIC.tables
        for cell in table.cells
        if cell.tally is None and cell.masks == CLINIC.full
    ]
    assert len(totals) > 1
    kinds = {}
    for keys in ("records", "cells"):
        protected = protect_counts(CLINIC, RECORDS, protection, chance=study(3), keys=keys)
        wanted = pl.DataFrame(totals, schema=["table", "cell"], orient="row")
        of_total = protected.join(wanted.cast({"cell": pl.Int16}), on=["table", "cell"], how="semi")
        kinds[keys] = of_total.group_by("geoid").agg(pl.col("count").n_unique())["count"].max()
    assert kinds == {"records": 1, "cells": 2}


def test_random_rounding_is_unbiased() -> None:
    protection = under({"rounded": {"base": 5}})
    errors = [
        float((protected["count"] - protected["true"]).to_numpy().mean())
        for seed in range(20)
        for protected in [
            protect_counts(CLINIC, RECORDS, protection, chance=study(seed), keys="cells")
        ]
    ]
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(len(errors))


def test_laws_hold_where_they_are_declared() -> None:
    levels = [level.name for level in CLINIC.geography.levels]
    protected = protect_counts(
        CLINIC, RECORDS, under({"zeroed": {"below": 10}}, levels=(levels[0],)), chance=study(1)
    )
    fine, coarse = (protected.filter(level=level) for level in levels[:2])
    assert (fine.filter(pl.col("true") < 10)["count"] == 0).all()
    assert coarse["count"].equals(coarse["true"], check_names=False)


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"gaussian": {"variance": 2.0}}, "publishes other than zero for true zeros"),
        ({"suppressed": {"below": 3, "flagged": "may-be-zero"}}, "publishes other than zero"),
        ("suppressed", "no rule to suppress by"),
    ],
)
def test_laws_that_need_more_than_counts_are_refused(law: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        protect_counts(CLINIC, RECORDS, under(law), chance=study(1))


def test_a_zero_that_seldom_changes_is_refused_too(tmp_path: Path) -> None:
    """One of 256 cell keys, or five zeros in a million."""
    ons = ["pcv,ckey,pvalue", *(f"{n},{key},0" for n in range(3) for key in range(256))]
    for name, lines, keeps in (
        ("seldom", ["i,j,p", "0,0,0.999995", "0,1,0.000005", "1,1,1"], False),
        ("never", ["i,j,p", "0,0,1", "0,1,0", "1,0,0.5", "1,2,0.5"], True),
        ("key", [*ons[:256], "0,255,2", *ons[257:]], False),
        ("keys", ons, True),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        law = parse_law({"cellkey": {"table": f"{name}.csv"}}, tmp_path)
        assert law.keeps_zeros == keeps
        if not keeps:
            with pytest.raises(ConfigError, match="other than zero for true zeros"):
                require_zeros_kept(law)
