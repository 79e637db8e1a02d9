"""The report's section on contributions: what each part adds to what is proven."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.contributions import CONTRIBUTIONS
from recon_cli.capabilities.contributions.ranking import MEASURES, NOTHING, WHOLE
from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.section import Section, folder_of
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.words import Words, count
from recon_cli.store import Folder

_KEY = "contributions"
_TITLE = "Which parts do the damage"
_PARTS = {"tables": "table", "levels": "level", "features": "feature's detail"}


def _render(folder: Folder, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report what is proven without each part, and what the part adds."""
    notes = folder.manifest.notes
    ranked = pl.read_parquet(folder.read_extra("contributions.parquet"))
    part = _PARTS[notes["parts"]]
    text = [
        f"Each {part} was left out of the publication, and what remains was attacked again; "
        f"numbers of {words.people} stayed known. What is proven less often then is what it adds. "
        f"Certain {words.people}: their whole record is in every solution of their {words.unit}. "
        f"Disclosed {words.people}: some columns settle another one.",
        "Two parts that say the same add nothing alone: leaving out one leaves the other.",
    ]
    if notes["orders"]:
        text.append(
            f"Shapley values, which share what several say, are means over {notes['orders']} "
            "orders in which parts join; their standard errors are in the folder."
        )
    sheet = _sheet(ranked, words, has_values=bool(notes["orders"]))
    return (ReportSection(_KEY, _TITLE, tuple(text), sheets=(sheet,)),)


def _sheet(ranked: pl.DataFrame, words: Words, *, has_values: bool) -> ResultTable:
    """Make a row for each part, as `capabilities.contributions.ranking.rank_contributions` does."""
    people = {name: f"{name} {words.people}" for name in ("certain", "disclosed")}
    names = [people.get(name, name) for name in MEASURES]
    header = ["left out", *(f"{name} without" for name in names)]
    header += [f"{name} added" for name in names]
    if has_values:
        header += [f"{name}, Shapley" for name in names]
    rows = []
    for row in ranked.iter_rows(named=True):
        cells = [_called(row["left_out"], words)]
        cells += [count(row[name]) for name in MEASURES]
        cells += [count(row[f"{name}_added"]) for name in MEASURES]
        if has_values:
            values = [row[f"{name}_shapley"] for name in MEASURES]
            cells += ["–" if value is None else f"{value:,.1f}" for value in values]
        rows.append(tuple(cells))
    return result_table("What is proven without it, and what it adds", tuple(header), rows)


def _called(name: str, words: Words) -> str:
    nothing = f"everything but numbers of {words.people}"
    return {WHOLE: "nothing", NOTHING: nothing}.get(name, name)


SECTION = Section(_KEY, _TITLE, folder_of(CONTRIBUTIONS), _render)
