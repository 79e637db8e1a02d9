"""Test whether tables count the same people, by their totals."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.init.universes import Totals, separate_tables

BY_SEX = "Court,All,Men,Women\nAshby,412,301,111\nElm,277,150,127\nOak,198,98,100\n"
BY_AGE = "Court,All,Under 40,40 and over\nAshby,{},200,{}\nElm,277,77,200\nOak,198,90,108\n"
_AGES = ("Total", "Under 40", "40 and over")
_COURTS = {"Ashby": (412, 200, 212), "Elm": (277, 77, 200), "Oak": (198, 90, 108)}
LONG = "court,age,count\n" + "".join(
    f"{court},{age},{count}\n"
    for court, counts in _COURTS.items()
    for age, count in zip(_AGES, counts, strict=True)
)


def _doubts(folder: Path, **tables: str) -> str:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return " ".join(recognise([folder / f"{name}.csv" for name in tables]).doubts)


@pytest.mark.parametrize("second", [BY_AGE.format(412, 212), LONG])
def test_tables_with_the_same_totals_count_the_same_people(tmp_path: Path, second: str) -> None:
    assert "count the same people" not in _doubts(tmp_path, by_sex=BY_SEX, by_age=second)


def test_ages_that_add_up_to_totals_of_another_table_are_of_its_people(tmp_path: Path) -> None:
    def told(*most: int) -> str:
        rows = [line.split(",") for line in BY_AGE.format(*most).splitlines()]
        other = "".join(",".join((court, *ages)) + "\n" for court, _, *ages in rows)
        return _doubts(tmp_path, by_sex=BY_SEX, by_age=other)

    assert "count the same people" not in told(412, 212)
    assert "what 'Under 40', '40 and over' count: they are left out" in told(409, 217)


def test_rounded_totals_may_differ_by_what_rounding_does() -> None:
    first: Totals = {"a": 810.0, "b": 366.0}
    second: Totals = {"a": 813.0, "b": 363.0}
    assert separate_tables({"T1": first, "T2": second}, 4.0) == ["T1"]
    assert separate_tables({"T1": first, "T2": second}, 0.0) == ["T1", "T2"]


def test_totals_that_agree_by_chance_show_nothing() -> None:
    assert separate_tables({"T1": {"a": 3.0}, "T2": {"a": 3.0}}, 0.0) == ["T1", "T2"]
