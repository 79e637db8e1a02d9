"""Workbooks with a sheet for each place: the sums that the sheets show together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recon_cli.capabilities.init.lines import Part, sums_among
from recon_cli.capabilities.init.place_parents import PlaceSum
from recon_cli.capabilities.init.place_tree import PlaceTree
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis
from recon_cli.sources.read.choices import SaidSum
from recon_cli.sources.read.row_labels import PART_OF
from recon_cli.sources.read.row_labels import Path as Words

#: Cells of a table: number of the table in its sheet, words of the row, header of the column.
_Cell = tuple[int, Words, str]


def sums_of_sheets(parts: Sequence[Part]) -> tuple[SaidSum, ...]:
    """Return the sums of columns, or of rows, that sheets of the same form show together."""
    found: dict[SaidSum, None] = {}
    for group in _alike(parts):
        for axis in Axis:
            names, others = _names(group[0], axis), {*_names(group[0], _other(axis))}
            blocks = [_lines(part, axis) for part in group]
            base = max(part.table.relations.base for part in group)
            for each in sums_among(Intervals.beside(blocks), base):
                said = SaidSum(names[each.total], tuple(names[i] for i in each.parts))
                # What names lines of both axes would say a sum of both.
                if each.support.is_strong and not {*said.names} <= others:
                    found[said] = None
    return tuple(found)


def _alike(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the wide tables of several sheets that have the same rows and columns."""
    groups: dict[tuple[int, tuple[str, ...], tuple[str, ...]], list[Part]] = {}
    for part in parts:
        if part.table.names.is_long:
            continue
        rows, columns = (tuple(_names(part, axis)) for axis in (Axis.ROWS, Axis.COLUMNS))
        groups.setdefault((part.number, rows, columns), []).append(part)
    return [group for group in groups.values() if len(group) > 1]


def _other(axis: Axis) -> Axis:
    return Axis.ROWS if axis is Axis.COLUMNS else Axis.COLUMNS


def _names(part: Part, axis: Axis) -> list[str]:
    """Return the names of the lines of a table in flags."""
    if axis is Axis.COLUMNS:
        return [part.table.header(at) for at in part.table.counts]
    return [PART_OF.join(path) for path in part.table.rows]


def _lines(part: Part, axis: Axis) -> Intervals:
    return part.numbers.transposed if axis is Axis.COLUMNS else part.numbers


def add_sheet_places(places: PlaceTree, parts: Sequence[Part]) -> None:
    """Add the places after which sheets are named, with the sums that all their cells show."""
    told = [(part, place) for part in parts if (place := part.table.sheet_place) is not None]
    if not told:
        return
    sheets = {place: i for i, place in enumerate(dict.fromkeys(place for _, place in told))}
    every = dict.fromkeys(cell for part, _ in told for cell in _cells(part))
    cells = {cell: i for i, cell in enumerate(every)}
    block = Intervals.unknown((len(sheets), len(cells)))
    for part, place in told:
        at = np.array([[cells[cell] for cell in _cells(part)]], dtype=np.intp)
        block.put(np.array([[sheets[place]]], dtype=np.intp), at, part.numbers.in_a_line)
    base = max(part.table.relations.base for part, _ in told)
    sums = [PlaceSum(e.total, e.parts) for e in sums_among(block, base) if e.support.is_strong]
    at_name = {place.name: i for place, i in sheets.items()}
    for said in dict.fromkeys(said for part, _ in told for said in part.table.said_sums):
        if at_name.keys() >= {*said.names} and not said.is_open:
            total, *own = (at_name[name] for name in said.names)
            sums.append(PlaceSum(total, tuple(own)))
    places.add(
        told[0][0].label,
        [(name,) for name in at_name],
        sums,
        block,
        {},
        columns=[f"{number} {PART_OF.join(row)} {header}" for number, row, header in cells],
        base=base,
        totals=[i for place, i in sheets.items() if place.is_total],
        apart=[i for place, i in sheets.items() if place.is_apart],
    )


def _cells(part: Part) -> list[_Cell]:
    """Return the cell of each count of a table, row by row."""
    table = part.table
    if table.names.is_long:
        columns = [at for at in table.names.keys if at != table.place]
        rows = [tuple(map(str, row)) for row in table.grid.texts[table.region.body][:, columns]]
    else:
        rows = list(table.rows)
    headers = [part.column(at) for at in table.counts]
    return [(part.number, row, header) for row in rows for header in headers]
