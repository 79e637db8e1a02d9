"""Certificates of claims add up by hand, cell by published cell, whatever the records."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from recon_cli.attack.claims.certificates import find_certificates
from recon_cli.attack.claims.partition import ClaimOptions, find_with_plans, make_claim_plans
from recon_cli.attack.reconstruction.partition import reconstruct
from recon_cli.publication import Publication
from recon_cli.schema import Cell, Release
from tests.attack.test_claims import released
from tests.support.enumeration import Solution, TooManyError, relaxed_solutions
from tests.support.properties import SEEDS, examples


def kinds(release: Release, spaces: set[Solution]) -> set[tuple[int, ...]]:
    """The kinds of records that some solution has, as value positions: no zero excludes them."""
    return {
        tuple(f.position[value] for f, value in zip(release.features, values, strict=True))
        for solution in spaces
        for (_, values), _ in solution
    }


def counts_of(published: Publication, geoid: str) -> dict[tuple[str, int], int]:
    """Every published count of a geounit, zeros included."""
    place = published.geounits.filter(geoid=geoid)
    pattern = published.coverage[place["pattern"][0]]
    found = {
        (t, c): n
        for t, c, n in published.counts.filter(geoid=geoid)["table", "cell", "count"].rows()
    }
    return {(t, c): found.get((t, c), 0) for t, cells in pattern.cells.items() for c in cells}


def added(release: Release, cell: Cell, kind: tuple[int, ...]) -> int:
    """What a record adds to a cell."""
    if not all(mask >> at & 1 for mask, at in zip(cell.masks, kind, strict=True)):
        return 0
    if cell.tally is None:
        return 1
    return int(release.features[cell.tally].values[kind[cell.tally]]).bit_count()


def is_claimed(
    release: Release, columns: tuple[str, ...], claim: dict[str, Any], kind: tuple[int, ...]
) -> bool:
    for name in columns:
        if claim[name] is None:
            continue
        group = release.column_groups(name)
        mask = group.masks[group.labels.index(claim[name])]
        if not mask >> kind[release.feature_index[group.feature]] & 1:
            return False
    return True


@examples(60)
@given(seed=SEEDS, people=st.integers(1, 6))
def test_weighted_cells_prove_claims_for_every_kind_of_record(seed: int, people: int) -> None:
    release, published = released(seed, people, exact=True)
    try:
        spaces = [
            relaxed_solutions(each, published, limit=600)
            for each in (release.without_assumptions(), release)
        ]
    except TooManyError:
        assume(False)
        raise
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    plans = make_claim_plans(release, release.tables, published.coverage, is_exact=True)
    found = find_with_plans(plans, published, microdata, ClaimOptions(seed=1, unit_seconds=30.0))
    claims = found.claims
    proven = find_certificates(plans.assuming, plans.tables_alone, published, claims, found.columns)
    geoid = release.geoid_column
    for claim in claims.iter_rows(named=True):
        here = proven.filter(
            pl.col(name).eq_missing(pl.lit(claim[name])) for name in (geoid, *found.columns)
        )
        if here.is_empty():
            assert claim["proof"] != "rows"
            continue
        assert set(here["end"]) == ({"least", "greatest"} if claim["exact"] else {"least"})
        described = release if claim["rests_on"] != "tables" else release.without_assumptions()
        possible = kinds(release, spaces[described is release][claim[geoid]])
        for (end, divisor), rows in here.group_by("end", "divisor"):
            sign = 1 if end == "least" else -1
            total = 0
            weighted = dict.fromkeys(possible, 0)
            for row in rows.iter_rows(named=True):
                cell = release.table_by_name[row["table"]].cells[row["cell"] - 1]
                assert row["count"] == counts_of(published, row["geoid"])[row["table"], row["cell"]]
                total += row["weight"] * row["count"]
                for kind in possible:
                    weighted[kind] += row["weight"] * added(release, cell, kind)
            for kind, weight in weighted.items():
                inside = is_claimed(release, found.columns, claim, kind)
                assert sign * weight <= sign * int(divisor) * inside
            assert -(-sign * total // int(divisor)) * sign == claim["count"]
