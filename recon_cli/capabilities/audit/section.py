"""The report's section on suppressed and rounded counts."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.audit.words import meaning_of
from recon_cli.capabilities.findings.findings import AuditFindings, Findings
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, count
from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell

_KEY = "audit"
_TITLE = "Counts that were suppressed, rounded or left out"
#: Most recovered counts that are listed.
_LISTED = 10_000
_OUTCOMES = ("counts", "recovered", "narrowed", "safe", "undecided", "smallest width")
#: Columns of `AuditFindings.by_table`, in the order that they are shown in.
_NUMBERS = ("small", "zeros", "cells", "recovered", "narrowed", "safe", "undecided", "smallest")


def _render(found: AuditFindings, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report what follows about the counts that are not published exactly."""
    kinds = _rows(found.by_suppression, 1) if found.cells else []
    facts = {"found": found, "has_kinds": kinds != [], "words": words}
    text = tuple(sentences("section.j2", "text", __package__, **facts))
    if not found.cells:
        return (ReportSection(_KEY, _TITLE, text),)
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
    return (ReportSection(_KEY, _TITLE, text, sheets=tuple(sheets)),)


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


def _rows(frame: pl.DataFrame, words: int) -> list[tuple[str, ...]]:
    """Return the cells of a result table whose first columns are words."""
    return [
        (*row[:words], *("–" if number is None else count(number) for number in row[words:]))
        for row in frame.iter_rows()
    ]


SECTION = Section(_KEY, _TITLE, lambda findings: findings.audit, _render)
