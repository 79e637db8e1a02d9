"""What the sections on linking share: who is drawn how, tables of rates, and them in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.report.document import result_table
from recon_cli.report.palette import Look, looks_by_kind
from recon_cli.report.words import Words, count, percent, size_label
from recon_cli.score.sheet import ResultTable
from recon_cli.score.sizes import ALL

#: Rate → heading of its columns, in their order.
_HEADINGS = {
    "agree_exact": "exact",
    "agree_binned": "coarse",
    "putative": "putative",
    "confirmed": "confirmed",
    "precision": "confirmed",
}


def looks_of(scores: ScoreFindings, rows: pl.DataFrame) -> list[Look]:
    """The sources of ``rows`` that are drawn: all with records, and a guesser of each kind.

    A source looks the same in every chart.
    """
    confidential = [name for name in scores.records if name in (scores.truth, scores.protected)]
    others = [name for name in scores.records if name not in confidential]
    every = looks_by_kind(confidential, others, scores.usual_guessers)
    present = set(rows["source"])
    return [look for look in every if look.name in present]


def sizes_of(rows: pl.DataFrame) -> list[str]:
    """The size classes of ``rows``, without the row over all."""
    found = rows.filter(pl.col("block_size") != ALL)["block_size"].unique()
    return sorted(found, key=lambda name: int(name.replace(",", "").rstrip("+").split("-")[0]))


def rate_sheet(title: str, rows: pl.DataFrame, words: Words) -> ResultTable:
    """Rates as a table: counts, percent and interval, the study's value where there is one.

    Args:
        title: Of the table.
        rows: As from `recon_cli.score.tables.make_rates`, against one file.
        words: The release's words.
    """
    present = set(rows["rate"])
    shown = [name for name in _HEADINGS if name in present]
    compared = "published_pct" in rows.columns and rows["published_pct"].count() > 0
    panels = rows["panel"].n_unique() > 1
    index: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        place = row["panel"], row["block_size"], row["source"]
        index.setdefault(place, {})[row["rate"]] = row
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
            cells += _cells(found.get(name, {}), compared=compared)
        body.append(cells)
    return result_table(title, header, body, len(leading))


def _cells(row: dict[str, Any], *, compared: bool) -> list[str]:
    low, high = row.get("low"), row.get("high")
    span = "" if low is None else f"{percent(low)}–{percent(high)}"
    study = [percent(row.get("published_pct"))] if compared else []
    return [count(row.get("count")), percent(row.get("pct")), span, *study]


def reading(what: str, rows: pl.DataFrame, sources: Sequence[str]) -> str:
    """One panel in words: every source's rate in the smallest and in the largest class.

    Args:
        what: The panel.
        rows: Its rates, by size.
        sources: Those that are drawn.
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
