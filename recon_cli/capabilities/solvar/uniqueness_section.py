"""The report's section on the proven number of reconstructions of geounits."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.findings import Findings, ReconstructionFindings
from recon_cli.capabilities.findings.proven import ONE, OPEN, SEVERAL, UNDECIDED, UNIQUENESS
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.solvar.section import by_size_words
from recon_cli.page.charts import BLUE, GREY, ORANGE, Chart, Look, Panel, bars
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.sentences import sentences
from recon_cli.page.words import (
    Words,
    capitalized,
    count,
    of_units,
    percent,
    percent_of,
    percentage,
    size_label,
)

_KEY = "one-solution"
_LABELS = {
    ONE: "exactly one, proven",
    SEVERAL: "several, proven",
    UNDECIDED: "not proven to be one",
    OPEN: "not bounded by the tables",
}
_COLOURS = {ONE: BLUE[0], SEVERAL: ORANGE[0], UNDECIDED: GREY[1], OPEN: ORANGE[1]}


def _title(words: Words) -> str:
    return f"{words.units.capitalize()} with one reconstruction"


def _render(found: ReconstructionFindings, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report how many reconstructions the units have, by size."""
    text = sentences("section.j2", "uniqueness", __package__, whole=found.whole, words=words)
    return (ReportSection(_KEY, _title(words), tuple(text), (_figure(found, words),)),)


def _figure(found: ReconstructionFindings, words: Words) -> Figure:
    whole = found.whole
    shown = [each for each in UNIQUENESS if each == ONE or whole[f"{each}_units"]]
    empty = (
        f" {of_units(found.empty, words)} without {words.people} are left out."
        if found.empty
        else ""
    )
    return Figure(
        name="one-solution",
        title=f"How many reconstructions a {words.unit} has, by its number of {words.people}",
        caption=f"The number is the share with exactly one.{empty}",
        alt=(
            f"Bars by number of {words.people} in the {words.unit}. Exactly one reconstruction: "
            f"{percentage(whole['one_units'], whole['units'])} of all {words.units}, with "
            f"{percentage(whole['one_population'], whole['population'])} of all {words.people}."
            + by_size_words(
                found.by_size, "one_population", "population", words, f"of {words.people}"
            )
        ),
        chart=Chart(_panels(found.by_size, shown, words)),
        sheets=(_sheet(found.by_size, shown, words),),
    )


def _panels(by_size: pl.DataFrame, shown: list[str], words: Words) -> tuple[Panel, ...]:
    looks = {each: Look(_LABELS[each], _COLOURS[each]) for each in shown}
    panels = []
    for title, what, axis in (
        (words.units.capitalize(), "units", f"% of {words.units}"),
        (capitalized(f"{words.people} in them"), "population", f"% of {words.people}"),
    ):
        rows = [
            (row["size"], {each: percent_of(row[f"{each}_{what}"], row[what]) for each in shown})
            for row in by_size.iter_rows(named=True)
        ]
        panels.append(bars(title, rows, looks, number=ONE, axis=axis))
    return tuple(panels)


def _sheet(by_size: pl.DataFrame, shown: list[str], words: Words) -> ResultTable:
    header = [f"{words.people} in the {words.unit}", words.units, words.people]
    for each in shown:
        header += [f"{_LABELS[each]}: {words.units}", "%", words.people, "%"]
    body = []
    for row in by_size.iter_rows(named=True):
        cells = [size_label(row["size"]), count(row["units"]), count(row["population"])]
        for each in shown:
            for what in ("units", "population"):
                part = row[f"{each}_{what}"]
                cells += [count(part), percent(percent_of(part, row[what]))]
        body.append(cells)
    return result_table("Reconstructions by size", header, body)


SECTION = Section(_KEY, _title, lambda findings: findings.reconstruction, _render)
