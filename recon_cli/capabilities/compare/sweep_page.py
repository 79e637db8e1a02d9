"""The section of a comparison's page about a swept parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from recon_cli.page.charts import Chart, Curve, CurvePanel, CurvePoint, Scale, curve_looks
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.sizes import ALL
from recon_cli.page.words import Words, capitalized, enumerate_words

#: Measure of usefulness → what it is called.
_USEFUL = {"people": "{words.people} in geounits", "cells": "all cells of all tables"}
#: Measure of risk → what it is called, and its unit.
_RISKS = {
    "gain": ("precision less guessing for unique {words.nonmodal}", "points"),
    "agreement": ("reconstructed records that are true", "%"),
    "posterior": ("what who knows all other records believes of the truth, at most", "%"),
    "disclosed": ("{words.people} of {words.whom} something is proven", "%"),
    "certain": ("{words.people} with a proven record", "%"),
}
#: Rows that sheets have: not the cells of single tables.
_IS_SHOWN: Final = ~pl.col("measure").str.starts_with("cells of ")
#: Vertical number of marks that a small panel has room for.
_PLACES: Final = 60
#: Subjects of ε and of the adversary's belief.
_SPENT = (
    "ε is for the neighbours that the strategy declares, between files that agree in what is "
    "published exactly; where records were swapped first, of the swapped ones. So is what who "
    "knows all others believes: expected, at most, of two values that are equally likely to him, "
    "and that no exact count tells apart."
)


@dataclass(frozen=True)
class SweptTables:
    """The results of a sweep.

    Attributes:
        sweep: Columns of `recon_cli.capabilities.compare.sweep.SWEEP`.
        distributions: Columns of `recon_cli.capabilities.compare.errors.DISTRIBUTIONS`.
        differences: Columns of `recon_cli.capabilities.compare.sweep.DIFFERENCES`.
        units: Columns of `recon_cli.capabilities.compare.errors.UNIT_ERRORS`.
    """

    over: str
    sweep: pl.DataFrame
    distributions: pl.DataFrame
    differences: pl.DataFrame
    units: pl.DataFrame


def risk_words(measure: str, words: Words) -> str:
    """Name a measure of risk."""
    return _RISKS[measure][0].format(words=words)


def risk_axis(measure: str, words: Words) -> str:
    """Name a measure of risk with its unit."""
    return f"{risk_words(measure, words)}, {_RISKS[measure][1]}"


def error_axis(words: Words) -> str:
    """Name the error of the finest cells, with its unit."""
    return f"mean error of a {words.unit}'s cell, {words.people}"


def sweep_sections(swept: SweptTables, words: Words) -> tuple[ReportSection, ...]:
    """Compose the section."""
    over, sweep = swept.over, swept.sweep
    has_epsilon = sweep["epsilon"].null_count() == 0
    placed = sweep.with_columns(
        x=pl.col("epsilon") if has_epsilon else pl.col("value").map_elements(_number, pl.Float64)
    )
    x = Scale("ε of all that is published" if has_epsilon else over, is_log=has_epsilon)
    draws = int(placed["draws"].max() or 1)  # type: ignore[arg-type]
    drawn = (
        f"Means of {draws} draws with Student's 95% intervals; the same random bits at every value."
        if draws > 1
        else "One draw at each value: what chance does to it is not shown."
    )
    spent = f" {_SPENT}" if has_epsilon else ""
    return (
        ReportSection(
            "sweep",
            f"Usefulness and risk over {over}",
            (drawn + spent,),
            figures=(
                _figure("useful", "Usefulness", _useful_panels(placed, x, words), placed),
                _figure(
                    "boxes",
                    capitalized(f"errors of {words.people} in a geounit"),
                    _box_panels(swept.distributions, placed, x),
                    placed,
                ),
                *_unit_figures(swept.units, placed, words),
                _figure("risk", "Risk", _risk_panels(placed, x, words), placed),
                *_difference_figures(swept.differences, placed, x, words),
                _figure("trade", "Risk against error", _trade_panels(placed, words), placed),
            ),
            sheets=(_sheet(placed, over), *_difference_sheets(swept.differences, over)),
        ),
    )


def _number(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def _figure(name: str, title: str, panels: Sequence[CurvePanel], rows: pl.DataFrame) -> Figure:
    said = {
        "useful": "1 − Σ|published − true| / 2N: one is exact; below zero the error is more than "
        "twice the people.",
        "boxes": "Published less true: half of the geounits within the box, nine in ten within the "
        "line, the median across; all draws together.",
        "risk": "Of the reconstruction of what is published.",
        "steps": "Each value less the one before it, draw by draw with the same random bits: what "
        "chance does to both is in neither. Where the interval has 0 the step may change nothing.",
        "beside": "At the same value, draw by draw with the same random bits.",
        "trade": "Each value as a dot, labelled with it: down and to the left is better.",
    }[name]
    protections = ", ".join(rows["protection"].unique(maintain_order=True))
    alt = f"{title} of {protections}, over {rows['value'].n_unique()} values; the table has them."
    return Figure(f"sweep-{name}", title, said, alt, Chart(tuple(panels), 2), sheets=())


def _useful_panels(rows: pl.DataFrame, x: Scale, words: Words) -> list[CurvePanel]:
    panels = []
    for measure, said in _USEFUL.items():
        here = rows.filter(measure=measure)
        if not here.is_empty():
            parts = here.partition_by("protection", "level", maintain_order=True)
            names = [
                f"{part['protection'][0]}, {part['level'][0].replace('_', ' ')}" for part in parts
            ]
            panels.append(_panel(said.format(words=words), x, names, parts))
    return [*panels, *_by_protection(rows, "all_below", f"{words.units} wrongly all below", x)]


def _by_protection(rows: pl.DataFrame, measure: str, title: str, x: Scale) -> list[CurvePanel]:
    """Draw a panel of a measure without levels; none if it was not taken."""
    here = rows.filter(measure=measure)
    if here.is_empty():
        return []
    parts = here.partition_by("protection", maintain_order=True)
    return [_panel(title, x, [part["protection"][0] for part in parts], parts)]


def _risk_panels(rows: pl.DataFrame, x: Scale, words: Words) -> list[CurvePanel]:
    return [
        panel
        for measure in _RISKS
        for panel in _by_protection(rows, measure, risk_axis(measure, words), x)
    ]


def _box_panels(distributions: pl.DataFrame, rows: pl.DataFrame, x: Scale) -> list[CurvePanel]:
    """Draw a panel for each protection and level."""
    at = rows.select("protection", "value", "x").unique()
    placed = distributions.filter(size=ALL).join(
        at, on=["protection", "value"], maintain_order="left"
    )
    panels = []
    for part in placed.partition_by("protection", "level", maintain_order=True):
        name = f"{part['protection'][0]}, {part['level'][0].replace('_', ' ')}"
        points = tuple(
            CurvePoint(row["x"], row["q50"], (row["q05"], row["q95"]), box=(row["q25"], row["q75"]))
            for row in part.sort("x").iter_rows(named=True)
        )
        curve = Curve(curve_looks(["error"])[0], points, is_line=False)
        y = Scale("", min(0, *part["q05"]), max(0, *part["q95"]))
        panels.append(CurvePanel(name, x, y, (curve,)))
    return panels


def _unit_figures(units: pl.DataFrame, rows: pl.DataFrame, words: Words) -> list[Figure]:
    """Draw the error of every geounit of a level, a panel for each value; none if all are exact."""
    spent = rows.unique(["protection", "value"]).select("protection", "value", "epsilon")
    labels = {
        (name, value): value if epsilon is None else f"{value}, {_epsilon(epsilon)}"
        for name, value, epsilon in spent.rows()
    }
    figures: list[Figure] = []
    for part in units.partition_by("protection", "level", maintain_order=True):
        name, level = part["protection"][0], part["level"][0].replace("_", " ")
        low, high = min(part["deviation"]), max(part["deviation"])
        if low == high == 0:
            continue
        y = Scale("", low, high)
        x = Scale(words.people, 0.5, max(1, *part["true"]), is_log=True)
        panels = [
            CurvePanel(labels[name, value["value"][0]], x, y, (_unit_marks(value, y),), height=110)
            for value in part.partition_by("value", maintain_order=True)
        ]
        title = capitalized(f"{name}: errors of {words.people}, {level} by {level}")
        number = int(part.filter(value=part["value"][0])["geounits"].sum())
        empty = "; where nobody lives at ½" if 0 in part["true"] else ""
        said = (
            f"Published less true by the true number, of the first draw{empty}. "
            f"{number:,} in each panel; marks that would lie over each other are one."
        )
        figures.append(
            Figure(
                f"sweep-units-{len(figures)}",
                title,
                said,
                f"{title}; unit_errors.csv has them.",
                Chart(tuple(panels), 4),
                sheets=(),
            )
        )
    return figures


def _unit_marks(part: pl.DataFrame, y: Scale) -> Curve:
    """Draw one mark for each position in the panel, however many geounits share it."""
    height = ((y.high or 0) - (y.low or 0)) / _PLACES
    true = pl.max_horizontal("true", 0.5)
    seen = part.select(
        "deviation",
        true=true,
        _across=(true.log(10) * _PLACES / 4).round(),
        _up=(pl.col("deviation") / height).round(),
    ).unique(["_across", "_up"], keep="first", maintain_order=True)
    points = tuple(CurvePoint(x, y) for x, y in seen.select("true", "deviation").rows())
    return Curve(curve_looks(["geounit"])[0], points, is_line=False, is_fine=True)


def _difference_figures(
    differences: pl.DataFrame, rows: pl.DataFrame, x: Scale, words: Words
) -> list[Figure]:
    """Draw differences between values, and between protections; none if there is one of them."""
    at = rows.select("protection", "value", "x").unique()
    placed = differences.join(at, on=["protection", "value"], maintain_order="left")
    steps = placed.filter(pl.col("protection") == pl.col("less_protection"))
    beside = placed.filter(pl.col("protection") != pl.col("less_protection"))
    others = enumerate_words(beside["protection"].unique(maintain_order=True).to_list())
    every = {
        "steps": ("From value to value", steps),
        "beside": (f"{others} less {rows['protection'][0]}", beside),
    }
    return [
        _figure(name, title, _difference_panels(part, x, words), rows)
        for name, (title, part) in every.items()
        if not part.is_empty()
    ]


def _difference_panels(rows: pl.DataFrame, x: Scale, words: Words) -> list[CurvePanel]:
    """Draw a panel for each measure, of the finest level if it has levels."""
    finest = str(rows.filter(pl.col("level") != "")["level"][0])
    every = {
        **{
            name: f"{said.format(words=words)}, {finest.replace('_', ' ')}"
            for name, said in _USEFUL.items()
        },
        "error": error_axis(words),
        **{name: risk_axis(name, words) for name in _RISKS},
    }
    panels = []
    for measure, said in every.items():
        here = rows.filter(pl.col("measure") == measure, pl.col("level").is_in(["", finest]))
        parts = here.partition_by("protection", maintain_order=True)
        names = [part["protection"][0] for part in parts]
        curves = [
            Curve(look, _means(part), is_line=False)
            for look, part in zip(curve_looks(names), parts, strict=True)
        ]
        ends = [0.0, *(e for name in ("mean", "low", "high") for e in here[name].drop_nulls())]
        if curves:
            y = Scale("", min(ends), max(ends))
            panels.append(CurvePanel(capitalized(said), x, y, tuple(curves)))
    return panels


def _difference_sheets(differences: pl.DataFrame, over: str) -> tuple[ResultTable, ...]:
    told = differences.filter(_IS_SHOWN)
    if told.is_empty():
        return ()
    cells = [
        (
            f"{row['protection']} {row['value']}",
            f"{row['less_protection']} {row['less_value']}",
            _measured(row),
            f"{row['mean']:+.3f}",
            "–" if row["low"] is None else f"{row['low']:+.3f} to {row['high']:+.3f}",
        )
        for row in told.iter_rows(named=True)
    ]
    header = (f"protection, {over}", "less", "measure", "difference", "95%")
    return (result_table("Every difference, draw by draw", header, cells, words=3),)


def _panel(title: str, x: Scale, names: Sequence[str], parts: Sequence[pl.DataFrame]) -> CurvePanel:
    curves = []
    for look, part in zip(curve_looks(names), parts, strict=True):
        points = _means(part)
        curves += [Curve(look, points), Curve(look, points, is_line=False)]
    ends = [
        end for part in parts for name in ("mean", "low", "high") for end in part[name].drop_nulls()
    ]
    y = Scale("", min(ends), max(ends))
    return CurvePanel(capitalized(title), x, y, tuple(curves))


def _means(rows: pl.DataFrame) -> tuple[CurvePoint, ...]:
    """Return a point for each value, with the interval of its mean."""
    return tuple(
        CurvePoint(x, mean, None if low is None else (low, high))
        for x, mean, low, high in rows.sort("x").select("x", "mean", "low", "high").iter_rows()
    )


def _trade_panels(rows: pl.DataFrame, words: Words) -> list[CurvePanel]:
    keys = ["protection", "value"]
    error = rows.filter(measure="error").select(*keys, "epsilon", error="mean")
    panels = []
    for measure in _RISKS:
        here = rows.filter(measure=measure).join(error, on=keys, maintain_order="left")
        if here.is_empty():
            continue
        parts = here.partition_by("protection", maintain_order=True)
        names = [part["protection"][0] for part in parts]
        curves = tuple(
            Curve(
                look,
                tuple(
                    CurvePoint(
                        row["error"],
                        row["mean"],
                        label=str(row["value"])
                        if row["epsilon"] is None
                        else _epsilon(row["epsilon"]),
                    )
                    for row in part.iter_rows(named=True)
                ),
                is_line=False,
            )
            for look, part in zip(curve_looks(names), parts, strict=True)
        )
        title, x = capitalized(risk_axis(measure, words)), Scale(error_axis(words), 0.0)
        panels.append(CurvePanel(title, x, Scale(""), curves))
    return panels


def _measured(row: Mapping[str, Any]) -> str:
    return f"{row['measure']} {row['level'].replace('_', ' ')}".strip()


def _epsilon(spent: float) -> str:
    """Format ε with three digits, or as an integer.

    >>> _epsilon(2.8521), _epsilon(65155.5)
    ('ε 2.85', 'ε 65,156')
    """
    return f"ε {spent:.3g}" if spent < 1000 else f"ε {spent:,.0f}"


def _sheet(rows: pl.DataFrame, over: str) -> ResultTable:
    told = rows.filter(_IS_SHOWN)
    cells = [
        (
            row["protection"],
            row["value"],
            "–" if row["epsilon"] is None else f"{row['epsilon']:.2f}",
            _measured(row),
            f"{row['mean']:.3f}",
            "–" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
        )
        for row in told.iter_rows(named=True)
    ]
    header = ("protection", over, "ε", "measure", "mean", "95%")
    return result_table("Every value", header, cells, words=4)
