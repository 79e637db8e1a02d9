"""Workbooks in layouts drawn at random: read right, asked about, or refused, never wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.support.office_layouts import judge, write_office
from tests.support.properties import draws

SEEDS = draws(14, 24)


def test_workbooks_are_read_right_or_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "office.xlsx"
    verdicts: Counter[str] = Counter()
    for seed in SEEDS:
        truth = write_office(path, seed)
        found = judge(path, truth)
        assert found.verdict != "WRONG", f"seed {seed}: {truth.style}: {found.about}"
        if not truth.slip:
            verdicts[found.verdict] += 1
    # Two places of one name on one level are refused.
    assert verdicts["right"] > 0.6 * verdicts.total()


def test_slips_are_refused_by_row(tmp_path: Path) -> None:
    path = tmp_path / "office.xlsx"
    seen = dict.fromkeys(("minus", "half", "merged", "twice"), 0)
    for seed in range(400):
        truth = write_office(path, seed)
        if seen.get(truth.slip, 2) == 2 or truth.style[1] == "flat":
            continue
        found = judge(path, truth)
        assert found.verdict in ("refused", "question"), f"seed {seed}: {found.verdict}"
        assert "row " in found.about, found.about
        seen[truth.slip] += 1
        if set(seen.values()) == {2}:
            return
