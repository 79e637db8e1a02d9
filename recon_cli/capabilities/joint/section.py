"""The report's section on joint proofs, beside those of each release alone."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.joint_findings import (
    COUNTED,
    SOLVED,
    JointFindings,
    are_all_open,
)
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.joint import JOINT_UNITS
from recon_cli.page.charts import BLUE, GREY, Chart, Look, Panel, bars
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, capitalized, percent, percent_of, size_label
from recon_cli.plurals import plural

_KEY = "joint"
_TITLE = "Releases together"


def _render(found: JointFindings, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report for both kinds of records how many are certain alone, and together."""
    is_open = are_all_open(found.manifest)
    facts = {
        "is_open": is_open,
        "solved": SOLVED,
        "folder": JOINT_UNITS,
        "alone": ALONE,
        "words": words,
    }
    text = tuple(sentences("section.j2", "text", __package__, found=found, **facts))
    if is_open:
        return (ReportSection(_KEY, _TITLE, text),)
    figure = Figure(
        name=_KEY,
        title="Certain records, alone and together",
        caption="The number beside a bar is the share that is certain by all releases together.",
        alt=" ".join(_alt(found, part, words) for part in found.shown_parts),
        chart=Chart(tuple(_panel(found.by_size, part, words) for part in found.shown_parts)),
        sheets=tuple(_sheet(found.by_size, part, words) for part in found.shown_parts),
    )
    sheets = () if found.worst.is_empty() else (_worst(found, words),)
    return (ReportSection(_KEY, _TITLE, text, (figure,), sheets),)


def _shares(row: dict[str, int], part: str) -> dict[str, float | None]:
    """Return percentages of the records of one kind."""
    records, alone, joint = (row[f"{part}_{what}"] for what in COUNTED)
    parts = {"alone": alone, "joint": joint - alone, "rest": records - joint, "certain": joint}
    return {name: percent_of(number, records) for name, number in parts.items()}


def _panel(by_size: pl.DataFrame, part: str, words: Words) -> Panel:
    looks = {
        "alone": Look("certain by its own release", BLUE[0]),
        "joint": Look("certain only together", BLUE[1]),
        "rest": Look("not shown to be certain", GREY[1]),
    }
    rows = [(row["size"], _shares(row, part)) for row in by_size.iter_rows(named=True)]
    title = f"{capitalized(plural(part))}, by {words.people} in the {words.unit}"
    return bars(title, rows, looks, number="certain", axis=f"% of {plural(part)}")


def _alt(found: JointFindings, part: str, words: Words) -> str:
    """Describe a panel for readers who cannot see it."""
    rows = found.by_size.iter_rows(named=True)
    shares = [
        f"{size_label(row['size'])}: {percent(of['alone'])}% alone, {percent(of['certain'])}%"
        for row in rows
        for of in (_shares(row, part),)
    ]
    kind = capitalized(plural(part))
    return f"{kind} certain by number of {words.people} in the {words.unit}: {'; '.join(shares)}."


def _sheet(by_size: pl.DataFrame, part: str, words: Words) -> ResultTable:
    kind = plural(part)
    header = (f"{words.people} in the {words.unit}", words.units, kind)
    rows = []
    for row in by_size.iter_rows(named=True):
        of = _shares(row, part)
        rows.append(
            [
                size_label(row["size"]),
                *(f"{row[name]:,}" for name in ("places", f"{part}_records", f"{part}_alone")),
                percent(of["alone"]),
                f"{row[f'{part}_joint']:,}",
                percent(of["certain"]),
            ]
        )
    title = f"Certain {kind} by size"
    return result_table(title, (*header, "certain alone", "%", "together", "%"), rows)


def _worst(found: JointFindings, words: Words) -> ResultTable:
    """List the places where the releases prove most together beyond each alone."""
    header = [words.unit]
    for part in found.shown_parts:
        header += [plural(part), "certain alone", "together"]
    rows = [
        [
            row["geoid"],
            *(f"{row[f'{part}_{what}']:,}" for part in found.shown_parts for what in COUNTED),
        ]
        for row in found.worst.iter_rows(named=True)
    ]
    return result_table(f"{capitalized(words.units)} with most certain only together", header, rows)


SECTION = Section(_KEY, _TITLE, lambda findings: findings.joint, _render)
