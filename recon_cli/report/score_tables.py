"""Result tables as people read them: attacker files side by side, as the study prints them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recon_cli.report.words import Words, capitalized, count, percent
from recon_cli.score.sheet import ResultTable

_RATES = {
    "unique": "unique",
    "putative": "putative",
    "confirmed": "confirmed",
    "precision": "precision",
    "agree_exact": "exact",
    "agree_binned": "binned",
    "modal": "modal share",
    "proportional": "Σp²",
    "modal_without": "modal, others only",
    "proportional_without": "Σp², others only",
}
_NUMBER = re.compile(r"table(\d+)_")
#: Heading of the study's 100% interval.
_LIMITS = "any reconstruction, %"


def table_title(name: str, words: Words) -> str:
    """The heading of a result table, with its number where the study is compared with.

    Args:
        name: One of `recon_cli.score.tables.TABLES`.
        words: The release's.
    """
    people, unit = words.people, words.unit
    none = f"{capitalized(words.units)} with {words.zero}"
    if words.is_study:
        none = f"Zero-solvar {words.units}"
    by_size = f"by {unit} size"
    keys = f"{capitalized(people)} unique on their keys in their {unit}, {by_size}"
    titles = {
        "table07_uniques": keys,
        "table08_agreement": f"Agreement of records, {by_size}",
        "table09_overall": f"Putative and confirmed re-identification, {words.everybody}",
        "table10_zero_solvar": f"{none}: {words.nonmodal}, and the unique of them",
        "table11_agreement_alternatives": f"Agreement of alternatives, {by_size}",
        "table12_all": f"Re-identification of all {people}, {by_size}",
        "table13_nonmodal": f"Re-identification of {words.nonmodal}, {by_size}",
        "table14_modal": f"Re-identification of {words.modal}, {by_size}",
        "table15_all_alternatives": f"Alternatives: all {people}, {by_size}",
        "table16_nonmodal_alternatives": f"Alternatives: {words.nonmodal}, {by_size}",
        "table17_modal_alternatives": f"Alternatives: {words.modal}, {by_size}",
        "uniques_by_size": keys,
        "zero_solvar_by_size": f"{none}, {by_size}",
        "guessers": "Closed forms of the guessers: modal share and Σp², with and without oneself",
    }
    number = _NUMBER.match(name)
    title = titles[name]
    return title if number is None else words.numbered(f"Table {int(number[1])}", title)


def lay_out(title: str, rows: pl.DataFrame, words: Words) -> ResultTable:
    """One table's rates as a sheet.

    A rate is shown with its interval, and the published value and the difference where the rows
    have them; the counts it is made of stand before it once.

    Args:
        title: Of the sheet.
        rows: The table's rows, as from `recon_cli.score.tables.make_rates`.
        words: The release's.
    """
    compared = "published_pct" in rows.columns and rows["published_pct"].count() > 0
    against = rows["against"].unique(maintain_order=True).to_list()
    rates = [rate for rate in _RATES if rate in rows["rate"].unique()]
    panels = rows["panel"].n_unique() > 1
    index: dict[tuple[str, str, str], dict[tuple[str, str], Mapping[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        place = index.setdefault((row["panel"], row["block_size"], row["source"]), {})
        place[row["against"], row["rate"]] = row
    names = [*([words.people] if panels else []), f"{words.unit} size", "source"]
    limits = _LIMITS if rows["least"].count() else None
    header = [
        *names,
        *(
            column
            for name in against
            for column in _header(f"{name}: {words.people}", rates, limits, compared=compared)
        ),
    ]
    body = []
    for (panel, block_size, source), by_rate in index.items():
        cells = [*([_who(panel, words)] if panels else []), block_size, source]
        for name in against:
            found = {r: by_rate.get((name, r), {}) for r in rates}
            cells += _cells(found, compared=compared)
            if limits is not None:
                cells.append(_range(found[rates[-1]], "least", "most"))
        body.append(tuple(cells))
    return ResultTable(title, tuple(header), tuple(body), len(names))


def brief(title: str, rows: pl.DataFrame, words: Words) -> list[ResultTable]:
    """One table's rates as narrow sheets, one for each file that is linked or agreed with.

    Of the rates with counts only the last, the one that the table is about, is shown in percent;
    *feasible* is what no other reconstruction goes below or above.

    Args:
        title: Of the sheets; the file's name is added.
        rows: As for `lay_out`.
        words: Likewise.
    """
    if rows.is_empty():
        return []
    compared = "published_pct" in rows.columns and rows["published_pct"].count() > 0
    rates = [rate for rate in _RATES if rate in rows["rate"].unique()]
    panels = rows["panel"].n_unique() > 1
    last = rates[-1]
    tables = []
    for against in rows["against"].unique(maintain_order=True):
        here = rows.filter(pl.col("against") == against)
        sized = here["block_size"].n_unique() > 1
        names = [*(["who"] if panels else []), "source", *(["size"] if sized else [])]
        counted = [_RATES[rate] for rate in rates if rate != last or len(rates) < 3]
        header = [*names, words.people, *counted, "%", "interval"]
        header += ["study", "diff"] if compared else []
        limited = here["least"].count() > 0
        header += ["feasible"] if limited else []
        index: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
        for row in here.iter_rows(named=True):
            place = row["panel"], row["source"], row["block_size"]
            index.setdefault(place, {})[row["rate"]] = row
        body = []
        for (panel, source, size), each in index.items():
            cells = [_who(panel, words)] if panels else []
            cells += [source, size] if sized else [source]
            cells.append(count(each[rates[0]]["of"]))
            cells += [
                count(each[rate]["count"]) for rate in rates if rate != last or len(rates) < 3
            ]
            cells += [percent(each[last]["pct"]), _range(each[last])]
            if compared:
                cells.append(_decimal(each[last].get("published_pct")))
                cells.append(_decimal(each[last].get("difference"), sign="+"))
            if limited:
                cells.append(_range(each[last], "least", "most"))
            body.append(tuple(cells))
        tables.append(ResultTable(f"{title}: {against}", tuple(header), tuple(body), len(names)))
    return tables


def _who(panel: str, words: Words) -> str:
    """A panel in a narrow column: the table's title says of what they are like most."""
    if words.is_study:
        return panel.replace("_", " ")
    group, _, unique = panel.partition("_")
    said = {"all": "all", "nonmodal": "unlike most", "modal": "like most"}[group]
    return (f"{unique}, {said}" if group != "all" else unique) if unique else said


def _range(row: Mapping[str, Any], low: str = "low", high: str = "high") -> str:
    return "" if row.get(low) is None else f"{row[low]:.1f}-{row[high]:.1f}"


def _header(whole: str, rates: Sequence[str], limits: str | None, *, compared: bool) -> list[str]:
    names = [whole]
    for rate in rates:
        names.append(f"{_RATES[rate]} %")
        if compared:
            names += ["published %", "difference"]
    return names if limits is None else [*names, limits]


def _cells(rates: Mapping[str, Mapping[str, Any]], *, compared: bool) -> list[str]:
    """People, then each rate with its count and interval."""
    first = next(iter(rates.values()))
    cells = [count(first.get("of"))]
    for row in rates.values():
        cells.append(_rate(row))
        if compared:
            cells += [_decimal(row.get("published_pct")), _decimal(row.get("difference"), sign="+")]
    return cells


def _rate(row: Mapping[str, Any]) -> str:
    text = percent(row.get("pct"))
    if row.get("pct") is None:
        return text
    if row.get("low") is not None:
        text += f" ({row['low']:.1f} to {row['high']:.1f})"
    return f"{text}, {count(row['count'])}"


def _decimal(value: float | None, *, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.1f}"
