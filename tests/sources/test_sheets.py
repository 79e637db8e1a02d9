"""Sheets that are read by their numbers: no row is lost, whatever the size."""

from __future__ import annotations

from pathlib import Path

import pytest

from recon_cli.errors import SourceError
from recon_cli.sources.documents import document_of
from recon_cli.sources.formats import FileMapping, sheet
from recon_cli.sources.formats.sheet import SHEET
from recon_cli.sources.read import grid


def _rows(path: Path, mapping: FileMapping = FileMapping()) -> list[tuple[object, ...]]:  # noqa: B008
    (read,) = SHEET.read(document_of(path), (), mapping)
    return [row[1:] for batch in read.sheet.batches() for row in batch.iter_rows()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading that looks at a few cells only."""
    whole = grid.Grid.of
    monkeypatch.setattr(grid.Grid, "of", staticmethod(lambda sheet, _most: whole(sheet, 60)))


@pytest.mark.usefixtures("small")
def test_rows_behind_those_that_were_looked_at_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    lines = [f"North,W{n},{3 * n},{n},{2 * n}" for n in range(1, 60)]
    path.write_text("\n".join(["Region,Ward,Total,Men,Women", *lines, ""]))
    found = _rows(path, FileMapping(place="Ward", parent=("Region",)))
    assert found == [(f"North / W{n}", str(3 * n), str(n), str(2 * n)) for n in range(1, 60)]


@pytest.mark.usefixtures("small")
def test_headings_over_more_rows_than_are_looked_at_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "wards.csv"
    lines = [f"W{n},{3 * n},{n},{2 * n}" for n in range(1, 60)]
    path.write_text("\n".join(["Ward,Total,Men,Women", "North,,,", *lines, ""]))
    with pytest.raises(SourceError, match="write in each row what it is part of"):
        _rows(path, FileMapping(place="Ward"))


def test_a_flagged_zero_is_no_zero(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    lines = [f"A{n:02},{f},{c}" for n, f, c in ((1, "", 40), (2, "S", 0), (3, "", 7), (4, "S", 0))]
    path.write_text("\n".join(["fips,flag,jobs", *lines, ""]))
    assert [row[-1] for row in _rows(path)] == ["40", "S", "7", "S"]


@pytest.mark.parametrize("blank", [False, True])
def test_a_long_table_is_replayed_from_its_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank: bool
) -> None:
    path = tmp_path / "wards.csv"
    lines = [
        f"{'' if blank and sex else f'W{n}'},{who},{n + sex}"
        for n in range(10, 60)
        for sex, who in enumerate(("Men", "Women"))
    ]
    path.write_text("\n".join(["Ward,Sex,Count", *lines, ""]))
    sexes = {"Men": {"sex": ("men",)}, "Women": {"sex": ("women",)}}
    said = FileMapping(place="Ward", labels={"columns": {"Count": {}}, "Sex": sexes})
    whole = _rows(path, said)
    monkeypatch.setattr(sheet, "_MOST_REPLAYED", 60)
    assert _rows(path, said) == whole
    assert len(whole) == 100
    assert whole[-1] == ("W59", "Women", "60")


def test_a_flag_far_below_takes_its_zero_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.csv"
    lines = [
        f"W{n},{who},{'S' if n > 56 else ''},{0 if n > 56 else n}"
        for n in range(10, 60)
        for who in ("Men", "Women")
    ]
    path.write_text("\n".join(["Ward,Sex,Flag,Count", *lines, ""]))
    sexes = {"Men": {"sex": ("men",)}, "Women": {"sex": ("women",)}}
    said = FileMapping(place="Ward", labels={"columns": {"Count": {}}, "Sex": sexes})
    monkeypatch.setattr(sheet, "_MOST_REPLAYED", 60)
    assert [row[-1] for row in _rows(path, said)][-6:] == ["S"] * 6
