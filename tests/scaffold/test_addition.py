"""Features by their counts: labels that add up to the total."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recon_cli.capabilities.init.addition import combinations, grid_of_sums
from recon_cli.capabilities.init.crossing import CountIntervals
from recon_cli.errors import ContradictionError
from recon_cli.schema import load_release
from tests.support.command_line import recon

LABELS = (
    "Total", "Male", "Female", "0-17", "18-64", "65+", "Heart", "Lung",
    "Male Heart", "Male Lung", "Female Heart", "Female Lung",
)  # fmt: skip
#: Rows are places, columns those of the labels.
COUNTS = (
    (12, 7, 5, 2, 7, 3, 8, 4, 5, 2, 3, 2),
    (9, 4, 5, 4, 1, 4, 9, 0, 4, 0, 5, 0),
)


def features(
    labels: tuple[str, ...], rows: object, away: float = 0
) -> tuple[list[tuple[str, ...]], tuple[str, ...]] | None:
    counts = np.array(rows, dtype=np.float64)
    low = np.nan_to_num(np.maximum(counts - away, 0))
    high = np.where(np.isnan(counts), np.inf, counts + away)
    found = grid_of_sums(labels, CountIntervals(np.arange(len(low)), low, high))
    if found is None:
        return None
    return [axis.labels for axis in found.grid.axes], found.doubts


def test_labels_that_add_up_are_one_feature_and_combinations_are_of_two() -> None:
    low = np.array(COUNTS, dtype=np.float64)
    found = grid_of_sums(LABELS, CountIntervals(np.arange(len(low)), low, low))
    assert found is not None
    assert [(axis.name, axis.labels) for axis in found.grid.axes] == [
        ("sex", ("Male", "Female")),
        ("age", ("0-17", "18-64", "65+")),
        ("feature_3", ("Heart", "Lung")),
    ]
    assert found.grid.cells[0] == (None, None, None)
    assert found.grid.cells[4] == (None, "18-64", None)
    assert found.grid.cells[-1] == ("Female", None, "Lung")


def test_labels_that_combine_are_never_of_one_feature() -> None:
    assert combinations(LABELS)["Male Lung"] == ("Male", "Lung")
    # By the counts alone Male and Heart could be one feature, Female and Lung another.
    labels = ("Total", "Male", "Heart", "Female", "Lung", "Male Heart")
    rows = [(4, 2, 2, 2, 2, 1), (6, 3, 3, 3, 3, 2)]
    alone, together = (features(labels[:n], [row[:n] for row in rows]) for n in (5, 6))
    assert alone is not None
    assert alone[0] == [("Male", "Heart"), ("Female", "Lung")]
    assert together is not None
    assert ("Male", "Heart") not in together[0]


def test_what_is_left_over_is_something_that_people_have_or_have_not() -> None:
    found = features(
        ("Total", "Men", "Women", "Asthma", "Gout"), [(9, 4, 5, 8, 7), (5, 3, 2, 1, 1)]
    )
    assert found is not None
    assert found[0] == [("Men", "Women"), ("Asthma",), ("Gout",)]
    assert any(doubt.startswith("which feature Asthma, Gout are of") for doubt in found[1])


def test_suppressed_and_rounded_counts_still_tell() -> None:
    nan = float("nan")
    assert features(LABELS[:6], [(12, 7, 5, nan, 7, 3), (9, 4, 5, 4, nan, 4)]) is not None
    found = features(LABELS[:6], [(10, 5, 5, 0, 5, 5), (50, 20, 35, 25, 10, 20)], away=4)
    assert found is not None
    assert found[0] == [("Male", "Female"), ("0-17", "18-64", "65+")]


def test_counts_that_are_zero_leave_two_ways() -> None:
    labels = ("Total", "A", "B", "C", "D", "E")
    found = features(labels, [(5, 2, 3, 0, 1, 4), (7, 7, 0, 0, 2, 5)])
    assert found is not None
    assert any("add up in other ways" in doubt for doubt in found[1])


def test_a_total_by_another_name_is_told_by_its_counts() -> None:
    found = features(("Patients", "Men", "Women"), [(9, 4, 5), (7, 3, 4)])
    assert found is not None
    assert found == (
        [("Men", "Women")],
        ("whether Patients is everybody: all other counts add up to it",),
    )
    # Women are not among the men, though the men's ages add up to them.
    labels = ("Men", "Men under 30", "Men over 30", "Women")
    assert features(labels, [(9, 4, 5, 8), (7, 3, 4, 7)]) is None
    assert features(("Patients", "Men", "Women"), [(9, 4, 5)]) is None


def test_what_is_more_than_everybody_counts_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schools.csv").write_text(
        "School,Total,Girls,Boys,Meals\nAshby,20,12,8,150\nElm,10,4,6,9\nOak,9,9,0,80\n"
    )
    assert "whether 'Meals' are counts: they are left out" in recon("init", "schools.csv").stdout
    assert "9 cells, all equal" in recon("run", "--until", "reconstruct").stdout


@pytest.mark.parametrize(
    "labels", [("Men", "Women"), ("Total", "All persons", "Men"), ("Total", "Men", "Men")]
)
def test_without_one_total_nothing_adds_up(labels: tuple[str, ...]) -> None:
    assert features(labels, [[1] * len(labels)]) is None


def test_an_offices_flat_headers_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = ("Ashby", "Elm", "All places")
    rows = (*COUNTS, tuple(sum(column) for column in zip(*COUNTS, strict=True)))
    lines = [",".join((place, *map(str, row))) for place, row in zip(places, rows, strict=True)]
    Path("flat.csv").write_text("\n".join([",".join(("Place", *LABELS)), *lines, ""]))
    done = recon("init", "flat.csv")
    assert "whether Male, Female are one feature: their counts add up so" in done.stdout
    assert [feature.values for feature in load_release("flat.yaml").features] == [
        ("male", "female"),
        ("0-17", "18-64", "65+"),
        ("heart", "lung"),
    ]
    assert "36 cells, all equal" in recon("run", "--until", "reconstruct").stdout


def test_what_somebody_has_or_has_not_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clinics.csv").write_text("Clinic,Total,Men,Women,Asthma\nNorth,20,12,8,15\nSo,10,4,6,9\n")
    recon("init", "clinics.csv")
    assert "{categories: [asthma, not_asthma]}" in Path("clinics.yaml").read_text()
    assert "8 cells, all equal" in recon("run", "--until", "reconstruct").stdout


def test_a_contradiction_suspects_the_schema_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clinics.csv").write_text("Clinic,Total,Men,Women\nNorth,20,12,8\nSo,10,4,6\n")
    recon("init", "clinics.csv")
    Path("clinics.csv").write_text("Clinic,Total,Men,Women\nNorth,20,12,8\nSo,10,4,7\n")
    said = recon("run", "--until", "reconstruct", code=ContradictionError.exit_code).stderr
    assert "does the schema of release 'clinics' say what the tables count?" in said
