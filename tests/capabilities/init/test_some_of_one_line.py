"""Rows *of which*: of which line they are some, and whether they exclude each other."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import audit_drafted, recon

HEAD = ",North,,South,,All,\n,Males,Females,Males,Females,Males,Females\n"
#: Ischaemic and Cerebrovascular deaths are no more than Circulatory ones, of men in the north: 6.
CAUSES = HEAD + (
    "All causes,13,51,44,62,57,113\n"
    "Infectious,0,6,5,13,5,19\n"
    "Circulatory,6,23,9,17,15,40\n"
    "of which: Ischaemic,3,10,8,9,11,19\n"
    "of which: Cerebrovascular,*,7,*,8,4,15\n"
    "External,7,22,30,32,37,54\n"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _ends(*flags: str) -> list[tuple[int, int]]:
    recon("init", "a.csv", "--force", *flags)
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


def test_rows_of_one_line_may_exclude_each_other() -> None:
    """They were properties of their own, without a word, and two counts that follow were safe."""
    Path("a.csv").write_text(CAUSES)
    told = recon("init", "a.csv", code=2).output
    both = "'of which: Ischaemic', 'of which: Cerebrovascular'"
    assert f"{both}: some of 'Circulatory'; may somebody be in two of them?" in told
    every = "Circulatory = of which: Ischaemic + of which: Cerebrovascular + ..."
    assert f"--sum '{every}'" in told
    assert _ends("--sum", every) == [(1, 1), (3, 3)]
    each = [f"Circulatory = of which: {name} + ..." for name in ("Ischaemic", "Cerebrovascular")]
    assert _ends("--sum", each[0], "--sum", each[1]) == [(0, 4), (0, 4)]


def test_rows_that_add_up_to_more_are_not_asked_about() -> None:
    Path("a.csv").write_text(CAUSES.replace("Circulatory,6,23", "Circulatory,6,16"))
    assert "may somebody be in two" not in recon("init", "a.csv", "--yes").output


def test_near_a_sum_is_chance_where_others_are_exact() -> None:
    """*External* was in *Circulatory*, off by one in the total, and audit ended with exit 6."""
    Path("a.csv").write_text(
        ",North,,South,,West,,County,\n,Males,Females,Males,Females,Males,Females,Males,Females\n"
        "All causes,62,14,30,*,100,25,192,42\nInfectious,0,5,6,0,24,6,30,11\n"
        "Neoplasms,22,4,18,*,36,8,76,13\nof which: Lung,12,*,8,0,15,5,35,8\n"
        "of which: Breast,*,*,*,*,10,0,*,*\nCirculatory,30,*,*,*,32,5,68,9\n"
        "of which: Ischaemic,10,0,5,0,15,0,30,0\nof which: Cerebrovascular,*,*,*,*,9,5,19,8\n"
        "External,10,*,0,0,8,*,18,9\n"
    )
    told = recon("init", "a.csv", code=2).output
    assert "--sum 'All causes = Infectious + Neoplasms + Circulatory + External'" in told
    recon("init", "a.csv", "--yes")
    audit_drafted()


def test_columns_of_which_are_asked_about_where_few_are_left() -> None:
    rows = "Alder,212,20,30,100,112\nBirch,{},{},8,10\nCedar,312,40,*,150,162\n"
    head = "School,Pupils,of which: boarders,of which: free meals,Boys,Girls\n"
    Path("a.csv").write_text(head + rows.format("18", "*,12"))
    assert "may somebody be in two of them?" in recon("init", "a.csv", code=2).output
    Path("a.csv").write_text(head + rows.format("18", "2,7"))
    recon("init", "a.csv", "--force")
