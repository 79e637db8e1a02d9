"""Sums under two rows of headers that cross: a sum that one block of columns shows holds in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.evidence import Sum
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.relation import Axis, Kind, Relation
from recon_cli.capabilities.init.proposal.relations import Relations, sums_of
from recon_cli.capabilities.init.proposal.slips import slip
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.sources.read.choices import Choices
from recon_cli.sources.read.row_labels import Path, is_called_total

#: Fewest blocks that have the same words, fewest words of each, and axes with sums.
_FEWEST: Final = 2


def with_crossed(
    relations: Relations,
    headers: Mapping[int, Path],
    block: Intervals,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
) -> Relations:
    """Return relations whose sums of crossed columns hold in all blocks.

    Headers are crossed if each stands over the same subheaders. The columns of a header are a
    block; the columns of all blocks add up alike, and so do those of a subheader over the blocks. A
    sum that one block alone has, with a part that is zero everywhere, is chance. Relations stay as
    they are unless both axes have sums, or the user says one.

    Args:
        headers: Column → its words.
        block: The numbers, lines by number of their column.
        said: Words that the user says are totals, or kinds beside others.
        ask: Takes a question, where words alone say that a column is a total.
    """
    columns = [at for at, kind in relations.columns.items() if kind is not Kind.STATISTIC]
    grid = _grid(headers, columns)
    if grid is None:
        return relations
    found: list[Relation] = []
    axes = 0
    for lines, depth in ((grid.T, -1), (grid, -2)):  # words within blocks, then blocks
        words = [(headers[at] * 2)[depth] for at in lines[:, 0].tolist()]
        sums = _pooled(block, lines, words, relations.base, said=said, ask=ask)
        axes += _FEWEST if any(each.support.is_said for each in sums) else bool(sums)
        for each in sums:
            found += _in_each(each, lines, block, relations.base)
    own = set(grid.ravel().tolist())
    if axes < _FEWEST:
        return relations
    kept = [
        each
        for each in relations.found
        if not (each.is_sum and each.axis is Axis.COLUMNS and {each.line, *each.of} <= own)
    ]
    related = {at for each in found for at in (each.line, *each.of)}
    kinds = {at: Kind.COUNT if at in related else k for at, k in relations.columns.items()}
    return replace(relations, found=(*kept, *found), columns=kinds)


def _grid(headers: Mapping[int, Path], columns: Sequence[int]) -> NDArray[np.intp] | None:
    """Return (blocks × words) the columns of blocks that have the same words; None without any."""
    blocks: dict[Path, dict[str, int]] = {}
    outer = {headers[at][:-1] for at in columns} - {()}
    for at in columns:
        path = headers[at]
        if path in outer:  # one word over itself: All, and below it All
            path = (*path, path[-1])
        if len(path) > 1:
            own = blocks.setdefault(path[:-1], {})
            if path[-1] in own:
                return None
            own[path[-1]] = at
    often = Counter(tuple(own) for own in blocks.values())
    if not often:
        return None
    words, times = often.most_common(1)[0]
    if times < _FEWEST or len(words) < _FEWEST:
        return None
    return np.array([[*own.values()] for own in blocks.values() if tuple(own) == words], np.intp)


def _pooled(
    block: Intervals,
    lines: NDArray[np.intp],
    words: Sequence[str],
    base: int,
    *,
    said: Choices,
    ask: Callable[[OpenQuestion], None],
) -> list[Sum]:
    """Return the sums among the rows of a grid, over all its columns and all rows of the sheet.

    If a word calls one row the total, it is the sum of all others unless numbers contradict this
    (a few wrong numbers do not): fewer parts may add up, too, where the rest are zero. Else return
    the strong sums; of exact counts, only those that hold exactly.
    """
    positions = np.arange(block.low.shape[1])
    whole = Intervals.beside([block.take(own, positions) for own in lines.T]).in_steps(base)
    totals = [i for i, word in enumerate(words) if is_called_total((word,))]
    if len(totals) == 1 and len(words) > _FEWEST:
        parts = [i for i in range(len(words)) if i != totals[0]]
        at = np.array([*totals, *parts], dtype=np.intp)
        support = support_of(whole.take(at, np.arange(whole.low.shape[1])), _slack(whole, base))
        own = words[totals[0]]
        is_slip = base == 1 and slip(whole, totals[0], tuple(parts)) is not None
        if (not support.broken or is_slip) and own not in said.apart:
            if not (support.shown or support.broken) and own not in said.total:
                shown = " + ".join(repr(words[i]) for i in parts)
                text = f"{own!r} may be {shown}: no number shows it, none forbids it; is it so?"
                answers = {"yes": flag("total", own), "no": flag("apart", own)}
                ask(OpenQuestion(text, answers, tuple(lines.ravel().tolist())))
            support = replace(support, is_said=own in said.total)
            return [Sum(totals[0], tuple(parts), 1, support)]
    return [
        each
        for each in sums_of(whole, base)
        if each.support.is_strong and (base > 1 or not each.is_rounded)
    ]


def _slack(block: Intervals, base: int) -> FloatArray:
    """Return how far rounding moves a sum in each position."""
    return np.full(block.low.shape[1], float(2 * (base - 1)) if base > 1 else 0.0)


def _in_each(each: Sum, lines: NDArray[np.intp], block: Intervals, base: int) -> list[Relation]:
    """Return a sum among rows of a grid of columns in each of the grid's columns."""
    found = []
    positions = np.arange(block.low.shape[1])
    for own in lines.T:
        at = own[[each.total, *each.parts]]
        support = support_of(block.take(at, positions), _slack(block, base))
        if support.broken:
            continue  # it is asked which number is wrong
        support = replace(support, is_alike=not support.is_strong)
        found.append(
            Relation(
                Axis.COLUMNS,
                int(at[0]),
                tuple(at[1:].tolist()),
                support,
                step=each.step,
                is_rounded=each.is_rounded,
            )
        )
    return found
