"""Flags of records that rules for microdata ask for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.errors import SourceError
from tests.support.paths import DATA, needs_shared
from tests.support.populations import random_records, random_release, random_units
from tests.support.properties import SEEDS, examples

SF1 = recon.load_release("sf1_2010")


def test_who_is_alone_and_where_few_live() -> None:
    rows = [("a", "male", 30), ("a", "male", 30), ("a", "male", 31), ("b", "male", 30)]
    records = pl.DataFrame(rows, schema=["geoid_block", "sex", "age"], orient="row")
    keys = {"age": ["sex", "age"], "bin": ["sex", "agebin"], "sex": ["sex"]}
    zero = pl.Series(["b"])
    tagged = recon.tag_records(SF1, records, unique=keys, geography=2, zero=zero)
    assert tagged.drop(records.columns).to_dict(as_series=False) == {
        "below_geography": [False, False, False, True],
        "zero_variability": [False, False, False, True],
        "unique_age": [False, False, True, True],
        "unique_bin": [False, False, False, True],
        "unique_sex": [False, False, False, True],
    }


@examples(40)
@given(seed=SEEDS, people=st.integers(0, 30))
def test_certain_and_rare_records_are_those_of_a_loop(seed: int, people: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 3)
    records = random_records(release, seed, people, units)
    names = [feature.name for feature in release.features]
    rng = np.random.default_rng(seed)
    certain = records.filter(pl.Series(rng.random(people) < 0.5)).sample(fraction=1.0, seed=1)
    value = names[seed % len(names)]
    labels = release.features[release.feature_index[value]].values
    people_of = rng.integers(0, 4, len(labels))
    totals = pl.DataFrame({value: labels, "count": people_of}).with_columns(
        pl.col(value).cast(records.schema[value])
    )
    tagged = recon.tag_records(
        release, records, unique={}, certain=certain, totals=(totals,), category=2
    )
    left = Counter(certain.select(release.geoid_column, *names).iter_rows())
    rare = dict(zip(labels, people_of < 2, strict=True))
    for row in tagged.iter_rows(named=True):
        record = (row[release.geoid_column], *(row[name] for name in names))
        assert row["certain"] == (left[record] > 0)
        left[record] -= row["certain"]
        assert row["below_category"] == rare[row[value]]
    assert not +left


def test_a_value_without_people_of_the_country_is_refused() -> None:
    records = pl.DataFrame({"geoid_block": ["a"], "sex": ["male"], "age": [30]})
    totals = pl.DataFrame({"sex": ["female"], "count": [5]})
    with pytest.raises(SourceError, match="no row for sex male"):
        recon.tag_records(SF1, records, unique={}, totals=(totals,))


@needs_shared
def test_unique_people_are_the_bureaus() -> None:
    """In every one of 20,969 published records."""
    published = pl.read_parquet(DATA / "published_records.parquet").rename({"nhopi": "nhpi"})
    flags = ["unique_block_sex_agebin", "unique_block_sex_agebin_race_ethnicity"]
    keys = ["sex", "agebin", "race", "hispanic"]
    tagged = recon.tag_records(SF1, published.drop(flags), unique={"few": keys[:2], "all": keys})
    assert tagged["unique_few"].equals(published[flags[0]], check_names=False)
    assert tagged["unique_all"].equals(published[flags[1]], check_names=False)
    assert (tagged["unique_few"].sum(), tagged["unique_all"].sum()) == (13_719, 13_835)
    assert tagged["below_geography"].all()
