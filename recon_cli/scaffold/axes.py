"""The dimensions of a published table, from its dimension columns or its cells' labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recon_cli.sources.formats.count_sheet import CountSheet
from recon_cli.sources.formats.vocabulary import Interval, interval, is_total, plain
from recon_cli.sources.formats.wide import label_parts

#: Begins the name of a feature that nothing names; a number follows.
_NAMELESS: Final = "feature_"
#: Words of a label, outermost first.
Path = tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """A feature of the people that a table counts, in the table's order.

    Attributes:
        name: Of the feature.
        labels: The published categories but the total.
        has_total: Whether everybody is a category, too.
        rest: The value of those who are in none of the categories, if somebody may be.
    """

    name: str
    labels: tuple[str, ...]
    has_total: bool
    rest: str = ""

    @property
    def is_nameless(self) -> bool:
        """Whether the labels do not say what the categories are of."""
        return self.name.startswith(_NAMELESS)

    @property
    def intervals(self) -> tuple[Interval, ...] | None:
        """The ages that the categories are, if all of them are ages."""
        found = tuple(interval(label) for label in self.labels)
        return tuple(each for each in found if each is not None) if all(found) else None


@dataclass(frozen=True)
class Grid:
    """Cells that are combinations of categories.

    Attributes:
        axes: What is combined.
        cells: For each cell its label on each axis, None for everybody.
    """

    axes: tuple[Axis, ...]
    cells: tuple[tuple[str | None, ...], ...]

    @classmethod
    def full(cls, axes: Sequence[Axis]) -> Grid:
        """Every combination, the last axis changing fastest, totals first."""
        values = [(*[None] * axis.has_total, *axis.labels) for axis in axes]
        return cls(tuple(axes), tuple(itertools.product(*values)))

    @property
    def has_everybody(self) -> bool:
        """Whether a cell counts everybody."""
        return any(not any(cell) for cell in self.cells)


def settle_names(grid: Grid, known: Sequence[Axis]) -> Grid:
    """The grid with names that no other categories have.

    Args:
        grid: A table's.
        known: The axes of the tables before it: the same categories are the same feature.
    """
    axes: list[Axis] = []
    for axis in grid.axes:
        same = [each for each in known if each.labels == axis.labels and each.rest == axis.rest]
        if same and (axis.is_nameless or axis.name == same[0].name):
            axes.append(replace(axis, name=same[0].name))
            continue
        taken = {each.name for each in (*known, *axes)}
        stem = "feature" if axis.is_nameless else axis.name
        fresh = (f"{stem}_{number}" for number in itertools.count(1 if axis.is_nameless else 2))
        name = axis.name if axis.name not in taken else next(n for n in fresh if n not in taken)
        axes.append(replace(axis, name=name))
    return replace(grid, axes=tuple(axes))


def axes_of_dimensions(
    names: Sequence[str], categories: Mapping[str, Sequence[tuple[str, str]]]
) -> list[Axis]:
    """An axis for each dimension column that has several categories."""
    axes = []
    for name in names:
        labels = [label for _, label in categories[name]]
        own = tuple(label for label in labels if not is_total(label))
        if own and len(labels) > 1:
            axes.append(Axis(slug(_bare(name)), own, len(own) < len(labels)))
    return axes


def label_paths(sheet: CountSheet) -> list[Path]:
    """The label of each column of counts as words, by its column."""
    paths = []
    for column in sheet.counts:
        label = sheet.labels.get(column.header)
        paths.append(label_parts(label) if label else column.parts)
    return paths


def grid_of_paths(paths: Sequence[Path]) -> Grid | None:
    """The grid of labels that all have the same number of words: each place a category.

    A word that all labels have at one place is the name of the next (``Sex: Males; Age: …``).
    None if the labels are not every combination in order, totals first.
    """
    if len({len(path) for path in paths}) != 1:
        return None
    axes: list[Axis] = []
    chosen: list[tuple[str | None, ...]] = [() for _ in paths]
    name = ""
    for at in range(len(paths[0])):
        words = list(dict.fromkeys(path[at] for path in paths))
        if len(words) == 1:
            name = words[0]
            continue
        axes.append(feature_axis(name, words, len(axes) + 1))
        chosen = [
            (*each, None if is_total(path[at]) else path[at])
            for each, path in zip(chosen, paths, strict=True)
        ]
        name = ""
    grid = Grid.full(axes)
    return grid if axes and grid.cells == tuple(chosen) else None


def grid_of_phrases(labels: Sequence[str]) -> Grid | None:
    """The grid of labels that put two categories side by side: ``Male 0-15``, ``Year 1 girls``.

    A label may also be of everybody, or one of the categories alone. None if some combination is
    missing, or the labels can be read in no such way.
    """
    phrases = [() if is_total(label) else tuple(label.split()) for label in labels]
    most = max(map(len, phrases))
    for at in (*range(1, most), *range(-1, -most, -1)):
        parts = [_parted(phrase, at) for phrase in phrases]
        crossed = [each for each in parts if each is not None]
        firsts, seconds = (list(dict.fromkeys(words)) for words in zip(*crossed, strict=True))
        alone = {" ".join(p) for p, each in zip(phrases, parts, strict=True) if p and not each}
        if min(len(firsts), len(seconds)) < 2 or not alone <= {*firsts, *seconds}:
            continue
        if len(set(crossed)) != len(crossed) or len(crossed) != len(firsts) * len(seconds):
            continue
        cells = [
            each or ((word, None) if word in firsts else (None, word if phrase else None))
            for phrase, each in zip(phrases, parts, strict=True)
            for word in [" ".join(phrase)]
        ]
        axes = []
        for i, words in enumerate((firsts, seconds)):
            has_total = any(cell[i] is None and cell[1 - i] is not None for cell in cells)
            axes.append(feature_axis("", [*["total"] * has_total, *words], i + 1))
        return Grid(tuple(axes), tuple(cells))
    return None


def _parted(phrase: Path, at: int) -> tuple[str, str] | None:
    """A phrase before and behind one of its blanks; None if it has no such blank."""
    return (" ".join(phrase[:at]), " ".join(phrase[at:])) if len(phrase) > abs(at) else None


def feature_axis(name: str, words: Sequence[str], number: int) -> Axis:
    """The feature whose categories are ``words``, a total perhaps among them.

    Args:
        name: Its name, if the labels say it.
        words: Its labels.
        number: Of the axis, for a name that nothing says.
    """
    own = tuple(word for word in words if not is_total(word))
    usual = "age" if all(map(interval, own)) else f"{_NAMELESS}{number}"
    return Axis(slug(name) or usual, own, len(own) < len(words))


@dataclass(frozen=True)
class Node:
    """A cell of a table whose labels are a tree.

    Attributes:
        path: Its words.
        leaves: Places of the cells without cells below, that it is the sum of.
    """

    path: Path
    leaves: tuple[int, ...]


def tree(paths: Sequence[Path]) -> list[Node]:
    """The cells of a tree of labels in published order.

    A cell is the sum of the cells whose words begin with its own; ``Total`` is of all.
    """
    plain_paths = [tuple(plain(word) for word in path if not is_total(word)) for path in paths]

    def below(i: int) -> Iterator[int]:
        own = plain_paths[i]
        for j, other in enumerate(plain_paths):
            if other[: len(own)] == own and not any(
                k != j and each[: len(other)] == other for k, each in enumerate(plain_paths)
            ):
                yield j

    return [Node(paths[i], tuple(below(i))) for i in range(len(paths))]


def slug(text: str) -> str:
    """A name for a schema: ``Nursing facilities/Skilled`` → ``nursing_facilities_skilled``."""
    word = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_")[:40].strip("_")
    return f"n_{word}" if word[:1].isdigit() else word


def _bare(name: str) -> str:
    """A dimension's name without what portals add to it."""
    return re.sub(r"^c_| \(\d+ categories\)$", "", name, flags=re.IGNORECASE)
