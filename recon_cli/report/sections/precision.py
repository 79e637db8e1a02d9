"""Links beside guesses: Figures 3–6 and Tables 12–14 of the study, and those of alternatives."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.report.charts import Chart, rates
from recon_cli.report.document import Figure, ReportSection
from recon_cli.report.rates import looks_of, rate_sheet, reading, sizes_of
from recon_cli.report.words import Words, enumerate_words, percent
from recon_cli.score.sizes import ALL

#: Who is counted → the table of rates.
_TABLES = {"all": "table12_all", "nonmodal": "table13_nonmodal", "modal": "table14_modal"}
_ALTERNATIVES = {
    "all": "table15_all_alternatives",
    "nonmodal": "table16_nonmodal_alternatives",
    "modal": "table17_modal_alternatives",
}
_SHARES = {"putative": "Putative", "confirmed": "Confirmed"}


def precision_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Precision of links against guessing, then the shares of people who are linked."""
    text = [
        "A link that a guess would get right as often reveals nothing. Compare the reconstruction "
        f"with the guessers, above all for {words.nonmodal}, for whom guessing fails.",
        *_sentences(found, words),
    ]
    rows = found.table(*_TABLES.values())
    figures = [_precision("precision", "Links that are right", rows, found, words)]
    figures += [
        _shares(panel, found.table(table), found, words) for panel, table in _TABLES.items()
    ]
    others = found.table(*_ALTERNATIVES.values())
    if others.height:
        name, what = "precision-alternatives", "Links that are right, by protection"
        figures.append(_precision(name, what, others, found, words))
    return ReportSection("precision", "Precision against guessing", tuple(text), tuple(figures))


def _sentences(found: ScoreFindings, words: Words) -> list[str]:
    """For every attacker file, the precision among nonmodal people."""
    readings = []
    for attacker in found.attackers:
        rows = found.table(_TABLES["nonmodal"]).filter(
            against=attacker, block_size=ALL, rate="precision"
        )
        values = dict(rows.select("source", "pct").iter_rows())
        names = [found.reconstruction, *found.usual_guessers]
        shown = [
            f"{name} {percent(values[name])}%"
            for name in names
            if name is not None and values.get(name) is not None
        ]
        if shown:
            readings.append(f"{words.panel('nonmodal')}, {attacker}: {enumerate_words(shown)}.")
    return readings


def _precision(
    name: str, what: str, rows: pl.DataFrame, found: ScoreFindings, words: Words
) -> Figure:
    rows = rows.filter(rate="precision")
    people = {panel: words.panel(panel) for panel in _TABLES}
    alt, chart = _multiples("panel", people, rows, found, words)
    return Figure(
        name=name,
        title=f"{what}: precision by number of {words.people}",
        caption=_caption(found, "Confirmed links in percent of putative links."),
        alt=f"Small multiples of precision. {alt}",
        chart=chart,
        sheets=tuple(
            rate_sheet(f"Precision, {who[0].lower()}{who[1:]}, {attacker}", part, words)
            for panel, who in people.items()
            for attacker in found.attackers
            if (part := rows.filter(panel=panel, against=attacker)).height
        ),
    )


def _shares(panel: str, rows: pl.DataFrame, found: ScoreFindings, words: Words) -> Figure:
    rows = rows.filter(pl.col("rate").is_in(list(_SHARES)))
    people = words.panel(panel)
    alt, chart = _multiples("rate", _SHARES, rows, found, words)
    return Figure(
        name=f"links-{panel}",
        title=f"{people}: putative and confirmed links by number of {words.people}",
        caption=_caption(found, f"In percent of the {words.people} of the attacker's file."),
        alt=f"Small multiples of links, {people[0].lower()}{people[1:]}. {alt}",
        chart=chart,
        sheets=tuple(
            rate_sheet(f"{people}, {attacker}", rows.filter(against=attacker), words)
            for attacker in found.attackers
        ),
    )


def _multiples(
    by: str, labels: Mapping[str, str], rows: pl.DataFrame, found: ScoreFindings, words: Words
) -> tuple[str, Chart]:
    """A panel for each value of column ``by`` and each attacker file: in words, and as a chart."""
    rows = rows.filter(pl.col("block_size") != ALL)
    looks = looks_of(found, rows)
    names = [each.name for each in looks]
    sizes = sizes_of(rows)
    panels, readings = [], []
    for value, label in labels.items():
        for attacker in found.attackers:
            part = rows.filter(**{by: value, "against": attacker})
            if part.height:
                title = f"{label}, {attacker}"
                axis = f"%, by {words.people} in the {words.unit}"
                panels.append(rates(title, part, sizes, looks, axis=axis))
                readings.append(reading(title, part, names))
    return " ".join(readings), Chart(tuple(panels), len(found.attackers))


def _caption(found: ScoreFindings, text: str) -> str:
    others = [name for name in found.guessers if name not in found.usual_guessers]
    also = f" Further guessers are in the tables: {', '.join(others)}." if others else ""
    kind = found.manifest.notes["intervals"]
    lines = "" if kind == "none" else f" Lines through the points are intervals ({kind})."
    hidden = (
        " Size classes with few people are withheld (`score.threshold`)."
        if found.manifest.notes["withheld"]
        else ""
    )
    return f"{text}{lines}{hidden}{also}"
