"""The report's section on small groups of people that overlapping areas reveal."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.section import Section, folder_of
from recon_cli.capabilities.slivers import SLIVERS
from recon_cli.capabilities.slivers.question import SLIVERS as COLUMNS
from recon_cli.page.document import ReportSection, result_table
from recon_cli.page.words import Words
from recon_cli.store import Folder

_KEY = "slivers"
_TITLE = "Slivers between areas"
#: Rows of the table, and units that a row names.
_ROWS, _NAMED = 20, 4


def _render(folder: Folder, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    totals, below = folder.manifest.totals, folder.manifest.notes["below"]
    rows = pl.concat([COLUMNS.to_frame(), *folder.parts()])
    fewest = rows.sort("people", "geoid").head(_ROWS if findings.lists_places else 0)
    open_areas = totals["areas"] - totals["exact_areas"]
    caution = (
        f" Of {open_areas:,} areas the total is not published exactly; they are not used, so that "
        "other slivers may be smaller."
        if open_areas
        else ""
    )
    text = (
        f"**{rows.height:,}** groups of 1 to {below - 1} {words.people} are given away by "
        f"sums and differences of areas whose totals are exact, {totals['people']:,} "
        f"{words.people} in all, {words.who} may be in more than one. What the tables count of "
        f"these areas they count of the group, too.{caution}"
    )
    shown = [
        (row["areas"], _listed(row["units"]), f"{row['people']:,}")
        for row in fewest.iter_rows(named=True)
    ]
    table = result_table("Slivers", ("areas", "holds", words.people), shown, 2)
    return (ReportSection(_KEY, _TITLE, (text,), sheets=(table,) if shown else ()),)


def _listed(units: list[str]) -> str:
    more = f" and {len(units) - _NAMED:,} more" if len(units) > _NAMED else ""
    return ", ".join(units[:_NAMED]) + more


SECTION = Section(_KEY, _TITLE, folder_of(SLIVERS), _render)
