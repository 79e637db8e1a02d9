"""Values of a long table that count some of the same people, as columns of a wide one may."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.command_line import audit_drafted, recon

WORK = (("In work", 9), ("Out of work", 3), ("Retired", 2))
SELECTED = """Practice,Condition,Patients
Ayr,All,30
Ayr,Asthma,14
Ayr,Diabetes,*
Bute,All,40
Bute,Asthma,20
Bute,Diabetes,*
Total,All,70
Total,Asthma,34
Total,Diabetes,30
"""
NESTED = """Town,Age,Count
Ayr,Under 16,6
Ayr,Under 18,*
Ayr,18 and over,20
Ayr,All ages,30
Bute,Under 16,8
Bute,Under 18,12
Bute,18 and over,*
Bute,All ages,41
Total,Under 16,14
Total,Under 18,22
Total,18 and over,49
Total,All ages,71
"""
OF_WHICH = """Area,Citizenship,Count
Hull,All,50
Hull,EU,21
Hull,of which: Poland,*
Hull,Non-EU,22
York,All,61
York,EU,30
York,of which: Poland,3
York,Non-EU,27
Total,All,111
Total,EU,51
Total,of which: Poland,*
Total,Non-EU,49
"""
AGGREGATE = """Town,Ethnic group,People
Ayr,All,60
Ayr,White British,30
Ayr,Asian,6
Ayr,Black,*
Ayr,Minority ethnic,15
Bute,All,50
Bute,White British,31
Bute,Asian,*
Bute,Black,4
Bute,Minority ethnic,*
Total,All,110
Total,White British,61
Total,Asian,11
Total,Black,9
Total,Minority ethnic,27
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _told(text: str, *flags: str, code: int = 0) -> str:
    Path("a.csv").write_text(text, encoding="utf-8")
    return " ".join(recon("init", "a.csv", *flags, code=code).output.split())


def _ends() -> list[tuple[int, int]]:
    audit_drafted("--force")
    found = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    return sorted(found.select("least", "greatest").iter_rows())


@pytest.mark.parametrize(
    ("flags", "ends"),
    [
        ((), [(0, 30), (0, 30)]),
        (("--count", "Asthma", "--count", "Diabetes"), [(0, 30), (0, 30)]),
        (("--apart", "Asthma", "--apart", "Diabetes"), [(10, 16), (14, 20)]),
    ],
)
def test_several_answers_of_one_person(flags: tuple[str, ...], ends: list[tuple[int, int]]) -> None:
    """Conditions excluded each other: 14 to 20 of *, where a patient may have both."""
    told = _told(SELECTED, *flags)

    assert ("and exclude each other: nowhere more, each is taken to be some" in told) != bool(flags)
    assert _ends() == ends


def test_ages_that_are_in_others() -> None:
    """Under 16 and under 18 excluded each other, and true counts contradicted each other."""
    _told(NESTED)

    assert _ends() == [(10, 10), (29, 29)]


def test_some_of_a_value_before() -> None:
    """Poland was beside the EU: of * at most 7 were told, where 21 may be."""
    assert "some of 'EU', which stands before, or of 'All'?" in _told(OF_WHICH, code=2)

    _told(OF_WHICH, "--sum", "EU = of which: Poland + ...", "--all-places")

    assert _ends() == [(0, 21), (3, 24)]


def test_a_group_of_other_groups() -> None:
    """Asian and Black were beside the minority that they are of: contradictory."""
    assert "some of 'All'; may somebody be in two of them?" in _told(AGGREGATE, code=2)

    each = ("White British", "Minority ethnic")
    sums = [f"All = {' + '.join(each)} + ...", "Minority ethnic = Asian + Black + ..."]
    _told(AGGREGATE, *(word for own in sums for word in ("--sum", own)), "--all-places")

    assert _ends() == [(5, 5), (5, 5), (12, 12)]


def test_values_without_a_total_are_one_classification() -> None:
    lines = ["Town,Work,Count", *(f"T{n},{w},{n * k}" for n in (3, 5, 7) for w, k in WORK)]
    told = _told("\n".join([*lines, ""]))

    assert "everybody is taken to be in one" in told
