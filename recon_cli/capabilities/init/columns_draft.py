"""Draft what columns count beyond what their rows count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recon_cli.capabilities.init.conditions import Condition
from recon_cli.capabilities.init.drafted import Drafted
from recon_cli.capabilities.init.lines import Lines, Part
from recon_cli.sources.formats.count_sheet import COLUMNS


def draft_columns(
    drafted: Drafted, group: Sequence[Part], crossed: Iterable[Condition]
) -> list[list[Condition]]:
    """Draft what the columns of each table count, beyond the conditions of its rows."""
    headers = {part.column(at) for part in group for at in part.table.counts}
    places = [part.table.sheet_place for part in group]
    if len(headers) == 1 and len({*places}) == len(group):
        for part in group:
            drafted.say(COLUMNS, next(iter(headers)), {}, part.name)
        return [[{}] for _ in group]
    rows = [
        part.table.rows
        if len(group) > 1
        else [(str(row),) for row in part.table.region.body.tolist()]
        for part in group
    ]
    named = [() if place is None else (place.name,) for place in places]
    lines = Lines(
        group,
        [[(*place, *row) for row in own] for place, own in zip(named, rows, strict=True)],
    )
    structure = lines.structure()
    drafted.questions += lines.questions
    drafted.joined |= lines.joined
    drafted.ask_unplaced(structure, lines.headers)
    found = drafted.conditions(structure, crossed, lines.tables)
    told: list[list[Condition]] = []
    for each, own in lines.of_parts():
        shown = [i for _, i in own if i not in structure.unplaced]
        kept = drafted.each_once(shown, found, lines.headers)
        for i in kept:
            drafted.say(COLUMNS, lines.headers[i], found[i], each.name)
        told.append([found[i] for i in kept])
    return told
