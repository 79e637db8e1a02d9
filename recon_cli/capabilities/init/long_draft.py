"""Draft a table with a row per count."""

from __future__ import annotations

import itertools

import numpy as np

from recon_cli.capabilities.init.columns_draft import draft_columns
from recon_cli.capabilities.init.conditions import Condition, Key, key_of
from recon_cli.capabilities.init.drafted import Drafted
from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.table_questions import ask_percentages
from recon_cli.capabilities.init.value_structure import structure_of_values
from recon_cli.sources.formats.count_sheet import COLUMNS


def draft_long(drafted: Drafted, part: Part) -> None:
    """Draft a table with a row per count."""
    table = part.table
    grid = part.table.grid
    dimensions = [at for at in table.names.keys if at != table.place]
    meanings: list[dict[str, Condition]] = []
    for at in dimensions:
        values = grid.coded((table.region.body, at))[0]
        if at not in table.said_apart:
            drafted.questions += filter(None, [ask_percentages(table.header(at), values)])
        place = {value: i for i, value in enumerate(values)}
        structure = structure_of_values(table, at)
        drafted.ask_unplaced(structure, values)
        crossed = [condition for known in meanings for condition in known.values()]
        found = drafted.conditions(structure, crossed)
        own = {v: found[i] for v, i in place.items() if i not in structure.unplaced}
        meanings.append(own)
        for value, condition in own.items():
            drafted.say(table.header(at), value, condition, part.name)
    rows = [condition for known in meanings for condition in known.values()]
    across = draft_columns(drafted, [part], rows)[0] if len(table.counts) > 1 else [{}]
    if len(table.counts) == 1:
        drafted.say(COLUMNS, part.column(table.counts[0]), {}, part.name)
    seen, which = grid.combinations(table.region.body, dimensions)
    cells: dict[Key, Condition] = {}
    for combination in itertools.product(sorted(seen), across):
        texts, column = combination
        if any(value not in own for own, value in zip(meanings, texts, strict=True)):
            continue
        both = dict(column)
        for own, value in zip(meanings, texts, strict=True):
            both |= own[value]
        cells.setdefault(key_of(both), both)
    places = table.place_texts
    drafted.note_missing(places, which)
    drafted.add_table(list(cells.values()), part, places)
    is_whole = [
        not any(own.get(value, True) for own, value in zip(meanings, combination, strict=True))
        for combination in seen
    ]
    whole = np.flatnonzero(np.array(is_whole, dtype=bool)[which]).tolist()
    everybody = [i for i, condition in enumerate(across) if not condition] if whole else []
    drafted.note_totals(part, [drafted.paths[places[row]] for row in whole], everybody[:1], whole)
