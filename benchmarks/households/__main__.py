"""The study of verified claims beside ours: ``python -m benchmarks.households``.

Measures, writes ``benchmarks/reference/households.json`` with ``--reference``, and the page
``docs/households.md`` from it with ``--page``.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from benchmarks.households.measure import measure
from benchmarks.households.one_hot import OneHot, masks_of
from benchmarks.households.page import render
from benchmarks.households.study import TEN, draw_blocks, make_nation, study_release
from benchmarks.households.summary import summarise
from benchmarks.machine import REFERENCE, ROOT
from recon_cli.api.reconstruction import inside

PEOPLE, SEED = 500_000, 7
RESULT = REFERENCE / "households.json"
PAGE = ROOT / "docs" / "households.md"


def measure_all(blocks: int, alone: int, questions: int) -> dict[str, Any]:
    """All samples in both modes, and the one-hot formulation on two blocks.

    Args:
        blocks: Of each size, with assumptions.
        alone: Of each size, on tables alone.
        questions: Claims that the one-hot formulation is asked about.
    """
    release, nation = study_release(), make_nation(PEOPLE, SEED)
    result: dict[str, Any] = {}
    for size, name in ((TEN, "ten"), (None, "median")):
        for mode, described, count in (
            ("rules", release, blocks),
            ("alone", release.without_assumptions(), alone),
        ):
            sample = draw_blocks(described, nation, size, count, seed=1)
            result[f"{name} {mode}"] = summarise(described, sample, measure(described, sample))
    result["one-hot"] = measure_one_hot(questions)
    return result


def measure_one_hot(questions: int) -> list[dict[str, Any]]:
    """The study's formulation on two blocks of ten, on tables alone, beside ours."""
    release = study_release().without_assumptions()
    sample = draw_blocks(release, make_nation(PEOPLE, SEED), TEN, 2, seed=3)
    measured, rows = measure(release, sample), []
    for at, block in enumerate(sample.blocks):
        model = OneHot.of(release, inside(sample.published, block), TEN)
        claims = measured.claims.filter(geoid_block=block).filter("exact")
        asked: list[float] = []
        for row in claims.sample(questions, seed=1).iter_rows(named=True):
            masks = masks_of(release, measured.columns, [row[c] for c in measured.columns])
            above = model.asking(masks, row["count"] + 1, np.inf).by_cp_sat(1)
            below = model.asking(masks, -np.inf, row["count"] - 1).by_cp_sat(1)
            if {above[0], below[0]} != {"INFEASIBLE"}:
                raise SystemExit(f"block {block}: the formulations disagree on {row}")
            asked.append(above[1] + below[1])
        solved = [model.by_cp_sat(seed) for seed in range(questions)]
        rows.append(
            {
                "claims": claims.height,
                "maximal": claims.filter("maximal").height,
                "ours": float(measured.seconds[at]),
                "cp_sat": [float(np.mean([s for _, s in solved])), float(np.mean(asked))],
                "highs": model.by_highs()[1],
            }
        )
    return rows


def main() -> None:
    """Measure, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=250)
    parser.add_argument("--alone", type=int, default=250)
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--reference", action="store_true", help="measure, and keep the result")
    parser.add_argument("--page", action="store_true", help="write docs/households.md")
    options = parser.parse_args()
    if options.reference:
        result = measure_all(options.blocks, options.alone, options.questions)
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if options.page:
        PAGE.write_text(render(json.loads(RESULT.read_text())))


if __name__ == "__main__":
    main()
