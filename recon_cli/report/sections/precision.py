"""Links beside guesses: Figures 3–6 and Tables 12–14 of the study, and those of alternatives."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.report.charts import Panel, assemble, rate_rows, rates
from recon_cli.report.document import Figure, Section
from recon_cli.report.findings import Scores
from recon_cli.report.palette import Series
from recon_cli.report.rates import PEOPLE, looks_of, rate_sheet, reading, sizes_of
from recon_cli.report.words import Words, enumerate_words, percent, size_label
from recon_cli.score.sizes import ALL

#: Who is counted → the table of rates.
_TABLES = {"all": "table12_all", "nonmodal": "table13_nonmodal", "modal": "table14_modal"}
_ALTERNATIVES = {
    "all": "table15_all_alternatives",
    "nonmodal": "table16_nonmodal_alternatives",
    "modal": "table17_modal_alternatives",
}
_SHARES = {"putative": "Putative", "confirmed": "Confirmed"}


def precision_section(found: Scores, words: Words) -> Section:
    """Precision of links against guessing, then the shares of people who are linked."""
    text = [
        "A link that a guess would get right as often tells nobody anything. Compare the "
        "reconstruction with the guessers, above all for nonmodal people, for whom guessing fails.",
        *_sentences(found),
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
    return Section("precision", "Precision against guessing", tuple(text), tuple(figures))


def _sentences(found: Scores) -> list[str]:
    """For every attacker file, the precision among nonmodal people."""
    said = []
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
            said.append(f"Nonmodal people, {attacker}: {enumerate_words(shown)}.")
    return said


def _precision(name: str, what: str, rows: pl.DataFrame, found: Scores, words: Words) -> Figure:
    shown = rows.filter((pl.col("rate") == "precision") & (pl.col("block_size") != ALL))
    looks = looks_of(found, shown)
    places = [
        (panel, attacker)
        for panel in _TABLES
        for attacker in found.attackers
        if shown.filter(panel=panel, against=attacker).height
    ]
    panels = _panels(
        [(f"{PEOPLE[p]}, {a}", {"panel": p, "against": a}) for p, a in places], shown, looks, words
    )
    return Figure(
        name=name,
        title=f"{what}: precision by number of people",
        caption=_caption(found, "Confirmed links in percent of putative links."),
        alt="Small multiples of precision. "
        + " ".join(
            reading(
                f"{PEOPLE[p]}, {a}",
                shown.filter(panel=p, against=a),
                [each.name for each in looks],
            )
            for p, a in places
        ),
        spec=assemble(rate_rows(shown, ("panel", "against"), looks), panels, len(found.attackers)),
        sheets=tuple(
            rate_sheet(
                f"Precision, {PEOPLE[p].lower()}, {a}",
                rows.filter(panel=p, against=a, rate="precision"),
                words,
            )
            for p, a in places
        ),
    )


def _shares(panel: str, rows: pl.DataFrame, found: Scores, words: Words) -> Figure:
    shown = rows.filter(pl.col("rate").is_in(list(_SHARES)) & (pl.col("block_size") != ALL))
    looks = looks_of(found, shown)
    places = [
        (rate, attacker)
        for rate in _SHARES
        for attacker in found.attackers
        if shown.filter(rate=rate, against=attacker).height
    ]
    panels = _panels(
        [(f"{_SHARES[r]}, {a}", {"rate": r, "against": a}) for r, a in places], shown, looks, words
    )
    return Figure(
        name=f"links-{panel}",
        title=f"{PEOPLE[panel]}: putative and confirmed links by number of people",
        caption=_caption(found, "In percent of the people of the attacker's file."),
        alt=f"Small multiples of links, {PEOPLE[panel].lower()}. "
        + " ".join(
            reading(
                f"{_SHARES[r]}, {a}",
                shown.filter(rate=r, against=a),
                [each.name for each in looks],
            )
            for r, a in places
        ),
        spec=assemble(rate_rows(shown, ("rate", "against"), looks), panels, len(found.attackers)),
        sheets=tuple(
            rate_sheet(
                f"{PEOPLE[panel]}, {name}",
                rows.filter(pl.col("against") == name, pl.col("rate").is_in(list(_SHARES))),
                words,
            )
            for name in found.attackers
        ),
    )


def _panels(
    places: Sequence[tuple[str, dict[str, str]]],
    shown: pl.DataFrame,
    looks: Sequence[Series],
    words: Words,
) -> list[Panel]:
    sizes = [size_label(name) for name in sizes_of(shown)]
    return [
        rates(title, where, sizes, looks, axis=f"people in the {words.unit}")
        for title, where in places
    ]


def _caption(found: Scores, text: str) -> str:
    others = [name for name in found.guessers if name not in found.usual_guessers]
    also = f" Further guessers are in the tables: {', '.join(others)}." if others else ""
    kind = found.manifest.notes["intervals"]
    lines = "" if kind == "none" else f" Vertical lines are intervals ({kind})."
    return f"{text}{lines}{also}"
