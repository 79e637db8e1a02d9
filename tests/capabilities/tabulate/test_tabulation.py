"""Tabulation against a double loop over people and cells, and against published files."""

from __future__ import annotations

import csv
import io
import zipfile

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from recon_cli.capabilities.tabulate.tabulation import tabulate
from recon_cli.errors import VerificationError
from recon_cli.frames import COUNTS
from recon_cli.schema import Release, load_release, parse_release
from tests.support.paths import DATA, needs_shared
from tests.support.populations import (
    as_frame,
    count_by_hand,
    random_records,
    random_release,
    random_units,
    with_recodes,
)
from tests.support.properties import examples


@pytest.fixture(scope="module")
def sf1() -> Release:
    return load_release("sf1_2010")


@pytest.fixture(scope="module")
def clinics() -> Release:
    return load_release("clinic_visits")


@pytest.mark.parametrize("skew", [True, False])
@pytest.mark.parametrize("name", ["sf1_2010", "clinic_visits"])
def test_equals_the_double_loop(name: str, skew: bool) -> None:
    release = load_release(name)
    records = random_records(release, 7, 300, skew=skew)
    assert_frame_equal(
        tabulate(release, records), as_frame(release, count_by_hand(release, records))
    )


@examples(75)
@given(seed=st.integers(0, 10**6), people=st.integers(0, 40))
def test_equals_the_double_loop_on_random_releases(seed: int, people: int) -> None:
    release = random_release(seed)
    records = random_records(release, seed, people)
    assert_frame_equal(
        tabulate(release, records), as_frame(release, count_by_hand(release, records))
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_a_choice_of_tables_and_levels(seed: int, data: st.DataObject) -> None:
    release = random_release(seed)
    records = random_records(release, seed, 25)
    tables = data.draw(st.lists(st.sampled_from(release.tables), unique=True))
    names = {table.name for table in tables}
    expected = tabulate(release, records).filter(pl.col("table").is_in(names))
    assert_frame_equal(tabulate(release, records, tables), expected)
    level = data.draw(st.sampled_from(release.geography.levels))
    counts = tabulate(release, records, tables, [level.name])
    assert counts.select(level.has(pl.col("geoid")))["geoid"].all()
    published_there = {table.name for table in tables if level.name in table.levels}
    assert_frame_equal(
        counts.filter(pl.col("table").is_in(published_there)),
        expected.filter(level.has(pl.col("geoid"))),
    )


def test_any_level_can_be_asked_for(sf1: Release) -> None:
    records = random_records(sf1, 3, 50)
    counts = tabulate(sf1, records, sf1.select_tables(("P1",)), ["county", "state"])
    county = records["geoid_block"][0][:5]
    assert counts.rows() == [(county, "P1", 1, 50), (county[:2], "P1", 1, 50)]


def test_a_two_race_person_is_tallied_twice(sf1: Release) -> None:
    records = random_records(sf1, 1, 1).with_columns(race=pl.lit(1 + 8, pl.Int16))
    counts = tabulate(sf1, records, sf1.select_tables(("P6",)), ["block"])
    assert dict(counts.select("cell", "count").iter_rows()) == {1: 2, 2: 1, 5: 1}


def test_the_oldest_and_youngest_are_counted(sf1: Release) -> None:
    records = random_records(sf1, 1, 4).with_columns(
        age=pl.Series([0, 104, 105, 110], dtype=pl.Int16), sex=pl.lit("male")
    )
    counts = tabulate(sf1, records, sf1.select_tables(("PCT12",)))
    codes = sf1.table_by_name["PCT12"].codes
    found = {codes[cell - 1] for cell in counts["cell"]}
    total, male, infant, past_100, past_105, past_110 = (1, 2, 3, 103, 104, 105)
    wanted = (total, male, infant, past_100, past_105, past_110)
    assert found == {f"PCT0120{number:03d}" for number in wanted}


def test_no_records_no_counts(sf1: Release) -> None:
    counts = tabulate(sf1, random_records(sf1, 1, 0))
    assert counts.is_empty()
    assert counts.schema == COUNTS


def test_no_tables_no_counts(sf1: Release) -> None:
    assert tabulate(sf1, random_records(sf1, 1, 10), ()).is_empty()


def test_order_of_rows_and_other_columns_do_not_matter(clinics: Release) -> None:
    records = random_records(clinics, 5, 200)
    expected = tabulate(clinics, records)
    shuffled = with_recodes(clinics, records.sample(fraction=1, shuffle=True, seed=1))
    assert "ageband" in shuffled.columns
    assert_frame_equal(tabulate(clinics, shuffled.reverse()), expected)


def test_wider_integers_and_enums_are_the_same_values(sf1: Release) -> None:
    records = random_records(sf1, 5, 100)
    recast = records.with_columns(
        pl.col("age").cast(pl.Int64),
        pl.col("race").cast(pl.UInt8),
        pl.col("sex").cast(pl.Enum(["female", "male"])),
    )
    assert_frame_equal(tabulate(sf1, recast), tabulate(sf1, records))
    categorical = records.with_columns(pl.col("sex").cast(pl.Categorical))
    assert_frame_equal(tabulate(sf1, categorical), tabulate(sf1, records))


WIDE = """
release: wide
title: More combinations of values than 64 bits can number
features: {%s}
geography: {levels: [{level: plot, digits: 2}], partition: plot}
microdata: [%s]
histogram: [%s]
families:
  - {levels: [plot], cells: [%s], tables: {WIDE: {}}}
"""


def test_more_combinations_than_64_bits_can_number() -> None:
    names = [f"f{i}" for i in range(10)]
    ranges = ", ".join(f"{name}: {{range: 0..255}}" for name in names)
    cells = ", ".join(f"{{by: {name}}}" for name in names)
    text = WIDE % (ranges, ", ".join(names), ", ".join(names), cells)
    release = parse_release(text, source="wide")
    # People who differ in the first feature alone would share a code that wraps around.
    records = random_records(release, 1, 1)
    records = pl.concat([records.with_columns(f0=pl.lit(i, pl.Int16)) for i in (0, 1, 1, 200)])
    expected = as_frame(release, count_by_hand(release, records))
    assert_frame_equal(tabulate(release, records), expected)
    records = random_records(release, 2, 60, skew=False)
    expected = as_frame(release, count_by_hand(release, records))
    assert_frame_equal(tabulate(release, records), expected)


def test_predicates_are_evaluated_piece_by_piece(
    sf1: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = random_records(sf1, 9, 300)
    expected = tabulate(sf1, records)
    monkeypatch.setattr("recon_cli.capabilities.tabulate.tabulation._PAIRS", 50)
    assert_frame_equal(tabulate(sf1, records), expected)


def test_a_feature_that_was_not_reconstructed(sf1: Release) -> None:
    records = random_records(sf1, 2, 60)
    blind = records.with_columns(age=pl.lit(None, pl.Int16), sex=pl.lit(None))
    tables = sf1.select_tables(("P1", "P6", "P7", "P8", "P9"))
    assert_frame_equal(tabulate(sf1, blind, tables), tabulate(sf1, records, tables))
    with pytest.raises(VerificationError) as caught:
        tabulate(sf1, blind, sf1.select_tables(("P9", "P10", "P12")))
    message = str(caught.value)
    assert "'sex' is null (not reconstructed)" in message
    assert records["geoid_block"][0] in message
    assert "'P12'" in message
    with pytest.raises(VerificationError, match=r"'age' is null .* table 'P10' .*60 such"):
        tabulate(sf1, blind.with_columns(sex=records["sex"]))


def test_a_single_null_where_a_table_tallies_the_feature(clinics: Release) -> None:
    records = random_records(clinics, 2, 60)
    holes = pl.when(pl.int_range(pl.len()) == 41).then(None).otherwise("conditions")
    with pytest.raises(VerificationError, match="table 'CONDITIONS' distinguishes it") as caught:
        tabulate(clinics, records.with_columns(conditions=holes))
    assert records["geoid_clinic"][41] in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("age", 111, "'age': 1 records, the first in "),
        ("age", -1, "'age': 1 records, the first in "),
        ("race", 0, "'race': 1 records, the first in "),
        ("race", 64, "'race': 1 records, the first in "),
        ("sex", "Male", "'sex': 1 records, the first in "),
        ("geoid_block", "01073005103100", "1 records have what is not a geoid of level 'block'"),
        ("geoid_block", None, "what is not a geoid of level 'block', which has 15 characters"),
    ],
)
def test_values_outside_the_schema_are_named(
    sf1: Release, column: str, value: object, said: str
) -> None:
    records = random_records(sf1, 4, 30)
    one = pl.int_range(pl.len()) == 17
    wrong = records.with_columns(pl.when(one).then(pl.lit(value)).otherwise(column).alias(column))
    with pytest.raises(VerificationError) as caught:
        tabulate(sf1, wrong)
    message = str(caught.value)
    assert said in message
    assert value is None or f"'{value}'" not in message
    if column != "geoid_block":
        assert records["geoid_block"][17] in message


def test_values_are_checked_even_where_no_table_sees_them(sf1: Release) -> None:
    records = random_records(sf1, 4, 3).with_columns(age=pl.lit(999))
    with pytest.raises(VerificationError, match="'age': 3 records"):
        tabulate(sf1, records, sf1.select_tables(("P1",)))


@pytest.mark.parametrize(
    ("column", "kind", "said"),
    [
        ("hispanic", pl.Int8, "'hispanic' is Int8, expected Boolean"),
        ("age", pl.Float64, "'age' is Float64, expected Int16"),
        ("age", pl.String, "'age' is String, expected Int16"),
        ("geoid_block", pl.Int64, "'geoid_block' is Int64, expected String"),
    ],
)
def test_columns_of_the_wrong_kind_are_named(
    sf1: Release, column: str, kind: type[pl.DataType], said: str
) -> None:
    records = random_records(sf1, 4, 3).with_columns(pl.col(column).cast(kind))
    with pytest.raises(VerificationError, match=said):
        tabulate(sf1, records)


@pytest.mark.parametrize("column", ["geoid_block", "sex", "hispanic"])
def test_missing_columns_are_named(sf1: Release, column: str) -> None:
    with pytest.raises(VerificationError, match=f"no column '{column}' .needed: geoid_block, sex"):
        tabulate(sf1, random_records(sf1, 4, 3).drop(column))


def test_unknown_tables_and_levels_are_named(sf1: Release, clinics: Release) -> None:
    records = random_records(sf1, 4, 3)
    with pytest.raises(VerificationError, match=r"no level 'blok' \(levels: block, block_group"):
        tabulate(sf1, records, levels=["blok"])
    with pytest.raises(VerificationError, match="no table 'CONDITIONS' in release 'sf1_2010'"):
        tabulate(sf1, records, clinics.tables)


def test_random_populations_depend_on_the_seed_alone(clinics: Release) -> None:
    first, again = random_records(clinics, 1, 50), random_records(clinics, 1, 50)
    assert_frame_equal(first, again)
    assert not first.equals(random_records(clinics, 2, 50))
    units = random_units(clinics, 1, 30)
    assert len(units) == 30
    assert {len(unit) for unit in units} == {6}


def published_records() -> pl.DataFrame:
    flags = ("white", "black", "aian", "asian", "nhopi", "sor")
    race = pl.sum_horizontal(pl.col(flag).cast(pl.Int16) * 2**i for i, flag in enumerate(flags))
    return pl.read_parquet(DATA / "published_records.parquet").select(
        "geoid_block", "sex", "age", race.alias("race"), pl.col("hispanic").cast(pl.Boolean)
    )


def legacy_counts(release: Release, names: tuple[str, ...]) -> pl.DataFrame:
    """Non-zero counts of a few tables, straight from the legacy files."""
    layout = release.layouts["sf1-legacy"]
    rows: list[tuple[str, str, int, int]] = []
    for path in sorted((DATA / "sf1").glob("*.zip")):
        state = path.name[:2]
        with zipfile.ZipFile(path) as archive:
            geoids = {}
            for line in archive.read(f"{state}geo2010.sf1").decode("latin-1").splitlines():
                tract, block_group = line[27:32] + line[54:60], line[60]
                at = {"101": tract + line[61:65], "150": tract + block_group, "140": tract}
                if line[8:11] in at:
                    geoids[line[18:25]] = at[line[8:11]]
            for segment, form in layout["segments"].items():
                chosen = [name for name in names if name in form["tables"]]
                text = archive.read(f"{state}{segment:05d}2010.sf1").decode("latin-1")
                for fields in csv.reader(io.StringIO(text)) if chosen else ():
                    for name in chosen:
                        start, size = form["tables"][name], len(release.table_by_name[name].cells)
                        rows.extend(
                            (geoids[fields[4]], name, cell, int(count))
                            for cell, count in enumerate(fields[start : start + size], 1)
                            if count not in {"", "0"}
                        )
    order = pl.Enum(list(release.table_by_name))
    return pl.DataFrame(rows, schema=COUNTS, orient="row").sort(
        -pl.col("geoid").str.len_chars().cast(pl.Int64),
        "geoid",
        pl.col("table").cast(order),
        "cell",
    )


@needs_shared
def test_published_records_reproduce_the_published_files(sf1: Release) -> None:
    published = legacy_counts(sf1, tuple(sf1.table_by_name))
    assert (
        published.filter(pl.col("table") == "P1", pl.col("geoid").str.len_chars() == 15)[
            "count"
        ].sum()
        == 20_969
    )
    assert_frame_equal(tabulate(sf1, published_records()), published)
