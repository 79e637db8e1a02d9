"""What cannot be claimed is refused in one line; claims of households in words; guessing."""

from __future__ import annotations

from math import comb

import numpy as np
import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.claims.surprise import (
    count_records,
    matching,
    probability_by_guessing,
    probability_of_at_least,
    share_of,
)
from recon_cli.capabilities.show.geounit_page import claim_sentence
from recon_cli.errors import ConfigError
from recon_cli.page.words import words_of
from recon_cli.schema import Release, parse_release

HOMES = """\
release: homes
title: Homes
record: household
features: {kind: {categories: [alone, couple]}, size: {range: 1..3}}
geography: {levels: [{level: block, digits: 2}, {level: town, digits: 1}], partition: town}
microdata: [kind, size]
histogram: [kind, size]
structural_zeros:
  - {when: {kind: alone}, only: {size: 1}}
  - {when: {size: 1}, only: {kind: alone}}
families:
  - {levels: [block], cells: [total], tables: {TOTAL: {}}}
  - {levels: [block], cells: [{by: kind}], tables: {KIND: {}}}
  - {levels: [block], cells: [{by: size}], tables: {SIZE: {}}}
"""


@pytest.fixture
def homes() -> Release:
    return parse_release(HOMES, source="homes")


def records() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "geoid_block": ["A1", "A1", "A1", "A2"],
            "kind": ["alone", "couple", "couple", "alone"],
            "size": pl.Series([1, 2, 3, 1], dtype=pl.Int16),
        }
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (("TOTAL",), "no published cell of TOTAL tells any column of 'homes' apart"),
        (("TENURE",), "no table 'TENURE' in release 'homes' (tables: TOTAL, KIND, SIZE)"),
        ("ward", "no level 'ward' in release 'homes' (levels: block, town"),
    ],
)
def test_what_cannot_be_claimed_is_refused(
    homes: Release, tables: tuple[str, ...] | str, message: str
) -> None:
    published = recon.publish(homes, recon.tabulate(homes, records()))
    microdata = recon.reconstruct(homes, published, seed=1).microdata
    with pytest.raises(ConfigError) as error:
        recon.find_claims(homes, published, microdata, tables=tables)
    assert message in str(error.value)


def test_a_unit_without_tables_is_open(homes: Release) -> None:
    counts = recon.tabulate(homes, records()).filter(pl.col("geoid") != "A2")
    published = recon.publish(homes, counts, absent="unpublished", geounits=["A1", "A2"])
    microdata = recon.reconstruct(homes, published, seed=1).microdata
    units = recon.find_claims(homes, published, microdata).units
    assert dict(units.select("geoid_block", "status").iter_rows()) == {
        "A1": "complete",
        "A2": "open",
    }


def test_a_claim_says_what_it_assumes_and_what_it_is_about(homes: Release) -> None:
    published = recon.publish(homes, recon.tabulate(homes, records()))
    microdata = recon.reconstruct(homes, published, seed=1).microdata
    found = recon.find_claims(homes, published, microdata)
    claims = found.claims.filter(geoid_block="A1")
    words = words_of(homes)
    said = {
        claim_sentence(homes, words, found.columns, row) for row in claims.iter_rows(named=True)
    }
    # Half of everybody live alone: of three, one or two do with a chance of 3/8.
    assert (
        "exactly 1 household: alone, size 1; assuming structural zeros; 37.5% by guessing" in said
    )
    assert "exactly 2 households: couple; size left open; 37.5% by guessing" in said


def test_guessing_is_binomial_and_matching_counts_people(homes: Release) -> None:
    people = count_records(homes, records(), ("kind", "size"))
    claims = pl.DataFrame(
        {
            "geoid_block": ["A1", "A1", "A2"],
            "kind": ["couple", None, "couple"],
            "size": [2, 1, None],
        },
        schema_overrides={"size": pl.Int16},
    )
    for digits, expected in ((2, [1, 1, 0]), (1, [1, 2, 2])):
        found = matching(claims, people, ("kind", "size"), pl.col("geoid_block").str.head(digits))
        assert found.to_list() == expected
        shares = share_of(claims, people, ("kind", "size"), pl.col("geoid_block").str.head(digits))
        sizes = {2: [3, 3, 1], 1: [4, 4, 4]}[digits]
        assert (shares * sizes).tolist() == expected
    count, size, share = np.array([1.0, 1, 2]), np.array([10.0, 3, 2]), np.array([0.1, 0.25, 1])
    exactly = [binomial(*each) for each in zip(count, size, share, strict=True)]
    assert probability_by_guessing(count, size, share).tolist() == pytest.approx(exactly)
    at_least = [
        sum(binomial(each, n, p) for each in np.arange(m, n + 1))
        for m, n, p in zip(count, size, share, strict=True)
    ]
    assert probability_of_at_least(count, size, share).tolist() == pytest.approx(at_least)


def binomial(count: float, people: float, share: float) -> float:
    """That exactly so many of some people have a value."""
    ways = comb(int(people), int(count))
    return float(ways * share**count * (1 - share) ** (people - count))


def test_claims_come_with_what_guessing_gives_them(homes: Release) -> None:
    towns = HOMES.replace(
        "levels: [block], cells: [total]", "levels: [block, town], cells: [total]"
    )
    release = parse_release(towns, source="homes")
    people = pl.concat([records(), records().with_columns(geoid_block=pl.lit("B1"))])
    published = recon.publish(release, recon.tabulate(release, people))
    microdata = recon.reconstruct(release, published, seed=1).microdata
    claims = recon.find_claims(release, published, microdata).claims
    couples = claims.filter(kind="couple", geoid_block="A1").filter(pl.col("size").is_null())
    # Two of three, where half of the town and of everybody are couples.
    assert couples.select("p_region", "p_all").row(0) == pytest.approx((3 / 8, 3 / 8))
    # Every block is a region of its own where no other level has tables.
    published = recon.publish(homes, recon.tabulate(homes, people))
    microdata = recon.reconstruct(homes, published, seed=1).microdata
    alone = recon.find_claims(homes, published, microdata).claims
    assert alone["p_region"].is_null().all()
    assert alone["p_all"].is_not_null().all()
