"""The report's sections on links beside guessing: agreement, precision, passes, variability.

Table 8 of the study, Figures 3–6 with Tables 12–14 and those of alternatives, Table 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from recon_cli.capabilities.findings.findings import Findings, ScoreFindings
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.score.gains import PANELS
from recon_cli.capabilities.score.rate_charts import dots, rates
from recon_cli.capabilities.score.rates_page import looks_of, rate_sheet, reading, sizes_of
from recon_cli.capabilities.score.tables import AGREEMENT_TABLES, ALTERNATIVES_BY_PEOPLE, BY_PEOPLE
from recon_cli.page.charts import BLUE, GREY, Chart, ChartRow, Look, Mark, Panel
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.sizes import ALL
from recon_cli.page.words import Words, count, enumerate_words, percent

_AGREEMENT_RATES = {"agree_exact": "exact columns", "agree_binned": "coarse columns"}


def agreement_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Report the agreement of every pair of files, by size."""
    rows = found.table(*AGREEMENT_TABLES).unique(
        ["source", "against", "block_size", "rate"], keep="first", maintain_order=True
    )
    keys = found.links.config
    exact, binned = (", ".join(f"`{c}`" for c in keys[name]) for name in ("exact", "binned"))
    gains = ", ".join(f"`{c}`" for c in keys["gains"])
    text = (
        f"Two files agree on a record when each has it in the same {words.unit}: on {exact}, "
        f"{gains} (exact), or on {binned}, {gains} (coarse).",
        _agreement_sentence(found, rows, words),
    )
    return ReportSection("agreement", "Agreement", text, (_agreement_figure(found, rows, words),))


def _agreement_sentence(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> str:
    whole = rows.filter(
        block_size=ALL, source=found.reconstruction, against=found.truth, rate="agree_binned"
    )
    if whole.is_empty() or whole["pct"][0] is None:
        return ""
    return _say("agreement", found=found, whole=whole.row(0, named=True), words=words)


def _say(macro: str, **facts: object) -> str:
    return " ".join(sentences("section.j2", macro, __package__, **facts))


def _agreement_figure(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> Figure:
    against = rows["against"].unique(maintain_order=True).to_list()
    looks = looks_of(found, rows)
    sizes = sizes_of(rows)
    axis = f"% of {words.people}, by {words.people} in the {words.unit}"
    panels = [
        rates(f"{what}, with {name}", rows.filter(against=name, rate=rate), sizes, looks, axis=axis)
        for rate, what in (("agree_exact", "Exact"), ("agree_binned", "Coarse"))
        for name in against
    ]
    shown = rows.filter(pl.col("block_size") != ALL)
    return Figure(
        name="agreement",
        title=f"Records that two files share, by number of {words.people}",
        caption=f"In percent of the {words.people}. Lines through the points are intervals.",
        alt="Small multiples. "
        + " ".join(
            reading(
                f"{_AGREEMENT_RATES[rate]}, with {name}",
                shown.filter(against=name, rate=rate),
                [each.name for each in looks],
            )
            for rate in _AGREEMENT_RATES
            for name in against
        ),
        chart=Chart(tuple(panels), len(against)),
        sheets=tuple(
            rate_sheet(f"Agreement with {name}", rows.filter(against=name), words)
            for name in against
        ),
    )


_SHARES = {"putative": "Putative", "confirmed": "Confirmed"}


def precision_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Report the precision of links beside guessing, then the shares of people who are linked."""
    text = [
        "A link that a guess would get right as often reveals nothing. Compare the reconstruction "
        f"with the guessers, above all for {words.nonmodal}, for whom guessing fails.",
        *_sentences(found, words),
    ]
    rows = found.table(*BY_PEOPLE.values())
    figures = [_precision_figure("precision", "Links that are right", rows, found, words)]
    figures += [
        _links_figure(panel, found.table(table), found, words) for panel, table in BY_PEOPLE.items()
    ]
    others = found.table(*ALTERNATIVES_BY_PEOPLE.values())
    if others.height:
        name, what = "precision-alternatives", "Links that are right, by protection"
        figures.append(_precision_figure(name, what, others, found, words))
    return ReportSection("precision", "Precision against guessing", tuple(text), tuple(figures))


def _sentences(found: ScoreFindings, words: Words) -> list[str]:
    """State for every attacker file the precision among nonmodal people."""
    readings = []
    for attacker in found.attackers:
        rows = found.table(BY_PEOPLE["nonmodal"]).filter(
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


def _precision_figure(
    name: str, what: str, rows: pl.DataFrame, found: ScoreFindings, words: Words
) -> Figure:
    rows = rows.filter(rate="precision")
    people = {panel: words.panel(panel) for panel in BY_PEOPLE}
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


def _links_figure(panel: str, rows: pl.DataFrame, found: ScoreFindings, words: Words) -> Figure:
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
    """Draw a panel for each value of column ``by`` and each attacker file, with words."""
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
    return _say("caption", text=text, found=found, others=others)


_CONFIRMED, _OTHER = Look("confirmed", BLUE[0]), Look("not confirmed", GREY[0])
_PASS_HEADER: Final = (
    "who", "source", "pass", "putative", "confirmed", "%", "interval", "over ties %", "guesses %"
)  # fmt: skip


def passes_section(found: ScoreFindings, words: Words) -> tuple[ReportSection, ...]:
    """Report the results of each user-defined pass; empty with the study's two."""
    if found.passes is None:
        return ()
    source = found.reconstruction or found.truth
    text = (
        "Who is linked in a pass takes no part in the next. A guesser is asked about the same "
        f"links and knows what is most frequent in the {words.unit} of the attacker's record. A "
        "pass that is right no more often than a guess adds links, and no knowledge.",
    )
    shown = found.passes.filter(source=source, withheld=False)
    panels: list[Panel] = []
    for panel in PANELS:
        for attacker in found.attackers:
            rows = shown.filter(panel=panel, against=attacker)
            if rows.height:
                who = f"{words.panel(panel)}, {attacker}"
                panels += [_pass_bars(who, rows, words), _pass_precision(who, rows, source, found)]
    figure = Figure(
        name="passes",
        title=f"Putative and confirmed links by pass, beside guesses: {source}",
        caption="Guessers guess for the same links.",
        alt=" ".join(map(_pass_reading, panels)),
        chart=Chart(tuple(panels), 2),
        sheets=tuple(_pass_sheet(name, found.passes, found, words) for name in found.attackers),
    )
    return (ReportSection("passes", "Links by pass", text, (figure,)),)


def _pass_bars(who: str, rows: pl.DataFrame, words: Words) -> Panel:
    """Draw a bar for each pass: links in percent of the attacker's records, confirmed first."""
    drawn = []
    for name, found in _by_pass(rows).items():
        confirmed, putative = found["confirmed"]["pct"], found["putative"]["pct"]
        marks = (Mark(_CONFIRMED, confirmed), Mark(_OTHER, putative - confirmed))
        drawn.append(ChartRow(name, marks, f"{percent(confirmed)}%"))
    axis = f"% of the {words.people} of the attacker's file"
    return Panel(f"Putative and confirmed: {who}", axis, tuple(drawn), is_bars=True)


def _pass_precision(who: str, rows: pl.DataFrame, source: str, found: ScoreFindings) -> Panel:
    """Draw for each pass the share of right links, and of right guesses."""
    looks = {look.name: look for look in looks_of(found, found.rates)}
    rates = {"precision": looks[source]}
    rates |= {found.guessers[name]: looks[name] for name in found.usual_guessers}
    drawn = []
    for name, each in _by_pass(rows).items():
        marks = tuple(
            Mark(look, each[rate]["pct"], f"{percent(each[rate]['pct'])}%")
            for rate, look in rates.items()
            if each[rate]["pct"] is not None
        )
        if marks:
            drawn.append(ChartRow(name, marks))
    return Panel(f"Right: {who}", "% of the links", tuple(drawn), is_bars=False)


def _pass_sheet(
    attacker: str, passes: pl.DataFrame, found: ScoreFindings, words: Words
) -> ResultTable:
    body = []
    for panel in PANELS:
        for source in found.records:
            rows = passes.filter(panel=panel, source=source, against=attacker)
            for name, each in _by_pass(rows).items():
                precision = each["precision"]
                low, high = precision["low"], precision["high"]
                span = "" if low is None else f"{percent(low)}–{percent(high)}"
                guesses = [each[rate]["pct"] for rate in ("modal", "proportional")]
                known = [percent(guess) for guess in guesses if guess is not None]
                body.append(
                    (
                        *(words.panel(panel), source, name),
                        *(count(each[rate]["count"]) for rate in ("putative", "confirmed")),
                        *(percent(precision["pct"]), span, percent(each["expected"]["pct"])),
                        ", ".join(known),
                    )
                )
    return result_table(f"Links by pass, {attacker}", _PASS_HEADER, body, 3)


def _by_pass(rows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Map passes and rates to rows, in the order of passes."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault("all passes" if row["pass"] == ALL else row["pass"], {})[row["rate"]] = row
    return found


def _pass_reading(panel: Panel) -> str:
    """Describe a panel for readers who cannot see the chart."""
    rows = []
    for row in panel.rows:
        values = row.text or ", ".join(f"{mark.look.name} {mark.text}" for mark in row.marks)
        rows.append(f"{row.label} {values}")
    return f"{panel.title}: {'; '.join(rows)}."


_ZERO_TABLE = "table10_zero_solvar"
_ZERO_GROUPS = ("nonmodal", "nonmodal_unique")


def zero_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Report precision among nonmodal people and unique ones in zero-solvar units."""
    key, title = "zero-solvar", f"{words.panel('nonmodal')}, where one reconstruction is possible"
    rows = found.table(_ZERO_TABLE)
    if rows.is_empty() and _is_zero_known(found):
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
    return ReportSection(key, title, text, (_zero_figure(found, rows, words),))


def _is_zero_known(found: ScoreFindings) -> bool:
    """Test whether proofs of zero variability existed when the scores were made."""
    return not {"solvar/", "blocks/"}.isdisjoint(found.manifest.inputs["shared"])


def _zero_figure(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> Figure:
    shown = rows.filter(rate="precision")
    looks = looks_of(found, shown)
    drawn = shown.filter(pl.col("source").is_in([each.name for each in looks]))
    places = [
        (panel, attacker)
        for panel in _ZERO_GROUPS
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


def _render(scores: ScoreFindings, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Compose the sections, or one that names what is missing."""
    return (
        agreement_section(scores, words),
        precision_section(scores, words),
        *passes_section(scores, words),
        zero_section(scores, words),
    )


SECTION = Section(
    "attack",
    lambda _: "Linking, and precision against guessing",
    lambda findings: findings.scores,
    _render,
)
