"""Two features with the same labels are two: beside each other, crossed, and by their names."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from recon_cli.schema import load_release
from tests.support.command_line import audit_drafted, recon

RULE = ("--below", "5", "--complementary", "--all-places")
BESIDE = (
    "Area,Persons,Smoker,,Drinker,\n,,Yes,No,Yes,No\nAshby,42,c,c,19,23\nBirch,47,21,26,18,29\n"
    "Carr,31,12,19,20,11\nCounty,120,c,c,57,63\n"
)
ROUTES = "From,Ashby,Birch,Total\nAshby,12,c,15\nBirch,7,9,16\nTotal,19,12,31\n"
LONG = (
    "Area,Smoker,Diabetes,Count\n"
    "Ashby,Yes,Yes,12\nAshby,Yes,No,c\nAshby,No,Yes,7\nAshby,No,No,19\nAshby,Total,Total,42\n"
    "Ashby,Yes,Total,16\nAshby,No,Total,26\nAshby,Total,Yes,19\nAshby,Total,No,23\n"
    "Birch,Yes,Yes,11\nBirch,Yes,No,10\nBirch,No,Yes,7\nBirch,No,No,19\nBirch,Total,Total,47\n"
    "Birch,Yes,Total,21\nBirch,No,Total,26\nBirch,Total,Yes,18\nBirch,Total,No,29\n"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _read(text: str, *flags: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the features that have two values, and the ends of what is withheld."""
    Path("a.csv").write_text(text)
    recon("init", "a.csv", "--force", *RULE[: 3 if "--one-place" in flags else 4], *flags)
    audit_drafted("--force")
    audited = pl.read_parquet("work/**/audit/**/*.parquet", hive_partitioning=False)
    features = [each.name for each in load_release("a.yaml").features]
    return features, sorted(audited.select("least", "greatest").iter_rows())


def test_answers_under_two_headers_are_of_two_questions() -> None:
    features, ends = _read(BESIDE, "--total", "Persons")
    assert features == ["smoker", "drinker"]
    assert ends[:2] == [(1, 41), (1, 41)]  # were both one, 19 and 23


def test_rows_and_columns_of_the_same_places_are_from_and_to() -> None:
    features, ends = _read(ROUTES, "--one-place")
    assert len(features) == 2
    assert ends == [(3, 3)]


def test_dimensions_of_a_long_file_with_the_same_values_are_two() -> None:
    features, ends = _read(LONG)
    assert features == ["smoker", "diabetes"]
    assert ends == [(4, 4)]


def test_tables_under_two_names_are_said_to_be_of_two() -> None:
    for name in ("smoke", "drink"):
        rows = ["Area,Person,Answer,Count"] if name == "smoke" else ["Area,Person,Drink,Count"]
        for area, yes, no in (("Ashby", 16, 26), ("Birch", 21, 26), ("Carr", 12, 19)):
            rows += [
                f"{area},All,{label},{n}"
                for label, n in zip(("Total", "Yes", "No"), (yes + no, yes, no), strict=True)
            ]
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")
    shown = " ".join(recon("init", "smoke.csv", "drink.csv", "--yes").stdout.split())
    assert "whether 'Answer' and 'Drink' are the same, both being 'Yes', 'No'" in shown


SMOKER = "Area,Persons,Yes,No\nAshby,42,c,c\nBirch,47,21,26\nCarr,60,25,35\nAll,149,60,89\n"
ILL = "Area,Persons,Yes,No\nAshby,42,19,23\nBirch,47,18,29\nCarr,60,c,c\nAll,149,49,100\n"


def test_tables_of_the_same_people_with_other_answers_are_of_two_questions() -> None:
    features, ends = _read(f"Smoker\n{SMOKER}\nDiabetes\n{ILL}")
    assert features == ["smoker", "diabetes"]
    assert ends == [(12, 12), (14, 14), (28, 28), (48, 48)]


def test_tables_of_other_people_are_still_asked_about() -> None:
    later = ILL.replace(",42,19,23", ",46,21,25").replace(",149,49,100", ",153,51,102")
    Path("a.csv").write_text(f"2022\n{SMOKER}\n2023\n{later}")
    said = recon("init", "a.csv", *RULE, code=2).stderr
    assert "of several years, or other people?" in " ".join(said.split())
