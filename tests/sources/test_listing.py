"""Geounits without any published cell: listed, or unknown; nothing false is called certain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.coverage import UNLISTED, CoveragePattern
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import COUNTS
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.sources import read_geounit_list
from recon_cli.statement import Protection, Statement, parse_law
from recon_cli.store.published import coverage_bytes
from tests.support.enumeration import TooManyError, record_counts, solutions
from tests.support.populations import publish, random_records, random_release, random_units

WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}, "
    "{level: town, digits: 1}], partition: town}\nmicrodata: [sex]\nhistogram: [sex]\nfamilies:\n"
    "  - {levels: [plot, ward, town], cells: [total, {by: sex}], tables: {T: {}}}\n",
    source="wards",
)


#: Wards and towns, and nothing of the plots.
WARDS_ALONE: dict[str, Any] = {
    "release": "wards",
    "title": "Wards",
    "features": {"sex": {"categories": ["women", "men"]}},
    "geography": {
        "levels": [
            {"level": "plot", "digits": 4},
            {"level": "ward", "digits": 3},
            {"level": "town", "digits": 1},
        ],
        "partition": "town",
    },
    "microdata": ["sex"],
    "histogram": ["sex"],
    "families": [{"levels": ["ward", "town"], "cells": ["total"], "tables": {"T": {}}}],
}


def tidy(*rows: tuple[str, int, int]) -> pl.DataFrame:
    """Counts of table T."""
    return pl.DataFrame(
        [(geoid, "T", cell, count) for geoid, cell, count in rows], schema=COUNTS, orient="row"
    )


#: Five people in ward A10; of its plot A101 only "women = 2" is published.
TWO_WOMEN = tidy(("A10", 1, 5), ("A10", 2, 2), ("A10", 3, 3), ("A101", 2, 2))


def certain(release: Release, published: Publication) -> dict[tuple[Any, ...], int]:
    records = recon.reconstruct(release, published).microdata
    sure = records.filter("certain").select(release.geoid_column, *release.histogram)
    return dict(Counter(sure.iter_rows()))


@pytest.mark.parametrize("listed", [None, ["A101", "A102"]])
def test_people_may_live_in_a_geounit_without_published_cells(listed: list[str] | None) -> None:
    published = recon.publish(WARDS, TWO_WOMEN, absent="unpublished", geounits=listed)
    other = "A10_" if listed is None else "A102"
    assert published.geounits["geoid"].to_list() == ["A101", other, "A10"]
    assert certain(WARDS, published) == {("A101", "women"): 2}
    result = recon.reconstruct(WARDS, published)
    assert recon.verify(WARDS, published, result.microdata).ok
    status = dict(result.blocks.select("geoid_plot", "status").iter_rows())
    assert status == {"A101": "solved", other: "open" if listed is None else "solved"}
    found = recon.measure_variability(WARDS, published, result.microdata, mode="exact")
    assert found.units["certain_records"].to_list() == [2, 0]
    assert found.units["certain_upper"].to_list() == [2, 0]


def test_a_geounit_that_is_alone_in_the_list_has_everybody() -> None:
    published = recon.publish(WARDS, TWO_WOMEN, absent="unpublished", geounits=["A101"])
    assert certain(WARDS, published) == {("A101", "women"): 2, ("A101", "men"): 3}


def test_people_of_unlisted_geounits_are_no_contradiction() -> None:
    counts = tidy(("A10", 1, 5), ("A101", 1, 2), ("A20", 1, 4))
    published = recon.publish(WARDS, counts, absent="unpublished")
    records = recon.reconstruct(WARDS, published).microdata
    assert Counter(records["geoid_plot"]) == {"A101": 2, "A10_": 3, "A20_": 4}


def test_units_whose_totals_make_up_the_coarse_total_are_all_there_are() -> None:
    counts = tidy(("A", 1, 5), ("A10", 1, 5), ("A101", 1, 2), ("A102", 1, 3))
    published = recon.publish(WARDS, counts, absent="unpublished")
    assert published.geounits["geoid"].to_list() == ["A101", "A102", "A10", "A"]
    assert b"listed" not in coverage_bytes(published.coverage, WARDS)
    some = tidy(("A", 1, 6), ("A10", 1, 5), ("A101", 1, 2), ("A102", 1, 3))
    published = recon.publish(WARDS, some, absent="unpublished")
    assert published.geounits["geoid"].to_list() == ["A101", "A102", "A___", "A10", "A"]
    assert b'"listed": false' in coverage_bytes(published.coverage, WARDS)


def test_wards_that_are_zero_where_they_have_no_row_hold_everybody_of_a_town() -> None:
    """Of plots nothing is published: the rounded town is what its wards add up to, all the same."""
    release = parse_release(yaml.safe_dump(WARDS_ALONE), source="wards")
    law = Statement(parse_law({"rounded": {"base": 5}}), ("T",), ("town",))
    counts = tidy(("A10", 1, 1), ("A11", 1, 4), ("A", 1, 5))
    published = recon.publish(release, counts, protection=Protection((law,)))
    units = published.geounits.filter(level="plot")["geoid"].to_list()
    assert units == ["A10_", "A11_"], "no other ward has people"
    audit = recon.audit_counts(release, published).filter(cell=1)
    assert audit.select("least", "greatest", "status").rows() == [(5, 5, "recovered")]


def test_a_wholly_suppressed_ward_is_not_uninhabited() -> None:
    counts = tidy(("A", 2, 4), ("A", 3, 0), ("A10", 2, 1), ("A101", 2, 1), ("A201", 2, 1))
    published = recon.publish(WARDS, counts, absent="unpublished")
    assert set(published.geounits["geoid"]) == {"A101", "A201", "A10_", "A___", "A10", "A20", "A"}
    # Of the other two it is certain that they live in plots that are not listed.
    assert certain(WARDS, published) == {
        ("A101", "women"): 1,
        ("A201", "women"): 1,
        ("A___", "women"): 2,
    }


def test_absent_by_table() -> None:
    release = parse_release(WARDS_WITH_TOTALS, source="totals")
    counts = pl.DataFrame(
        [("A10", "T", 1, 5), ("A101", "ALL", 1, 3), ("A102", "T", 1, 0), ("A10", "ALL", 1, 5)],
        schema=COUNTS,
        orient="row",
    )
    published = recon.publish(release, counts, absent={"T": "unpublished"})
    cells = {
        geoid: dict(published.coverage[pattern].cells)
        for geoid, pattern in published.geounits.select("geoid", "pattern").iter_rows()
    }
    every = {"ALL": (1,)}
    # Nobody lives where the table with zeros has no row: the unlisted plots have zeros, too.
    assert cells == {
        "A101": every,
        "A102": {"T": (1,), **every},
        "A10_": every,
        "A10": {"T": (1,), **every},
    }
    with pytest.raises(ConfigError, match="no table 'X' in release 'wards'"):
        recon.publish(release, counts, absent={"X": "zero"})


WARDS_WITH_TOTALS = (
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex]\nhistogram: [sex]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [{by: sex}], tables: {T: {}}}\n"
    "  - {levels: [plot, ward], cells: [total], tables: {ALL: {}}}\n"
)


@pytest.mark.parametrize(
    ("geoids", "message"),
    [
        (["A101", "A1"], "geoid 'A1': expected letters and digits of one of the lengths plot 4"),
        (["A1 1"], "geoid 'A1 1': expected letters and digits"),
        (["A101", "A101"], "geoid A101 is duplicated"),
        (["A10"], "no plot in the list of geounits"),
        (["A102"], "plot A101 has published counts and is not in the list of geounits; 1 such"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, geoids: list[str], message: str) -> None:
    with pytest.raises(SourceError) as caught:
        recon.publish(WARDS, TWO_WOMEN, absent="unpublished", geounits=geoids)
    assert message in str(caught.value)


def test_a_list_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("name,geoid\nfirst,A101\nward,A10\n")
    frame = read_geounit_list(WARDS, tmp_path / "list.csv")
    assert frame.rows() == [("A10", "ward"), ("A101", "plot")]
    frame.write_parquet(tmp_path / "list.parquet")
    assert read_geounit_list(WARDS, tmp_path / "list.parquet").equals(frame)
    (tmp_path / "none.csv").write_text("name\nA101\n")
    with pytest.raises(SourceError, match=r"none.csv: expected a column geoid"):
        read_geounit_list(WARDS, tmp_path / "none.csv")


def with_hidden_geounits(published: Publication, seed: int) -> Publication:
    """Cells withheld at random, and of some geounits all cells."""
    rng = np.random.default_rng(seed)
    coverage, shown = [], []
    for geoid, pattern in published.geounits.select("geoid", "pattern").iter_rows():
        hidden = rng.random() < 0.35
        whole = published.coverage[pattern]
        cells = {
            table: tuple(n for n in numbers if not hidden and rng.random() > 0.2)
            for table, numbers in whole.cells.items()
        }
        coverage.append(CoveragePattern(whole.level, {t: c for t, c in cells.items() if c}))
        shown += [(geoid, table, n) for table, numbers in cells.items() for n in numbers]
    keys = {"geoid": pl.String, "table": pl.String, "cell": pl.Int16}
    frame = pl.DataFrame(shown, schema=keys, orient="row")
    return Publication(
        published.geounits.with_columns(pattern=pl.Series(range(len(coverage)), dtype=pl.Int16)),
        published.counts.join(frame, on=list(keys), how="semi"),
        tuple(coverage),
    )


def as_tidy(published: Publication) -> pl.DataFrame:
    """Every published cell with its count, zeros too."""
    cells = [
        (geoid, table, number)
        for geoid, pattern in published.geounits.select("geoid", "pattern").iter_rows()
        for table, numbers in published.coverage[pattern].cells.items()
        for number in numbers
    ]
    keys = {"geoid": pl.String, "table": pl.String, "cell": pl.Int16}
    frame = pl.DataFrame(cells, schema=keys, orient="row")
    return frame.join(published.counts, on=list(keys), how="left").with_columns(
        pl.col("count").fill_null(0)
    )


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), is_listed=st.booleans())
def test_claims_hold_whoever_lives_in_hidden_geounits(seed: int, *, is_listed: bool) -> None:
    """The oracle knows every unit; the attack only what is published, and maybe the list."""
    release = random_release(seed)
    unit = release.geography.unit.name
    units = random_units(release, seed, 3)
    whole = publish(release, random_records(release, seed, 4, units), units)
    assume(unit in whole.geounits["level"])
    whole = with_hidden_geounits(whole, seed)
    counts = as_tidy(whole)
    digits = release.geography.unit.digits
    assume((counts["geoid"].str.len_chars() == digits).any())
    try:
        every = solutions(release, whole, release.tables, limit=1500)
    except TooManyError:
        assume(False)
        raise
    listed = units if is_listed else None
    published = recon.publish(release, counts, absent="unpublished", geounits=listed)
    result = recon.reconstruct(release, published, seed=seed)
    assert recon.verify(release, published, result.microdata).ok
    for geoid, status in result.blocks.select(release.geoid_column, "status").iter_rows():
        if status == "unique":
            assert len({frozenset(r for r in s if r[0][0] == geoid) for s in every}) == 1
    sure = result.microdata.drop_nulls().filter("certain")
    known = set(published.geounits["geoid"])
    for (geoid, values), n in record_counts(release, sure).items():
        place = geoid.rstrip(UNLISTED)
        homes = [geoid] if place == geoid else [u for u in units if u.startswith(place)]
        for solution in every:
            people = dict(solution)
            there = [home for home in homes if place == geoid or home not in known]
            assert sum(people.get((home, values), 0) for home in there) >= n
