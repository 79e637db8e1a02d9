"""Sums that chance may have made: they need a word, others like them, or an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from recon_cli.sources.read.choices import Question, flag
from recon_cli.sources.read.relations import Axis, Relation, Relations
from recon_cli.sources.read.row_labels import PART_OF, Path
from recon_cli.sources.read.sums import CERTAIN_BITS
from recon_cli.sources.read.words import Sense, says

#: Parts that a question names.
_MOST_NAMED = 4


def doubt_chance(relations: Relations, headers: Mapping[int, Path]) -> Relations:
    """Return relations in which sums are doubted that are near to chance, and that no word says.

    Totals on one side of rows that follow each other are a layout: they are as far from chance as
    all of them together. Rounded columns have few bits each; their words are looked at instead.

    Args:
        headers: Column → its words.
    """
    margins: dict[int, float] = defaultdict(float)
    rows = [each for each in relations.sums(Axis.ROWS) if each.support.is_strong]
    for each in rows:
        if each.support.margin > 0:
            margins[_side(each)] += each.support.margin

    def is_near(each: Relation) -> bool:
        if not (each.is_sum and each.support.is_strong) or each.support.is_alike:
            return False
        if each.axis is Axis.COLUMNS:
            is_said = says(" ".join(headers[each.line]), Sense.TOTAL)
            return each.support.margin < CERTAIN_BITS and not (is_said or each.is_rounded)
        side = _side(each)
        return (margins[side] if side else each.support.margin) < CERTAIN_BITS

    found = [
        replace(each, support=replace(each.support, is_doubted=True)) if is_near(each) else each
        for each in relations.found
    ]
    return replace(relations, found=tuple(found))


def settle_rows(
    relations: Relations,
    rows: Mapping[int, Path],
    total: Collection[str],
    apart: Collection[str],
    ask: Callable[[Question], None],
) -> Relations:
    """Return relations with the sums of rows that are said, and without those that are denied.

    Any other doubted one is asked about, and is none until it is said.

    Args:
        rows: Row of the grid → its words.
        total: Names of rows that are said to be totals.
        apart: Names of rows that are said to be none.
        ask: Takes a question.
    """
    often = Counter(rows.values())
    found: list[Relation] = []
    for each in relations.found:
        path = rows.get(each.line, ())
        if not path or each.axis is not Axis.ROWS or not each.is_sum:
            found.append(each)
            continue
        name = PART_OF.join(path)
        if name in apart:
            continue
        if each.support.is_doubted and (name in total or says(path[-1], Sense.TOTAL)):
            said = replace(each.support, is_alike=True)
            found.append(replace(each, support=said))
            continue
        if each.support.is_doubted and often[path] == 1:
            ask(_question(each, name, rows))
        found.append(each)
    return replace(relations, found=tuple(found))


def _question(each: Relation, name: str, rows: Mapping[int, Path]) -> Question:
    parts = [repr(PART_OF.join(rows.get(row, ()))) for row in each.of]
    shown = " + ".join(parts[:_MOST_NAMED]) + " + …" * (len(parts) > _MOST_NAMED)
    return Question(
        f"{name!r} is {shown} in {each.support.shown} columns, which may be chance: is it their "
        "total, or of its own?",
        {"of its own": flag("apart", name), "their total": flag("total", name)},
    )


def _side(each: Relation) -> int:
    """Return 1 for a total above rows that follow each other, -1 for one below, else 0."""
    first, last = min(each.of), max(each.of)
    if last - first + 1 != len(each.of):
        return 0
    return {first - 1: 1, last + 1: -1}.get(each.line, 0)
