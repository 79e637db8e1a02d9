"""The places of a table with a row per count: their sums, numbers and codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from recon_cli.capabilities.init.lines import Part
from recon_cli.capabilities.init.place_parents import PlaceSum, fits
from recon_cli.capabilities.init.place_tree import PlaceTree
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.sources.read.row_labels import Path as Words
from recon_cli.sources.read.table_reading import NAMELESS

#: Fewest parts of a total of places.
_FEWEST_PLACES: Final = 2


def add_long_places(places: PlaceTree, part: Part) -> None:
    """Add the places of a table with a row per count.

    Args:
        places: The places of all tables.
    """
    table = part.table
    paths = list(dict.fromkeys(table.place_paths))
    place_of = {path: i for i, path in enumerate(paths)}
    named: dict[str, list[int]] = {}
    for i, path in enumerate(paths):
        named.setdefault(path[-1], []).append(i)
    named[""] = named.get(NAMELESS, [])

    def beside(total: int, parts: Sequence[int]) -> tuple[int, ...]:
        """Return the parts of a place; only those of its group if other places have its name."""
        path = paths[total]
        is_alone = len(named[path[-1]]) == 1
        return tuple(i for i in parts if is_alone or paths[i][:-1] == path[:-1])

    sums = [
        PlaceSum(i, own)
        for each in table.values
        if each.dimension == table.place and each.support.is_strong
        for i in named.get(each.total, ())
        if (own := beside(i, [j for v in each.parts for j in named.get(v, ())]))
    ]
    lines = [place_of[path] for path in table.place_paths]
    chain = [at for at in (table.place, *table.parents) if at is not None]
    numbers = table.numbers_of(np.array(lines, dtype=np.int64), chain)
    if table.parents and (whole := _nameless_total(table, paths, numbers)) is not None:
        sums.append(whole)
    places.add(
        part.label,
        paths,
        sums,
        numbers,
        codes_of_places(part),
        base=table.relations.base,
        totals={lines[row] for row in table.rows_total},
        apart={lines[row] for row in table.rows_apart},
    )


def _nameless_total(
    table: ProposedTable, paths: Sequence[Words], numbers: Intervals
) -> PlaceSum | None:
    """Return the sum of all places, if rows without a place are their total.

    Numbers show the sum in one combination at least, and break it in none.

    Args:
        paths: The words of each place.
        numbers: Places by combinations.
    """
    parts = [i for i, path in enumerate(paths) if path != (NAMELESS,) and path[:-1] not in paths]
    if (NAMELESS,) not in paths or len(parts) < _FEWEST_PLACES:
        return None
    whole = paths.index((NAMELESS,))
    told = numbers.known[[whole, *parts]].all(axis=0) & (numbers.low[whole] > 0)
    is_it = told.any() and fits(numbers, whole, parts, table.relations.base)
    return PlaceSum(whole, tuple(parts)) if is_it else None


def codes_of_places(part: Part) -> dict[int, str]:
    """Map the position of each place to its code, if a column has such codes."""
    table, grid = part.table, part.table.grid
    key = table.place
    twins = [at for at, other in table.names.twins.items() if other == key]
    places = table.place_paths
    order = {path: i for i, path in enumerate(dict.fromkeys(places))}
    for at in twins:
        own = [str(text).strip() for text in grid.texts[table.region.body, at].tolist()]
        found = {order[path]: code for path, code in zip(places, own, strict=True) if code}
        if len(set(found.values())) == len(found):
            return found
    return {}
