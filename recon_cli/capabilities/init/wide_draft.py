"""Draft tables with a row per place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from recon_cli.capabilities.init.conditions import Condition, Key, distinct, key_of
from recon_cli.capabilities.init.drafted import Drafted
from recon_cli.capabilities.init.lines import Lines, Part
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.titles import Titled, named_by_titles
from recon_cli.sources.formats.count_sheet import COLUMNS


def draft_wide(drafted: Drafted, group: Sequence[Part], sheets: Set[str | None]) -> None:
    """Draft tables with a row per place."""
    lines = Lines(group, [drafted.rows_of(part) for part in group])
    structure = named_by_titles(lines.structure(), _titles(lines, sheets))
    drafted.questions += lines.questions
    drafted.joined |= lines.joined
    drafted.ask_unplaced(structure, lines.headers)
    conditions = drafted.conditions(structure, tables=lines.tables)
    of_sheet: dict[str, list[tuple[Part, list[tuple[str, int]]]]] = {}
    for part, own in lines.of_parts():
        of_sheet.setdefault(part.name, []).append((part, own))
    for parts in of_sheet.values():
        cells: dict[Key, tuple[str, int]] = {}
        kept: list[Condition] = []
        for part, own in parts:
            for header, number in own:
                if number in structure.unplaced:
                    continue
                condition = conditions[number]
                first, same = cells.setdefault(key_of(condition), (header, number))
                if first != header:
                    drafted.leave_out[header] = ""
                    if lines.are_equal(number, same):
                        drafted.doubts.append(
                            f"whether {header!r} counts the same as {first!r}: their numbers "
                            "are equal, and it is left out"
                        )
                    else:
                        _ask_untold(drafted, header, first)
                    continue
                kept.append(condition)
                drafted.say(COLUMNS, header, condition, part.name)
        if not kept:
            continue  # it is asked what they count
        rows = [row for part, _ in parts for row in drafted.rows_of(part)]
        drafted.add_table(distinct(kept), parts[0][0], rows)
        for part, own in parts:
            whole = {header for header, number in own if not conditions.get(number, True)}
            everybody = [i for i, at in enumerate(part.table.counts) if part.column(at) in whole]
            drafted.note_totals(part, drafted.rows_of(part), everybody[:1])


def _ask_untold(drafted: Drafted, header: str, first: str) -> None:
    """Ask about a column that seems to count the same as another, but has other numbers."""
    drafted.doubts.append(f"whom {header!r} counts that {first!r} does not: it is left out")
    drafted.questions.append(
        OpenQuestion(
            f"{header!r}: no number tells whom it counts that {first!r} does not; to be left "
            "out, with all that is withheld in it?",
            {"leave it out": flag("leave-out", header)},
        )
    )


def _titles(lines: Lines, sheets: Set[str | None]) -> Iterator[Titled]:
    """Yield the columns of each table with the texts over them."""
    for part, own in lines.of_parts():
        sheet = part.document.sheet if len(sheets) > 1 else None
        at = part.table.place
        place = "" if at is None else part.table.header(at)
        yield Titled(sheet or "", part.title, place, [number for _, number in own])
