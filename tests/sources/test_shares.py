"""Percentages beside counts narrow what is withheld, exclude nothing true, and are refused where
they contradict it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recon_cli.capabilities.tabulate.statistics import printed_text
from recon_cli.coverage import LeftOut
from recon_cli.errors import SourceError
from recon_cli.schema import Release, parse_release
from recon_cli.sources import FileMapping, ShareMapping, open_source
from recon_cli.sources.shares import REPEATED
from recon_cli.statement import Protection, Statement
from recon_cli.statement.printed import Ties
from recon_cli.statement.rounding import Rounded
from recon_cli.statement.suppression import Suppressed
from tests.support.properties import examples

LABELS = {"columns": {"All": {}, "Well": {"state": ("well",)}, "Ill": {"state": ("ill",)}}}
SHARES = {
    "Well %": ShareMapping(of="Well", base="All"),
    "Ill %": ShareMapping(of="Ill", base="All"),
}
HEADER = "Ward,All,Well,Ill,Well %,Ill %"
SCHEMA = """
release: wards
title: Wards
microdata: [state]
histogram: [state]
features: {state: {categories: [well, ill]}}
geography: {levels: [{level: ward, digits: 2}], partition: ward}
families: [{levels: [ward], cells: [total, {by: state}], tables: {T: {code: 'T_###'}}}]
"""
WITHHELD = Protection((Statement(Suppressed(flagged="may-be-zero")),))


def release() -> Release:
    return parse_release(SCHEMA, source="wards.yaml")


def counts(
    path: Path,
    rows: Sequence[str],
    protection: Protection | None = WITHHELD,
    shares: Mapping[str, ShareMapping] = SHARES,
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    path.write_text("\n".join([HEADER, *rows, ""]))
    names = [row.split(",")[0] for row in rows]
    mapping = FileMapping(
        place="Ward",
        thousands=",",
        geoids={name: f"A{i}" for i, name in enumerate(names)},
        labels=LABELS,
        percentages=shares,
        unpublished=() if protection else ("*",),
    )
    opened = open_source(release(), "sheet", [path], mapping=mapping, protection=protection)
    return pl.concat(batch.counts for batch in opened.source.batches()), opened.left_out


def test_a_percentage_of_an_exact_base_gives_the_count(tmp_path: Path) -> None:
    rows = ["Aton,40,*,*,92.5,7.5", "Bton,55,*,*,96.4,3.6", "Cton,80,66,14,82.5,17.5"]
    found, left_out = counts(tmp_path / "wards.csv", rows)
    ends = found.filter(pl.col("count").is_null()).select("geoid", "cell", "low", "high").rows()
    assert ends == [("A0", 2, 37, 37), ("A0", 3, 3, 3), ("A1", 2, 53, 53), ("A1", 3, 2, 2)]
    assert not left_out


@pytest.mark.parametrize(
    ("protection", "cells"),
    [
        (None, {"Well %": 2, "Ill %": 2}),  # nothing says what the stars are
        (Protection((Statement(Rounded(base=5)),)), {"Well %": 1, "Ill %": 1}),
    ],
)
def test_percentages_that_prove_nothing_are_left_out(
    tmp_path: Path, protection: Protection | None, cells: dict[str, int]
) -> None:
    rows = ["Aton,40,*,*,92.5,7.5", "Bton,55,*,*,96.4,3.6", "Cton,80,66,14,82.5,17.5"]
    if protection is not None:
        rows = ["Aton,40,35,5,92.5,7.5"]
    _, left_out = counts(tmp_path / "wards.csv", rows, protection)
    assert {each.column: each.cells for each in left_out} == cells


def test_ratios_of_rounded_counts_are_said_to_prove_no_more(tmp_path: Path) -> None:
    """So ehrQL prints the measures of a study: rounded to 5, and the ratio of what was rounded."""
    draws, rows, true = np.random.default_rng(1), list[str](), list[str]()
    for number in range(8):
        well, ill = draws.integers(6, 60, 2).tolist()
        a, b, c = (5 * round(each / 5) for each in (well + ill, well, ill))
        rows.append(f"W{number},{a},{b},{c},{100 * b / a},{100 * c / a:.1f}")
        own = (100 * well / (well + ill), 100 * ill / (well + ill))
        true.append(f"W{number},{a},{b},{c},{own[0]},{own[1]:.1f}")
    law = Protection((Statement(Rounded(base=5)),))
    path = tmp_path / "wards.csv"
    assert {each.reason for each in counts(path, rows, law)[1]} == {REPEATED}
    assert {each.reason for each in counts(path, true, law)[1]} == {""}
    # One row with one decimal may be chance; a ratio beside a star is of the true count.
    (one,) = (each for each in counts(path, rows[:1], law)[1] if each.column == "Ill %")
    assert not one.reason
    starred = [*rows, "W9,40,*,*,50,50.0"]
    laws = Protection(
        (Statement(Suppressed(flagged="may-be-zero"), markers=("*",)), *law.statements)
    )
    assert {each.reason for each in counts(path, starred, laws)[1]} == {""}


def test_a_starred_base_leaves_its_percentages_out(tmp_path: Path) -> None:
    found, left_out = counts(tmp_path / "wards.csv", ["Aton,*,*,*,92.5,7.5", "Bton,9,6,3,67,33"])
    assert found.filter(geoid="A0")["high"].to_list() == [None] * 3
    assert {each.column: each.cells for each in left_out} == {"Well %": 1, "Ill %": 1}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            "Aton,40,36,4,92.5,10",
            "'Well %' is 92.5, which among 40 is 37, and the count is 36",
        ),
        (
            "Aton,40,37,*,92.5,97.5",
            "'Ill %' is 97.5, which among 40 is 39, and the count is 1 to",
        ),
        (
            "Aton,40,37,*,92.5,7.1",
            "'Ill %' is 7.1, which among 40 is no count, and the count is",
        ),
    ],
)
def test_a_percentage_of_something_else_is_refused_by_row(
    tmp_path: Path, row: str, told: str
) -> None:
    small = Protection((Statement(Suppressed(below=10)),))
    with pytest.raises(SourceError, match=r"row 2: geoid A0: ") as refused:
        counts(tmp_path / "wards.csv", [row], small)
    assert told in str(refused.value)


@given(
    seed=st.integers(0, 10**6),
    ties=st.sampled_from(["half_up", "half_even"]),
    decimals=st.integers(0, 3),
)
@examples(25)
def test_no_true_count_is_excluded(
    tmp_path_factory: pytest.TempPathFactory, seed: int, ties: Ties, decimals: int
) -> None:
    draws = np.random.default_rng(seed)
    rows: list[str] = []
    true: dict[tuple[str, int], int] = {}
    for place in range(6):
        people = int(draws.integers(1, 200))
        ill = int(draws.binomial(people, 0.1))
        printed = [
            printed_text(Fraction(100 * part, people), decimals, ties)
            for part in (people - ill, ill)
        ]
        rows.append(f"W{place},{people},*,*,{','.join(printed)}")
        true |= {(f"A{place}", 2): people - ill, (f"A{place}", 3): ill}
    found, _ = counts(tmp_path_factory.mktemp("wards") / "wards.csv", rows)
    ends = {(row[0], row[2]): row[4:6] for row in found.iter_rows() if row[2] > 1}
    for cell, count in true.items():
        low, high = ends[cell]
        assert low <= count <= high
        assert high - low <= 1 + 200 * 10**-decimals / 100
