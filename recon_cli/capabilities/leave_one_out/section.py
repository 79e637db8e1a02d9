"""The report's section on what people's own answers revealed, beside those of others."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.section import Section, folder_of
from recon_cli.capabilities.leave_one_out import LEAVE_ONE_OUT
from recon_cli.capabilities.score.leave_one_out import DIFFERENCE
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.sizes import ALL
from recon_cli.page.words import Words, capitalized, count, percent, size_label
from recon_cli.store import Folder

_KEY = "leave-one-out"
_TITLE = "What one's own answer gives away"
_MEASURES = {
    "chance": "the attack says what is true",
    "settled": "it follows in every reconstruction",
    "certain": "the whole record is certain",
}
_NUMBERS = ("with them %", "without %", "points", "interval", "undecided")


def _render(folder: Folder, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report conclusions about people with and without their answers."""
    notes, totals = folder.manifest.notes, folder.manifest.totals
    gains = words.listed(notes["gains"])
    text = (
        f"Each of **{totals['people']:,}** {words.people} was left out of the counts, and the "
        f"counts were attacked again, to learn {gains} from all else in the {words.person}'s "
        f"record. What is learnt with the {words.person} in the counts and not without comes from "
        f"publishing that {words.person}'s answer; what is learnt in both cases would be inferred "
        f"from others, whether or not the {words.person} answered.",
        f"The attack is the mean of {notes['solutions']} sampled reconstructions. That a record "
        "is certain, and that something follows in every reconstruction, is proven; what is "
        "undecided is counted as not so.",
    )
    shown = pl.read_csv(folder.read_extra("differences.csv"), schema=DIFFERENCE)
    sheets = (
        _sheet(
            f"{capitalized(words.everybody)}, and by who is modal",
            shown.filter(block_size=ALL),
            words,
        ),
        _sheet(
            f"The chance that the attack says what is true, by {words.people} in the {words.unit}",
            shown.filter((pl.col("block_size") != ALL) & (pl.col("measure") == "chance")),
            words,
        ),
    )
    return (ReportSection(_KEY, _TITLE, text, sheets=sheets),)


def _sheet(title: str, rows: pl.DataFrame, words: Words) -> ResultTable:
    sized = rows.filter(pl.col("block_size") != ALL).height > 0
    leading = ("who", f"{words.people} in the {words.unit}") if sized else ("who", "what is learnt")
    body = []
    for row in rows.iter_rows(named=True):
        second = size_label(row["block_size"]) if sized else _MEASURES[row["measure"]]
        body.append((words.panel(row["panel"]), second, *_numbers(row)))
    return result_table(title, (*leading, words.people, *_NUMBERS), body, len(leading))


def _numbers(row: dict[str, float | None]) -> tuple[str, ...]:
    low, high = row["low"], row["high"]
    span = "" if low is None or high is None else f"{low:+.1f} to {high:+.1f}"
    points = "–" if row["difference"] is None else f"{row['difference']:+.1f}"
    shares = (percent(row["pct"]), percent(row["pct_without"]))
    cells = (count(row["people"]), *shares, points, span, count(row["undecided"]))
    return tuple(cell.replace("-", "\u2212") for cell in cells)


SECTION = Section(_KEY, _TITLE, folder_of(LEAVE_ONE_OUT), _render)
