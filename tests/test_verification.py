"""The verifier: agrees with the truth, and finds and names every single change to it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recon_cli.coverage import CoveragePattern
from recon_cli.errors import SourceError, VerificationError
from recon_cli.publication import Publication
from recon_cli.schema import Level, Release, Value, load_release
from recon_cli.verification import MISMATCHES, Verification, verify
from tests.support.paths import ROOT
from tests.support.populations import (
    as_frame,
    count_by_hand,
    publish,
    random_records,
    random_release,
    random_units,
    with_recodes,
)
from tests.support.properties import examples

SEEDS = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def sf1() -> Release:
    return load_release("sf1_2010")


def test_verification_shares_only_the_form_of_a_publication_with_what_it_verifies() -> None:
    code = (
        "import sys, recon_cli.verification, recon_cli.statement.stored_counts; print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    makers = {"model", "solve", "attack", "explain", "stages", "capabilities"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("recon_cli.")}
    assert not makers & ours
    assert not {"ortools", "scipy.optimize"} & set(loaded)
    sources = (ROOT / "recon_cli" / "verification").glob("*.py")
    imported = {
        found
        for path in sources
        for found in re.findall(r"^ *from recon_cli\.(\w+)", path.read_text(), re.MULTILINE)
    }
    assert imported == {
        "arrays",
        "coverage",
        "errors",
        "frames",
        "publication",
        "schema",
        "statement",
        "verification",
    }


def level_of(release: Release, geoid: str) -> Level:
    level = release.geography.level_of(geoid)
    assert level is not None
    return level


def by_hand(release: Release, published: Publication, records: pl.DataFrame) -> pl.DataFrame:
    """Mismatches of a publication of everything: a loop over all geounits, tables and cells."""
    found = count_by_hand(release, records)
    expected = {(g, t, c): n for g, t, c, n in published.counts.iter_rows()}
    listed = set(published.geounits["geoid"])
    found_levels = set(published.geounits["level"])
    finest = next(level for level in release.geography.levels if level.name in found_levels)
    homes = [finest.enclosing(geoid) for geoid in records[release.geoid_column]]
    rows: list[tuple[str | int | None, ...]] = []
    ranks = {geoid: level_of(release, geoid).rank for geoid in {*listed, *homes}}
    for geoid in sorted(ranks, key=lambda geoid: (-ranks[geoid], geoid)):
        level = level_of(release, geoid).name
        here: list[tuple[str | int | None, ...]] = [
            (geoid, level, table.name, cell.number, code, expected.get(key, 0), found.get(key, 0))
            for table in release.tables
            if level in table.levels
            for cell, code in zip(table.cells, table.codes, strict=True)
            for key in [(geoid, table.name, cell.number)]
            if expected.get(key, 0) != found.get(key, 0)
        ]
        if geoid not in listed and not here:
            here = [(geoid, level, None, None, None, 0, homes.count(geoid))]
        rows.extend(here)
    return pl.DataFrame(rows, schema=MISMATCHES, orient="row")


def everything(release: Release, published: Publication) -> int:
    return sum(
        len(table.cells)
        for level in published.geounits["level"]
        for table in release.tables
        if level in table.levels
    )


@pytest.mark.parametrize("name", ["sf1_2010", "clinic_visits"])
def test_the_truth_verifies(name: str) -> None:
    release = load_release(name)
    units = random_units(release, 3, 20)
    records = random_records(release, 3, 150, units[:15])
    counts = as_frame(release, count_by_hand(release, records))
    published = publish(release, records, units, counts)
    assert 0 in published.geounits["population"]
    verification = verify(release, published, with_recodes(release, records), release.tables)
    assert verification.ok
    assert verification.mismatches.schema == MISMATCHES
    assert verification.cells_compared == everything(release, published)
    verification.require()


@examples(40)
@given(seed=SEEDS, people=st.integers(0, 25), others=st.integers(0, 25))
def test_equals_the_loop_for_any_two_populations(seed: int, people: int, others: int) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 6)
    published = publish(release, random_records(release, seed, people, units), units)
    more = random_units(release, seed, 8)  # of which some may not be listed
    records = random_records(release, seed + 1, others, more)
    verification = verify(release, published, records, release.tables)
    assert_frame_equal(verification.mismatches, by_hand(release, published, records))
    assert verification.cells_compared == everything(release, published)


@examples(40)
@given(seed=SEEDS, data=st.data())
def test_every_changed_count_is_found_and_named(seed: int, data: st.DataObject) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 5)
    records = random_records(release, seed, 20, units)
    truth = publish(release, records, units)
    row = data.draw(st.integers(0, truth.counts.height - 1))
    by = data.draw(st.sampled_from([-1, 1, 7, None]), label="change, or None to remove")
    at = pl.int_range(pl.len()) == row
    geoid, table, cell, count = truth.counts.row(row)
    told = 0 if by is None else count + by
    changed = (
        truth.counts.filter(~at)
        if by is None
        else truth.counts.with_columns(count=pl.col("count") + pl.when(at).then(by).otherwise(0))
    )
    verification = verify(release, replace(truth, counts=changed), records, release.tables)
    level, code = level_of(release, geoid).name, _code(release, table, cell)
    assert verification.mismatches.rows() == [(geoid, level, table, cell, code, told, count)]
    with pytest.raises(
        VerificationError, match=f"{re.escape(code)}: expected {told}, found {count}"
    ):
        verification.require()


@examples(30)
@given(seed=SEEDS, data=st.data())
def test_a_count_where_there_is_nobody_is_found(seed: int, data: st.DataObject) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 5)
    records = random_records(release, seed, 3, units)
    truth = publish(release, records, units)
    taken = set(truth.counts.select("geoid", "table", "cell").iter_rows())
    zeros = [
        (geoid, table.name, cell.number)
        for geoid, level in truth.geounits.select("geoid", "level").iter_rows()
        for table in release.tables
        if level in table.levels
        for cell in table.cells
        if (geoid, table.name, cell.number) not in taken
    ]
    assume(zeros)
    geoid, table, cell = data.draw(st.sampled_from(zeros))
    extra = pl.DataFrame([(geoid, table, cell, 1)], schema=truth.counts.schema, orient="row")
    published = replace(truth, counts=pl.concat([extra, truth.counts]))
    mismatches = verify(release, published, records, release.tables).mismatches
    assert mismatches.drop("level", "code").rows() == [(geoid, table, cell, 1, 0)]


def _code(release: Release, table: str, cell: int) -> str:
    return release.table_by_name[table].codes[cell - 1]


@examples(40)
@given(seed=SEEDS, data=st.data())
def test_every_change_to_a_record_is_found(seed: int, data: st.DataObject) -> None:
    release = random_release(seed)
    units = random_units(release, seed, 5)
    records = random_records(release, seed, 12, units)
    published = publish(release, records, units)
    row = data.draw(st.integers(0, records.height - 1))
    how = data.draw(st.sampled_from(["move", "drop", "duplicate", "change"]))
    changed = _changed(release, records, row, how, data)
    expected = by_hand(release, published, changed)
    assert_frame_equal(verify(release, published, changed, release.tables).mismatches, expected)


def _changed(
    release: Release, records: pl.DataFrame, row: int, how: str, data: st.DataObject
) -> pl.DataFrame:
    if how == "drop":
        return pl.concat([records[:row], records[row + 1 :]])
    if how == "duplicate":
        return pl.concat([records, records[row]])
    if how == "move":
        column = release.geoid_column
        new: Value = data.draw(st.sampled_from(records[column].to_list()))
    else:
        feature = data.draw(st.sampled_from(release.features))
        column, new = feature.name, data.draw(st.sampled_from(feature.values))
    series = records[column].to_list()
    series[row] = new
    return records.with_columns(pl.Series(column, series, records.schema[column]))


@pytest.fixture(scope="module")
def census(sf1: Release) -> tuple[list[str], pl.DataFrame, Publication]:
    """Blocks, their people, and what is published of them."""
    units = random_units(sf1, 8, 10)
    records = random_records(sf1, 8, 40, units)
    return units, records, publish(sf1, records, units)


@pytest.mark.parametrize("row", range(0, 40, 11))
@pytest.mark.parametrize("how", ["block", "sex", "age", "race", "hispanic", "drop", "duplicate"])
def test_no_change_to_a_census_record_goes_unseen(
    sf1: Release, census: tuple[list[str], pl.DataFrame, Publication], row: int, how: str
) -> None:
    units, records, published = census
    person = records.row(row, named=True)
    rest = pl.concat([records[:row], records[row + 1 :]])
    race = 1 + (person["race"] % 63)
    changes: dict[str, dict[str, object] | None] = {
        "block": {"geoid_block": next(u for u in units if u != person["geoid_block"])},
        "sex": {"sex": "male" if person["sex"] == "female" else "female"},
        "age": {"age": person["age"] - 5 if person["age"] > 99 else person["age"] + 1},
        "race": {"race": race},
        "hispanic": {"hispanic": not person["hispanic"]},
        "drop": None,
        "duplicate": {},
    }
    change = changes[how]
    if how == "duplicate":
        rest = records
    new = [] if change is None else [pl.DataFrame([{**person, **change}], schema=records.schema)]
    seen = verify(sf1, published, pl.concat([rest, *new]), sf1.tables).mismatches
    assert person["geoid_block"] in seen["geoid"] or person["geoid_block"][:11] in seen["geoid"]
    if how not in {"block", "drop"}:
        assert (seen["found"] > seen["expected"]).any()
    if how not in {"block", "duplicate"}:
        assert (seen["found"] < seen["expected"]).any()


def test_swapping_two_people_of_a_block_is_no_change(sf1: Release) -> None:
    records = random_records(sf1, 8, 40)
    assert verify(sf1, publish(sf1, records), records.reverse(), sf1.tables).ok


def _suppress(published: Publication, geoid: str, table: str, cell: int) -> Publication:
    """``published`` without one cell of one geounit, neither its count nor a claim of zero."""
    old = dict(published.geounits.select("geoid", "pattern").iter_rows())[geoid]
    cells = dict(published.coverage[old].cells)
    cells[table] = tuple(number for number in cells[table] if number != cell)
    if not cells[table]:
        del cells[table]
    here = (pl.col("geoid") == geoid) & (pl.col("table") == table) & (pl.col("cell") == cell)
    new = pl.lit(len(published.coverage), pl.Int16)
    return Publication(
        published.geounits.with_columns(
            pattern=pl.when(pl.col("geoid") == geoid).then(new).otherwise("pattern")
        ),
        published.counts.filter(~here),
        (*published.coverage, CoveragePattern(published.coverage[old].level, cells)),
    )


@examples(30)
@given(seed=SEEDS, data=st.data())
def test_suppressed_cells_are_not_compared(seed: int, data: st.DataObject) -> None:
    release = random_release(seed)
    records = random_records(release, seed, 15)
    truth = publish(release, records)
    geoid, table, cell, _ = truth.counts.row(
        data.draw(st.integers(0, truth.counts.height - 1), label="suppressed")
    )
    published = _suppress(truth, geoid, table, cell)
    verification = verify(release, published, records, release.tables)
    assert verification.ok
    assert verification.cells_compared == everything(release, truth) - 1
    # The same cell elsewhere, and other cells of the same geounit, still are.
    others = random_records(release, seed + 1, 15, records[release.geoid_column].to_list())
    here = pl.all_horizontal(
        pl.col("geoid") == geoid, pl.col("table") == table, pl.col("cell") == cell
    )
    assert_frame_equal(
        verify(release, published, others, release.tables).mismatches,
        by_hand(release, truth, others).filter(~here),
    )


def test_a_count_of_a_suppressed_cell_contradicts_its_coverage(sf1: Release) -> None:
    records = random_records(sf1, 5, 30)
    truth = publish(sf1, records)
    geoid = truth.geounits.filter(pl.col("level") == "tract")["geoid"][0]
    suppressed = replace(_suppress(truth, geoid, "PCT12", 1), counts=truth.counts)
    with pytest.raises(SourceError, match=f"'{geoid}', table 'PCT12', cell 1.*its coverage says"):
        verify(sf1, suppressed, records, sf1.tables)


def test_only_the_given_tables_are_compared(sf1: Release) -> None:
    records = random_records(sf1, 6, 30)
    published = publish(sf1, records)
    older = records.with_columns(age=pl.lit(70, pl.Int16))
    some = sf1.select_tables(("P1", "P8", "P9"))
    verification = verify(sf1, published, older, some)
    assert verification.ok
    assert verification.cells_compared == published.geounits.height * (1 + 71 + 73)
    assert not verify(sf1, published, older, sf1.select_tables(("P1", "P14"))).ok
    blind = records.with_columns(age=pl.lit(None, pl.Int16))
    assert verify(sf1, published, blind, some).ok
    with pytest.raises(VerificationError, match=r"'age' is null .* table 'P10'"):
        verify(sf1, published, blind, sf1.tables)
    with pytest.raises(VerificationError, match="nothing would be compared"):
        verify(sf1, published, records, ())


def test_no_records_leave_every_count_unexplained(sf1: Release) -> None:
    published = publish(sf1, random_records(sf1, 6, 30))
    verification = verify(sf1, published, random_records(sf1, 6, 0), sf1.tables)
    assert verification.mismatches.height == published.counts.height
    assert verification.mismatches["expected"].sum() == published.counts["count"].sum()
    assert set(verification.mismatches["found"]) == {0}


def test_no_records_where_nobody_lives(sf1: Release) -> None:
    nobody = random_records(sf1, 6, 0)
    published = publish(sf1, nobody, random_units(sf1, 6, 4))
    verification = verify(sf1, published, nobody, sf1.tables)
    assert verification.ok
    assert verification.cells_compared == everything(sf1, published) > 0
    stranger = random_records(sf1, 6, 1, random_units(sf1, 6, 1))
    found = verify(sf1, published, stranger, sf1.tables).mismatches
    assert (
        found.drop("level", "code", "expected").rows()
        == as_frame(sf1, count_by_hand(sf1, stranger)).rows()
    )


def test_records_outside_the_geounits_cannot_hide(sf1: Release) -> None:
    units = random_units(sf1, 6, 4)
    records = random_records(sf1, 6, 30, units)
    published = publish(sf1, records, units)
    elsewhere = random_records(sf1, 7, 2).with_columns(
        geoid_block=pl.lit("999990000001000"), age=pl.lit(30, pl.Int16)
    )
    both = pl.concat([records, elsewhere])
    verification = verify(sf1, published, both, sf1.tables)
    assert set(verification.mismatches["geoid"]) == {"999990000001000"}
    assert verification.cells_compared == everything(sf1, published)
    assert ("P1", 1, "P0010001", 0, 2) in verification.mismatches.drop("geoid", "level").rows()
    # Nor where no verified table counts them: P14 is about children, PCT12 about tracts.
    unseen = verify(sf1, published, both, sf1.select_tables(("P14", "PCT12")))
    stray = ("999990000001000", "block", None, None, None, 0, 2)
    assert unseen.mismatches.rows() == [stray]
    with pytest.raises(
        VerificationError, match="records outside the published geounits: expected 0"
    ):
        unseen.require()


def test_records_outside_the_geounits_cannot_hide_behind_suppression(sf1: Release) -> None:
    records = random_records(sf1, 6, 10)
    truth = publish(sf1, records)
    complete = truth.coverage[0]
    fewer = {name: cells for name, cells in complete.cells.items() if name != "P1"}
    published = replace(
        truth,
        coverage=(CoveragePattern(complete.level, fewer), *truth.coverage[1:]),
        counts=truth.counts.filter(
            (pl.col("table") != "P1") | (pl.col("geoid").str.len_chars() < 15)
        ),
    )
    stray = records[:1].with_columns(geoid_block=pl.lit("999990000001000"))
    both = pl.concat([records, stray])
    found = verify(sf1, published, both, sf1.select_tables(("P1",))).mismatches
    assert found.rows() == [("999990000001000", "block", "P1", 1, "P0010001", 0, 1)]


def test_an_unlisted_block_of_a_listed_tract(sf1: Release) -> None:
    units = random_units(sf1, 6, 4)
    records = random_records(sf1, 6, 30, units)
    stray = units[0][:11] + "9999"
    moved = records.with_columns(
        geoid_block=pl.when(pl.int_range(pl.len()) == 0)
        .then(pl.lit(stray))
        .otherwise("geoid_block")
    )
    verification = verify(sf1, publish(sf1, records, units), moved, sf1.select_tables(("P1",)))
    found = verification.mismatches.filter(pl.col("level") == "block")
    home = records["geoid_block"][0]
    assert set(found["geoid"]) == {stray, home}


def test_units_are_optional_where_only_coarser_levels_are_published(sf1: Release) -> None:
    records = random_records(sf1, 6, 30)
    truth = publish(sf1, records)
    tracts = replace(
        truth,
        geounits=truth.geounits.filter(pl.col("level") == "tract"),
        counts=truth.counts.filter(pl.col("geoid").str.len_chars() == 11),
    )
    assert verify(sf1, tracts, records, sf1.tables).ok
    away = records.with_columns(geoid_block=pl.lit("99999000000") + pl.lit("1000"))
    found = verify(sf1, tracts, away, sf1.tables).mismatches
    assert "99999000000" in set(found["geoid"])
    assert set(found["level"]) == {"tract"}


def test_nothing_listed_and_somebody_found(sf1: Release) -> None:
    records = random_records(sf1, 6, 1)
    truth = publish(sf1, records)
    nothing = replace(truth, geounits=truth.geounits.clear(), counts=truth.counts.clear())
    verification = verify(sf1, nothing, records, sf1.tables)
    assert not verification.ok
    assert verification.cells_compared == 0


def test_the_message_names_the_first_mismatches_and_counts_the_rest(sf1: Release) -> None:
    records = random_records(sf1, 5, 30)
    published = publish(sf1, records)
    with pytest.raises(VerificationError) as caught:
        verify(sf1, published, records[1:], sf1.tables).require()
    message, block = str(caught.value), records["geoid_block"][0]
    people = records["geoid_block"].to_list().count(block)
    assert f"block {block} P1 P0010001: expected {people}, found {people - 1}; " in message
    total = verify(sf1, published, records[1:], sf1.tables).mismatches.height
    assert f"{total} mismatches" in message
    assert message.endswith(f"and {total - 5} more")


def test_a_large_partition_is_compared_slab_by_slab(
    sf1: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = random_units(sf1, 5, 30)
    published = publish(sf1, random_records(sf1, 5, 60, units), units)
    records = random_records(sf1, 6, 60, random_units(sf1, 5, 33))
    whole = verify(sf1, published, records, sf1.tables)
    monkeypatch.setattr("recon_cli.verification.comparison._SLAB", 4)
    assert_frame_equal(verify(sf1, published, records, sf1.tables).mismatches, whole.mismatches)


def test_the_order_of_geounits_and_counts_does_not_matter(sf1: Release) -> None:
    truth = publish(sf1, random_records(sf1, 5, 60))
    records = random_records(sf1, 6, 60, truth.geounits.filter(level="block")["geoid"].to_list())
    shuffled = replace(
        truth,
        geounits=truth.geounits.sample(fraction=1, shuffle=True, seed=1),
        counts=truth.counts.sample(fraction=1, shuffle=True, seed=1),
    )
    expected: Verification = verify(sf1, truth, records, sf1.tables)
    assert_frame_equal(verify(sf1, shuffled, records, sf1.tables).mismatches, expected.mismatches)


def _with_count(truth: Publication, *row: object) -> Publication:
    extra = pl.DataFrame([row], schema=truth.counts.schema, orient="row")
    return replace(truth, counts=pl.concat([truth.counts, extra]))


def test_counts_that_contradict_their_own_publication_are_refused(sf1: Release) -> None:
    records = random_records(sf1, 5, 30)
    truth = publish(sf1, records)
    block = truth.geounits.filter(level="block")["geoid"][0]
    for published, said in [
        (_with_count(truth, "999990000001000", "P1", 1, 4), "'999990000001000'.*no such geounit"),
        (_with_count(truth, block, "P1", 2, 4), "'P1', cell 2, count 4: no such geounit or cell"),
        (_with_count(truth, block, "P1", 0, 4), "'P1', cell 0"),
        (_with_count(truth, block, "P12Z", 1, 4), "no table 'P12Z'"),
        (_with_count(truth, block, "P8", 71, None), "count None"),
        (_with_count(truth, block, "PCT12", 1, 4), "'PCT12', cell 1.*not published there"),
        (_with_count(truth, block, "P1", 1, 4), "'P1', cell 1.*given twice .2 such"),
    ]:
        with pytest.raises(SourceError, match=said):
            verify(sf1, published, records, sf1.tables)


def test_geounits_that_contradict_their_coverage_are_refused(sf1: Release) -> None:
    records = random_records(sf1, 5, 30)
    truth = publish(sf1, records)
    block = pl.col("level") == "block"
    for geounits, said in [
        (truth.geounits.with_columns(pattern=pl.lit(9, pl.Int16)), "coverage pattern 9"),
        (truth.geounits.with_columns(pattern=pl.lit(-1, pl.Int16)), "coverage pattern -1"),
        (truth.geounits.with_columns(pattern=pl.lit(None, pl.Int16)), "coverage pattern None"),
        (truth.geounits.with_columns(pattern=pl.lit(2, pl.Int16)), "level 'block' and coverage"),
        (truth.geounits.with_columns(pl.col("geoid").str.head(11)), "a geoid of 11 characters"),
        (pl.concat([truth.geounits, truth.geounits.filter(block)]), "is listed twice"),
    ]:
        with pytest.raises(SourceError, match=said):
            verify(sf1, replace(truth, geounits=geounits), records, sf1.tables)
    wrong = CoveragePattern("block", {"PCT12": (1,)})
    with pytest.raises(SourceError, match="no table 'PCT12' at level 'block'"):
        verify(sf1, replace(truth, coverage=(*truth.coverage, wrong)), records, sf1.tables)


def test_negative_published_counts_are_compared_too(sf1: Release) -> None:
    records = random_records(sf1, 5, 30)
    truth = publish(sf1, records)
    noisy = truth.counts.with_columns(
        count=pl.when(pl.int_range(pl.len()) == 0).then(-3).otherwise("count").cast(pl.Int32)
    )
    found = verify(sf1, replace(truth, counts=noisy), records, sf1.tables).mismatches
    assert found.select("table", "expected").rows() == [("P1", -3)]
