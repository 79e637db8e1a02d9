"""Figures 4 and 5 of the study, of measured claims, as charts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recon_cli.page.charts import (
    Chart,
    ChartRow,
    Curve,
    CurvePanel,
    CurvePoint,
    Mark,
    Panel,
    Scale,
    curve_looks,
)
from recon_cli.page.drawing import svg_file

Result = Mapping[str, Any]

MODES = {"rules": "tables and rules", "alone": "tables alone"}
#: Numbers of columns that Figure 4 shows: more would be a line of points on each other.
_NAMED = ("6", "8", "9")
_LONG = ("6", "7", "8", "9", "10")
_RANKS = ("median", "75th percentile", "90th percentile")


def figures(result: Result) -> dict[str, Chart]:
    """File name → chart; of blocks of ten households."""
    samples = {said: result[f"ten {mode}"] for mode, said in MODES.items()}
    return {
        "households_figure_4": Chart(tuple(_naming(s, said) for said, s in samples.items()), 2),
        "households_figure_5": Chart(
            (_blocks(samples), *(_surprise(s, said) for said, s in samples.items())), 3
        ),
    }


def write_figures(result: Result, folder: Path) -> None:
    """Write the files."""
    for name, chart in figures(result).items():
        (folder / f"{name}.svg").write_text(svg_file(chart))


def _naming(sample: Result, said: str) -> Panel:
    """A row per column; a point for each number of columns that a claim speaks of."""
    found = {k: sample["named"][k] for k in _NAMED if sample["named"][k]}
    looks = dict(zip(_NAMED, curve_looks([f"claims of {k} columns" for k in _NAMED]), strict=True))
    rows = [
        ChartRow(
            column.replace("_", " "),
            tuple(
                Mark(looks[k], each[column], f"{each[column]:.0f}%") for k, each in found.items()
            ),
        )
        for column in sample["named"][_NAMED[0]]
    ]
    return Panel(
        f"Ten households, {said}", "claims that speak of the column, %", tuple(rows), False
    )


def _blocks(samples: Mapping[str, Result]) -> CurvePanel:
    looks = curve_looks([*_RANKS, *samples])[len(_RANKS) :]
    curves = tuple(
        Curve(
            look,
            tuple(
                CurvePoint(int(k), 100 * n / each["blocks"])
                for k, n in each["blocks_with_any"].items()
            ),
        )
        for look, each in zip(looks, samples.values(), strict=True)
    )
    return CurvePanel(
        "Blocks with a claim", Scale("columns of the claim"), Scale("blocks, %", 0, 100), curves
    )


def _surprise(sample: Result, said: str) -> CurvePanel:
    found = sample["guessing_any"]["tract"]
    curves = tuple(
        Curve(look, tuple(CurvePoint(int(k), found[k][at]) for k in _LONG if k in found))
        for at, look in enumerate(curve_looks(_RANKS))
    )
    return CurvePanel(
        f"Guessing, {said}",
        Scale("columns of the claim", 6, 10),
        Scale("probability, %", 0, 40),
        curves,
    )
