"""P29, relationship to the householder, against its description, and of synthetic people."""

from __future__ import annotations

import csv

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.tabulate.tabulation import count_violations
from recon_cli.schema import load_release
from recon_cli.schema.features import Feature
from tests.support import nations
from tests.support.paths import FACTS, needs_shared

NAME = "sf1_2010_relationships"
RACES = ("white", "black", "aian", "asian", "nhpi", "sor")
#: Codes of the relationships of 2010, of people in households.
RELATIONSHIPS = {
    "householder": 20,
    "spouse": 21,
    "child": 25,
    "adopted_child": 26,
    "stepchild": 27,
    "sibling": 28,
    "parent": 29,
    "grandchild": 30,
    "parent_in_law": 31,
    "child_in_law": 32,
    "other_relative": 33,
    "partner": 34,
    "nonrelative": 36,
}
#: Household types, and whether somebody lives alone there.
LIVING = {"family": (1, None), "alone": (4, 1), "with_nonrelatives": (5, 2)}


#: Digits of a tract's geoid.
TRACT = 11


def numbers(value: str) -> set[int]:
    pairs = [part.partition("..") for part in value.split("|")]
    return {n for low, _, high in pairs for n in range(int(low), int(high or low) + 1)}


def wanted_values(field: str, wanted: str, feature: Feature) -> list[object] | None:
    """The values of a feature that a condition allows; None where it is not about the feature."""
    codes = numbers(wanted) if wanted[0].isdigit() else set()
    known: dict[tuple[str, str], list[object]] = {
        ("SEX", "sex"): [wanted],
        ("RACE", "race"): [sum(1 << RACES.index(r) for r in wanted.split("+") if r in RACES)],
        ("NRACES", "race"): [v for v in feature.values if int(v).bit_count() in codes]
        if feature.name == "race"
        else [],
        ("HISP", "hispanic"): [value for value in (False, True) if 1 + value in codes],
        ("REL", "relationship"): [name for name, code in RELATIONSHIPS.items() if code in codes],
        ("HHTYPE", "living"): [name for name, (code, _) in LIVING.items() if code in codes],
        ("LIVE_ALONE", "living"): [name for name, (_, code) in LIVING.items() if code in codes],
        ("GQTYPE", "living"): list(LIVING) if codes == {0} else ["group_quarters"],
    }
    if (field, feature.name) == ("GQTYPE", "relationship") and len(codes & {101, 501}) == 1:
        return ["institutional" if 101 in codes else "noninstitutional"]
    return known.get((field, feature.name))


def mask(feature: Feature, conditions: list[str]) -> int:
    allowed = feature.full
    for condition in conditions:
        field, _, wanted = condition.partition("=")
        values = wanted_values(field, wanted, feature)
        if values is not None:
            allowed &= sum(1 << at for at, value in enumerate(feature.values) if value in values)
    return allowed


@needs_shared
def test_every_cell_equals_its_published_description() -> None:
    release = load_release(NAME)
    with (FACTS / "cells" / "cells_2010_household.csv").open() as lines:
        described = [row for row in csv.DictReader(lines) if row["table"] in release.table_by_name]
    cells = {
        code: (table.name, cell)
        for table in release.tables
        for code, cell in zip(table.codes, table.cells, strict=True)
    }
    assert {row["code"] for row in described} == set(cells)
    assert len(described) == 280
    for row in described:
        table, cell = cells[row["code"]]
        assert (table, cell.number) == (row["table"], int(row["cell"]))
        conditions = [part for part in row["conditions"].split("; ") if part]
        assert cell.masks == tuple(mask(f, conditions) for f in release.features), row["code"]


def test_synthetic_people_are_tabulated_by_relationship() -> None:
    release, persons = load_release(NAME), nations.whole().persons
    assert count_violations(release, persons) == (0,) * len(release.structural_zeros)
    counts = recon.tabulate(release, persons)
    is_wanted = (pl.col("table") == "P29") & (pl.col("geoid").str.len_chars() == TRACT)
    total = counts.filter(is_wanted).group_by("cell").agg(pl.col("count").sum()).sort("cell")
    of_cell = dict(total.iter_rows())
    household = pl.col("household").is_not_null()
    assert of_cell[1] == persons.height
    assert of_cell[2] == persons.filter(household).height
    assert of_cell[8] == persons.filter(relationship="child").height
    single = persons.filter(household).group_by("household").len().filter(len=1).height
    assert of_cell[20] + of_cell[23] == single
    assert of_cell[26] == persons.filter(~household).height == of_cell[27] + of_cell[28]
    heads = persons.filter(relationship="householder").height
    assert of_cell[4] + of_cell[19] + of_cell[22] == heads


def test_relationships_are_reconstructed_and_claimed() -> None:
    release, persons = load_release(NAME), nations.whole().persons
    tract = persons["geoid_block"].str.head(11).unique().sort()[0]
    people = persons.filter(pl.col("geoid_block").str.starts_with(tract))
    people = people.filter(pl.col("geoid_block").is_in(people["geoid_block"].unique().sort()[:6]))
    published = recon.publish(release, recon.tabulate(release, people))
    microdata = recon.reconstruct(release, published, seed=1).microdata
    claims = recon.find_claims(release, published, microdata)
    assert set(claims.columns) >= {"living", "relation", "sex"}
    alone = claims.claims.filter(living="alone").filter("exact")
    assert alone.height
    for row in alone.filter(k=1).iter_rows(named=True):
        here = people.filter(geoid_block=row["geoid_block"], living="alone")
        assert here.height == pytest.approx(row["count"])
