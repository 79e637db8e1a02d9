"""The page of `recon lab dinur-nissim`: simulation, closed form and bounds on one chart."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.dinur_nissim.closed_form import normal_queries
from recon_cli.page.charts import Chart, Curve, CurvePanel, CurvePoint, Scale, curve_looks
from recon_cli.page.document import (
    Figure,
    Headline,
    ReportDocument,
    ReportSection,
    ResultTable,
    Term,
    result_table,
)

_SERIES = {
    "closed_form": "closed form",
    "entropy_bound": "entropy bound, mean of any attacker",
    "any_attacker": "bound for any attacker",
    "mean": "simulation",
}
_BOUNDS = {
    "closed_form": "closed form",
    "entropy_bound": "entropy",
    "any_attacker": "any attacker",
}
_MOST_PANELS = 8


def compose_experiment(title: str, results: pl.DataFrame) -> ReportDocument:
    """Compose the page of subset sums.

    Args:
        results: Rows of `recon_cli.capabilities.dinur_nissim.subset_sums.describe`.
    """
    last = results.row(-1, named=True)
    off = (results["mean"] - results["closed_form"].cast(pl.Float64)).abs().max()
    sentences = [
        f"Of {last['bits']:,} secret bits, {last['queries']:,} noisy sums give back "
        f"**{100 * last['mean']:.1f}%** (sd of the noise {last['sd']:.3g}; guessing: 50%)."
    ]
    if off is not None:
        sentences.append(
            f"Simulation and closed form differ by at most {float(str(off)):.3f} in "
            f"{results.height} settings, of {last['trials']} trials each."
        )
    if last["design"] == "m-sequence":
        sentences.append(
            f"Were sums normal, **{normal_queries(last['bits'])}** exact ones of shifts of an "
            f"m-sequence would carry {last['bits']:,} bits."
        )
    return ReportDocument(
        title=title,
        subject="Reconstructing random bits from noisy sums of random subsets",
        headline=Headline(
            tuple(sentences),
            ("Real tables are not random subsets: for a release use `recon plan capacity`.",),
        ),
        facts=(),
        terms=(
            Term("closed form", "what box least squares finds, in the limit of many bits"),
            Term("entropy bound", "what no decoder exceeds on average, by information carried"),
            Term(
                "bound for any attacker",
                "what nobody exceeds who knows all other bits; of Laplace noise by ε in all, of "
                "all answers together",
            ),
        ),
        sections=(_share_section(results),),
    )


def _share_section(results: pl.DataFrame) -> ReportSection:
    panels = _panels(results)
    figure = Figure(
        name="share-right",
        title="Share of bits right",
        caption="Simulation: mean, and interval between the 10% and 90% quantiles.",
        alt="Share of bits right by simulation, closed form and bounds.",
        chart=Chart(panels, min(2, len(panels))),
        sheets=(_sheet(results),),
    )
    return ReportSection("share", "Share of bits right", (), (figure,))


def _panels(results: pl.DataFrame) -> tuple[CurvePanel, ...]:
    """Draw a panel for each number of queries, or for each noise if there are fewer noises."""
    by_noise = results["parameter"].n_unique() > results["queries"].n_unique()
    keys = ["bits", "queries"] if by_noise else ["bits", "noise", "parameter"]
    if not by_noise and results["bits"].n_unique() * 3 > results.height:
        keys = ["noise", "parameter"]
    panels = []
    for part in results.partition_by(keys, maintain_order=True)[:_MOST_PANELS]:
        first = part.row(0, named=True)
        title = (
            f"{first['bits']:,} bits, {first['queries']:,} queries"
            if by_noise
            else f"{first['bits']:,} bits, {_noise(first['noise'], first['sd'])}"
        )
        x = (
            Scale("standard deviation of an answer's noise", is_log=True)
            if by_noise
            else Scale("queries a bit")
        )
        at = pl.col("sd") if by_noise else pl.col("queries") / pl.col("bits")
        ordered = part.with_columns(at=at).sort("at")
        panels.append(CurvePanel(title, x, Scale("% right", 50, 100), _curves(ordered)))
    return tuple(panels)


def _noise(kind: str, sd: float) -> str:
    return "exact answers" if kind == "none" else f"{kind} noise of sd {sd:.3g}"


def _curves(part: pl.DataFrame) -> tuple[Curve, ...]:
    looks = curve_looks(list(_SERIES.values()), measured=[_SERIES["mean"]])
    found = []
    for key, look in zip(_SERIES, looks, strict=True):
        if part[key].null_count() == part.height:
            continue
        rows = part.drop_nulls(key).select("at", key, "low", "high").iter_rows()
        points = tuple(
            CurvePoint(
                x,
                max(50.0, 100 * y),
                (max(50.0, 100 * low), max(50.0, 100 * high)) if key == "mean" else None,
            )
            for x, y, low, high in rows
        )
        found.append(Curve(look, points, is_line=key != "mean"))
    return tuple(found)


def _sheet(results: pl.DataFrame) -> ResultTable:
    names = ["bits", "queries", "noise", "sd", "decoder", "low", "mean", "high", *_BOUNDS]
    header = ["bits", "queries", "noise", "sd", "decoder", "10%", "mean", "90%", *_BOUNDS.values()]
    rows = [
        [_cell(name, row[name]) for name in names]
        for row in results.select(names).iter_rows(named=True)
    ]
    return result_table("Share of bits right", header, rows, 0)


def _cell(name: str, value: float | str | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if name in {"bits", "queries"}:
        return f"{value:,}"
    return f"{value:.3g}" if name == "sd" else f"{100 * value:.1f}%"


def compose_one_sum(results: pl.DataFrame) -> ReportDocument:
    """Compose the page of Figure 5-6.

    Args:
        results: From `recon_cli.capabilities.dinur_nissim.presets.one_sum`.
    """
    parts = results.partition_by("bits", maintain_order=True)
    names = [f"{part['bits'][0]:,} bits" for part in parts]
    measured = [f"{name}, simulation" for name in names]
    lines = [
        Curve(look, tuple(CurvePoint(x, 100 * max(y, 0)) for x, y in rows))
        for look, part in zip(curve_looks(names), parts, strict=True)
        for rows in [part.select("epsilon", "closed_form").iter_rows()]
    ]
    points = [
        Curve(look, tuple(CurvePoint(x, 100 * max(y, 0)) for x, y in rows), is_line=False)
        for look, part in zip(curve_looks(measured, measured=measured), parts, strict=True)
        for rows in [part.select("epsilon", "mean").iter_rows()]
    ]
    panel = CurvePanel(
        "One sum of all bits",
        Scale("ε", is_log=True),
        Scale("accuracy, %", 0, 100),
        (*lines, *points),
    )
    sheet = result_table(
        "Accuracy of one sum",
        ["bits", "ε", "simulation", "standard error", "closed form"],
        [
            [f"{row['bits']:,}", f"{row['epsilon']:g}"]
            + [f"{row[name]:.4f}" for name in ("mean", "error", "closed_form")]
            for row in results.iter_rows(named=True)
        ],
        0,
    )
    figure = Figure(
        name="one-sum",
        title="Accuracy of one sum",
        caption="Mean of 1 − |error|/sum; below 0 it is drawn at 0.",
        alt="Accuracy of a noisy sum against ε, a line for each number of bits.",
        chart=Chart((panel,), 1),
        sheets=(sheet,),
    )
    small = results.filter(bits=min(results["bits"])).sort("epsilon").row(-1, named=True)
    sentence = (
        f"At ε = {small['epsilon']:g} a sum of {small['bits']:,} bits is right to "
        f"**{100 * small['mean']:.1f}%** (closed form {100 * small['closed_form']:.1f}%)."
    )
    return ReportDocument(
        title="Figure 5-6: accuracy of one noisy sum",
        subject="Laplace noise of ε, rounded",
        headline=Headline((sentence,), ()),
        facts=(),
        terms=(Term("accuracy", "1 − |noisy sum − sum|/sum"),),
        sections=(ReportSection("sum", "One sum", (), (figure,)),),
    )
