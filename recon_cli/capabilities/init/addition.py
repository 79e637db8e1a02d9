"""Features of a table whose labels do not say them: labels whose counts add up to the total."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import prod
from typing import Final

import numpy as np

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.init.axes import Axis, Grid, feature_axis, slug
from recon_cli.capabilities.init.crossing import CountIntervals, GridDraft
from recon_cli.sources.formats.vocabulary import is_total

#: More labels are not searched for sums.
_MOST_LABELS: Final = 200
#: More kinds of people are no schema to begin with.
_MOST_KINDS: Final = 5_000
#: In fewer places sums may be equal by chance.
_FEW_PLACES: Final = 3
#: Labels that a doubt lists.
_SHOWN: Final = 4


def combinations(labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Labels that are other labels side by side: ``Male Heart`` beside ``Male`` and ``Heart``.

    >>> combinations(["Total", "Male", "Heart", "Male Heart", "Male Lung"])
    {'Male Heart': ('Male', 'Heart')}
    """
    known = {tuple(label.split()): label for label in labels if not is_total(label)}
    found = {label: _parts(words, known) for words, label in known.items()}
    return {label: parts for label, parts in found.items() if len(parts) > 1}


def _parts(words: tuple[str, ...], known: Mapping[tuple[str, ...], str]) -> tuple[str, ...]:
    """As many known labels as can be, side by side; none if ``words`` are no such."""
    for end in range(1, len(words)):
        if words[:end] in known and (rest := _parts(words[end:], known)):
            return (known[words[:end]], *rest)
    return (known[words],) if words in known else ()


def grid_of_sums(labels: Sequence[str], ends: CountIntervals) -> GridDraft | None:
    """The grid of labels by their counts; None where there is no total, or too much is left over.

    The total says so, or all other labels, each in a run, add up to it. Labels in a row whose
    counts can add up to the total in every place are one feature, unless a label combines two of
    them. Every other label is a feature of its own, which people have or have not: that is true
    whatever it is.
    """
    low, high = ends.low, ends.high
    totals = [i for i, label in enumerate(labels) if is_total(label)]
    crossed = combinations(labels)
    singles = [i for i, label in enumerate(labels) if i not in totals and label not in crossed]
    has_doubles = len(set(labels)) < len(labels)
    if len(totals) > 1 or not 0 < len(singles) <= _MOST_LABELS or has_doubles:
        return None
    apart = {
        frozenset(pair) for parts in crossed.values() for pair in itertools.combinations(parts, 2)
    }
    if any(len(pair) == 1 for pair in apart):
        return None

    def cut(total: int) -> tuple[list[tuple[str, ...]], bool]:
        rest = [i for i in singles if i != total]
        own = (low[:, rest], high[:, rest], low[:, total], high[:, total])
        return _Addends([labels[i] for i in rest], *own, apart).runs()

    doubts: tuple[str, ...] = ()
    if not totals:
        totals = [i for i in _greatest(singles, low) if all(len(run) > 1 for run in cut(i)[0])][:1]
        if not totals:
            return None
        doubts = (f"whether {labels[totals[0]]} is everybody: all other counts add up to it",)
    runs, is_only = cut(totals[0])
    is_apart = len(ends.rows) > 2 and not crossed and any(len(run) == 1 for run in runs)
    questions = _row_apart(labels, ends, totals[0]) if is_apart else ()
    axes = _axes(runs)
    if prod(len(axis.labels) + bool(axis.rest) for axis in axes) > _MOST_KINDS:
        return None
    at = {label: i for i, axis in enumerate(axes) for label in axis.labels}
    cells = []
    for label in labels:
        cell: list[str | None] = [None] * len(axes)
        for part in () if label == labels[totals[0]] else crossed.get(label, (label,)):
            cell[at[part]] = part
        cells.append(tuple(cell))
    grid = Grid(tuple(axes), tuple(cells))
    return GridDraft(grid, (*doubts, *_doubts(runs, is_only=is_only)), questions)


def sums_of_others(labels: Sequence[str], ends: CountIntervals) -> tuple[str, ...]:
    """A question for the first label that is the sum of others side by side, where all is exact."""
    exact = ends.low[(ends.low == ends.high).all(axis=1)]
    if len(exact) < _FEW_PLACES or len(labels) > _MOST_LABELS:
        return ()
    column = {values.tobytes(): i for i, values in enumerate(exact.T.copy()) if values.any()}
    sums = np.pad(exact.cumsum(axis=1), ((0, 0), (1, 0)))
    for start, end in itertools.combinations(range(len(labels) + 1), 2):
        total = column.get((sums[:, end] - sums[:, start]).tobytes())
        has_parts = np.count_nonzero(exact[:, start:end].any(axis=0)) > 1
        if total is not None and has_parts and not start <= total < end:
            parts = ", ".join(labels[start:end][:_SHOWN]) + ", …" * (end - start > _SHOWN)
            word = shlex.quote(labels[total])
            return (
                f"{labels[total]!r} is {parts} together in every row, so that they are not "
                f"categories beside each other: call their total 'Total', or leave it out "
                f"(`recon init --leave-out {word}`)",
            )
    return ()


def named(found: GridDraft, title: str) -> GridDraft:
    """With the title of all columns as the name of the one feature that has none."""
    (axis, *others) = found.grid.axes
    if others or not title or not axis.is_nameless:
        return found
    return replace(found, grid=replace(found.grid, axes=(replace(axis, name=slug(title)),)))


def _row_apart(labels: Sequence[str], ends: CountIntervals, total: int) -> tuple[str, ...]:
    """A question, if without one row more labels are one feature."""
    for i in range(len(ends.rows)):
        rest = [k for k in range(len(ends.rows)) if k != i]
        less = CountIntervals(ends.rows[rest], ends.low[rest], ends.high[rest])
        others = [k for k in range(len(labels)) if k != total]
        if len(others) > 1 and less.add_up(others, total):
            return (
                f"row {int(ends.rows[i])}: {', '.join(labels[k] for k in others[:4])} do not add "
                f"up to {labels[total]}, as in all other rows they do",
            )
    return ()


def _greatest(columns: Sequence[int], low: FloatArray) -> list[int]:
    """Columns as great as any other in every place, two or more of which have people."""
    most = low[:, columns].max(axis=1)
    several = np.count_nonzero(most) > 1
    return [i for i in columns if several and len(columns) > 1 and (low[:, i] == most).all()]


@dataclass(frozen=True)
class _Addends:
    """Labels whose counts may add up to the total.

    Attributes:
        low: (places × labels) Least counts.
        high: (places × labels) Greatest counts.
        total_low: (places) Least totals.
        total_high: (places) Greatest totals.
        apart: Pairs of labels of different features.
    """

    names: Sequence[str]
    low: FloatArray
    high: FloatArray
    total_low: FloatArray
    total_high: FloatArray
    apart: Set[frozenset[str]]

    def runs(self) -> tuple[list[tuple[str, ...]], bool]:
        """The labels cut into runs that add up, as many as can be; and whether in one way only.

        A label that is in none is a run of its own.
        """
        # From each label on: labels in runs, number of runs, length of the first, how many ways.
        best = [(0, 0, 0, 1)]
        for start in reversed(range(len(self.names))):
            covered, count, _, ways = best[0]
            options = [(covered, count, 1, ways)]
            for length in self._lengths(start):
                covered, count, _, ways = best[length - 1]
                options.append((covered + length, count + 1, length, ways))
            most = max(options)[:2]
            equal = [option for option in options if option[:2] == most]
            best.insert(0, (*most, equal[0][2], sum(option[3] for option in equal)))
        runs, start = list[tuple[str, ...]](), 0
        while start < len(self.names):
            runs.append(tuple(self.names[start : start + best[start][2]]))
            start += best[start][2]
        return runs, best[0][3] == 1

    def _lengths(self, start: int) -> list[int]:
        """Numbers of labels, two or more, that from one on can add up to the total."""
        found = []
        least, most = self.low[:, start].copy(), self.high[:, start].copy()
        for at in range(start + 1, len(self.names)):
            least += self.low[:, at]
            most += self.high[:, at]
            before = self.names[start:at]
            if any({self.names[at], each} in self.apart for each in before):
                break
            if (least > self.total_high).any():
                break
            says_something = (most - least < self.total_low).any()
            if says_something and (most >= self.total_low).all():
                found.append(at - start + 1)
        return found


def _axes(runs: Sequence[tuple[str, ...]]) -> list[Axis]:
    """A feature a run, one of all ages."""
    axes: list[Axis] = []
    for run in runs:
        if len(run) == 1:
            name = slug(run[0])
            axes.append(Axis(name, run, has_total=True, rest=f"not_{name}"))
            continue
        axis = feature_axis("", ["total", *run], len(axes) + 1)
        same = next((i for i, each in enumerate(axes) if each.name == axis.name), None)
        if same is None:
            axes.append(axis)
        else:
            axes[same] = Axis(axis.name, (*axes[same].labels, *axis.labels), has_total=True)
    return axes


def _doubts(runs: Sequence[tuple[str, ...]], *, is_only: bool) -> tuple[str, ...]:
    several = [", ".join(run) for run in runs if len(run) > 1]
    alone = [run[0] for run in runs if len(run) == 1]
    doubts = []
    if len(several) > 1 or alone:
        doubts += [f"whether {run} are one feature: their counts add up so" for run in several]
    if several and not is_only:
        doubts.append("whether no other labels are one feature: counts add up in other ways, too")
    if alone:
        shown = ", ".join(alone[:_SHOWN]) + ", …" * (len(alone) > _SHOWN)
        are, them, each = ("are", "them", "each is") if len(alone) > 1 else ("is", "it", "it is")
        doubts.append(
            f"which feature {shown} {are} of: nothing adds up to the total with "
            f"{them}, so {each} drafted as something that people have or have not"
        )
    return tuple(doubts)
