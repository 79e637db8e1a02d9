"""Nonmodal people where only one reconstruction is possible: Table 10 of the study."""

from __future__ import annotations

import polars as pl

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.evaluate.fresh import Missing
from recon_cli.report.charts import Chart, dots
from recon_cli.report.document import Figure, ReportSection
from recon_cli.report.rates import looks_of, rate_sheet
from recon_cli.report.words import Words, percent

_TABLE = "table10_zero_solvar"
_GROUPS = ("nonmodal", "nonmodal_unique")


def zero_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Precision among nonmodal people and the unique of them in zero-solvar units."""
    key, title = "zero-solvar", f"{words.panel('nonmodal')}, where one reconstruction is possible"
    rows = found.table(_TABLE)
    if rows.is_empty() and _is_known(found):
        nobody = (
            f"There are no {words.nonmodal} where one reconstruction is proven to be the only one."
        )
        return ReportSection(key, title, (nobody,))
    if rows.is_empty():
        why = "where the variability is zero was not known to `recon score`"
        return ReportSection(key, title, missing=(Missing(why, ("recon solvar", "recon score")),))
    keys = words.listed(found.links.config["binned"])
    text = (
        f"Where only one reconstruction is possible, and a {words.person} differs from most of the "
        f"{words.unit} and is alone in it with their {keys}, an attacker has every reason to "
        "believe a link.",
        f"Zero variability is from {found.manifest.notes['zero_variability']}.",
    )
    return ReportSection(key, title, text, (_figure(found, rows, words),))


def _is_known(found: ScoreFindings) -> bool:
    """Whether proofs of zero variability were at hand when the scores were made."""
    return not {"solvar/", "blocks/"}.isdisjoint(found.manifest.inputs["shared"])


def _figure(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> Figure:
    shown = rows.filter(rate="precision")
    looks = looks_of(found, shown)
    drawn = shown.filter(pl.col("source").is_in([each.name for each in looks]))
    places = [
        (panel, attacker)
        for panel in _GROUPS
        for attacker in found.attackers
        if drawn.filter(panel=panel, against=attacker)["pct"].count()
    ]
    panels = [
        dots(
            f"{words.panel(panel)}, {attacker}",
            drawn.filter(panel=panel, against=attacker),
            looks,
            axis="precision, %",
        )
        for panel, attacker in places
    ]
    readings = []
    for panel, attacker in places:
        here = drawn.filter(panel=panel, against=attacker)
        values = [f"{row['source']} {percent(row['pct'])}%" for row in here.iter_rows(named=True)]
        readings.append(f"{words.panel(panel)}, {attacker}: {', '.join(values)}.")
    return Figure(
        name="zero-solvar",
        title=words.numbered("Table 10", "Precision where one reconstruction is possible"),
        caption=(
            "Confirmed links in percent of putative links. Lines through the points are intervals."
        ),
        alt=f"Points with intervals. {' '.join(readings)}",
        chart=Chart(tuple(panels), len(found.attackers)),
        sheets=tuple(
            rate_sheet(
                f"Where one reconstruction is possible, {name}", rows.filter(against=name), words
            )
            for name in found.attackers
        ),
    )
