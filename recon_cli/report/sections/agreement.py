"""How far files have the same records: Table 8 of the study."""

from __future__ import annotations

import polars as pl

from recon_cli.evaluate.findings import ScoreFindings
from recon_cli.report.charts import Chart, rates
from recon_cli.report.document import Figure, ReportSection
from recon_cli.report.rates import looks_of, rate_sheet, reading, sizes_of
from recon_cli.report.words import Words, percent
from recon_cli.score.sizes import ALL

_RATES = {"agree_exact": "exact columns", "agree_binned": "coarse columns"}
_TABLES = ("table08_agreement", "table11_agreement_alternatives")


def agreement_section(found: ScoreFindings, words: Words) -> ReportSection:
    """Agreement of every pair of files, by size."""
    rows = found.table(*_TABLES).unique(
        ["source", "against", "block_size", "rate"], keep="first", maintain_order=True
    )
    keys = found.links.config
    exact, binned = (", ".join(f"`{c}`" for c in keys[name]) for name in ("exact", "binned"))
    gains = ", ".join(f"`{c}`" for c in keys["gains"])
    text = (
        f"Two files agree on a record when each has it in the same {words.unit}: on {exact}, "
        f"{gains} (exact), or on {binned}, {gains} (coarse).",
        _sentence(found, rows, words),
    )
    return ReportSection("agreement", "Agreement", text, (_figure(found, rows, words),))


def _sentence(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> str:
    whole = rows.filter(
        block_size=ALL, source=found.reconstruction, against=found.truth, rate="agree_binned"
    )
    if whole.is_empty() or whole["pct"][0] is None:
        return ""
    source = str(found.reconstruction)
    named = source if source.startswith("the ") else f"the reconstruction {source}"
    said = (
        f"Of the records of {found.truth}, {named} has "
        f"**{percent(whole['pct'][0])}%** on the coarse columns."
    )
    if whole["least"][0] is not None:
        study = " (the study's 100% interval)" if words.is_study else ""
        least, most = whole["least"][0], whole["most"][0]
        more = f" or more than {percent(most)}%" if most < 100 else ""
        said += (
            f" No reconstruction from the same tables has less than {percent(least)}%{more}{study}."
        )
    return said


def _figure(found: ScoreFindings, rows: pl.DataFrame, words: Words) -> Figure:
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
                f"{_RATES[rate]}, with {name}",
                shown.filter(against=name, rate=rate),
                [each.name for each in looks],
            )
            for rate in _RATES
            for name in against
        ),
        chart=Chart(tuple(panels), len(against)),
        sheets=tuple(
            rate_sheet(f"Agreement with {name}", rows.filter(against=name), words)
            for name in against
        ),
    )
