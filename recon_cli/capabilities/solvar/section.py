"""The report's section on how far other reconstructions could be: Tables 6 and 7 of the study."""

from __future__ import annotations

import math

import polars as pl

from recon_cli.capabilities.findings.findings import (
    Findings,
    ReconstructionFindings,
    UniqueFindings,
    VariabilityFindings,
)
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.charts import BLUE, GREY, Chart, ChartRow, Look, Mark, Panel, bars
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, capitalized, count, percent, percentage, size_label

_KEY = "variability"
_TITLE = "Solution variability"
#: Percentiles that are drawn; the table has more.
_PERCENTILES = (10, 25, 50, 75, 90, 95, 99, 100)
_TWICE = " Between any two reconstructions the difference is at most twice that."


def _render(
    found: VariabilityFindings, findings: Findings, words: Words
) -> tuple[ReportSection, ...]:
    """Report solvar by percentile, and where it is zero."""
    whole = found.by_size.row(0, named=True)
    text = sentences(
        "section.j2",
        "variability",
        __package__,
        found=found,
        whole=whole,
        has_laws=bool(findings.laws),
        elsewhere=_proven_elsewhere(findings.reconstruction, whole["zero_solvar_units"]),
        words=words,
    )
    return (ReportSection(_KEY, _TITLE, tuple(text), (_figure(found, findings, words),)),)


def _proven_elsewhere(reconstruction: ReconstructionFindings | Missing, zero: int) -> int:
    if isinstance(reconstruction, Missing):
        return 0
    return reconstruction.whole["one_units"] - zero


def _figure(found: VariabilityFindings, findings: Findings, words: Words) -> Figure:
    last = found.percentiles.row(-1, named=True)
    middle = found.percentiles.filter(percentile=50).row(0, named=True)
    return Figure(
        name="variability",
        title="How much another reconstruction could differ",
        caption=(
            f"{words.variability.capitalize()} in percent, as an upper bound."
            + ("" if findings.laws else _TWICE)
        ),
        alt=(
            f"Points over percentiles of {words.units}: {words.variability} is "
            f"{percent(middle['solvar_pct'])}% at the median and "
            f"{percent(last['solvar_pct'])}% at most; over all {words.people} it is "
            f"{percent(last['cumulative_solvar_pct'])}%. Bars: share of {words.units} with none."
            + by_size_words(found.by_size, "zero_solvar_units", "units", words)
        ),
        chart=Chart(_panels(found, words)),
        sheets=(_percentile_sheet(found, words), _size_sheet(found, findings.uniques, words)),
    )


def _panels(found: VariabilityFindings, words: Words) -> tuple[Panel, ...]:
    here = Look(f"the {words.unit} at this percentile", BLUE[0], "circle")
    below = Look(f"all {words.units} up to it together", GREY[0], "square")
    shown = found.percentiles.filter(pl.col("percentile").is_in(_PERCENTILES))
    points = []
    for row in shown.iter_rows(named=True):
        marks = [
            Mark(look, value, f"{percent(value)}%", about=f"{look.name}: {percent(value)}%")
            for look, value in ((here, row["solvar_pct"]), (below, row["cumulative_solvar_pct"]))
            if value is not None
        ]
        points.append(ChartRow(f"{row['percentile']}%", tuple(marks)))
    most = max((mark.value for row in points for mark in row.marks), default=0.0)
    sizes = [
        (row["size"], {"zero": row["zero_solvar_units_pct"]}) for row in found.by_size.to_dicts()
    ]
    return (
        Panel(
            f"{_by_percentile(words)}, least variable first",
            f"{words.variability}, %",
            tuple(points),
            is_bars=False,
            top=10.0 * max(1, math.ceil(most / 10)),
        ),
        bars(
            f"Without {words.variability}, by number of {words.people}",
            sizes,
            {"zero": Look("zero", BLUE[1])},
            number="zero",
            axis=f"% of {words.units}",
        ),
    )


def _by_percentile(words: Words) -> str:
    return f"{words.variability.capitalize()} by percentile of {words.units}"


def _percentile_sheet(found: VariabilityFindings, words: Words) -> ResultTable:
    return result_table(
        words.numbered("Table 6", _by_percentile(words)),
        [
            "percentile",
            f"{words.variability} %",
            "any two, at most %",
            words.people,
            f"{words.people} up to here",
            f"their {words.variability} %",
            "any two, at most %",
        ],
        [
            [
                str(row["percentile"]),
                percent(row["solvar_pct"]),
                percent(row["max_solvar_pct"]),
                count(row["population"]),
                count(row["cumulative_population"]),
                percent(row["cumulative_solvar_pct"]),
                percent(row["max_cumulative_solvar_pct"]),
            ]
            for row in found.percentiles.iter_rows(named=True)
        ],
    )


def _size_sheet(
    found: VariabilityFindings, uniques: UniqueFindings | Missing, words: Words
) -> ResultTable:
    none, people = f"{words.units} without {words.variability}", words.people
    shares = {
        "zero_solvar_units": none,
        "zero_solvar_population": f"{people} in them",
        "certain": "certain records",
    }
    title = f"{none}, certain records, by size"
    by_size = found.by_size.drop("unique", "unique_pct")
    if not isinstance(uniques, Missing):
        shares = {"unique": f"unique {people}", **shares}
        title = f"unique {people}, {title}"
        by_size = by_size.join(
            uniques.by_size.drop("population"), on="size", how="left", maintain_order="left"
        )
    body = []
    for row in by_size.iter_rows(named=True):
        cells = [size_label(row["size"]), count(row["units"]), count(row["population"])]
        for part in shares:
            cells += [count(row[part]), percent(row[f"{part}_pct"])]
        body.append([*cells, count(row["unproven_units"])])
    unsettled = f"{words.units} not settled"
    columns = [column for name in shares.values() for column in (name, "%")]
    return result_table(
        words.numbered("Table 7", capitalized(title)),
        [f"{people} in the {words.unit}", words.units, people, *columns, unsettled],
        body,
    )


SECTION = Section(_KEY, _TITLE, lambda findings: findings.variability, _render)


def by_size_words(frame: pl.DataFrame, part: str, whole: str, words: Words, noun: str = "") -> str:
    """Describe the same share of every size class, for readers who cannot see the chart.

    Args:
        frame: ``size``, ``part`` and ``whole``, the first row over all sizes.
        part: Name of the numerator.
        whole: Name of the denominator.
    """
    shares = [
        f"{size_label(row['size'])}: {percentage(row[part], row[whole])}"
        for row in frame.slice(1).iter_rows(named=True)
        if row[whole]
    ]
    lead = f"By number of {words.people}" + (f", {noun}" if noun else "")
    return f" {lead}: {'; '.join(shares)}." if shares else ""
