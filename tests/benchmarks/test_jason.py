"""The page of JASON's claims is what the command makes, and derived figures are those printed."""

from __future__ import annotations

import polars as pl

from benchmarks.jason import arithmetic, carried, joint_law, page, spectrum, three_bits
from tests.support.paths import FACTS, ROOT, needs_shared


def test_the_page_is_the_command_s() -> None:
    assert (ROOT / "docs" / "jason.md").read_text() == page()


def test_tables_as_printed() -> None:
    rows = [row for row in (*arithmetic(), *carried()) if row[0].startswith(("Table 6", "A.2"))]
    assert len(rows) == 7
    assert [row for row in rows if row[2] != row[3]] == []


def test_what_an_unasked_sum_keeps() -> None:
    for asked, sd in spectrum(31).items():
        assert abs(sd**2 - 2 * (1 + 1 / (asked + 1))) < 1e-9


@needs_shared
def test_three_bits_as_printed() -> None:
    folder = FACTS / "jason"
    table = pl.read_csv(folder / "jason_table_a4_three_bits.csv")
    assert table.rows() == three_bits()
    law = pl.read_csv(folder / "jason_table_a5_joint_pmf.csv").rows()
    assert {(a, b, p if p != "0" else "0/8") for a, b, p in law} == set(joint_law())
