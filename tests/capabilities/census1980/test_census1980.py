"""The rules of the 1980 census: counts that become zero, tables that are withheld."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.capabilities.census1980.rules import (
    compare_rates,
    groups_of_1980,
    protection_of_1980,
    rates_above,
    rates_of_1980,
    suppress_as_in_1980,
)
from recon_cli.capabilities.protect.counts import count_records, tidy_counts
from recon_cli.errors import ConfigError

RULES = recon.load_release("pl94_1980")
ONE, OTHER = "010010001001000", "010010001001001"


def person(block: str, race: int, age: int, number: int = 1) -> list[tuple[str, int, int, bool]]:
    return [(block, age, race, False)] * number


def records(*people: list[tuple[str, int, int, bool]]) -> pl.DataFrame:
    rows = [row for group in people for row in group]
    schema = {"geoid_block": pl.String, "age": pl.Int16, "race": pl.Int16, "hispanic": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


#: A block of 20 White adults, two Black children and one adult of Black and White; one of 16 White.
PEOPLE = records(
    person(ONE, 1, 40, 20), person(ONE, 2, 7, 2), person(ONE, 3, 30), person(OTHER, 1, 50, 16)
)


def cells(frame: pl.DataFrame, block: str, table: str) -> list[int | None]:
    width = len(RULES.table_by_name[table].cells)
    shown: list[int | None] = [0] * width
    for geoid, name, cell, count in frame.select("geoid", "table", "cell", "count").iter_rows():
        if (geoid, name) == (block, table):
            shown[cell - 1] = count
    return shown


def test_small_counts_are_zero_and_tables_are_withheld_by_all_ages() -> None:
    frame = suppress_as_in_1980(RULES, count_records(RULES, PEOPLE))
    assert cells(frame, ONE, "P1") == [20, 3, 0, 0, 0, 0, 0], "three Black alone or with White"
    assert cells(frame, ONE, "P3") == [None] * 7, "the smallest group has three, of all ages"
    assert cells(frame, ONE, "P4") == [None] * 14
    assert cells(frame, OTHER, "P1") == cells(frame, OTHER, "P3") == [16, 0, 0, 0, 0, 0, 0]
    fewer = suppress_as_in_1980(RULES, count_records(RULES, PEOPLE.filter(pl.col("age") > 7)))
    assert cells(fewer, ONE, "P1") == [20, 0, 0, 0, 0, 0, 0], "one is published as zero"


def test_what_is_published_is_true_of_the_records() -> None:
    truth = count_records(RULES, PEOPLE)
    rows = tidy_counts(truth, suppress_as_in_1980(RULES, truth))
    published = recon.publish(RULES, rows, protection=protection_of_1980(RULES))
    assert recon.verify(RULES, published, PEOPLE).ok
    audit = recon.audit_counts(RULES, published)
    flagged = audit.filter(geoid=ONE, table="P3", cell=1).row(0, named=True)
    assert (flagged["low"], flagged["high"]) == (0, None)
    assert flagged["greatest"] == 20, "no more adults than people"


def test_the_lines_of_tables_18_and_19_by_hand() -> None:
    rates = rates_of_1980(RULES, count_records(RULES, PEOPLE)).filter(level="block")
    lines = {(t, p): (total, affected) for t, p, _, total, affected in rates.rows()}
    assert lines["18", "A"] == (14, 0)
    assert lines["18", "C"] == (14, 1), "one adult of Black and White"
    assert lines["18", "D"] == (28, 1)
    assert lines["19", "A"] == lines["19", "B"] == (2, 1)
    assert lines["19", "C"] == (2, 0)


def test_panel_c_of_table_18_is_not_compared() -> None:
    rates = rates_of_1980(RULES, count_records(RULES, PEOPLE))
    compared = compare_rates(RULES, [rates, rates])
    row = compared.filter(table="19", panel="B", level="block").row(0, named=True)
    assert (row["total"], row["affected"], row["pct"], row["published_pct"]) == (4, 2, 50.0, 87.7)
    cells_of_p3 = compared.filter(table="18", panel="C")
    assert cells_of_p3["published_pct"].null_count() == cells_of_p3.height == 4


def test_the_smallest_group_may_be_one_of_voting_age() -> None:
    nine = records(person(ONE, 1, 40, 20), person(ONE, 2, 40, 9), person(ONE, 2, 7, 9))
    truth = count_records(RULES, nine)
    assert cells(suppress_as_in_1980(RULES, truth), ONE, "P3") == [20, 9, 0, 0, 0, 0, 0]
    by_age = suppress_as_in_1980(RULES, truth, "voting_age")
    assert cells(by_age, ONE, "P3") == cells(by_age, ONE, "P4")[:7] == [None] * 7
    lines = rates_of_1980(RULES, truth, "voting_age").filter(table="19", level="block")
    assert dict(lines.select("panel", "affected").iter_rows()) == {"A": 1, "B": 1, "C": 0}


def test_states_and_the_nation_are_sums_of_counties() -> None:
    county = count_records(RULES, PEOPLE)
    groups = [
        groups_of_1980(RULES, county).with_columns(geoid=pl.lit(geoid))
        for geoid in ("01001", "01003", "05001")
    ]
    above = rates_above(RULES, groups)
    shown = compare_rates(RULES, [above]).filter(table="18", panel="A")
    assert shown.select("level", "total", "affected", "published_pct").rows() == [
        ("state", 14, 0, 0.0),
        ("nation", 7, 0, 0.0),
    ]
    adults = above.filter(table="18", panel="C", level="state")["affected"].item()
    assert adults == 2, "two adults of Black and White in one state, one in the other"
    withheld = above.filter(table="19", panel="A")
    assert dict(withheld.select("level", "affected").iter_rows()) == {"state": 2, "nation": 1}


def test_other_tables_are_withheld_where_one_to_fourteen_people_live(tmp_path: Path) -> None:
    packaged = Path(recon.__file__).parent / "schema" / "releases" / "pl94_1980.yaml"
    more = (
        "  - levels: [block, tract]\n    cells: [{by: voting_age}]\n    tables: {X: {code: X###}}\n"
    )
    text = packaged.read_text().replace("release: pl94_1980", "release: own")
    (tmp_path / "own.yaml").write_text(text + more)
    own = recon.load_release(str(tmp_path / "own.yaml"))
    few = records(person(ONE, 1, 40, 13), person(ONE, 1, 3), person(OTHER, 1, 50, 15))
    frame = suppress_as_in_1980(own, count_records(own, few)).filter(table="X")
    assert frame.select("geoid", "cell", "count").rows() == [
        (ONE[:11], 1, 1),
        (ONE[:11], 2, 28),
        (ONE, 1, None),
        (ONE, 2, None),
        (OTHER, 2, 15),
    ]


def test_another_release_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'clinic_visits' has no P1: use `release: pl94_1980`"):
        protection_of_1980(recon.load_release("clinic_visits"))


def test_race_is_in_seven_groups_without_gaps() -> None:
    masks = [cell.masks[RULES.feature_index["race"]] for cell in RULES.table_by_name["P1"].cells]
    full = RULES.features[RULES.feature_index["race"]].full
    assert sum(masks) == full
    assert all(a & b == 0 for i, a in enumerate(masks) for b in masks[:i])
