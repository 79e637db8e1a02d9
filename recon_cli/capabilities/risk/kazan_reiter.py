"""Tables and figures of Kazan & Reiter that follow from budgets and equations.

Cells of tables are text, rounded as printed; figures are points of curves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from recon_cli.budget import exact
from recon_cli.capabilities.measurements.density import discrete_gaussian
from recon_cli.capabilities.risk.expectation import (
    ExpectedRisk,
    expected,
    expected_known_upper,
    expected_published_sampler,
    expected_two_level,
)
from recon_cli.capabilities.risk.log_odds import log_odds, posterior
from recon_cli.capabilities.risk.postprocessing import postprocessed, projection
from recon_cli.capabilities.risk.two_levels import (
    Flat,
    TwoLevels,
    Uniform,
    published_log_odds,
    published_upper_law,
    two_level,
)
from recon_cli.page.charts import Chart, CurvePanel, Scale, lines

#: Share of the level and of its detailed query in the 2020 redistricting data's ρ of 2.56.
SHARES: Final = {
    "US": ("104/4099", "189/241"),
    "state": ("1440/4099", "230/4097"),
    "county": ("447/4099", "754/4097"),
    "tract": ("687/4099", "241/2051"),
    "block group": ("1256/4099", "1288/4099"),
    "block": ("165/4099", "3945/4097"),
}
PRIORS: Final = ("1/2", "1/5", "1/10", "1/50", "1/864")
#: Other blocks of the block group.
SIBLINGS: Final = 27
#: A row a point.
POINTS: Final = pl.Schema(
    {"panel": pl.String, "series": pl.String, "x": pl.Float64, "y": pl.Float64}
)
_GRID: Final = tuple(float(rho) for rho in np.geomspace(0.01, 10, 61))
_LEVELS: Final = tuple(reversed(SHARES))
_SAMPLER, _EXACT, _ONE = "as published", "exact", "block alone"
_RIGHT: Final = "Right decisions"
Points = Iterable[tuple[float, float]]
#: Panel → series → its points.
Panels = Mapping[str, Mapping[str, Points]]
_UPPER: Final = "what is believed of the count above"
#: Noisy counts of Tables 7 and 8: the block's, the block group's, the siblings' together.
_NOISY: Final = (2, 1, -1)


def rho_of(level: str) -> float:
    """Return ρ of the detailed query of a level, from exact fractions."""
    share, query = SHARES[level]
    return float(Fraction("2.56") * exact(share) * exact(query))


def block_in_group(rho2: float | None = None) -> TwoLevels:
    """Return the budgets of a block and its block group, or another geounit above."""
    above = rho_of("block group") if rho2 is None else rho2
    return TwoLevels(rho_of("block"), above, SIBLINGS)


@dataclass(frozen=True)
class StudyFigure:
    """A figure of the study.

    Attributes:
        x: Quantity on the horizontal axis.
        unit: Unit of the vertical axis.
        is_log: Whether the horizontal axis is logarithmic.
    """

    caption: str
    x: str
    make: Callable[[], Panels]
    unit: str = ""
    is_log: bool = False

    def points(self) -> pl.DataFrame:
        """Return the columns of `POINTS`."""
        rows = [
            (panel, name, *map(float, point))
            for panel, series in self.make().items()
            for name, points in series.items()
            for point in points
        ]
        return pl.DataFrame(rows, schema=POINTS, orient="row")


def _by_count() -> Panels:
    rho, counts = rho_of("block"), np.arange(-5, 11)
    q = {p: posterior(log_odds(counts, rho, _number(p))) for p in PRIORS}
    return {
        "Posterior": {_prior(p): _pairs(counts, q[p]) for p in PRIORS},
        "Posterior over prior": {_prior(p): _pairs(counts, q[p] / _number(p)) for p in PRIORS},
    }


def _by_rho() -> Panels:
    risks = {p: [expected(rho, _number(p)) for rho in _GRID] for p in PRIORS}
    q = {_prior(p): _pairs(_GRID, (risk.posterior for risk in risks[p])) for p in PRIORS}
    ratio = {_prior(p): _pairs(_GRID, (risk.ratio for risk in risks[p])) for p in PRIORS[:4]}
    return {"Expected posterior": q, "Expected ratio": ratio}


def _decisions_by_rho() -> Panels:
    grid = [float(rho) for rho in np.geomspace(0.01, 10, 241)]
    risks = {p: [expected(rho, _number(p)) for rho in grid] for p in PRIORS}
    return {_RIGHT: {_prior(p): _right(grid, risks[p]) for p in PRIORS}}


def _turned() -> Panels:
    """Compute the probability of noisy counts at which two levels decide otherwise than one."""
    levels = block_in_group()
    own, above, beside = map(discrete_gaussian, (levels.rho1, levels.rho2, levels.rho_s))
    d2, s = np.meshgrid(above.values + 1, beside.values, indexing="ij")
    mass = np.outer(above.p, beside.p).ravel()
    turned: dict[str, list[tuple[float, float]]] = {"turned right": [], "turned wrong": []}
    for count in (int(count) for count in own.values + 1 if -6 <= count <= 8):
        alone = float(log_odds(count, levels.rho1, 1 / 2)) > 0
        odds = published_log_odds(np.asarray(count), d2.ravel(), s.ravel(), levels, 1 / 2)
        weight = 100 * float(own.p[count - 1 - own.low])
        both = odds > 0
        turned["turned right"].append((count, weight * float(mass[both & (not alone)].sum())))
        turned["turned wrong"].append((count, weight * float(mass[~both & alone].sum())))
    return {"Decisions changed by the level above": turned}


def _by_upper_count() -> Panels:
    counts, levels = range(1, 11), block_in_group()
    risks = {
        _SAMPLER: [expected_published_sampler(levels, 1 / 2, c - 1) for c in counts],
        _EXACT: [expected_two_level(levels, 1 / 2, c - 1, Flat()) for c in counts],
        _ONE: [expected(levels.rho1, 1 / 2)] * len(counts),
    }
    return {_RIGHT: {name: _right(counts, each) for name, each in risks.items()}}


def _by_upper_rho() -> Panels:
    grid = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
    levels = [block_in_group(rho) for rho in grid]
    risks = {
        _SAMPLER: [expected_published_sampler(each, 1 / 2, 0) for each in levels],
        _EXACT: [expected_two_level(each, 1 / 2, 0, Flat()) for each in levels],
    }
    return {_RIGHT: {name: _right(grid, each) for name, each in risks.items()}}


def _by_level() -> Panels:
    sums = np.cumsum([rho_of(level) for level in _LEVELS]).tolist()
    risks = {p: [expected(rho, _number(p)) for rho in sums] for p in PRIORS}
    title = "Expected ratio; 1 block, 2 block group, … 6 nation"
    steps = range(1, len(sums) + 1)
    return {title: {_prior(p): _pairs(steps, (r.ratio for r in risks[p])) for p in PRIORS}}


def _variance_of_siblings() -> Panels:
    rhos = sorted({*np.geomspace(0.05, 5, 41).tolist(), 1.0, 2.0})
    ratios = [discrete_gaussian(rho).variance * 2 * rho for rho in rhos]
    title = f"Variance of {SIBLINGS} draws over {SIBLINGS}/2ρ"
    return {title: {"27 draws": _pairs(rhos, ratios), "normal": _pairs(rhos, [1.0] * len(rhos))}}


def _law_of_siblings() -> Panels:
    panels = {}
    for rho in (rho_of("block"), 1.0, 2.0):
        exact = discrete_gaussian(rho).sum_of(SIBLINGS)
        one = discrete_gaussian(rho / SIBLINGS)
        shown = np.abs(one.values) <= 4 * np.sqrt(one.variance)
        values = one.values[shown]
        panels[f"ρ = {rho:.3f}"] = {
            f"sum of {SIBLINGS} draws": _pairs(values, exact.p[values - exact.low]),
            f"one draw, σ² = {SIBLINGS}/2ρ": _pairs(values, one.p[shown]),
        }
    return panels


def _wrong_prior(*, truth: bool) -> Panels:
    """Compute risk by the assumed count above, where the siblings have nobody."""
    levels, counts = block_in_group(), range(1, SIBLINGS + 1)
    sampler = expected_published_sampler(levels, 1 / 2, 0, truth=truth)
    risks = {
        "this number": [
            expected_known_upper(levels, 1 / 2, 0, truth=truth, believed=count) for count in counts
        ],
        "at most this number": [
            expected_two_level(levels, 1 / 2, 0, Uniform(count - 1), truth=truth)
            for count in counts
        ],
        "any number, as published": [sampler] * len(counts),
        _ONE: [expected(levels.rho1, 1 / 2, truth=truth)] * len(counts),
    }
    return {_RIGHT: {name: _right(counts, each) for name, each in risks.items()}}


def _processed() -> Panels:
    rho, counts = rho_of("block"), range(1, 11)
    made = {
        f"{m} other blocks": _pairs(
            counts, (postprocessed(projection(c, m), rho, m, c, 1 / 2).ratio for c in counts)
        )
        for m in (3, 9, 27)
    }
    made["not processed"] = _pairs(counts, [expected(rho, 1 / 2).ratio] * len(counts))
    return {"Expected ratio, prior 1/2": made}


def _number(text: str) -> float:
    return float(Fraction(text))


def _prior(text: str) -> str:
    return f"prior {text}"


def _pairs(x: Iterable[float], y: Iterable[float]) -> Points:
    return list(zip(x, y, strict=True))


def _right(x: Iterable[float], risks: Iterable[ExpectedRisk]) -> Points:
    return _pairs(x, (100 * risk.correct for risk in risks))


#: Number → the figure.
FIGURES: Mapping[str, StudyFigure] = {
    "1": StudyFigure(
        "posterior and ratio by the noisy block count, nobody else there.",
        "noisy count",
        _by_count,
    ),
    "2": StudyFigure(
        "expected posterior and ratio by ρ, the target in.", "ρ", _by_rho, is_log=True
    ),
    "3": StudyFigure(
        "right decisions by ρ, the target in; jagged, as noise is whole.",
        "ρ",
        _decisions_by_rho,
        unit="%",
        is_log=True,
    ),
    "4": StudyFigure(
        "decisions that the level above turns right and wrong, by the noisy block count; the "
        "target alone in the block group, prior 1/2.",
        "noisy block count",
        _turned,
        unit="%",
    ),
    "5": StudyFigure(
        "right decisions by the true count above, prior 1/2.",
        "true count above",
        _by_upper_count,
        unit="%",
    ),
    "6": StudyFigure(
        "right decisions by ρ of the level above, at a true count of 1. Printed for ρ of 1, 2 and "
        "5: 59.21, 59.24 and 59.27%; as published is 59.21, 59.24 and 59.27.",
        "ρ of the level above",
        _by_upper_rho,
        unit="%",
        is_log=True,
    ),
    "7": StudyFigure(
        "expected ratio of a target known to be unique up to a level.",
        "levels on which it is unique",
        _by_level,
    ),
    "8": StudyFigure(
        "how much less discrete draws vary than normal ones, by ρ of a block: at 1 by 0.20%, at 2 "
        "by 13.99%.",
        "ρ",
        _variance_of_siblings,
        is_log=True,
    ),
    "9": StudyFigure(
        "law of the siblings' noise together, and of one draw that stands for it.",
        "noise",
        _law_of_siblings,
    ),
    "10": StudyFigure(
        "right decisions if the adversary is wrong about the count above; the target in and "
        "alone in the block group, prior 1/2.",
        _UPPER,
        partial(_wrong_prior, truth=True),
        unit="%",
    ),
    "11": StudyFigure(
        "the same with the target out, so that nobody is in the block group.",
        _UPPER,
        partial(_wrong_prior, truth=False),
        unit="%",
    ),
    "12": StudyFigure(
        "expected ratio after blocks are made to add up to the one above.",
        "count above",
        _processed,
    ),
}


def _budgets() -> pl.DataFrame:
    rows = [(name, *SHARES[name], f"{rho_of(name):.4f}") for name in SHARES]
    return _frame(["level", "share of ρ", "share of the level", "ρ"], rows)


def _one_level() -> pl.DataFrame:
    rho, rows = rho_of("block"), []
    noise = discrete_gaussian(rho)
    for count in range(1, 6):
        q = [float(posterior(log_odds(count, rho, float(Fraction(p))))) for p in PRIORS]
        ratios = [f"{each / float(Fraction(p)):.2f}" for each, p in zip(q, PRIORS, strict=True)]
        masses = [f"{float(noise.p[each - noise.low]):.3f}" for each in (count, count - 1)]
        rows.append((str(count), *masses, *(f"{each:.3f}" for each in q[:4]), *ratios))
    masses = ["P(count), target out", "target in"]
    return _frame(["count", *masses, *PRIORS[:4], *(f"ratio {p}" for p in PRIORS)], rows)


def _expectations() -> pl.DataFrame:
    risks = [expected(rho_of("block"), float(Fraction(p))) for p in PRIORS]
    rows = [
        (p, f"{risk.posterior:.4f}", f"{risk.ratio:.2f}")
        for p, risk in zip(PRIORS, risks, strict=True)
    ]
    return _frame(["prior", "expected posterior", "expected ratio"], rows)


def _target() -> pl.DataFrame:
    levels = block_in_group()
    d1, d2, s = (np.asarray(each) for each in _NOISY)
    adversaries = {
        "one level": log_odds(d1, levels.rho1, 1 / 2),
        "two levels, as published": published_log_odds(d1, d2, s, levels, 1 / 2),
        "two levels, exact": two_level(d1, d2, s, levels, 1 / 2),
    }
    rows = [
        (name, f"{float(posterior(odds)):.4f}", f"{2 * float(posterior(odds)):.3f}")
        for name, odds in adversaries.items()
    ]
    return _frame(["adversary", "posterior", "ratio"], rows)


def _upper_law() -> pl.DataFrame:
    levels, (d1, d2, s) = block_in_group(), _NOISY
    _, sampler = published_upper_law(d1, d2, s, levels, 1 / 2)
    counts = np.arange(len(sampler))
    joint = np.zeros(len(sampler))
    for c in (0, 1):
        siblings = counts - c
        weight = levels.rho1 * (d1 - c) ** 2 + levels.rho2 * (d2 - counts) ** 2
        joint += np.exp(-weight - levels.rho_s * (s - siblings) ** 2) * (siblings >= 0)
    exact_law = joint / joint.sum()
    rows = [(str(n), f"{100 * sampler[n]:.2f}", f"{100 * exact_law[n]:.2f}") for n in range(8)]
    return _frame(["count above", "as published, %", "exact, %"], rows)


def _frame(header: Sequence[str], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")


#: Number → the table.
TABLES: Mapping[str, Callable[[], pl.DataFrame]] = {
    "2": _budgets,
    "4": _one_level,
    "5": _expectations,
    "7": _target,
    "8": _upper_law,
}


def line_chart(points: pl.DataFrame, x: Scale, y: Scale) -> Chart:
    """Draw a panel for each ``panel`` of the points, with a line for each ``series``."""
    panels = []
    for (title,), panel in points.group_by("panel", maintain_order=True):
        series = panel.partition_by("series", maintain_order=True)
        curves = lines({part["series"][0]: part.select("x", "y") for part in series})
        panels.append(CurvePanel(str(title), x, y, curves))
    return Chart(tuple(panels), min(2, len(panels)))
