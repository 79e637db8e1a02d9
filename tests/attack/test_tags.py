"""Flags of records that rules for microdata ask for."""

from __future__ import annotations

import polars as pl

import recon_cli as recon
from tests.support.paths import DATA, needs_shared

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
