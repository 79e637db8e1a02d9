"""Two header rows that cross, most small counts starred: each column is of both, or asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recon_cli.capabilities.init.recognition import recognise
from recon_cli.sources.read.choices import Choices, SaidSum
from tests.support.properties import draws

OUTCOMES = ("No further action", "Arrest", "Other outcome", "All outcomes")
KINDS = ("White", "Black", "Other", "All")
USERS = ("Pedestrian", "Cyclist", "Motorcycle", "Car", "Other", "All road users")
SEVERITIES = ("Killed", "Serious", "Slight", "All severities")


def stops(seed: int) -> str:
    """Write outcomes by ethnic group; the word *other* is in both rows of headers."""
    rng = np.random.default_rng(seed)
    places = int(rng.integers(3, 8))
    odds = np.outer([0.78, 0.17, 0.05], [0.8, 0.1, 0.1]).ravel()
    inner = rng.multinomial(rng.integers(60, 400, places), odds).reshape(places, 3, 3)
    return sheet(OUTCOMES, KINDS, inner)


def casualties(seed: int) -> str:
    """Write casualties by road user and severity: of some users none is killed, or starred."""
    rng = np.random.default_rng(seed)
    places = int(rng.integers(8, 18))
    odds = np.outer([0.18, 0.12, 0.09, 0.55, 0.06], [0.02, 0.3, 0.68]).ravel()
    inner = rng.multinomial(rng.integers(15, 500, places), odds).reshape(places, 5, 3)
    return sheet(USERS, SEVERITIES, inner)


def sparse(seed: int) -> str:
    """Write a sheet of two features of whose combinations some are most people, others nobody."""
    rng = np.random.default_rng(seed)
    places = int(rng.integers(3, 13))
    outer, within = (("A", "B", "C", "D", "All")[5 - n :] for n in rng.integers(3, 6, 2).tolist())
    many = (len(outer) - 1) * (len(within) - 1)
    odds = rng.dirichlet(np.full(many, 0.6))
    inner = rng.multinomial(rng.integers(5, 120, places), odds)
    words = [f"{word} {i}" for i, word in enumerate(within[:-1])]
    shape = places, len(outer) - 1, len(within) - 1
    return sheet(outer, [*words, "All"], inner.reshape(shape))


def sheet(outer: Sequence[str], within: Sequence[str], inner: NDArray[np.int64]) -> str:
    """Write a sheet, counts below five starred, and one more where one is alone.

    Args:
        outer: The first row of headers; the last is of all.
        within: The second row.
        inner: (places × outer × within) Counts.
    """
    places = len(inner)
    inner = np.concatenate([inner, inner.sum(axis=0, keepdims=True)])
    whole = np.concatenate([inner, inner.sum(axis=1, keepdims=True)], axis=1)
    whole = np.concatenate([whole, whole.sum(axis=2, keepdims=True)], axis=2)
    names = [*(f"District {i}" for i in range(places)), "All districts"]
    rows = [["District", *(o for o in outer for _ in within)], ["", *tuple(within) * len(outer)]]
    for name, table in zip(names, whole, strict=True):
        is_small = (table > 0) & (table < 5)
        for row, small in zip(table, is_small, strict=True):
            others = np.flatnonzero(~small[:-1] & (row[:-1] > 0))
            if small[:-1].sum() == 1 and not small[-1] and len(others):
                small[others[row[others].argmin()]] = True
        pairs = zip(table.ravel(), is_small.ravel(), strict=True)
        rows.append([name, *("*" if small else str(count) for count, small in pairs)])
    return "\n".join(map(";".join, rows)) + "\n"


@pytest.mark.parametrize(("draw", "most"), [(stops, 0.25), (casualties, 0.25), (sparse, 1.0)])
def test_columns_of_two_crossed_headers(
    draw: Callable[[int], str], most: float, tmp_path: Path
) -> None:
    """Of those that offices have, most are read without a question."""
    path = tmp_path / "counts.csv"
    asked = 0
    for seed in draws(12, 25):
        path.write_text(draw(seed))
        found = recognise([path])
        asked += bool(found.questions)
        if not found.questions:
            assert_crossed(found.mapping["labels"]["columns"])  # type: ignore[index]
    assert asked <= most * (seed + 1)


def assert_crossed(labels: dict[str, dict[str, str]]) -> None:
    """Assert that each column is of one value of each row of headers, or of all."""
    for header, said in labels.items():
        assert len(said) == sum(not word.startswith("All") for word in header.split(": ")), header
        assert all(isinstance(value, str) for value in said.values()), (header, said)
    assert len({tuple(sorted(said.items())) for said in labels.values()}) == len(labels)


def test_a_total_that_one_row_breaks_is_asked_about(tmp_path: Path) -> None:
    """Of sums that read alike, one does not hold in a row: there somebody mistyped a number."""
    path = tmp_path / "counts.csv"
    lines = casualties(3).splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("District 2"))
    cells = lines[row].split(";")
    at = 4 * 4  # all severities, in cars
    cells[at] = str(int(cells[at]) + 1)
    path.write_text("\n".join([*lines[:row], ";".join(cells), *lines[row + 1 :]]) + "\n")
    asked = recognise([path]).questions
    assert any(each.text.startswith(f"row {row + 1}: 'All road users: All sev") for each in asked)


def test_a_column_of_nobody_may_be_a_further_part(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(
        "Council,Killed,Serious,Slight,All\nAyr,0,11,27,38\nBute,0,14,30,44\nFife,*,*,9,14\n"
        "Moray,*,*,16,21\nPerth,0,8,25,33\n"
    )
    (asked,) = recognise([path]).questions
    said = "All = Killed + Serious + Slight"
    assert next(iter(asked.answers.items())) == ("'Killed' is in 'All', too", f"--sum '{said}'")
    found = recognise([path], choices=Choices(sums=(SaidSum.of(said),)))
    assert not found.questions
    (feature,) = found.schema.features
    assert feature.values == ("killed", "serious", "slight")
