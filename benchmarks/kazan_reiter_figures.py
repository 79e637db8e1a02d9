"""Figures 1 to 7 and 12 of Kazan & Reiter made again, as SVG files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.kazan_reiter_settings import PRIORS, SHARES, rho_of
from recon_cli.noise.density import discrete_gaussian
from recon_cli.report.charts import Chart
from recon_cli.report.curves import Curve, CurvePanel, CurvePoint, Scale, curve_looks
from recon_cli.report.drawing import svg_file
from recon_cli.risk.expectation import expected, expected_published_sampler, expected_two_level
from recon_cli.risk.one_level import log_odds, posterior
from recon_cli.risk.postprocessing import postprocessed, projection
from recon_cli.risk.published_sampler import published_log_odds
from recon_cli.risk.two_levels import Flat, TwoLevels

#: What each figure shows, by the name of its file.
CAPTIONS: Mapping[str, str] = {
    "risk_figure_1": "Figure 1: posterior and ratio by the noisy block count, nobody else there.",
    "risk_figure_2": "Figure 2: expected posterior and ratio by ρ, the target in.",
    "risk_figure_3": "Figure 3: right decisions by ρ, the target in; jagged, as noise is whole.",
    "risk_figure_4": "Figure 4: decisions that the level above turns right and wrong, by the noisy "
    "block count; the target alone in the block group, prior 1/2.",
    "risk_figure_5": "Figure 5: right decisions by the true count above, prior 1/2.",
    "risk_figure_6": "Figure 6: right decisions by ρ of the level above, at a true count of 1. "
    "Printed for ρ of 1, 2 and 5: 59.21, 59.24 and 59.27%; as published is 59.21, 59.24 and 59.27.",
    "risk_figure_7": "Figure 7: expected ratio of a target known to be unique up to a level.",
    "risk_figure_12": "Figure 12: expected ratio after blocks are made to add up to the one above.",
}
_GRID = [float(rho) for rho in np.geomspace(0.01, 10, 61)]
_LEVELS = ("block", "block group", "tract", "county", "state", "US")
_SAMPLER, _EXACT, _ONE = "as published", "exact", "block alone"


def figures() -> dict[str, Chart]:
    """File name → chart."""
    return {
        "risk_figure_1": _by_count(),
        "risk_figure_2": _by_rho(),
        "risk_figure_3": _decisions_by_rho(),
        "risk_figure_4": _turned(),
        "risk_figure_5": _by_upper_count(),
        "risk_figure_6": _by_upper_rho(),
        "risk_figure_7": _by_level(),
        "risk_figure_12": _processed(),
    }


def write_figures(folder: Path) -> None:
    """Write the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in figures().items():
        (folder / f"{name}.svg").write_text(svg_file(chart))


def shown_figures() -> str:
    """Markdown that shows them, in a page beside the folder ``images``."""
    return "\n".join(
        f"![{said.partition(':')[0]}](images/{name}.svg)\n\n{said}\n"
        for name, said in CAPTIONS.items()
    )


def _panel(
    title: str, x: Scale, y: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> CurvePanel:
    looks = curve_looks(list(series))
    curves = tuple(
        Curve(look, tuple(CurvePoint(a, b) for a, b in points))
        for look, points in zip(looks, series.values(), strict=True)
    )
    return CurvePanel(title, x, Scale(y), curves)


def _prior(text: str) -> float:
    return float(Fraction(text))


def _named(text: str) -> str:
    return f"prior {text}"


def _by_count() -> Chart:
    rho, counts = rho_of("block"), range(-5, 11)
    odds = {p: log_odds(np.array(counts), rho, _prior(p)) for p in PRIORS}
    x = Scale("noisy count")
    q = {_named(p): _points(counts, posterior(each)) for p, each in odds.items()}
    ratio = {_named(p): _points(counts, posterior(each) / _prior(p)) for p, each in odds.items()}
    return Chart((_panel("Posterior", x, "", q), _panel("Posterior over prior", x, "", ratio)), 2)


def _points(x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _by_rho() -> Chart:
    risks = {p: [expected(rho, _prior(p)) for rho in _GRID] for p in PRIORS}
    x = Scale("ρ", is_log=True)
    q = {_named(p): _points(_GRID, [r.posterior for r in each]) for p, each in risks.items()}
    small = {_named(p): risks[p] for p in PRIORS[:4]}
    ratio = {name: _points(_GRID, [r.ratio for r in each]) for name, each in small.items()}
    panels = (_panel("Expected posterior", x, "", q), _panel("Expected ratio", x, "", ratio))
    return Chart(panels, 2)


def _decisions_by_rho() -> Chart:
    grid = [float(rho) for rho in np.geomspace(0.01, 10, 241)]
    right = {
        _named(p): _points(grid, [100 * expected(rho, _prior(p)).correct for rho in grid])
        for p in PRIORS
    }
    return Chart((_panel("Right decisions", Scale("ρ", is_log=True), "%", right),), 1)


def _turned() -> Chart:
    """Mass of (c1*, c2*, s*) at which two levels decide otherwise than one."""
    levels = _levels()
    rhos = (levels.rho1, levels.rho2, levels.rho_s)
    own, above, beside = map(discrete_gaussian, rhos)
    d2, s = np.meshgrid(above.values + 1, beside.values, indexing="ij")
    mass = np.outer(above.p, beside.p).ravel()
    counts = [int(count) for count in own.values + 1 if -6 <= count <= 8]
    turned: dict[str, list[tuple[float, float]]] = {"turned right": [], "turned wrong": []}
    for count in counts:
        alone = float(log_odds(count, levels.rho1, 1 / 2)) > 0
        odds = published_log_odds(np.asarray(count), d2.ravel(), s.ravel(), levels, 1 / 2)
        weight = float(own.p[count - 1 - own.low])
        both = odds > 0
        turned["turned right"].append((count, 100 * weight * float(mass[both & (not alone)].sum())))
        turned["turned wrong"].append((count, 100 * weight * float(mass[~both & alone].sum())))
    panel = _panel("Decisions changed by the level above", Scale("noisy block count"), "%", turned)
    return Chart((panel,), 1)


def _levels(rho2: float | None = None) -> TwoLevels:
    return TwoLevels(rho_of("block"), rho_of("block group") if rho2 is None else rho2, 27)


def _by_upper_count() -> Chart:
    counts, levels = range(1, 11), _levels()
    alone = 100 * expected(levels.rho1, 1 / 2).correct
    series = {
        _SAMPLER: [100 * expected_published_sampler(levels, 1 / 2, c - 1).correct for c in counts],
        _EXACT: [100 * expected_two_level(levels, 1 / 2, c - 1, Flat()).correct for c in counts],
        _ONE: [alone for _ in counts],
    }
    points = {name: _points(counts, values) for name, values in series.items()}
    return Chart((_panel("Right decisions", Scale("true count above"), "%", points),), 1)


def _by_upper_rho() -> Chart:
    grid = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0]
    series = {
        _SAMPLER: [
            100 * expected_published_sampler(_levels(rho), 1 / 2, 0).correct for rho in grid
        ],
        _EXACT: [100 * expected_two_level(_levels(rho), 1 / 2, 0, Flat()).correct for rho in grid],
    }
    points = {name: _points(grid, values) for name, values in series.items()}
    x = Scale("ρ of the level above", is_log=True)
    return Chart((_panel("Right decisions", x, "%", points),), 1)


def _by_level() -> Chart:
    assert tuple(reversed(_LEVELS)) == tuple(SHARES)  # noqa: S101 - named from below here
    sums = np.cumsum([rho_of(level) for level in _LEVELS])
    ratio = {
        _named(p): _points(range(1, 7), [expected(float(rho), _prior(p)).ratio for rho in sums])
        for p in PRIORS
    }
    title = "Expected ratio; 1 block, 2 block group, … 6 nation"
    return Chart((_panel(title, Scale("unique on so many levels"), "", ratio),), 1)


def _processed() -> Chart:
    rho, counts = rho_of("block"), range(1, 11)
    made = {
        f"{m} other blocks": _points(
            counts, [postprocessed(projection(c, m), rho, m, c, 1 / 2).ratio for c in counts]
        )
        for m in (3, 9, 27)
    }
    made["not processed"] = _points(counts, [expected(rho, 1 / 2).ratio for _ in counts])
    return Chart((_panel("Expected ratio, prior 1/2", Scale("count above"), "", made),), 1)
