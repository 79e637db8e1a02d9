"""What cannot be claimed is refused in one line; claims of households in words; guessing."""

from __future__ import annotations

from math import comb

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.attack.claims.surprise import matching, probability_by_guessing, with_labels
from recon_cli.errors import ConfigError
from recon_cli.report.claims import claim_sentence
from recon_cli.report.words import words_of
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
        (["TOTAL"], "no published cell of TOTAL tells any column of 'homes' apart"),
        (["TENURE"], "no table 'TENURE' in release 'homes' (tables: TOTAL, KIND, SIZE)"),
        ("ward", "no level 'ward' in release 'homes' (levels: block, town"),
    ],
)
def test_what_cannot_be_claimed_is_refused(
    homes: Release, tables: list[str] | str, message: str
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
    assert "exactly 1 household: alone, size 1; assuming structural zeros" in said
    assert "exactly 2 households: couple; size left open" in said


def test_guessing_is_binomial_and_matching_counts_people(homes: Release) -> None:
    people = with_labels(homes, records(), ("kind", "size"))
    claims = pl.DataFrame(
        {
            "geoid_block": ["A1", "A1", "A2"],
            "kind": ["couple", None, "couple"],
            "size": [2, 1, None],
        },
        schema_overrides={"size": pl.Int16},
    )
    for digits, expected in ((2, [1, 1, 0]), (1, [1, 2, 2])):
        found = matching(claims, people, ("kind", "size"), "geoid_block", digits)
        assert found.to_list() == expected
    count, size, share = pl.Series([1, 0, 2]), pl.Series([10, 3, 2]), pl.Series([0.1, 0.25, 1.0])
    expected_p = [
        comb(n, m) * p**m * (1 - p) ** (n - m) for m, n, p in zip(count, size, share, strict=True)
    ]
    assert probability_by_guessing(count, size, share).to_list() == pytest.approx(expected_p)
