"""Two header rows that cross, most small counts starred: each column is of both, or asked about."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recon_cli.capabilities.init.recognition import recognise

OUTCOMES = ("No further action", "Arrest", "Other outcome", "All outcomes")
KINDS = ("White", "Black", "Other", "All")


def sheet(seed: int) -> str:
    """Write outcomes by ethnic group, counts below five starred, and one more where one is alone.

    The word *other* is in both rows of headers.
    """
    draws = np.random.default_rng(seed)
    places = int(draws.integers(3, 8))
    odds = np.outer([0.78, 0.17, 0.05], [0.8, 0.1, 0.1]).ravel()
    inner = draws.multinomial(draws.integers(60, 400, places), odds).reshape(places, 3, 3)
    inner = np.concatenate([inner, inner.sum(axis=0, keepdims=True)])
    whole = np.concatenate([inner, inner.sum(axis=1, keepdims=True)], axis=1)
    whole = np.concatenate([whole, whole.sum(axis=2, keepdims=True)], axis=2)
    names = [*(f"District {i}" for i in range(places)), "All districts"]
    rows = [["District", *(o for o in OUTCOMES for _ in KINDS)], ["", *KINDS * 4]]
    for name, table in zip(names, whole, strict=True):
        is_small = (table > 0) & (table < 5)
        for row, small in zip(table, is_small, strict=True):
            others = np.flatnonzero(~small[:3] & (row[:3] > 0))
            if small[:3].sum() == 1 and not small[3] and len(others):
                small[others[row[others].argmin()]] = True
        pairs = zip(table.ravel(), is_small.ravel(), strict=True)
        rows.append([name, *("*" if small else str(count) for count, small in pairs)])
    return "\n".join(map(";".join, rows)) + "\n"


@pytest.mark.parametrize("seed", range(25))
def test_columns_of_two_crossed_headers(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "stops.csv"
    path.write_text(sheet(seed))
    found = recognise([path])
    if found.questions:
        return
    labels = found.mapping["labels"]["columns"]  # type: ignore[index]
    for header, said in labels.items():
        outcome, _, kind = header.partition(": ")
        assert len(said) == (outcome != "All outcomes") + (kind != "All"), (header, said)
        assert all(isinstance(value, str) for value in said.values()), (header, said)
    assert len(labels) == 16


def test_most_such_sheets_are_read_without_a_question(tmp_path: Path) -> None:
    path = tmp_path / "stops.csv"
    asked = 0
    for seed in range(12):
        path.write_text(sheet(seed))
        asked += bool(recognise([path]).questions)
    assert asked <= 3
