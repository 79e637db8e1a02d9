"""Features that no header names are named by what a title says that people are counted by."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.capabilities.init.titles import phrases

HEADER = "School,All pupils,Girls,Boys,White,Asian,Black"
ROWS = ["Ash,30,14,16,11,9,10", "Elm,25,12,13,8,8,9", "Fir,41,20,21,20,13,8"]


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Table 2: Pupils by ethnic group and sex, January 2024", ["ethnic group", "sex"]),
        ("Población por sexo y edad", ["sexo", "edad"]),
        ("Bevölkerung nach Familienstand (31.12.2023)", ["Familienstand"]),
        ("Pupils by school and religion", ["religion"]),
        ("Pupils of Northshire", []),
    ],
)
def test_phrases_of_a_title(title: str, said: list[str]) -> None:
    assert phrases(title) == said


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Pupils by sex and ethnic group", {"sex", "ethnic_group"}),
        ("Pupils by ethnic group", {"sex", "ethnic_group"}),
        ("Pupils of Northshire", {"sex", "feature_1"}),
        ("Pupils by need and mother tongue", {"sex", "feature_1"}),
    ],
)
def test_a_feature_is_named_by_the_one_thing_that_no_header_says(
    tmp_path: Path, title: str, names: set[str]
) -> None:
    table = tmp_path / "pupils.csv"
    table.write_text("\n".join([title, "", HEADER, *ROWS, ""]))
    assert {each.name for each in recognise([table]).schema.features} == names


def test_a_year_that_all_headers_say_is_no_age(tmp_path: Path) -> None:
    table = tmp_path / "pupils.csv"
    header = "School,All years,Year 7,Year 8,Year 9"
    table.write_text("\n".join([header, "Ash,30,14,6,10", "Elm,25,12,4,9", ""]))
    assert {each.name for each in recognise([table]).schema.features} == {"year"}
