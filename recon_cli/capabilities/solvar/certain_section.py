"""The report's section on certain records, and people unique on their linking keys, by size."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.findings import Findings, ReconstructionFindings
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.solvar.section import by_size_words
from recon_cli.page.charts import BLUE, GREY, Chart, Look, Panel, bars
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, count, percent, percent_of, percentage, size_label
from recon_cli.schema import Release

_KEY = "certain"


def _title(words: Words) -> str:
    return f"Certain records and unique {words.people}"


def _render(
    found: ReconstructionFindings, findings: Findings, words: Words
) -> tuple[ReportSection, ...]:
    """Report certain records, and uniques if they were counted."""
    uniques, title = findings.uniques, _title(words)
    keys = _keys(findings.release, words)
    facts = {"found": found, "uniques": uniques, "keys": keys, "words": words}
    text = sentences("section.j2", "certain", __package__, **facts)
    if isinstance(uniques, Missing):
        figure = _figure(found, None, words)
        return (ReportSection(_KEY, title, tuple(text), (figure,), (), (uniques,)),)
    return (ReportSection(_KEY, title, tuple(text), (_figure(found, uniques.by_size, words),)),)


def _keys(release: Release, words: Words) -> str:
    keys = release.attack
    return words.listed(keys.binned) if keys is not None else "key"


def _figure(found: ReconstructionFindings, uniques: pl.DataFrame | None, words: Words) -> Figure:
    panels = [_certain_panel(found.by_size, words)]
    sheets = [_certain_sheet(found.by_size, words)]
    title = f"Certain records, by number of {words.people}"
    alt = (
        f"Bars by number of {words.people} in the {words.unit}. Certain records: "
        f"{percentage(found.whole['certain'], found.people)} of all."
        + by_size_words(found.by_size, "certain", "population", words, f"of {words.people}")
    )
    if uniques is not None:
        title = f"Certain records and unique {words.people}, by number of {words.people}"
        shares = [(row["size"], {"unique": row["unique_pct"]}) for row in uniques.to_dicts()]
        look = {"unique": Look("unique", GREY[0])}
        unique, axis = f"Unique {words.people}", f"% of {words.people}"
        panels.append(bars(unique, shares, look, number="unique", axis=axis))
        sheets.append(_unique_sheet(uniques, words))
        alt += f" Bars of unique {words.people}." + by_size_words(
            uniques, "unique", "population", words, f"of {words.people}"
        )
    return Figure(
        name="certain",
        title=title,
        caption="The number beside a bar is the share that is certain"
        + (", or unique." if uniques is not None else "."),
        alt=alt,
        chart=Chart(tuple(panels)),
        sheets=tuple(sheets),
    )


def _certain_panel(by_size: pl.DataFrame, words: Words) -> Panel:
    looks = {
        "sure": Look(f"certain, one reconstruction of the {words.unit}", BLUE[0]),
        "elsewhere": Look("certain, elsewhere", BLUE[1]),
        "rest": Look("not shown to be certain", GREY[1]),
    }
    rows = []
    for row in by_size.iter_rows(named=True):
        parts = {
            "all": row["certain"],
            "sure": row["certain"] - row["certain_elsewhere"],
            "elsewhere": row["certain_elsewhere"],
            "rest": row["population"] - row["certain"],
        }
        shares = {name: percent_of(part, row["population"]) for name, part in parts.items()}
        rows.append((row["size"], shares))
    shown = {
        key: look for key, look in looks.items() if key == "sure" or any(r[key] for _, r in rows)
    }
    return bars("Certain records", rows, shown, number="all", axis=f"% of {words.people}")


def _certain_sheet(by_size: pl.DataFrame, words: Words) -> ResultTable:
    header = [
        *(f"{words.people} in the {words.unit}", words.people, "certain", "%"),
        *(f"of them in {words.units} not proven to have one", f"% of {words.people}"),
    ]
    body = [
        [
            size_label(row["size"]),
            count(row["population"]),
            count(row["certain"]),
            percent(percent_of(row["certain"], row["population"])),
            count(row["certain_elsewhere"]),
            percent(percent_of(row["certain_elsewhere"], row["population"])),
        ]
        for row in by_size.iter_rows(named=True)
    ]
    return result_table("Certain records by size", header, body)


def _unique_sheet(uniques: pl.DataFrame, words: Words) -> ResultTable:
    compared = "published_pct" in uniques.columns
    body = [
        [
            size_label(row["size"]),
            count(row["population"]),
            count(row["unique"]),
            percent(row["unique_pct"]),
            *([percent(row["published_pct"])] if compared else []),
        ]
        for row in uniques.iter_rows(named=True)
    ]
    header = [f"{words.people} in the {words.unit}", words.people, "unique", "%"]
    header += ["study %"] if compared else []
    return result_table(f"Unique {words.people} by size", header, body)


SECTION = Section(_KEY, _title, lambda findings: findings.reconstruction, _render)
