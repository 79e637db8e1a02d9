"""What header words of several rows say: features crossed, features side by side, or a tree.

The words alone cannot tell ``Sex: Boys, Sex: Girls, Year: 7`` from ``Boys: Infants, Boys: Juniors,
Girls: Seniors``; the counts can: features side by side each add up to the total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.axes import Axis, Grid, Path, feature_axis, slug, with_rest
from recon_cli.sources.formats.vocabulary import is_total, plain


@dataclass(frozen=True)
class CountIntervals:
    """True counts of columns between two ends, place by place.

    Attributes:
        rows: (places) Number of each row in its sheet.
        low: (places × columns) Least counts.
        high: (places × columns) Greatest counts, infinite where nothing says.
    """

    rows: npt.NDArray[np.int64]
    low: FloatArray
    high: FloatArray

    def less(self, parts: Sequence[int], total: int) -> npt.NDArray[np.bool_]:
        """Places where columns surely add up to less than another."""
        return np.asarray(self.high[:, list(parts)].sum(axis=1) < self.low[:, total])

    def more(self, parts: Sequence[int], total: int) -> npt.NDArray[np.bool_]:
        """Places where columns surely add up to more than another."""
        return np.asarray(self.low[:, list(parts)].sum(axis=1) > self.high[:, total])

    def add_up(self, parts: Sequence[int], total: int) -> bool:
        """Whether columns can add up to another in every place."""
        return not (self.less(parts, total) | self.more(parts, total)).any()

    def same_sums(self, one: Sequence[int], two: Sequence[int]) -> bool:
        """Whether two runs of columns can have the same sum in every place."""
        ends = [
            (self.low[:, list(p)].sum(axis=1), self.high[:, list(p)].sum(axis=1))
            for p in (one, two)
        ]
        (low, high), (least, most) = ends
        return bool(((low <= most) & (least <= high)).all())


@dataclass(frozen=True)
class GridDraft:
    """A grid, and what could not be told of it.

    Attributes:
        grid: The features, and the label of each column on each.
        doubts: What is as likely as what was drafted.
        questions: What has to be answered.
    """

    grid: Grid
    doubts: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def grid_of_headers(paths: Sequence[Path], ends: CountIntervals) -> GridDraft | None:
    """The grid of header words of several rows; None where they are a tree, or one row.

    Args:
        paths: The words of each column, outermost first.
    """
    name, bare = without_title(paths)
    words = [tuple(word for word in path if not is_total(word)) for path in bare]
    if max(map(len, words)) < 1 or max(map(len, bare)) == 1:
        return None
    full = [path for path in bare if len(path) == max(map(len, bare))]
    firsts = _children(full)
    shared = [set(one) & set(two) for i, one in enumerate(firsts) for two in firsts[:i]]
    has_total_of = any(is_total(path[0]) and not all(map(is_total, path)) for path in full)
    if any(shared) or has_total_of or len(firsts) == 1:
        grid = _crossed(bare, name)
        return None if grid is None else checked(grid, ends)
    return _side_by_side(words, ends)


def without_title(paths: Sequence[Path]) -> tuple[str, list[Path]]:
    """The words that all columns have above their own, and the paths without them."""
    name, bare = "", list(paths)
    while True:
        own = [path for path in bare if not all(map(is_total, path))]
        first = {path[0] for path in own}
        if len(first) != 1 or not all(len(path) > 1 for path in own) or is_total(own[0][0]):
            return name, bare
        (name,) = first
        bare = [path[1:] if len(path) > 1 and path[0] == name else path for path in bare]


def _children(full: Sequence[Path]) -> list[list[str]]:
    """For each first word that is no total those below it."""
    found: dict[str, list[str]] = {}
    for path in full:
        if not is_total(path[0]):
            found.setdefault(path[0], []).extend(
                plain(word) for word in path[1:] if not is_total(word)
            )
    return list(found.values())


def _crossed(paths: Sequence[Path], name: str) -> Grid | None:
    """Each place in the paths is a feature; one word throughout names the next."""
    most = max(map(len, paths))
    full = [path for path in paths if len(path) == most]
    axes: list[Axis] = []
    at: list[int] = []
    for place in range(most):
        words = list(dict.fromkeys(path[place] for path in full))
        own = [word for word in words if not is_total(word)]
        if len(words) == 1 and not is_total(words[0]) and place + 1 < most:
            name = words[0]
            continue
        if own:
            axes.append(feature_axis(name, words, len(axes) + 1))
            at.append(place)
        name = ""
    homes = {label: i for i, axis in enumerate(axes) for label in axis.labels}
    cells: list[tuple[str | None, ...]] = []
    for path in paths:
        cell: list[str | None] = [None] * len(axes)
        if len(path) == most:
            cell = [None if is_total(path[place]) else path[place] for place in at]
        else:
            for word in path:
                if is_total(word):
                    continue
                if word not in homes:
                    return None
                cell[homes[word]] = word
        cells.append(tuple(cell))
    if len(set(cells)) < len(cells) or not axes:
        return None
    told = tuple(
        replace(axis, has_total=axis.has_total or any(cell[i] is None for cell in cells))
        for i, axis in enumerate(axes)
    )
    return Grid(tuple(map(with_rest, told)), tuple(cells))


def _side_by_side(words: Sequence[Path], ends: CountIntervals) -> GridDraft | None:
    """Features beside each other, each under its name; None where they are a tree."""
    groups: dict[str, list[int]] = {}
    for i, own in enumerate(words):
        if len(own) > 1:
            groups.setdefault(own[0], []).append(i)
    totals = [i for i, own in enumerate(words) if not own]
    alone = [i for i, own in enumerate(words) if len(own) == 1]
    is_deeper = any(len(own) > 2 for own in words)
    if len(totals) > 1 or is_deeper or any(words[i][0] in groups for i in alone):
        return None
    parts = list(groups.values())
    are_features, is_tree = _what_groups_are(parts, alone, totals, ends)
    if not are_features:
        return None
    axes = [
        *(
            with_rest(feature_axis(name, ["total", *(words[i][1] for i in own)], 1))
            for name, own in groups.items()
        ),
        *(with_rest(Axis(slug(words[i][0]), words[i], has_total=True)) for i in alone),
    ]
    if len({axis.name for axis in axes}) < len(axes):
        return None
    homes = {i: axis for axis, own in enumerate([*parts, *([i] for i in alone)]) for i in own}
    cells = [
        tuple(own[-1] if own and axis == homes[i] else None for axis in range(len(axes)))
        for i, own in enumerate(words)
    ]
    found = checked(Grid(tuple(axes), tuple(cells)), ends)
    if not is_tree:
        return found
    shown = ", ".join(map(repr, groups))
    question = f"whether {shown} are features of everybody, or parts of everybody"
    return replace(found, questions=(*found.questions, question))


def _what_groups_are(
    groups: Sequence[Sequence[int]],
    alone: Sequence[int],
    totals: Sequence[int],
    ends: CountIntervals,
) -> tuple[bool, bool]:
    """Whether groups of columns can be features, and whether they can be parts of a tree."""
    if not totals:
        are_features = all(ends.same_sums(groups[0], own) for own in groups[1:])
        return are_features and len(groups) > 1, False
    (total,) = totals
    leaves = [*(i for own in groups for i in own), *alone]
    are_features = all(
        ends.add_up(own, total) or (len(own) == 1 and not ends.more(own, total).any())
        for own in groups
    )
    return are_features, ends.add_up(leaves, total)


def checked(grid: Grid, ends: CountIntervals) -> GridDraft:
    """The grid, with a category for those who are in none where categories are less than all.

    A single row that does not add up is a question.
    """
    axes = list(grid.axes)
    questions: list[str] = []
    doubts: list[str] = []
    at = {cell: i for i, cell in enumerate(grid.cells)}
    for a, axis in enumerate(grid.axes):
        less = np.zeros(len(ends.rows), dtype=bool)
        more = less.copy()
        for cell, total in at.items():
            parts = [at.get((*cell[:a], label, *cell[a + 1 :])) for label in axis.labels]
            if cell[a] is not None or None in parts:
                continue
            columns = [part for part in parts if part is not None]
            less |= ends.less(columns, total)
            more |= ends.more(columns, total)
        wrong = (less & ~more) if axis.rest else (less | more)
        shown = ", ".join(map(repr, axis.labels[:4])) + ", …" * (len(axis.labels) > 4)
        if more.any() or (not axis.rest and wrong.sum() == 1 < len(wrong) - 1):
            row = int(ends.rows[np.argmax(more | wrong)])
            questions.append(
                f"row {row}: {shown} do not add up to their total"
                + (
                    f", nor in {int((more | wrong).sum()) - 1} more rows"
                    if (more | wrong).sum() > 1
                    else ""
                )
            )
        if less.any() and not axis.rest:
            axes[a] = replace(
                axis,
                has_total=True,
                rest="other" if "other" not in map(slug, axis.labels) else "none_of_them",
            )
            doubts.append(
                f"who is in none of {shown}: they add up to less than their total, so there is "
                f"one more value, {axes[a].rest}"
            )
    return GridDraft(Grid(tuple(axes), grid.cells), tuple(doubts), tuple(questions))


def tree_differs(
    paths: Sequence[Path], leaves: Mapping[int, Sequence[int]], ends: CountIntervals
) -> str:
    """A sentence if the columns of a tree do not add up; empty if they do."""
    for i, below in leaves.items():
        if tuple(below) == (i,) or not below:
            continue
        wrong = ends.less(below, i) | ends.more(below, i)
        if wrong.any():
            return (
                f"row {int(ends.rows[np.argmax(wrong)])}: {': '.join(paths[i])!r} is not the sum "
                f"of the {len(below)} columns below it"
            )
    return ""
