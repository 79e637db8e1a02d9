"""The report's section on suppressed and rounded counts."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.audit.words import meaning_of
from recon_cli.capabilities.findings.findings import AuditFindings, Findings
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.words import Words, count, percentage, stopped_words
from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell

_KEY = "audit"
_TITLE = "Counts that were suppressed, rounded or left out"
#: Most recovered counts that are listed.
_LISTED = 10_000
_OUTCOMES = ("counts", "recovered", "narrowed", "safe", "undecided", "smallest width")
#: Columns of `AuditFindings.by_table`, in the order that they are shown in.
_NUMBERS = ("small", "zeros", "cells", "recovered", "narrowed", "safe", "undecided", "smallest")
#: Why suppressed counts are told apart no further.
_KINDS = (
    "Of suppressed counts, those are primary that their flag or the other counts prove to be "
    "below the threshold, and those complementary that are proven not to be. Of the others "
    "(unknown) the data do not tell."
)


def _render(found: AuditFindings, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report what follows about the counts that are not published exactly."""
    cells, statuses = found.manifest.totals["cells"], found.manifest.statuses
    if not cells:
        return (
            ReportSection(
                _KEY,
                _TITLE,
                ("No count is left out, or declared to be suppressed, rounded or perturbed.",),
            ),
        )
    recovered = statuses.get("recovered", 0)
    safety = found.manifest.notes["safety"]
    without = f", of which {found.left_out:,} are left out of tables" if found.left_out else ""
    text = (
        f"**{recovered:,}** of {cells:,} counts that are not published exactly{without} "
        f"({percentage(recovered, cells)}) are recovered{_by_statistics(found)}: all other counts "
        "together leave one number. A count is safe if two reconstructions are known in which its "
        f"numbers {_apart(safety)}; it is narrowed if more than one number is left, and all lie "
        "closer together; it is undecided if nothing was shown within the effort. The smallest "
        "width is how far apart the numbers left of a count that is not recovered are at most. Any "
        f"{words.unit} and all coarser places are taken together, as anybody can.",
        "This rests on what the release says of its own protection: if counts were suppressed or "
        "rounded in another way, it is not true of them.",
    )
    kinds = _rows(found.by_suppression, 1)
    header = ("level", "table", "given away", "small ones recovered", "zeros recovered", *_OUTCOMES)
    sheets = [
        *_recovered(found, findings),
        result_table(
            "Counts that are not published exactly", header, _tables(found, findings.release), 3
        ),
    ]
    if kinds:
        title_of_kinds = "Suppressed counts, by why they are"
        sheets.append(result_table(title_of_kinds, ("suppression", *_OUTCOMES), kinds))
    before = stopped_words(found.manifest)
    paragraphs = (*before, *text, _KINDS) if kinds else (*before, *text)
    return (ReportSection(_KEY, _TITLE, paragraphs, sheets=tuple(sheets)),)


def _tables(found: AuditFindings, release: Release) -> list[tuple[str, ...]]:
    """List levels and tables, and whether a count of each is provably recovered."""
    of = release.table_by_name
    rows = []
    for row in found.by_table.iter_rows(named=True):
        verdict = "yes" if row["recovered"] else "undecided" if row["undecided"] else "not proven"
        told = ("–" if row[name] is None else count(row[name]) for name in _NUMBERS)
        rows.append((row["level"], of[row["table"]].called, verdict, *told))
    return rows


def _recovered(found: AuditFindings, findings: Findings) -> list[ResultTable]:
    """List the recovered counts in words: small ones first, then others, zeros last; by place."""
    release = findings.release
    if found.recovered_counts.is_empty() or not findings.lists_places:
        return []
    order = pl.col("is_small").not_(), pl.col("count") == 0, "geoid", "table", "cell"
    rows = found.recovered_counts.sort(*order).head(_LISTED)
    listed = tuple(
        (
            found.names.get(row["geoid"]) or row["geoid"],
            describe_cell(release, release.table_by_name[row["table"]].cells[row["cell"] - 1]),
            release.table_by_name[row["table"]].called,
            meaning_of(row["count"], is_small=row["is_small"]),
            count(row["count"]),
        )
        for row in rows.iter_rows(named=True)
    )
    whole = found.recovered_counts.height
    title = "What anybody can work out"
    title += f": {_LISTED:,} of {whole:,} counts" if whole > len(listed) else ""
    header = ("place", "of whom", "table", "tells of", "count")
    page_of = {place.geoid: place.page for place in findings.places}
    pages = tuple(page_of.get(geoid, "") for geoid in rows["geoid"])
    return [ResultTable(title, header, listed, 4, is_list=True, pages=pages)]


def _by_statistics(found: AuditFindings) -> str:
    """Say how many counts are recovered only by what is printed beside them."""
    by = found.manifest.totals.get("by_statistics")
    if by is None:
        return ""
    return f", **{by:,}** of them only by the percentages, means and other statistics beside them"


def _apart(safety: int | None) -> str:
    if safety is None:
        return (
            "are as far apart as its law requires: all that the flag of a small count admits, the "
            "threshold where further counts are flagged, one where the law has no threshold"
        )
    return "differ" if safety == 1 else f"are at least {safety} apart"


def _rows(frame: pl.DataFrame, words: int) -> list[tuple[str, ...]]:
    """Return the cells of a result table whose first columns are words."""
    return [
        (*row[:words], *("–" if number is None else count(number) for number in row[words:]))
        for row in frame.iter_rows()
    ]


SECTION = Section(_KEY, _TITLE, lambda findings: findings.audit, _render)
