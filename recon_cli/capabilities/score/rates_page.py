"""Rates for readers: tables, a chart's panel in words, and the look of sources."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from recon_cli.capabilities.findings.findings import ScoreFindings
from recon_cli.capabilities.score.rate_charts import looks_by_kind
from recon_cli.page.charts import Look
from recon_cli.page.document import ResultTable, result_table
from recon_cli.page.sizes import ALL
from recon_cli.page.words import Words, capitalized, count, percent, size_label

_RATES = {
    "matched": "matched",
    "held": "of the truth",
    "unique": "unique",
    "zero_people": "people",
    "zero_units": "units",
    "putative": "putative",
    "confirmed": "confirmed",
    "precision": "precision",
    "agree_exact": "exact",
    "agree_near": "off by one",
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
    """Return the heading of a result table, with its number if the study is compared.

    Args:
        name: One of `recon_cli.capabilities.score.tables.TABLES`.
    """
    people, unit = words.people, words.unit
    none = f"{capitalized(words.units)} with {words.zero}"
    if words.is_study:
        none = f"Zero-solvar {words.units}"
    by_size = f"by {unit} size"
    keys = f"{capitalized(people)} unique on their keys in their {unit}, {by_size}"
    titles = {
        "table03_attackers": f"Records of {people} whom the truth has in their {unit}, {by_size}",
        "table07_uniques": keys,
        "table07_zero_solvar": f"{none}, and {people} in them, {by_size}",
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
    """Arrange one table's rates as a sheet.

    A rate is shown with its interval, and the published value and the difference if the rows have
    them; the counts behind it come first.

    Args:
        rows: The table's rows, as from `recon_cli.capabilities.score.tables.make_rates`.
    """
    compared = _is_compared(rows)
    against = rows["against"].unique(maintain_order=True).to_list()
    rates = [rate for rate in _RATES if rate in rows["rate"].unique()]
    panels = rows["panel"].n_unique() > 1
    index = _by_rate(rows, "panel", "block_size", "source", "against")
    # Tables 8 and 11 name both files: rHDF_bt-CEF
    pairs = words.is_study and "agree_binned" in rates and len(against) == 1
    names = [
        *([words.people] if panels else []),
        f"{words.unit} size",
        "comparison" if pairs else "source",
    ]
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
    for panel, block_size, source in dict.fromkeys(place[:3] for place in index):
        name = f"{source}-{against[0]}" if pairs else source
        cells = [*([_who(panel, words)] if panels else []), block_size, name]
        for name in against:
            by_rate = index.get((panel, block_size, source, name), {})
            found = {rate: by_rate.get(rate, {}) for rate in rates}
            cells += _cells(found, compared=compared)
            if limits is not None:
                cells.append(_range(found[rates[-1]], "least", "most"))
        body.append(tuple(cells))
    return ResultTable(title, tuple(header), tuple(body), len(names))


def brief(title: str, rows: pl.DataFrame, words: Words) -> list[ResultTable]:
    """Arrange one table's rates as narrow sheets, one for each file that is linked or compared.

    Only the last rate, which the table is about, is shown in percent, the others as counts;
    *feasible* is the range of all other reconstructions.

    Args:
        title: Title of the sheets; the file's name is added.
        rows: As for `lay_out`.
    """
    if rows.is_empty():
        return []
    compared = _is_compared(rows)
    rates = [rate for rate in _RATES if rate in rows["rate"].unique()]
    panels = rows["panel"].n_unique() > 1
    last = rates[-1]
    counted = rates if len(rates) < 3 else rates[:-1]
    tables = []
    for against in rows["against"].unique(maintain_order=True):
        here = rows.filter(pl.col("against") == against)
        sized = here["block_size"].n_unique() > 1
        names = [*(["who"] if panels else []), "source", *(["size"] if sized else [])]
        header = [*names, words.people, *(_RATES[rate] for rate in counted), "%", "interval"]
        header += ["study", "diff"] if compared else []
        limited = here["least"].count() > 0
        header += ["feasible"] if limited else []
        body = []
        for (panel, source, size), each in _by_rate(here, "panel", "source", "block_size").items():
            cells = [_who(panel, words)] if panels else []
            cells += [source, size] if sized else [source]
            cells.append(count(each[rates[0]]["of"]))
            cells += [count(each[rate]["count"]) for rate in counted]
            cells += [percent(each[last]["pct"]), _range(each[last])]
            if compared:
                cells.append(_decimal(each[last].get("published_pct")))
                cells.append(_decimal(each[last].get("difference"), sign="+"))
            if limited:
                cells.append(_range(each[last], "least", "most"))
            body.append(tuple(cells))
        tables.append(ResultTable(f"{title}: {against}", tuple(header), tuple(body), len(names)))
    return tables


def _is_compared(rows: pl.DataFrame) -> bool:
    """Test whether rows have values of a study."""
    return "published_pct" in rows.columns and rows["published_pct"].count() > 0


def _by_rate(rows: pl.DataFrame, *place: str) -> dict[tuple[str, ...], dict[str, dict[str, Any]]]:
    """Map places and rates to rows, in the order of the rows."""
    found: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(tuple(row[name] for name in place), {})[row["rate"]] = row
    return found


def _who(panel: str, words: Words) -> str:
    """Name a panel in a narrow column, without what the table's title states."""
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
    """Return people, then each rate with its count and interval."""
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


#: Rate → heading of its columns, in their order.
_HEADINGS = {
    "agree_exact": "exact",
    "agree_binned": "coarse",
    "putative": "putative",
    "confirmed": "confirmed",
    "precision": "confirmed",
}


def looks_of(scores: ScoreFindings, rows: pl.DataFrame) -> list[Look]:
    """Return the looks of the drawn sources: all with records, and a guesser of each kind.

    A source looks the same in every chart.
    """
    confidential = [name for name in scores.records if name in (scores.truth, scores.protected)]
    others = [name for name in scores.records if name not in confidential]
    every = looks_by_kind(confidential, others, scores.usual_guessers)
    present = set(rows["source"])
    return [look for look in every if look.name in present]


def sizes_of(rows: pl.DataFrame) -> list[str]:
    """Return the size classes of ``rows``, without the row over all."""
    found = rows.filter(pl.col("block_size") != ALL)["block_size"].unique()
    return sorted(found, key=lambda name: int(name.replace(",", "").rstrip("+").split("-")[0]))


def rate_sheet(title: str, rows: pl.DataFrame, words: Words) -> ResultTable:
    """Arrange rates as a table: counts, percent, interval, and the study's value if any.

    Args:
        rows: As from `recon_cli.capabilities.score.tables.make_rates`, against one file.
    """
    present = set(rows["rate"])
    shown = [name for name in _HEADINGS if name in present]
    compared = _is_compared(rows)
    panels = rows["panel"].n_unique() > 1
    index = _by_rate(rows, "panel", "block_size", "source")
    leading = [*(["who"] if panels else []), f"{words.people} in the {words.unit}", "source"]
    whole = "links" if shown[:1] == ["precision"] else words.people
    header = [*leading, whole]
    for name in shown:
        header += [_HEADINGS[name], "%", "interval", *(["study %"] if compared else [])]
    body = []
    for (panel, size, source), found in index.items():
        cells = [words.panel(panel)] if panels else []
        cells += [size_label(size), source, count(found[shown[0]]["of"] if shown else None)]
        for name in shown:
            cells += _narrow_cells(found.get(name, {}), compared=compared)
        body.append(cells)
    return result_table(title, header, body, len(leading))


def _narrow_cells(row: dict[str, Any], *, compared: bool) -> list[str]:
    low, high = row.get("low"), row.get("high")
    span = "" if low is None else f"{percent(low)}–{percent(high)}"
    study = [percent(row.get("published_pct"))] if compared else []
    return [count(row.get("count")), percent(row.get("pct")), span, *study]


def reading(what: str, rows: pl.DataFrame, sources: Sequence[str]) -> str:
    """Describe one panel: every source's rate in the smallest and in the largest class.

    Args:
        rows: Rates, by size.
        sources: Sources to draw.
    """
    sizes = sizes_of(rows.filter(pl.col("pct").is_not_null()))
    if not sizes:
        return f"{what}: no rates."
    ends = [sizes[0], sizes[-1]]
    readings = []
    for source in sources:
        found = dict(rows.filter(source=source).select("block_size", "pct").iter_rows())
        values = [f"{percent(found.get(size))}%" for size in ends if found.get(size) is not None]
        if values:
            readings.append(f"{source} {' to '.join(values)}")
    between = " to ".join(size_label(size) for size in dict.fromkeys(ends))
    return f"{what}, from size {between}: {', '.join(readings)}."
