"""Draft tables whose rows are kinds of what is counted, all of one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from recon_cli.capabilities.init.columns_draft import draft_columns
from recon_cli.capabilities.init.conditions import distinct
from recon_cli.capabilities.init.drafted import Drafted
from recon_cli.capabilities.init.lines import Part, moved
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.row_blocks import ask_above
from recon_cli.capabilities.init.proposal.said_sums import open_sums
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.capabilities.init.said import Said
from recon_cli.capabilities.init.structure import Structure
from recon_cli.sources.formats.normal_form import ROWS
from recon_cli.sources.read.row_labels import PART_OF, rows_named
from recon_cli.sources.read.row_labels import Path as Words


def draft_kinds(drafted: Drafted, group: Sequence[Part], *, are_kinds: bool) -> None:
    """Draft tables whose rows are the same kinds of what is counted, each of one place."""
    tables = [part.table for part in group]
    paths = tuple(dict.fromkeys(path for table in tables for path in table.rows))
    at_path = {path: i for i, path in enumerate(paths)}
    block = _of_rows(group, at_path)
    sums = _row_sums(group, block, at_path)
    related = {line for each in sums for line in (each.line, *each.of)}
    within = {
        i: at_path[path[:-1]]
        for i, path in enumerate(paths)
        if i not in related and path[:-1] in at_path
    }
    said = Said(
        frozenset(at_path[table.rows[i]] for table in tables for i in table.counted_rows),
        frozenset(at_path[table.rows[i]] for table in tables for i in table.rows_apart),
        tuple(open_sums(tables[0].said_sums, partial(rows_named, paths))),
    )
    down = Structure.of(dict(enumerate(paths)), sums, block, subsets=within, said=said)
    labels = [PART_OF.join(path) for path in paths]
    key = tables[0].names.keys[-1] if tables[0].names.keys else 0
    above = ask_above(paths, tables[0].header(key), is_said=are_kinds)
    if down.unplaced and above is not None:
        drafted.questions.append(above)
    else:
        drafted.ask_unplaced(down, labels)
    rows = drafted.conditions(down)
    across = draft_columns(drafted, group, rows.values())
    shown = [i for i in range(len(labels)) if i not in down.unplaced]
    kept = drafted.each_once(shown, rows, labels)
    each_of = list(zip(group, across, strict=True))
    if tables[0].sheet_place is not None:  # those that lack a row have the table of others
        each_of.sort(key=lambda own: -len(own[0].table.rows) * len(own[1]))
    for part, columns in each_of:
        if not columns:
            continue  # it is asked what they count
        row_at = {at_path[path]: row for row, path in enumerate(part.table.rows)}
        own = [i for i in kept if i in row_at]
        for i in own:
            drafted.say(ROWS, labels[i], rows[i], part.name)
        cells = [{**rows[i], **condition} for i in own for condition in columns]
        place = part.table.only_place
        drafted.add_table(distinct(cells), part, [place])
        everybody = [i for i, condition in enumerate(columns) if not condition]
        whole = [row_at[i] for i in own if not rows[i]][:1]
        drafted.note_totals(part, [place] * len(whole), everybody[:1], whole)


def _of_rows(group: Sequence[Part], at_path: Mapping[Words, int]) -> Intervals:
    """Return the numbers of tables beside each other, in the rows that any of them has."""
    blocks: list[Intervals] = []
    for part in group:
        columns = np.arange(len(part.table.counts), dtype=np.intp)
        rows = np.array([[at_path[path]] for path in part.table.rows], dtype=np.intp)
        blocks.append(Intervals.unknown((len(at_path), len(columns))))
        blocks[-1].put(rows, columns, part.numbers)
    return Intervals.beside(blocks)


def _row_sums(
    group: Sequence[Part], block: Intervals, at_path: Mapping[Words, int]
) -> list[Relation]:
    """Return the sums of rows that tables with the same rows show, alone or together."""
    found: dict[tuple[int, tuple[int, ...]], Relation] = {}
    positions = np.arange(block.low.shape[1])
    base = max(part.table.relations.base for part in group)
    for part in group:
        table = part.table
        numbered = zip(table.region.body.tolist(), table.rows, strict=True)
        row_at = {row: at_path[path] for row, path in numbered}
        for own in (moved(each, row_at) for each in part.table.relations.sums(Axis.ROWS)):
            support = own.support
            if len(group) > 1 and not support.is_strong:
                lines = np.array([own.line, *own.of], dtype=np.intp)
                slack = np.full(len(positions), 2.0 * (base - 1))
                support = support_of(block.take(lines, positions), slack)
            if support.is_strong:
                found.setdefault((own.line, own.of), replace(own, support=support))
    return list(found.values())
