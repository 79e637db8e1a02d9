"""Links by pass: putative and confirmed, beside what the guessers get right of the same links."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.report.charts import Chart, ChartRow, Mark, Panel
from recon_cli.report.document import Figure, ReportSection, result_table
from recon_cli.report.palette import BLUE, GREY, Look
from recon_cli.report.rates import looks_of
from recon_cli.report.words import Words, count, percent
from recon_cli.score.gains import PANELS
from recon_cli.score.sheet import ResultTable
from recon_cli.score.sizes import ALL

_CONFIRMED, _OTHER = Look("confirmed", BLUE[0]), Look("not confirmed", GREY[0])
_HEADER: Final = (
    "who", "source", "pass", "putative", "confirmed", "%", "interval", "over ties %", "guesses %"
)  # fmt: skip


def passes_section(found: ScoreFindings, words: Words) -> tuple[ReportSection, ...]:
    """What each pass of the user's finds; nothing with the study's two."""
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
                panels += [_shares(who, rows, words), _precision(who, rows, source, found)]
    figure = Figure(
        name="passes",
        title=f"Putative and confirmed links by pass, beside guesses: {source}",
        caption="Guessers guess for the same links.",
        alt=" ".join(map(_reading, panels)),
        chart=Chart(tuple(panels), 2),
        sheets=tuple(_sheet(name, found.passes, found, words) for name in found.attackers),
    )
    return (ReportSection("passes", "Links by pass", text, (figure,)),)


def _shares(who: str, rows: pl.DataFrame, words: Words) -> Panel:
    """Of each pass a bar: links in percent of the attacker's records, confirmed ones first."""
    drawn = []
    for name, found in _by_pass(rows).items():
        confirmed, putative = found["confirmed"]["pct"], found["putative"]["pct"]
        marks = (Mark(_CONFIRMED, confirmed), Mark(_OTHER, putative - confirmed))
        drawn.append(ChartRow(name, marks, f"{percent(confirmed)}%"))
    axis = f"% of the {words.people} of the attacker's file"
    return Panel(f"Putative and confirmed: {who}", axis, tuple(drawn), is_bars=True)


def _precision(who: str, rows: pl.DataFrame, source: str, found: ScoreFindings) -> Panel:
    """Of each pass how many links are right, and how many guesses of them."""
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


def _sheet(attacker: str, passes: pl.DataFrame, found: ScoreFindings, words: Words) -> ResultTable:
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
    return result_table(f"Links by pass, {attacker}", _HEADER, body, 3)


def _by_pass(rows: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Pass → rate → row, in the order of passes."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault("all passes" if row["pass"] == ALL else row["pass"], {})[row["rate"]] = row
    return found


def _reading(panel: Panel) -> str:
    """A panel in words, for those who do not see the chart."""
    rows = []
    for row in panel.rows:
        values = row.text or ", ".join(f"{mark.look.name} {mark.text}" for mark in row.marks)
        rows.append(f"{row.label} {values}")
    return f"{panel.title}: {'; '.join(rows)}."
