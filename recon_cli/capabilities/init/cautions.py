"""Warn of what speaks against taking counts as they stand: hidden lines, flags, thousands."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import numpy as np
import polars as pl

from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.proposal import Proposal
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.plurals import counted
from recon_cli.sources.documents import Document
from recon_cli.sources.formats import CountSheet
from recon_cli.sources.formats.count_sheet import cell_text
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular import hidden_lines

#: Attributes of SDMX: whether a value may be published, and the power of ten that it is in.
_CONFIDENTIALITY: Final = "CONF_STATUS"
_POWER: Final = "UNIT_MULT"
#: The code of `CONF_STATUS` for a value that anybody may see.
_FREE: Final = "F"
#: Most letters of a text, and most hidden lines, that are shown.
_LONGEST: Final = 60
_MOST_NAMED: Final = 20
#: Fewest counts of a column that show of what number they are multiples.
_FEWEST_MULTIPLES: Final = 4
#: Greatest base that is ignored: even numbers add up by chance too often.
_LEAST_BASE: Final = 2
#: Fewest bits of evidence that sums of rounded numbers are exact by design.
_CERTAIN_BITS: Final = 3.0


def of_hidden(document: Document) -> Iterator[str]:
    """Say that some rows or columns of a sheet are hidden, which anybody may show again."""
    if lines := hidden_lines(document):
        shown = ", ".join(lines[:_MOST_NAMED]) + ", …" * (len(lines) > _MOST_NAMED)
        yield (
            f"{document.name}: whether {shown}, hidden there, may be published: whoever has the "
            "file can show what is hidden"
        )


def of_flagged(name: str, sheet: CountSheet) -> Iterator[str]:
    """Say that counts are shown beside a flag that calls them confidential, as SDMX has it."""
    at, (count, *_) = sheet.column(_CONFIDENTIALITY), sheet.counts
    if at is None:
        return
    flag = cell_text(at).fill_null("")
    shown = cell_text(count.at).fill_null("").str.contains("[0-9]")
    flagged = [
        batch.filter(~flag.is_in(["", _FREE]) & shown).select(flag.alias("flag"))
        for batch in sheet.sheet.rows(sheet.skip)
    ]
    found = pl.concat(flagged)["flag"]
    if len(found):
        codes = ", ".join(sorted(found.unique()))
        number = counted(len(found), "count")
        yield (
            f"{name}: why {number} can be seen that CONF_STATUS calls confidential ({codes}): "
            "taken as published"
        )


def of_unstated(beside: Iterable[str], readings: Iterable[Proposal]) -> Iterator[str]:
    """Say that totals may count people with an unknown value, where a note mentions such people.

    Say nothing where a column or row counts them.
    """
    tables = [table for reading in readings for table in reading.tables]
    labels = {word for table in tables for at in table.counts for word in table.headers[at]}
    labels |= {word for table in tables for path in table.rows for word in path}
    if not tables or any(says(label, Sense.UNSTATED) for label in labels):
        return
    for text in beside:
        if says(text, Sense.UNSTATED):
            shown = _shown(text)
            yield (
                f"whether somebody is in a total and in none of its parts: a note says {shown!r} "
                "(if so, `--sum 'TOTAL = A + B + ...'`)"
            )
            return


def of_rounding(beside: Iterable[str], readings: Iterable[Proposal]) -> str | OpenQuestion | None:
    """Say that counts may be rounded, where a note says so and numbers do not show it.

    Return a question if only some columns look rounded, since a law is for all counts of a table.
    Return None where no note mentions rounding.
    """
    text = next((text for text in beside if says(text, Sense.ROUNDED)), None)
    if text is None:
        return None
    note = _shown(text)
    for table in (table for reading in readings for table in reading.tables):
        bases = {table.header(at): _base_of(table, at) for at in table.counts}
        rounded = [name for name, base in bases.items() if base > _LEAST_BASE]
        exact = [name for name in bases if name not in rounded]
        base = math.gcd(*(bases[name] for name in rounded))
        if rounded and exact and re.search(rf"\b{base}\b", text):
            return OpenQuestion(
                f"a note says {note!r}: {', '.join(map(repr, rounded))} are multiples of {base}, "
                f"and {', '.join(map(repr, exact))} not; what is rounded is read by itself",
                {
                    "read what is rounded": flag("leave-out", *exact),
                    "none is rounded": "--rounded none",
                },
            )
    return (
        f"whether counts are rounded: a note says {note!r}; they do not look so, or are too few to "
        "tell, and are taken as exact"
    )


def _base_of(table: ProposedTable, at: int) -> int:
    """Return the number of which all counts of a column are multiples; 1 if they are too few."""
    values = table.grid.values[table.region.body, at]
    told = values[~np.isnan(values) & (values > 0)].astype(np.int64)
    return int(np.gcd.reduce(told)) if len(told) >= _FEWEST_MULTIPLES else 1


def _shown(text: str) -> str:
    """Return the beginning of a text, on one line."""
    shown = " ".join(text.split())
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def in_units(name: str, sheet: CountSheet) -> Iterator[OpenQuestion]:
    """Yield a question where counts are in tens or thousands, by the attribute of SDMX."""
    at = sheet.column(_POWER)
    if at is None:
        return
    unit = cell_text(at).fill_null("")
    batches = [batch.select(unit.alias("unit")) for batch in sheet.sheet.rows(sheet.skip)]
    powers = sorted(set(pl.concat(batches)["unit"]) - {"", "0"})
    if powers:
        yield OpenQuestion(
            f"{name}: UNIT_MULT is {', '.join(powers)}: numbers in tens to that power are no "
            "counts: write them out, and declare by a law that they are rounded; or are they as "
            "they are?",
            {"as they are": "--unscaled"},
        )


def in_thousands(beside: Iterable[str]) -> Iterator[OpenQuestion]:
    """Yield a question where words beside numbers say that they are in thousands or millions."""
    for text in beside:
        if says(text, Sense.SCALE):
            shown = _shown(text)
            yield OpenQuestion(
                f"{shown!r}: numbers in thousands or millions are no counts: write them out, and "
                "declare by a law that they are rounded; or are they as they are?",
                {"as they are": "--unscaled"},
            )
            return


def added_up(readings: Iterable[Proposal], said: Collection[str] = ()) -> OpenQuestion | None:
    """Ask how totals were made to which rounded numbers add up exactly; None without such totals.

    If each count is rounded by itself, a total is off in most rows. Counts that are rounded
    together add up; so do totals of rounded parts, which are no rounded counts at all.

    Args:
        said: Totals that are rounded by themselves, as the user says.
    """
    totals: dict[str, None] = {}
    for table in (table for reading in readings for table in reading.tables):
        for axis in Axis:
            sums = [e for e in table.relations.sums(axis) if e.support.is_strong]
            if axis is Axis.COLUMNS:
                sums = [e for e in sums if {e.line, *e.of} <= {*table.counts}]
            told = [_exactness(table, each) for each in sums]
            if all(told) and sum(told) >= _CERTAIN_BITS:
                rows = dict(zip(table.region.body.tolist(), table.rows, strict=True))
                words = {e.line: PART_OF.join(rows[e.line]) for e in sums if axis is Axis.ROWS}
                totals |= dict.fromkeys(words.get(e.line) or table.header(e.line) for e in sums)
    if {*totals} <= {*said}:
        return None
    shown = ", ".join(repr(name) for name in list(totals)[:_MOST_NAMED])
    return OpenQuestion(
        f"{shown}: rounded numbers add up to it exactly, as counts that are each rounded by "
        "themselves rarely do: were they rounded so as to add up, or was it added up afterwards?",
        {
            "rounded so": flag("rounded", "controlled"),
            "added up after": flag("leave-out", *totals),
            "by chance, each by itself": flag("total", *totals),
        },
    )


def _exactness(table: ProposedTable, each: Relation) -> float:
    """Return −log2 of the probability that a sum of rounded numbers is never off; 0 if it is off.

    Each random rounding has an error of variance (b² − 1)/6; their sum is about normal.
    """
    base, lines = table.relations.base, [each.line, *each.of]
    if each.axis is Axis.COLUMNS:
        numbers = table.grid.values[table.region.body][:, lines].T
    else:
        numbers = table.grid.values[lines][:, list(table.counts)]
    numbers = numbers[:, ~np.isnan(numbers).any(axis=0)]
    if base <= _LEAST_BASE or (numbers[0] != numbers[1:].sum(axis=0)).any():
        return 0.0
    variance = len(lines) * (base**2 - 1) / 6 / base**2
    told = int(((numbers[1:] > 0).sum(axis=0) > 1).sum())
    return told * max(math.log2(2 * math.pi * variance) / 2, 0.0)
