"""Keys: of records, of cells, and of counts by themselves."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from recon_cli.capabilities.protect.keys import (
    cell_keys,
    definition_keys,
    independent_keys,
    record_keys,
)
from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.chance import KeyedChance, uniform
from recon_cli.frames import COUNTS
from recon_cli.schema import load_release
from tests.support.populations import patients

study = KeyedChance.for_study

RELEASE = load_release("clinic_visits")


def test_a_record_key_depends_on_key_and_record_not_on_order() -> None:
    records = patients()
    keys = record_keys(RELEASE, records, study(1))
    assert keys.dtype == np.uint64
    assert len(set(keys.tolist())) == len(records)
    turned = record_keys(RELEASE, records.reverse(), study(1))
    assert sorted(turned.tolist()) == sorted(keys.tolist())
    assert not np.isin(keys, record_keys(RELEASE, records, study(2))).any()


def test_an_identifier_makes_a_key_whatever_the_record_says() -> None:
    records = patients().with_row_index("id")
    changed = records.with_columns(smoker=~pl.col("smoker"))
    one, other = (record_keys(RELEASE, each, study(1), "id") for each in (records, changed))
    assert (one == other).all()


def test_a_cell_key_is_the_sum_of_its_records_keys() -> None:
    records = patients()
    keys = record_keys(RELEASE, records, study(1))
    found = cell_keys(RELEASE, records, keys, RELEASE.tables)
    counts = tabulate(RELEASE, records)
    assert found.select("geoid", "table", "cell").equals(counts.select("geoid", "table", "cell"))
    whole = found.filter(geoid="D01001", table="PATIENTS", cell=1)["key"].item()
    here = keys[(records["geoid_clinic"] == "D01001").to_numpy()]
    assert whole == sum(key + 2**32 + 1 for key in here.tolist()) % 2**64
    alone = found.join(counts.filter(count=1), on=["geoid", "table", "cell"], how="semi")
    shifted = keys + np.uint64(2**32 + 1)
    assert alone["key"].is_in(pl.Series(shifted).implode()).all()
    none = cell_keys(RELEASE, records, np.zeros_like(keys), RELEASE.tables)
    assert len(none) == len(counts)  # a key, or a half of one, may be zero


def test_keys_of_counts_are_uniform_and_repeatable() -> None:
    counts = tabulate(RELEASE, patients())
    for keys in (
        independent_keys(counts, study(3)),
        definition_keys(RELEASE, counts, study(3)),
        record_keys(RELEASE, patients(), study(3)),
    ):
        assert stats.kstest(uniform(keys), "uniform").pvalue > 0.001
    assert (
        independent_keys(counts, study(3)) == independent_keys(counts.reverse(), study(3))[::-1]
    ).all()
    assert (independent_keys(counts, study(3)) != independent_keys(counts, study(4))).all()


def test_cells_that_count_the_same_share_a_key_by_definition() -> None:
    total = pl.DataFrame(
        {
            "geoid": ["D01001"] * 2,
            "table": ["PATIENTS", "INSURANCE"],
            "cell": [1, 1],
            "count": [5, 5],
        },
        schema=COUNTS,
    )
    one, other = definition_keys(RELEASE, total, study(1))
    assert one == other
    corrected = total.with_columns(count=pl.lit(6, pl.Int32))
    assert (
        definition_keys(RELEASE, corrected, study(1))[0] != one
    )  # or it would tell the difference
    one, other = independent_keys(total, study(1))
    assert one != other
    assert independent_keys(corrected, study(1))[0] != one
