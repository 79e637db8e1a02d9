"""Totals among the places of long files are found before anything runs."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import recon
from tests.support.paths import ROOT

_CELLS = [(sex, age) for sex in ("Total", "Boys", "Girls") for age in ("Total", "0-17", "18+")]
_PLACES: Mapping[str, Sequence[int]] = {
    "A": (12, 5, 7, 5, 2, 3, 7, 3, 4),
    "B": (20, 9, 11, 11, 4, 7, 9, 5, 4),
    "C": (8, 3, 5, 4, 1, 3, 4, 2, 2),
}


def _sum(*places: str, times: int = 1) -> list[int]:
    return [times * sum(each) for each in zip(*(_PLACES[name] for name in places), strict=True)]


def _init(places: Mapping[str, Sequence[object]], code: int = 0) -> str:
    rows = [
        f"{name},{sex},{age},{count}"
        for name, counts in places.items()
        for (sex, age), count in zip(_CELLS, counts, strict=True)
    ]
    Path("counts.csv").write_text("\n".join(["Area,Sex,Age,Count", *rows, ""]))
    done = recon("init", "counts.csv", "--force", code=code)
    return " ".join((done.stderr if code else done.stdout).split())


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_place_that_has_less_than_its_parts_is_a_question() -> None:
    nested = {"E01": _PLACES["A"], "E02": _PLACES["B"], "E": [*_sum("A", "B")[:8], 7]}
    said = _init(nested, code=2)
    assert "row 20: 'E' has 7 (Girls, 18+), and its 2 parts at least 8 together" in said
    said = _init({"Ashby": _PLACES["A"], "Birch": _PLACES["B"], "County": _sum("A")}, code=2)
    assert "'County' has 12 (Total, Total), and its 2 parts at least 32 together" in said
    _init({**nested, "E": _sum("A", "B", "C")})  # of which one place is not listed
    _init({**nested, "E": ["*", *_sum("A", "B")[1:]]})


def test_a_sum_of_the_places_beside_it_is_a_question() -> None:
    districts = {"North": _sum("A", "B"), "South": _sum("C")}
    said = _init({**_PLACES, **districts, "England": _sum("A", "B", "C")}, code=2)
    assert "row 47: 'England' has the counts of all others together (more than once)" in said
    assert "its people are counted again" in said
    said = _init({"Everywhere": _sum("A", "B", "C"), **_PLACES}, code=2)
    assert "row 2: 'Everywhere' has the counts of all others together:" in said
    stars = {name: ["*", *counts[1:]] for name, counts in _PLACES.items()}
    said = _init({"North": _sum("A", "B"), **stars, "Zoo": _sum("A", times=9)}, code=2)
    assert "row 2: 'North' has the counts of 'A' to 'B' together" in said
    assert "take it so: --yes" in said


def test_places_that_are_no_sums_are_no_question() -> None:
    for seed in range(4):
        draw = np.random.default_rng(seed)
        cells = draw.integers(0, 4, (6, 2, 2))
        whole = np.zeros((6, 3, 3), dtype=int)
        whole[:, 1:, 1:] = cells
        whole[:, 0, 1:], whole[:, 1:, 0] = cells.sum(1), cells.sum(2)
        whole[:, 0, 0] = cells.sum((1, 2))
        _init({f"P{i}": whole[i].ravel().tolist() for i in range(6)})
    up = {name: [-(-n // 3) * 3 for n in counts] for name, counts in _PLACES.items()}
    down = [n // 3 * 3 for n in _sum("A", "B", "C")]
    _init({**{f"E0{i}": each for i, each in enumerate(up.values())}, "E": down})


def test_sdmx_files_are_added_up(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "fixtures" / "offices" / "convictions", tmp_path / "courts")
    recon("init", "courts", "--to", "right.yaml")
    path = tmp_path / "courts" / "age_sex.csv"
    path.write_text(path.read_text().replace("W00,2023,892,", "W00,2023,592,"))
    said = " ".join(recon("init", "courts", "--to", "wrong.yaml", code=2).stderr.split())
    assert "age_sex.csv: row 2: 'W00' has 592 (" in said
