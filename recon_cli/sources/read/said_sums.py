"""Sums that somebody says, among columns, rows or values, which overrule what numbers propose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from recon_cli.errors import SourceError
from recon_cli.sources.read.choices import SaidSum
from recon_cli.sources.read.crossed import ValueSum
from recon_cli.sources.read.relations import Axis, Kind, Relation, Relations
from recon_cli.sources.read.row_labels import Path, is_called_total
from recon_cli.sources.read.sums import Support

#: Rows under another that may be all of its parts; one alone is an "of which".
_FEWEST_PARTS: Final = 2


def with_said_sums(
    relations: Relations,
    axis: Axis,
    said: Iterable[SaidSum],
    lines_of: Callable[[str], Sequence[int]],
    support: Callable[[int, tuple[int, ...]], Support],
) -> Relations:
    """Return relations with the sums that are said among lines of an axis.

    Args:
        lines_of: The lines that a name is of.
        support: How far the numbers bear out a sum, from its total and parts.

    Raises:
        SourceError: Numbers break one.
    """
    told: list[Relation] = []
    for each in said:
        lines = [tuple(lines_of(name)) for name in each.names]
        if any(len(own) != 1 for own in lines):
            continue  # of another axis, or of another sheet
        (total,), *rest = lines
        parts = tuple(part for (part,) in rest)
        own = support(total, parts)
        if own.broken:
            where = "rows" if axis is Axis.COLUMNS else "columns"
            raise SourceError(f"--sum '{each}': numbers break it in {own.broken} {where}")
        told.append(Relation(axis, total, parts, replace(own, is_said=True)))
    if not told:
        return relations
    kept = [each for each in relations.found if not any(_is_rival(each, own) for own in told)]
    counted = {at for each in told for at in (each.line, *each.of)}
    found = replace(relations, found=(*kept, *told))
    if axis is Axis.ROWS:
        return replace(found, rows=_counted(found.rows, counted))
    return replace(found, columns=_counted(found.columns, counted))


def with_nested(
    relations: Relations,
    rows: Mapping[int, Path],
    support: Callable[[int, tuple[int, ...]], Support],
    ask: Callable[[int, tuple[int, ...]], None],
) -> Relations:
    """Return relations in which rows add up to the row that they are indented under.

    Where numbers show one such sum, others are taken that no number breaks; where none is shown,
    each is asked about.

    Args:
        rows: Row of the grid → its words.
        support: How far the numbers bear out a sum, from its total and parts.
        ask: Asks about a sum that no number shows or breaks.
    """
    at = {path: row for row, path in rows.items()}
    parts: dict[int, list[int]] = {}
    for path, row in at.items():
        if path[:-1] in at:
            parts.setdefault(at[path[:-1]], []).append(row)
    told = {
        (each.line, {*each.of} == {*parts.get(each.line, [])})
        for each in relations.found
        if each.axis is Axis.ROWS and each.is_sum and each.support.is_strong
    }
    shown = {line for line, is_whole in told if is_whole}
    found: list[Relation] = []
    for total, own in parts.items():
        if total in shown or len(own) < _FEWEST_PARTS:
            continue
        borne = support(total, tuple(own))
        if borne.broken:
            continue
        if shown or borne.is_strong:
            found.append(Relation(Axis.ROWS, total, tuple(own), replace(borne, is_alike=True)))
        else:
            ask(total, tuple(own))
    kept = [each for each in relations.found if not any(_is_rival(each, own) for own in found)]
    return replace(relations, found=(*kept, *found))


def lone_total(
    relations: Relations, rows: Mapping[int, Path]
) -> tuple[int, tuple[int, ...]] | None:
    """Return the row that words call the total, alone in its group, and what it may be of; or None.

    Of each other group it is the row that is its total, else all; ``England / All prisons`` stands
    over ``Wales / All of Wales`` and ``Islands / Sark``. Where numbers show its sum already, or
    there are two such rows, there is none.
    """
    groups: dict[Path, list[int]] = {}
    for row, path in rows.items():
        groups.setdefault(path[:-1], []).append(row)
    totals = {row for row, path in rows.items() if path and is_called_total(path)}
    alone = [own[0] for outer, own in groups.items() if outer and len(own) == 1]
    alone = [row for row in alone if row in totals]
    if len(alone) != 1 or len(groups) <= _FEWEST_PARTS:
        return None
    (total,) = alone
    if any(each.line == total and each.support.is_strong for each in relations.sums(Axis.ROWS)):
        return None
    parts: list[int] = []
    for own in groups.values():
        if own != [total]:
            named = [row for row in own if row in totals]
            parts += named if len(named) == 1 else own
    return total, tuple(parts)


def _counted(kinds: Mapping[int, Kind], lines: Collection[int]) -> dict[int, Kind]:
    return {at: Kind.COUNT if at in lines else kind for at, kind in kinds.items()}


def _is_rival(each: Relation, said: Relation) -> bool:
    """Test whether a sum has parts of one that is said beside others."""
    is_alike = each.is_sum and each.axis is said.axis and each.line == said.line
    return is_alike and bool({*each.of} & {*said.of})


def with_said_values(
    found: Sequence[ValueSum],
    said: Iterable[SaidSum],
    dimensions: Iterable[tuple[int, Sequence[str]]],
    count: int,
) -> list[ValueSum]:
    """Return the sums among values of a long table with those that are said.

    Args:
        dimensions: The column of each dimension, and its values.
        count: The column of counts.
    """
    told = [
        ValueSum(at, count, each.total, each.parts, Support(0, 0, 0, 0.0, 0.0), is_said=True)
        for each in said
        for at, values in dimensions
        if {*each.names} <= {*values}
    ]
    named = {(each.dimension, each.total) for each in told}
    settled = {each.dimension for each in told}
    kept = [
        each
        for each in found
        if (each.dimension, each.total) not in named
        and (each.support.shown or each.dimension not in settled)
    ]
    return [*kept, *told]
