"""Take totals of rows that words or indents propose, or ask about them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.evidence import MARGIN_BITS, Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.relations import Relations
from recon_cli.capabilities.init.proposal.said_sums import without_rivals
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.row_labels import PART_OF, Path, is_called_total

#: Fewest rows that may be all parts of another; a single one is an "of which".
_FEWEST_PARTS: Final = 2
#: Most rows that are searched for totals that too few columns show.
_MOST_ROWS: Final = 1_000
#: Most parts that are tried for one total, which may be any rows before or behind it.
_MOST_PARTS: Final = 40
#: Most people in all withheld parts of a total together.
_FEW: Final = 9
#: Fewest bits of evidence to ask whether rounded numbers cut a list into groups.
_CUT_BITS: Final = 2 * MARGIN_BITS
#: The answer that lines beside each other are no totals, and the flag that says so.
_NO: Final = "no, all are beside each other", "apart"
_NO_KINDS: Final = "no, these count some of the others, or other people", "count"
#: Returns how far numbers bear out a sum, from its total and parts.
Bearing = Callable[[int, tuple[int, ...]], Support]


def with_nested(
    relations: Relations,
    rows: Mapping[int, Path],
    support: Bearing,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
) -> Relations:
    """Return relations in which rows add up to the row that they are indented under.

    If numbers show one such sum, the others are accepted unless a number breaks them; if they show
    none, each sum is asked about.

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
        is_open = any(each.is_open and each.total == label[total] for each in said.sums)
        if borne.broken or is_open or {label[row] for row in own} <= {*said.apart}:
            continue
        if shown or borne.is_strong:
            found.append(Relation(Axis.ROWS, total, tuple(own), replace(borne, is_alike=True)))
            continue
        names = " + ".join(repr(rows[row][-1]) for row in own)
        whole = f"{label[total]} = {' + '.join(label[row] for row in own)}"
        each = (f"{label[total]} = {label[row]} + ..." for row in own)
        answers = {
            "yes": flag("sum", whole),
            "no, others are in it, too": flag("sum", f"{whole} + ..."),
            "no, and somebody may be in two of them": flag("sum", *each),
        }
        text = f"{label[total]!r} may be {names}: no number shows it, none forbids it; is it so?"
        ask(OpenQuestion(text, answers))
    return replace(relations, found=(*without_rivals(relations.found, found), *found))


def with_lone_total(
    relations: Relations,
    rows: Mapping[int, Path],
    support: Bearing,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
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
    ask(OpenQuestion(text, answers))
    return relations


def _lone_total(
    relations: Relations, rows: Mapping[int, Path]
) -> tuple[int, tuple[int, ...]] | None:
    """Return the row, alone in its group, that may be the total of all groups, and its parts.

    It is in no group, or words call it a total. Its parts are the total of each other group, or all
    rows of a group without one: those of ``England / All prisons`` are ``North / North total`` and
    ``Islands / Sark``. Return None for two such rows, or if numbers show the sum already.
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


def with_groups(
    relations: Relations,
    rows: Mapping[int, Path],
    block: Intervals,
    support: Bearing,
    *,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
    are_kinds: bool = False,
) -> Relations:
    """Return relations with totals that cut a list of rows into groups; ask if few numbers show it.

    Each row is a total or stands below one, or above it, and no number breaks a sum.

    Args:
        rows: Row of the grid → its words.
        block: The counts of each row.
        support: How far numbers bear a sum out.
        said: Rows that are said to be totals, or places beside others.
        ask: Takes a question.
        are_kinds: Whether the rows are kinds of what is counted, of one place.
    """
    if any(len(path) > 1 for path in rows.values()):
        return relations
    places = list(rows)
    labels = [path[-1] for path in rows.values()]
    at = {row: i for i, row in enumerate(places)}
    shown = {
        at[each.line]: [at[row] for row in each.of]
        for each in relations.sums(Axis.ROWS)
        if each.support.is_strong
    }
    no = _NO_KINDS if are_kinds else _NO
    groups = said_groups(block, labels, relations.base, shown, said=said, ask=ask, no=no)
    found = {places[total]: tuple(places[i] for i in own) for total, own in groups.items()}
    told = tuple(
        Relation(Axis.ROWS, row, own, replace(support(row, own), is_said=True))
        for row, own in found.items()
    )
    return replace(relations, found=(*without_rivals(relations.found, told), *told))


def said_groups(
    block: Intervals,
    labels: Sequence[str],
    base: int,
    strong: Mapping[int, Sequence[int]],
    *,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
    no: tuple[str, str] = _NO,
) -> dict[int, tuple[int, ...]]:
    """Map lines that may cut a list into groups, and that the user calls totals, to their parts.

    Ask about all others together.

    Args:
        block: The numbers of each line.
        labels: The label of each line.
        base: What numbers are rounded to.
        strong: Lines that numbers show to be totals → their parts.
        no: The answer that these lines are no totals, and the flag that says so of each.
    """
    slack = base - 1
    ways = possible_groups(block, slack, strong)
    denied = {"apart": said.apart, "count": said.count}
    settled = {*denied[no[1]], *(each.total for each in said.sums)}

    def open_of(way: Mapping[int, Sequence[int]]) -> list[int]:
        return [i for i in way if i not in strong and labels[i] not in settled]

    groups = max(
        (way for way in ways if len(way) >= _FEWEST_PARTS),
        key=lambda w: len(open_of(w)),
        default={},
    )
    asked = open_of(groups)
    if slack and sum(_bits(block, i, own, slack) for i, own in groups.items()) < _CUT_BITS:
        return {}
    found = {i: groups[i] for i in asked if labels[i] in said.total}
    asked = [i for i in asked if i not in found]
    if not asked:
        return found
    sums = [f"{labels[i]} = {' + '.join(labels[part] for part in groups[i])}" for i in asked]
    answers = {
        "yes": " ".join(flag("sum", each) for each in sums),
        no[0]: flag(no[1], *(labels[i] for i in asked)),
    }
    shown = "; ".join(sums[:_FEWEST_PARTS]) + "; …" * (len(sums) > _FEWEST_PARTS)
    ask(
        OpenQuestion(
            f"rows may be totals of those beside them, as far as numbers go: {shown}; where others "
            "add up, say which (`--sum`)",
            answers,
        )
    )
    return found


def ask_groups_beside(
    block: Intervals, labels: Sequence[str], columns: tuple[int, ...]
) -> OpenQuestion | None:
    """Ask whether some lines are totals of those beside them, where no number forbids it.

    Either such totals cut the whole list, or they leave few people for withheld parts everywhere.

    Args:
        block: The numbers of each line, not rounded.
        labels: The label of each line.
        columns: The columns that the lines are.

    Example:
        >>> numbers = np.array([[3.0, 6], [9, 5], [12, 11], [15, 9], [3, 9], [18, 18]])
        >>> print(ask_groups_beside(Intervals.exact(numbers), "ABCDEF", ()).text[:58])
        columns may be totals of those beside them: C = A + B; F =
    """
    every = range(len(block.low))
    ways = (_cut(block, order, 0, fewest=0) for order in ([*every], [*reversed(every)]))
    groups = next((way for way in ways if len(way) >= _FEWEST_PARTS), {}) or _tight(block)
    if not groups:
        return None

    def sums(of: Mapping[int, Sequence[int]]) -> list[str]:
        return [f"{labels[i]} = {' + '.join(labels[part] for part in of[i])}" for i in sorted(of)]

    answers = {"yes": flag("sum", *sums(groups))}
    if nobody := _nobody_beside(block, groups):
        wider = {i: sorted((*parts, *nobody.get(i, ()))) for i, parts in groups.items()}
        more = " + ".join(repr(labels[at]) for i in sorted(nobody) for at in nobody[i])
        answers[f"yes, with {more}"] = flag("sum", *sums(wider))
    return OpenQuestion(
        f"columns may be totals of those beside them: {'; '.join(sums(groups))}: too few rows show "
        "it, none forbids it; is it so?",
        {
            **answers,
            "no, nobody is in two of them": flag("apart", *labels),
            "no, some are in several": flag("count", *labels),
        },
        columns,
    )


def _nobody_beside(block: Intervals, groups: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
    """Map totals to lines of zeros next to their parts: the sums hold with and without these."""
    taken = {i for total, parts in groups.items() for i in (total, *parts)}
    is_free = [
        i not in taken and bool(block.known[i].any()) and not block.low[i].any()
        for i in range(len(block.low))
    ]
    found: dict[int, list[int]] = {}
    for total, parts in groups.items():
        ways = range(min(parts) - 1, -1, -1), range(max(parts) + 1, len(is_free))
        for at in (i for way in ways for i in itertools.takewhile(is_free.__getitem__, way)):
            found.setdefault(total, []).append(at)
            is_free[at] = False
    return found


def possible_groups(
    block: Intervals, slack: int, strong: Mapping[int, Sequence[int]]
) -> list[dict[int, tuple[int, ...]]]:
    """Return the ways in which some lines may be totals of those beside them: total → parts.

    Args:
        block: The numbers of each line.
        slack: How far rounding moves a number.
        strong: Lines that numbers show to be totals → their parts.
    """
    ways = [_groups(block, slack) or _groups_under_whole(block, slack)]
    return ways if slack else [*ways, _tight(block), _nested(block, strong)]


def _nested(block: Intervals, strong: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Return totals of a list in which each stands above its parts, or each below, at any depth.

    The parts of a total are the nearest lines that are in no total yet. Some number shows each sum,
    none breaks it, and few people are left for withheld parts; the way with the most evidence is
    chosen. Few numbers may show one sum if the evidence of all sums together is enough.

    Args:
        block: Numbers that are not rounded.
        strong: Lines that numbers show to be totals → their parts.
    """
    many, best, most = len(block.low), dict[int, tuple[int, ...]](), 0.0
    least = MARGIN_BITS + np.log2(max(many, 1))
    orders = (range(many), range(many - 1, -1, -1)) if many <= _MOST_ROWS else ()
    for order, fewest in itertools.product(orders, (least, 1.0)):
        found, weights = _nested_in_order(block, strong, order, fewest)
        weight = sum(weights)
        if weight > most and weight >= least * len(weights):
            best, most = found, weight
    return best


def _nested_in_order(
    block: Intervals, strong: Mapping[int, Sequence[int]], order: Iterable[int], fewest: float
) -> tuple[dict[int, tuple[int, ...]], list[float]]:
    """Return totals whose parts all stand before them in an order, and the bits for each.

    Args:
        fewest: Fewest bits of evidence for a total.
    """
    found: dict[int, tuple[int, ...]] = {}
    weights: list[float] = []
    open_: list[int] = []
    for line in order:
        own, bits = tuple(strong.get(line, ())), 0.0
        if not own or not {*own} <= {*open_}:
            own, bits = _nearest_parts(block, line, open_, fewest)
        if own:
            found[line] = tuple(sorted(own))
            open_ = [i for i in open_ if i not in own]
            weights += [bits] * (line not in strong)
        open_.append(line)
    if len(open_) == 1:
        found.pop(open_[0], None)  # the total of all totals is left to others
    return found, weights


def _nearest_parts(
    block: Intervals, total: int, open_: Sequence[int], fewest: float
) -> tuple[tuple[int, ...], float]:
    """Return the last open lines that add up to a total, and the evidence for it, in bits.

    Args:
        fewest: Fewest bits of evidence.
    """
    low, high, known = block.low[total], block.high[total], block.known[total]
    least, most, told = np.zeros(len(low)), np.zeros(len(low)), known.copy()
    parts: tuple[int, ...] = ()
    bits = fewest
    for many, part in enumerate(reversed(open_[-_MOST_PARTS:]), start=1):
        least, most, told = (
            least + block.low[part],
            most + block.high[part],
            told & block.known[part],
        )
        if (least > high).any():
            break
        few = told | (known & (low - least <= _FEW))
        own = float(np.log2((1 + low) / np.where(told, 1, 1 + _FEW)).clip(0)[few].sum())
        is_told = bool((told & (low > 0)).any()) and bool((most >= low).all())
        if many >= _FEWEST_PARTS and is_told and own > bits:
            parts, bits = tuple(open_[-many:]), own
    return parts, bits if parts else 0.0


def _tight(block: Intervals) -> dict[int, tuple[int, ...]]:
    """Return totals of lines beside them that leave few people for withheld parts everywhere."""
    found: dict[int, tuple[int, ...]] = {}
    many = len(block.low)
    is_taken = np.zeros(many, dtype=bool)
    for total in range(many if many <= _MOST_ROWS else 0):
        before = range(total - 1, max(total - _MOST_PARTS, 0) - 1, -1)
        behind = range(total + 1, min(total + _MOST_PARTS, many - 1) + 1)
        for beside in (before, behind) if not is_taken[total] else ():
            free = itertools.takewhile(lambda i: not is_taken[i], beside)
            parts = _tight_parts(block, total, free)
            if parts:
                found[total] = parts
                is_taken[[total, *parts]] = True
                break
    return found


def _tight_parts(block: Intervals, total: int, beside: Iterable[int]) -> tuple[int, ...]:
    """Return the first lines that everywhere leave few people of a total, and none too few."""
    told = block.known[total] & (block.low[total] > 0)
    if told.sum() <= _FEWEST_PARTS:
        return ()
    rest, is_open = block.low[total].copy(), np.zeros(len(told), dtype=bool)
    parts: list[int] = []
    for part in beside:
        parts.append(part)
        rest -= np.where(block.known[part], block.low[part], 0)
        is_open |= ~block.known[part]
        if (rest[told] < 0).any():
            break
        if len(parts) >= _FEWEST_PARTS and (rest <= np.where(is_open, _FEW, 0))[told].all():
            return tuple(sorted(parts))
    return ()


def _bits(block: Intervals, total: int, parts: Sequence[int], slack: int) -> float:
    """Return the evidence for a sum of rounded lines, in bits."""
    lines = np.array([total, *parts], dtype=np.intp)
    own = block.take(lines, np.arange(block.low.shape[1]))
    return support_of(own, np.full(block.low.shape[1], 2.0 * slack)).bits


def _groups(block: Intervals, slack: int) -> dict[int, tuple[int, ...]]:
    """Return the rows that are totals of runs above or below them, if these cut the whole list.

    The first or last row may be the total of all totals, and is left to others.

    Args:
        slack: How far rounding moves a count.
    """
    many = len(block.low)
    for order in (list(range(many)), list(range(many - 1, -1, -1))):
        for own in (order, order[:-1], order[1:]):
            if len(own) <= _MOST_ROWS and (found := _cut(block, own, slack)):
                return found
    return {}


def _groups_under_whole(block: Intervals, slack: int) -> dict[int, tuple[int, ...]]:
    """Return totals that cut a list, some shown by no column, and add up to its first or last row.

    Numbers show that they add up to this row; or none breaks it, and the row is nowhere less than
    any other, and somewhere less than all others together.
    """
    many = len(block.low)
    least = MARGIN_BITS + np.log2(max(many, 1))
    order = list(range(many))
    for whole, own in ((0, order[1:]), (many - 1, order[:-1])):
        for way in (own, own[::-1]) if many <= _MOST_ROWS else ():
            found = _cut(block, way, slack, fewest=0)
            if len(found) < _FEWEST_PARTS:
                continue
            lines = np.array([whole, *found], dtype=np.intp)
            told = block.take(lines, np.arange(block.low.shape[1]))
            support = support_of(told, np.full(block.low.shape[1], 2.0 * slack))
            rest = np.setdiff1d(order, [whole])
            is_more = (block.low[rest] <= block.high[whole]).all()
            is_part = (block.low[rest].sum(axis=0) > block.high[whole]).any()
            is_shown = support.shown and support.bits >= least
            if not support.broken and (is_shown or (is_more and is_part)):
                return found
    return {}


def _cut(
    block: Intervals, order: Sequence[int], slack: int, *, fewest: int = 1
) -> dict[int, tuple[int, ...]]:
    """Return the totals, each before its parts, that cut rows into groups; none if they do not.

    Args:
        fewest: Fewest columns that show each sum.
    """
    low, high = block.low[order], block.high[order]
    # From the last row to the first: how many parts each has so that all behind it are cut, too,
    # into as many groups as can be.
    sizes: dict[int, int] = {len(order): 0}
    groups: dict[int, int] = {len(order): 0}
    for first in range(len(order) - 1, -1, -1):
        least, most = np.zeros(low.shape[1]), np.zeros(low.shape[1])
        for many, at in enumerate(range(first + 1, len(order)), start=1):
            least, most = least + low[at], most + high[at]
            off = slack * (many + 1)
            if (least > high[first] + off).any():
                break
            shown = (least == most) & (least > 0) & (low[first] == high[first])
            fits = (most >= low[first] - off).all() and shown.sum() >= fewest
            behind = groups.get(first + many + 1, -1)
            if many >= _FEWEST_PARTS and fits and behind + 1 >= groups.get(first, 1):
                sizes[first], groups[first] = many, behind + 1
    found: dict[int, tuple[int, ...]] = {}
    first = 0
    while first in sizes and first < len(order):
        parts = order[first + 1 : first + 1 + sizes[first]]
        found[order[first]] = tuple(sorted(parts))
        first += sizes[first] + 1
    return found if first == len(order) else {}
