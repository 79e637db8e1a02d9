"""Totals of rounded numbers that add up exactly were not rounded one by one: how is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import recon

HEADER = "Area,All,Car,Bus,Cycle,Foot"
ASKED = "rounded numbers add up to it exactly"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *, is_added: bool, seed: int) -> None:
    """Write ways to work in eight areas, rounded at random to threes, and their total."""
    draws = np.random.default_rng(seed)
    people = draws.poisson([[40.0], [30.0], [12.0], [3.0]], (4, 8))

    def rounded(counts: np.ndarray) -> np.ndarray:
        up = draws.random(counts.shape) * 3 < counts % 3
        return np.asarray(counts // 3 * 3 + 3 * up)

    parts = rounded(people)
    total = parts.sum(axis=0) if is_added else rounded(people.sum(axis=0))
    rows = [
        ",".join(map(str, [f"Area {name}", all_, *own]))
        for name, all_, own in zip("ABCDEFGH", total, parts.T, strict=True)
    ]
    path.write_text("\n".join([HEADER, *rows]) + "\n")


@pytest.mark.parametrize("said", [("--rounded", "random"), ("--rounded", "nearest"), ()])
def test_how_such_totals_were_made_is_asked(said: tuple[str, ...]) -> None:
    write(Path("ways.csv"), is_added=True, seed=3)
    asked = " ".join(recon("init", "ways.csv", *said, code=2).stderr.split())
    assert f"'All': {ASKED}" in asked
    assert "--rounded controlled rounded so" in asked
    assert "--leave-out All added up after" in asked


@pytest.mark.parametrize(
    "said", [("--rounded", "controlled"), ("--rounded", "random", "--leave-out", "All")]
)
def test_either_answer_is_taken(said: tuple[str, ...]) -> None:
    write(Path("ways.csv"), is_added=True, seed=3)
    assert ASKED not in recon("init", "ways.csv", *said, "--all-places").stdout


def test_totals_that_are_rounded_by_themselves_are_not_asked_about() -> None:
    for seed in range(6):
        write(Path("ways.csv"), is_added=False, seed=seed)
        shown = recon("init", "ways.csv", "--rounded", "random", "--all-places", "--force", "--yes")
        assert ASKED not in shown.stdout + shown.stderr
