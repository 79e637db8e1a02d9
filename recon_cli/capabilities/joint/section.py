"""The report's section on joint proofs, beside those of each release alone."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.checked import ALONE
from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.joint_findings import (
    COUNTED,
    JOINT_UNITS,
    SOLVED,
    DivisionFindings,
    JointFindings,
    are_all_open,
)
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.charts import BLUE, GREY, Chart, Look, Panel, bars
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.words import (
    Words,
    capitalized,
    of_units,
    percent,
    percent_of,
    percentage,
    size_label,
)
from recon_cli.plurals import plural

_KEY = "joint"
_TITLE = "Releases together"


def _render(found: JointFindings, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report for both kinds of records how many are certain alone, and together."""
    if are_all_open(found.manifest):
        return (ReportSection(_KEY, _TITLE, (_introduction(found), _open(found, words))),)
    figure = Figure(
        name=_KEY,
        title="Certain records, alone and together",
        caption="The number beside a bar is the share that is certain by all releases together.",
        alt=" ".join(_alt(found, part, words) for part in found.shown_parts),
        chart=Chart(tuple(_panel(found.by_size, part, words) for part in found.shown_parts)),
        sheets=tuple(_sheet(found.by_size, part, words) for part in found.shown_parts),
    )
    sheets = () if found.worst.is_empty() else (_worst(found, words),)
    return (ReportSection(_KEY, _TITLE, tuple(_text(found, words)), (figure,), sheets),)


def _text(found: JointFindings, words: Words) -> list[str]:
    units, statuses = found.manifest.totals["units"], found.manifest.statuses
    text = [_introduction(found)]
    text += [_certain(found.by_size.row(0, named=True), part) for part in found.shown_parts]
    said = (
        f"In {found.solved:,} of {units:,} {words.units} records were found that all tables admit "
    )
    said += "together: there the releases do not contradict each other."
    if more := statuses.get("bounded", 0):
        said += f" In {more:,} of these the budget ended first, and more may be certain."
    if more := units - found.solved:
        named = ", ".join(
            f"{number:,} {name}"
            for name, number in statuses.items()
            if number and name not in SOLVED
        )
        said += f" Of {more:,} more little or nothing is shown ({named}, see `{JOINT_UNITS}/`)."
    return [
        *text,
        *([] if found.divisions is None else [_together(found, found.divisions, words)]),
        said,
        f"Each {words.unit} was taken alone. Proven here means by {ALONE}; no other program has "
        "checked it.",
    ]


def _introduction(found: JointFindings) -> str:
    kinds = [plural(part) for part in found.manifest.notes["parts"]]
    return (
        f"{capitalized(', '.join(kinds[:-1]))} and {kinds[-1]} are published in releases of their "
        f"own. Here their tables are one program, with what links their records "
        f"(`{found.manifest.notes['links']}`). A record is certain together if it is in every "
        "solution of all of them, and alone if its own release proves that."
    )


def _open(found: JointFindings, words: Words) -> str:
    """State that nothing is proven because the records of one side are unbounded."""
    units, sides = found.manifest.totals["units"], map(plural, found.shown_parts)
    return (
        f"**Open:** in {of_units(units, words)} no table bounds the {' or the '.join(sides)}: how "
        "many there are, and whether the releases contradict each other, is not known. Further "
        "tables of either release may bound them."
    )


def _together(found: JointFindings, divisions: DivisionFindings, words: Words) -> str:
    """Describe who provably lives with whom."""
    kind = plural(found.shown_parts[1])
    records = found.by_size.row(0, named=True)[f"{found.shown_parts[1]}_records"]
    share = percentage(divisions.certain, records)
    return (
        f"**{divisions.certain:,}** of {records:,} {kind} ({share}) are certain with every member: "
        "at least so many have the members that `joint_compositions/` and `joint_members/` list. A "
        f"division was looked for in {divisions.asked:,} {words.units}; in {divisions.proven:,} of "
        f"them nothing else is certain with every member, and in {divisions.unique:,} all {kind} "
        "are."
    )


def _certain(row: dict[str, int], part: str) -> str:
    """Describe the certain records of one kind."""
    records, alone, joint = (row[f"{part}_{what}"] for what in COUNTED)
    kind = plural(part) if records != 1 else part
    return (
        f"**{joint:,}** of {records:,} {kind} ({percentage(joint, records)}) are certain together, "
        f"{alone:,} of them by their own tables: {joint - alone:,} more."
    )


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
