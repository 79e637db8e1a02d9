"""Say what speaks against taking counts as they stand: hidden lines, flags, thousands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import polars as pl

from recon_cli.plurals import counted
from recon_cli.sources.documents import Document
from recon_cli.sources.formats import CountSheet
from recon_cli.sources.formats.count_sheet import cell_text
from recon_cli.sources.read.choices import Question
from recon_cli.sources.read.words import Sense, says
from recon_cli.sources.tabular import hidden_lines

#: Attributes of SDMX: whether a value may be published, and the power of ten that it is in.
_CONFIDENTIALITY: Final = "CONF_STATUS"
_POWER: Final = "UNIT_MULT"
#: Of the attribute's codes the one of what anybody may see.
_FREE: Final = "F"
#: Letters of a text, and hidden lines, that are shown.
_LONGEST: Final = 60
_MOST_NAMED: Final = 20


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


def in_units(name: str, sheet: CountSheet) -> Iterator[Question]:
    """Yield a question where counts are of tens, or thousands, as SDMX has it."""
    at = sheet.column(_POWER)
    if at is None:
        return
    unit = cell_text(at).fill_null("")
    batches = [batch.select(unit.alias("unit")) for batch in sheet.sheet.rows(sheet.skip)]
    powers = sorted(set(pl.concat(batches)["unit"]) - {"", "0"})
    if powers:
        yield Question(
            f"{name}: UNIT_MULT is {', '.join(powers)}: numbers in tens to that power are no "
            "counts: write them out, and declare by a law that they are rounded; or are they as "
            "they are?",
            {"as they are": "--yes"},
        )


def in_thousands(beside: Iterable[str]) -> Iterator[Question]:
    """Yield a question where words beside numbers say that they are in thousands or millions."""
    for text in beside:
        if says(text, Sense.SCALE):
            shown = " ".join(text.split())
            shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
            yield Question(
                f"{shown!r}: numbers in thousands or millions are no counts: write them out, and "
                "declare by a law that they are rounded; or are they as they are?",
                {"as they are": "--yes"},
            )
            return
