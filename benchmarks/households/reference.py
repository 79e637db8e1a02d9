"""Everything that the page of household claims shows, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from benchmarks.households.ablations import ablate
from benchmarks.households.measure import measure
from benchmarks.households.one_hot import Answer, Masks, OneHot, masks_of
from benchmarks.households.study import TEN, draw_blocks, make_nation, study_release
from benchmarks.households.summary import summarise
from recon_cli.api.reconstruction import inside
from recon_cli.schema import Release

PEOPLE, SEED = 500_000, 7
#: Households of the blocks of a sample; None for the median, of everybody or of each state.
SIZES = {"ten": TEN, "median": None, "states": None}


@dataclass(frozen=True)
class Amount:
    """How much is measured.

    Attributes:
        blocks: Of each size and mode.
        ablated: Blocks of ten that counts are left out of, in each mode.
        one_hot: Blocks of ten that the one-hot formulation is asked about.
        questions: Claims of each that it is asked about, and solutions that it finds.
    """

    blocks: int
    ablated: int
    one_hot: int
    questions: int


def measure_samples(blocks: int) -> dict[str, Any]:
    """This many blocks of each size, in both modes."""
    nation = make_nation(PEOPLE, SEED)
    result: dict[str, Any] = {}
    for mode, described in _modes().items():
        for name, size in SIZES.items():
            by_state = name == "states"
            sample = draw_blocks(described, nation, size, blocks, seed=1, by_state=by_state)
            result[f"{name} {mode}"] = summarise(described, sample, measure(described, sample))
    return result


def measure_others(amount: Amount) -> dict[str, Any]:
    """Ablations in both modes, and the one-hot formulation."""
    nation = make_nation(PEOPLE, SEED)
    result: dict[str, Any] = {}
    for mode, described in _modes().items():
        sample = draw_blocks(described, nation, TEN, amount.ablated, seed=1)
        result[f"ablated {mode}"] = ablate(described, sample)
    result["one-hot"] = measure_one_hot(nation, amount)
    return result


def _modes() -> dict[str, Release]:
    release = study_release()
    return {"rules": release, "alone": release.without_assumptions()}


def measure_one_hot(nation: pl.DataFrame, amount: Amount) -> list[dict[str, Any]]:
    """The study's formulation on a few blocks of ten, on tables alone, beside ours."""
    release = study_release().without_assumptions()
    sample = draw_blocks(release, nation, TEN, amount.one_hot, seed=3)
    measured = measure(release, sample)
    rows = []
    for at, block in enumerate(sample.blocks):
        model = OneHot.of(release, inside(release, sample.published, block), TEN)
        claims = measured.claims.filter(geoid_block=block).filter("exact")
        asked = [
            (masks_of(release, measured.columns, [row[c] for c in measured.columns]), row["count"])
            for row in claims.sample(amount.questions, seed=1).iter_rows(named=True)
        ]
        rows.append(
            {
                "claims": claims.height,
                "maximal": claims.filter("maximal").height,
                "ours": float(measured.seconds[at]),
                "cp_sat": _timed(model, asked, amount.questions, OneHot.by_cp_sat),
                "highs": _timed(model, asked[:1], 1, OneHot.by_highs),
            }
        )
    return rows


def _timed(
    model: OneHot,
    asked: Sequence[tuple[Masks, int]],
    solutions: int,
    solve: Callable[[OneHot, int], Answer],
) -> dict[str, float]:
    """CPU seconds of a solution, and of a true claim: that not more is possible, and not less."""
    found = [solve(model, seed) for seed in range(solutions)]
    refuted = [
        solve(model.asking(masks, *ends), 1)
        for masks, count in asked
        for ends in ((count + 1, np.inf), (-np.inf, count - 1))
    ]
    if any(answer.is_feasible for answer in refuted):
        raise SystemExit("the formulations disagree on a claim")
    return {
        "solution": float(np.mean([answer.seconds for answer in found])),
        "claim": sum(answer.seconds for answer in refuted) / len(asked),
        "undecided": sum(answer.is_feasible is None for answer in (*found, *refuted)),
    }
