"""Take totals of rows that words or indents propose, or ask about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from recon_cli.sources.read.choices import Choices, Question, flag
from recon_cli.sources.read.relations import Axis, Relation, Relations
from recon_cli.sources.read.row_labels import PART_OF, Path, is_called_total
from recon_cli.sources.read.said_sums import without_rivals
from recon_cli.sources.read.sums import Support

#: Rows under another that may be all of its parts; one alone is an "of which".
_FEWEST_PARTS: Final = 2
#: How far numbers bear out a sum, from its total and parts.
Bearing = Callable[[int, tuple[int, ...]], Support]


def with_nested(
    relations: Relations,
    rows: Mapping[int, Path],
    support: Bearing,
    said: Choices,
    ask: Callable[[Question], None],
) -> Relations:
    """Return relations in which rows add up to the row that they are indented under.

    Where numbers show one such sum, others are taken that no number breaks; where none is shown,
    each is asked about.

    Args:
        rows: Row of the grid → its words.
        said: Rows that are said to be totals, or kinds without one.
        ask: Takes a question.
    """
    at = {path: row for row, path in rows.items()}
    parts: dict[int, list[int]] = {}
    for path, row in at.items():
        if path[:-1] in at:
            parts.setdefault(at[path[:-1]], []).append(row)
    shown = {
        each.line
        for each in relations.sums(Axis.ROWS)
        if each.support.is_strong and {*each.of} == {*parts.get(each.line, ())}
    }
    found: list[Relation] = []
    for total, own in parts.items():
        if total in shown or len(own) < _FEWEST_PARTS:
            continue
        borne = support(total, tuple(own))
        label = {row: PART_OF.join(rows[row]) for row in (total, *own)}
        if borne.broken or {label[row] for row in own} <= {*said.apart}:
            continue
        if shown or borne.is_strong:
            found.append(Relation(Axis.ROWS, total, tuple(own), replace(borne, is_alike=True)))
            continue
        names = " + ".join(repr(rows[row][-1]) for row in own)
        whole = f"{label[total]} = {' + '.join(label[row] for row in own)}"
        answers = {
            "yes": flag("sum", whole),
            "no, others are in it, too": flag("apart", *(label[row] for row in own)),
        }
        text = f"{label[total]!r} may be {names}: no number shows it, none forbids it; is it so?"
        ask(Question(text, answers))
    return replace(relations, found=(*without_rivals(relations.found, found), *found))


def with_lone_total(
    relations: Relations,
    rows: Mapping[int, Path],
    support: Bearing,
    said: Choices,
    ask: Callable[[Question], None],
) -> Relations:
    """Return relations with a total over all groups of places; ask where no number shows it.

    Args:
        rows: Row of the grid → its words.
        said: Rows that are said to be totals, or places beside others.
        ask: Takes a question.
    """
    proposed = _lone_total(relations, rows)
    if proposed is None:
        return relations
    row, parts = proposed
    borne = support(row, parts)
    label = PART_OF.join(rows[row])
    if borne.broken or label in said.apart:
        return relations
    borne = replace(borne, is_said=label in said.total)
    if borne.is_strong:
        return replace(relations, found=(*relations.found, Relation(Axis.ROWS, row, parts, borne)))
    text = (
        f"{label!r} may be all other places together: too few columns show it, none forbids it; is "
        "it so?"
    )
    answers = {"yes": flag("total", label), "no, a place beside them": flag("apart", label)}
    ask(Question(text, answers))
    return relations


def _lone_total(
    relations: Relations, rows: Mapping[int, Path]
) -> tuple[int, tuple[int, ...]] | None:
    """Return the row that may be the total, alone in its group, and what it may be of; or None.

    It is the one that is part of nothing where all others are part of something, or that words
    call a total. Of each other group it is of the row that is its total, else of all:
    ``England / All prisons`` stands over ``North / North total`` and ``Islands / Sark``. Where
    numbers show its sum already, or there are two such rows, there is none.
    """
    groups: dict[Path, list[int]] = {}
    for row, path in rows.items():
        groups.setdefault(path[:-1], []).append(row)
    totals = {row for row, path in rows.items() if path and is_called_total(path)}
    alone = [own[0] for outer, own in groups.items() if len(own) == 1]
    alone = [row for row in alone if row in totals or len(rows[row]) == 1]
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
