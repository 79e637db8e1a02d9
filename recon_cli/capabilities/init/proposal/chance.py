"""Sums that chance may have made: they need a word, others like them, or an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.crossed import ValueSum
from recon_cli.capabilities.init.proposal.evidence import CERTAIN_BITS
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.sources.formats.vocabulary import interval, is_total
from recon_cli.sources.read.row_labels import PART_OF, Path
from recon_cli.sources.read.words import Sense, says

#: Parts that a question names.
_MOST_NAMED = 4


def without_chance(relations: Relations, rows: Mapping[int, Path]) -> Relations:
    """Return relations without the sums of rows that other sums or groups contradict.

    Beside exact sums, one that is off by a little is chance. So is one whose total and parts are
    all parts of a stronger sum, which would count the parts twice; and, if a sheet says what places
    are part of, one with parts outside the group of its total.

    Args:
        rows: Row of the grid → its words.
    """
    groups = {path[:-1] for path in rows.values() if len(path) > 1}
    strong = [each for each in relations.sums(Axis.ROWS) if each.support.is_strong]
    is_exact = relations.base == 1 and not all(each.is_rounded for each in strong)

    def is_chance(each: Relation) -> bool:
        if not each.is_sum or each.axis is not Axis.ROWS or each.support.is_said:
            return False
        if each.line not in rows:
            return False
        own_lines = {each.line, *each.of}
        if any(own_lines <= {*s.of} and s.support.margin > each.support.margin for s in strong):
            return True
        path = rows[each.line]
        own = path if path in groups else path[:-1]
        others = {rows.get(row, ())[:-1] for row in each.of} - {()}
        alike = {group for group in groups if len(group) in map(len, others)}
        is_across = others != alike and any(group[: len(own)] != own for group in others)
        return (is_exact and each.is_rounded) or (bool(own) and is_across)

    return replace(relations, found=tuple(e for e in relations.found if not is_chance(e)))


def doubt_chance(relations: Relations, rows: Mapping[int, Path]) -> Relations:
    """Return relations in which sums of rows that are near to chance are doubted.

    Totals on the same side of consecutive parts are a layout, and their margins are added up.
    A heading, or the word total, makes a sum certain.

    Args:
        rows: Row of the grid → its words.
    """
    strong = [each for each in relations.sums(Axis.ROWS) if each.support.is_strong]
    margins: dict[int, float] = defaultdict(float)
    for each in strong:
        margins[_side(each)] += max(each.support.margin, 0.0)

    def is_near(each: Relation) -> bool:
        side = _side(each)
        # Rounding lets rows that stand apart from their sum fit by chance in many columns.
        least = CERTAIN_BITS * (2 if each.is_rounded and not side else 1)
        is_open = bool(each.rivals) and not side
        return is_open or (margins[side] if side else each.support.margin) < least

    def is_said(each: Relation) -> bool:
        path = rows.get(each.line, ())
        is_heading = all(rows.get(row, ())[: len(path)] == path for row in each.of)
        return bool(path) and (is_heading or says(path[-1], Sense.TOTAL))

    near = {id(each) for each in strong if is_near(each)}
    certain = {id(e) for e in strong if e.support.is_alike or e.support.is_said}
    near -= certain | {id(each) for each in strong if is_said(each)}
    found = [
        replace(each, support=replace(each.support, is_doubted=True)) if id(each) in near else each
        for each in relations.found
    ]
    return replace(relations, found=tuple(found))


def is_near_chance(each: ValueSum) -> bool:
    """Test whether a sum of values of a long table is near to chance, and no word confirms it.

    The word *total* confirms a sum, and so does a blank or a line of dashes as its name.
    """
    own, support = each.total, each.support
    is_called = is_total(own) or says(own, Sense.TOTAL) or not any(map(str.isalnum, own))
    is_certain = support.is_alike or support.margin >= CERTAIN_BITS
    return support.is_strong and not is_certain and not is_called


def settle_rows(
    relations: Relations,
    rows: Mapping[int, Path],
    total: Collection[str],
    apart: Collection[str],
    ask: Callable[[OpenQuestion], None],
) -> Relations:
    """Return relations with the doubted sums of rows that the user confirms, without denied ones.

    Ask about any other doubted sum, which stays doubted; but not about rounded ones in a sheet that
    says what places are part of.

    Args:
        rows: Row of the grid → its words.
        total: Names of rows that are said to be totals.
        apart: Names of rows that are said to be no totals.
        ask: Takes a question.
    """
    often = Counter(rows.values())
    has_groups = any(len(path) > 1 for path in rows.values())
    found: list[Relation] = []
    for each in relations.found:
        path = rows.get(each.line, ())
        name = PART_OF.join(path)
        if each.axis is Axis.ROWS and each.support.is_doubted and path:
            if name in apart:
                continue
            if name in total:
                found.append(replace(each, support=replace(each.support, is_alike=True)))
                continue
            if often[path] == 1 and not (has_groups and each.is_rounded):
                ask(_question(each, name, rows))
        found.append(each)
    return replace(relations, found=tuple(found))


def _question(each: Relation, name: str, rows: Mapping[int, Path]) -> OpenQuestion:
    parts = [repr(PART_OF.join(rows.get(row, ()))) for row in each.of]
    shown = " + ".join(parts[:_MOST_NAMED]) + " + …" * (len(parts) > _MOST_NAMED)
    return OpenQuestion(
        f"{name!r} is {shown} in {each.support.shown} columns, which may be chance: is it their "
        "total, or of its own?",
        {"of its own": flag("apart", name), "their total": flag("total", name)},
    )


def _side(each: Relation) -> int:
    """Return 1 for a total directly above consecutive parts, -1 for one below them, else 0."""
    first, last = min(each.of), max(each.of)
    if last - first + 1 != len(each.of):
        return 0
    return {first - 1: 1, last + 1: -1}.get(each.line, 0)


def as_doubted(each: Relation, headers: Mapping[int, Path]) -> Relation:
    """Mark a sum of columns as doubted if it may be chance and no word confirms it.

    A header confirms it that calls the sum a total; so do headers that call all parts sexes or
    ages.
    """
    if not each.is_sum or each.axis is not Axis.COLUMNS or each.support.is_said:
        return each
    is_near = not each.support.is_alike and each.support.margin < CERTAIN_BITS
    are_people = all(
        any(interval(word) or says(word, Sense.MALE, Sense.FEMALE) for word in headers[at])
        for at in each.of
    )
    is_called = says(" ".join(headers[each.line]), Sense.TOTAL)
    if not is_near or are_people or is_called:
        return each
    return replace(each, support=replace(each.support, is_doubted=True))
