"""Tidy files of protected counts: every number and marker read by its law, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import recon_cli as recon
from recon_cli.errors import SourceError
from recon_cli.frames import COUNTS, STATEMENTS
from recon_cli.publication import Publication
from recon_cli.schema import parse_release
from recon_cli.sources import open_tidy
from recon_cli.statement import Protection, Statement, parse_law

WARDS = parse_release(
    "release: wards\ntitle: Plots in wards\n"
    "features: {sex: {categories: [women, men]}}\n"
    "geography: {levels: [{level: plot, digits: 4}, {level: ward, digits: 3}], "
    "partition: ward}\nmicrodata: [sex]\nhistogram: [sex]\nfamilies:\n"
    "  - {levels: [plot, ward], cells: [total, {by: sex}], tables: {T: {}, U: {}}}\n",
    source="wards",
)


def protected(*statements: tuple[Any, dict[str, Any]]) -> Protection:
    return Protection(tuple(Statement(parse_law(law), **where) for law, where in statements))


SUPPRESSED = protected(({"suppressed": {"below": 3}}, {"levels": ("plot",)}))


def published(*rows: tuple[Any, ...], protection: Protection = SUPPRESSED) -> Publication:
    columns = ["geoid", "table", "cell", "count", "low", "high"][: len(rows[0])]
    return recon.publish(
        WARDS, pl.DataFrame(rows, schema=columns, orient="row"), protection=protection
    )


def stated(publication: Publication) -> list[tuple[Any, ...]]:
    assert publication.counts.schema == STATEMENTS
    return publication.counts.drop("table").rows()


def test_markers_numbers_and_levels() -> None:
    found = published(
        ("A10", "T", 1, "9"),
        ("A10", "T", 2, "2"),
        ("A101", "T", 1, "7"),
        ("A101", "T", 2, "*"),
        ("A101", "T", 3, " <3 "),
        ("A102", "T", 1, None),
        ("A102", "T", 2, "0"),
    )
    assert stated(found) == [
        ("A10", 1, 9, 9, 9, 1),
        ("A10", 2, 2, 2, 2, 1),
        ("A101", 1, 7, 7, 7, 0),
        ("A101", 2, None, 1, 2, 0),
        ("A101", 3, None, 1, 2, 0),
        ("A102", 1, None, 1, 2, 0),
    ]
    people = dict(found.geounits.select("geoid", "population").iter_rows())
    assert people == {"A101": 7, "A102": None, "A10": 9}


def test_markers_of_different_laws() -> None:
    protection = protected(
        ("suppressed", {"markers": ("x",)}), ({"suppressed": {"below": 3}}, {"tables": ("T",)})
    )
    found = published(("A101", "T", 1, "x"), ("A101", "T", 2, "*"), protection=protection)
    assert stated(found) == [("A101", 1, None, 1, None, 0), ("A101", 2, None, 1, 2, 1)]


def test_ends_that_are_given_override_the_law() -> None:
    found = published(
        ("A101", "T", 1, "7", None, None),
        ("A101", "T", 2, "", "2", "4.0"),
        ("A101", "T", 3, "3", None, "5"),
        ("A102", "T", 1, "", "-1", None),
    )
    assert stated(found) == [
        ("A101", 1, 7, 7, 7, 0),
        ("A101", 2, None, 2, 4, None),
        ("A101", 3, 3, 0, 5, None),
        ("A102", 1, None, 0, None, None),
    ]
    rows = pl.DataFrame([("A101", "T", 1, 7, 6)], schema=[*COUNTS.names(), "low"], orient="row")
    assert stated(recon.publish(WARDS, rows)) == [("A101", 1, 7, 6, None, None)]


def test_a_zero_is_stored_only_where_it_says_more_than_an_absent_row() -> None:
    rounded = protected(({"rounded": {"base": 3}}, {"tables": ("T",)}))
    found = published(
        ("A101", "T", 1, 0, None), ("A101", "T", 2, 0, 1), ("A101", "U", 1, 0, None),
        protection=rounded,
    )  # fmt: skip
    assert stated(found) == [("A101", 2, 0, 1, None, None)]
    # A rounded zero does not say that nobody is there.
    assert found.geounits["population"].to_list() == [None]


def test_noise_may_be_negative() -> None:
    noisy = protected(({"gaussian": {"variance": 4.0}}, {}))
    found = published(("A101", "T", 1, -3), ("A101", "T", 2, 4), protection=noisy)
    assert stated(found) == [("A101", 1, -3, 0, None, 0), ("A101", 2, 4, 0, None, 0)]


@pytest.mark.parametrize(
    ("law", "row", "message"),
    [
        (
            {"suppressed": {"below": 3}},
            ("2",),
            "no true count is published as 2 by suppressed (bel",
        ),
        ({"suppressed": {"below": 3}}, ("?",), "expected a count, nothing, '*' 'x'"),
        ({"suppressed": {"below": 3}}, ("<5",), "counts below 3 are suppressed, found '<5'"),
        ({"rounded": {"base": 3}}, ("4",), "no true count is published as 4 by rounded (base 3)"),
        ({"rounded": {"base": 3}}, ("*",), "the law 'rounded' publishes numbers only, found '*'"),
        ({"rounded": {"base": 3}}, ("-3",), "no true count is published as -3"),
        ("exact", ("*",), "the law 'exact' publishes numbers only, found '*'"),
        ("exact", ("1.5",), "found '1.5'"),
        (
            "exact",
            ("", "5", "3"),
            "expected whole numbers with low up to high, found low '5' and h",
        ),
        ("exact", ("", "few", "3"), "expected whole numbers with low up to high, found low 'few'"),
        ("exact", ("3000000000",), "expected a whole number from 0 to 2147483647 as count, found"),
    ],
)
def test_what_no_law_explains_is_refused(
    tmp_path: Path, law: Any, row: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "counts.csv"
    columns = ["geoid", "table", "cell", "count", "low", "high"][: 3 + len(row)]
    right = ["A102", "T", "1", "0", "0", "0"][: len(columns)]
    wrong = ["A101", "T", "2", *row]
    path.write_text("".join(",".join(line) + "\n" for line in (columns, right, wrong)))
    with pytest.raises(SourceError) as caught:
        list(open_tidy(WARDS, [path], protection=protected((law, {}))).batches())
    assert f"{path}: line 3: geoid A101, table T, cell " in str(caught.value)
    assert message in str(caught.value)


def test_without_a_law_a_marker_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("geoid,table,cell,count\nA101,T,1,*\n")
    with pytest.raises(SourceError, match=r"found '\*' \(what protects counts is declared by ing"):
        open_tidy(WARDS, [path])
