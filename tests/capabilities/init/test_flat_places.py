"""Regions and their parts in one column that no indent and no heading tells apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from openpyxl import Workbook

from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.command_line import recon

REGIONS = {
    "North Region": ("Far Hill", "Whang", "Kaip"),
    "Auckland Region": ("Auckland",),
    "Hawke Region": ("Wairoa", "Hastings", "Napier", "Central"),
    "West Region": ("Buller", "Grey", "Westland"),
}


def _table(columns: int, draws: np.random.Generator, base: int = 1) -> dict[str, list[int]]:
    """Return rows of counts, the last of all kinds: parts under their regions, then the total."""
    rows: dict[str, list[int]] = {}
    for region, parts in REGIONS.items():
        own = draws.integers(10, 120, (len(parts), columns - 1))
        own = np.concatenate([own, own.sum(axis=1, keepdims=True)], axis=1)
        rows[region] = own.sum(axis=0).tolist()
        rows |= {part: counts.tolist() for part, counts in zip(parts, own, strict=True)}
    rows["Total"] = np.sum([rows[region] for region in REGIONS], axis=0).tolist()
    for counts in rows.values():
        over = np.array(counts) % base
        up = draws.random(columns) * base < over
        counts[:] = (np.array(counts) - over + base * up).tolist()
    return rows


def _workbook(folder: Path, seed: int) -> Path:
    """Write three sheets of the same places, all rounded at random to three."""
    draws = np.random.default_rng(seed)
    book = Workbook()
    for name, kinds in {"Age": 4, "Group": 6, "Home": 3}.items():
        sheet = book.create_sheet(name)
        sheet.append(["Area", *(f"{name} {i}" for i in range(kinds)), "All"])
        for place, counts in _table(kinds + 1, draws, base=3).items():
            sheet.append([place, *counts])
    del book["Sheet"]
    path = folder / "flat.xlsx"
    book.save(path)
    return path


def _parents(found: RecognisedFiles) -> dict[str, str]:
    """Return each place with the one that it is part of, by its geoid."""
    geoids = found.mapping["geoids"]
    assert isinstance(geoids, dict)
    names = {geoid: name for name, geoid in geoids.items()}
    return {
        name: next(
            (names[geoid[:n]] for n in range(len(geoid) - 1, 0, -1) if geoid[:n] in names), ""
        )
        for name, geoid in geoids.items()
    }


TOLD = {
    **{part: region for region, parts in REGIONS.items() for part in parts},
    **dict.fromkeys(REGIONS, "Total"),
    "Total": "",
}


@pytest.mark.parametrize("seed", range(12))
def test_sheets_of_the_same_places_tell_together_what_these_are_part_of(
    seed: int, tmp_path: Path
) -> None:
    path = _workbook(tmp_path, seed)
    sums = tuple(SaidSum(region, parts) for region, parts in REGIONS.items() if len(parts) > 1)
    found = recognise([path])
    if found.questions:  # rounded numbers may leave open what they are the sums of
        found = recognise([path], choices=Choices(sums=sums))
    assert not found.questions
    assert _parents(found) == TOLD


def test_a_region_has_the_part_that_stands_below_it_with_its_numbers(tmp_path: Path) -> None:
    path = tmp_path / "flat.csv"
    rows = _table(4, np.random.default_rng(2))
    lines = ["Area,A,B,C,All", *(",".join(map(str, (name, *own))) for name, own in rows.items())]
    path.write_text("\n".join(lines) + "\n")
    assert _parents(recognise([path])) == TOLD


def test_places_that_add_up_to_more_than_their_total_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flat.csv").write_text(
        "Area,All,Men,Women\nNorth,90,50,40\nFar Hill,60,40,20\nKaip,30,10,20\nWest,31,20,11\n"
        "Grey,*,*,5\nBuller,*,*,6\nEast,70,30,40\nTotal,191,100,91\n"
    )
    said = "West = Grey + Buller"
    refused = recon("init", "flat.csv", "--below", "20", code=2)
    assert f"--sum '{said}'" in refused.stderr
    recon("init", "flat.csv", "--below", "20", "--all-places", "--sum", said)
    assert "people          191" in recon("run", "--until", "audit").stdout


def test_a_total_that_is_said_to_be_none_is_asked_about_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("flat.csv").write_text(
        "Area,All,Men,Women\nNorth,90,50,40\nWest,31,20,11\nEast,70,30,40\nTotal,150,80,70\n"
    )
    assert "of add up to more than it" in recon("init", "flat.csv", code=2).stderr
    recon("init", "flat.csv", "--apart", "Total")
    assert "  people          341\n" in recon("run", "--only", "ingest").stdout
