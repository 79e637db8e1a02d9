"""Prefer the sums that the user says of columns, rows or values to those that numbers propose."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from recon_cli import plurals
from recon_cli.capabilities.init.proposal.crossed import ValueSum
from recon_cli.capabilities.init.proposal.evidence import Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Kind, Relation
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.proposal.sums import find_sums
from recon_cli.errors import SourceError
from recon_cli.sources.read.choices import SaidSum
from recon_cli.sources.read.table_reading import NAMELESS


def with_said_sums(
    relations: Relations,
    axis: Axis,
    said: Iterable[SaidSum],
    lines_of: Callable[[str], Sequence[int]],
    support: Callable[[int, tuple[int, ...]], Support],
) -> Relations:
    """Return relations with the sums that the user says among the lines of an axis.

    Args:
        lines_of: Returns the lines that have a name.
        support: Returns how far the numbers bear out a sum, from its total and parts.

    Raises:
        SourceError: Numbers break such a sum.
    """
    told: list[Relation] = []
    open_: dict[int, set[int]] = {}
    counted: set[int] = set()
    for each in said:
        lines = [tuple(lines_of(name)) for name in each.names]
        if any(len(own) != 1 for own in lines):
            continue  # of another axis, or of another sheet
        counted |= {line for (line,) in lines}
        (total,), *rest = lines
        parts = tuple(part for (part,) in rest)
        if each.is_open:  # no number shows it, nor that nobody else is in it
            open_.setdefault(total, set()).update(parts)
            continue
        own = support(total, parts)
        if own.broken:
            where = plurals.counted(own.broken, "row" if axis is Axis.COLUMNS else "column")
            raise SourceError(f"--sum '{each}': numbers break it in {where}")
        told.append(Relation(axis, total, parts, replace(own, is_said=True)))
    if not counted:
        return relations
    kept = [
        each
        for each in without_rivals(relations.found, told)
        if each.axis is not axis or open_.get(each.line, set()).isdisjoint(each.of)
    ]
    found = replace(relations, found=(*kept, *told))
    if axis is Axis.ROWS:
        return replace(found, rows=_counted(found.rows, counted))
    return replace(found, columns=_counted(found.columns, counted))


def open_sum_error(said: SaidSum) -> SourceError:
    """Return the error for a sum of places with unnamed parts."""
    return SourceError(
        f"--sum '{said}': say '...' of what is counted, in columns, rows or values, and not of "
        "places"
    )


def open_sums(
    said: Iterable[SaidSum], lines_of: Callable[[Sequence[str]], Sequence[int]]
) -> list[tuple[int, ...]]:
    """Return the lines of each sum with unnamed parts (`TOTAL = PART + ...`), its total first.

    Args:
        lines_of: Returns the lines that have some names.
    """
    found: list[tuple[int, ...]] = []
    for each in said:
        lines = [tuple(lines_of([name])) for name in each.names]
        if each.is_open and all(len(own) == 1 for own in lines):
            found.append(tuple(line for (line,) in lines))
    return found


def with_sums_of_heads(relations: Relations, block: Intervals) -> Relations:
    """Return relations with the sums among columns that are no parts, if the user says a sum.

    The parts of the said sum then stand no longer between its total and other columns.

    Args:
        block: The numbers of all columns, as lines.
    """
    sums = relations.sums(Axis.COLUMNS)
    if not any(each.support.is_said for each in sums):
        return relations
    inner = {part for each in sums for part in each.of}
    heads = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
    heads = [at for at in heads if at not in inner]
    positions = np.arange(block.low.shape[1], dtype=np.intp)
    own = block.take(np.array(heads, dtype=np.intp), positions)
    units = np.full(len(positions), 2.0 * (relations.base - 1)) if relations.base > 1 else None
    totals = {each.line for each in sums}
    told = [
        Relation(
            Axis.COLUMNS, heads[e.total], tuple(heads[i] for i in e.parts), e.support, step=e.step
        )
        for e in find_sums(own, units)
        if e.support.is_strong and heads[e.total] not in totals
    ]
    counted = {at for each in told for at in (each.line, *each.of)}
    return replace(
        relations,
        found=(*relations.found, *told),
        columns=_counted(relations.columns, counted),
    )


def _counted(kinds: Mapping[int, Kind], lines: Collection[int]) -> dict[int, Kind]:
    return {at: Kind.COUNT if at in lines else kind for at, kind in kinds.items()}


def without_rivals(found: Iterable[Relation], told: Sequence[Relation]) -> list[Relation]:
    """Return relations without sums that share their total and a part with a said sum.

    Remove also a sum whose total is a part of one said sum, and whose parts are some of those of
    another said sum of the same whole.
    """

    def is_across(each: Relation) -> bool:
        return any(
            one.line == other.line and each.line in one.of and {*each.of} < {*other.of}
            for one in told
            for other in told
            if each.is_sum and each.axis is one.axis is other.axis and one is not other
        )

    def is_rival(each: Relation, own: Relation) -> bool:
        is_same = each.is_sum and each.axis is own.axis and each.line == own.line
        return is_same and bool({*each.of} & {*own.of})

    kept = [each for each in found if not is_across(each)]
    return [each for each in kept if not any(is_rival(each, own) for own in told)]


def sums_of_values(said: Iterable[SaidSum]) -> list[SaidSum]:
    """Return the user's sums, and those of *(blank)* again with a blank as their total."""
    said = tuple(said)
    return [*said, *(replace(each, total="") for each in said if each.total == NAMELESS)]


def with_said_values(
    found: Sequence[ValueSum],
    said: Iterable[SaidSum],
    dimensions: Iterable[tuple[int, Sequence[str]]],
    count: int,
    places: Collection[int],
) -> list[ValueSum]:
    """Return the sums among values of a long table with those that the user says.

    Args:
        dimensions: The column of each dimension, and its values.
        count: The column of counts.
        places: The columns of places.

    Raises:
        SourceError: A sum of places has unnamed parts.
    """
    of_values = [
        (at, each) for each in said for at, values in dimensions if {*each.names} <= {*values}
    ]
    open_ = {(at, each.total): {*each.parts} for at, each in of_values if each.is_open}
    for at, each in of_values:
        if each.is_open and at in places:
            raise open_sum_error(each)
    found = [
        each
        for each in found
        if open_.get((each.dimension, each.total), set()).isdisjoint(each.parts)
    ]
    told = [
        ValueSum(at, count, each.total, each.parts, Support(0, 0, 0, 0.0, 0.0, is_said=True))
        for at, each in of_values
        if not each.is_open
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
