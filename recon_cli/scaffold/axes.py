"""The dimensions of a published table, from its dimension columns or its cells' labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from recon_cli.sources.formats.count_sheet import CountSheet
from recon_cli.sources.formats.vocabulary import Interval, interval, is_total, plain
from recon_cli.sources.formats.wide import label_parts

#: Words of a label, outermost first.
Path = tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """A feature of the people that a table counts, in the table's order.

    Attributes:
        name: Of the feature.
        labels: The published categories but the total.
        has_total: Whether everybody is a category, too.
    """

    name: str
    labels: tuple[str, ...]
    has_total: bool

    @property
    def intervals(self) -> tuple[Interval, ...] | None:
        """The ages that the categories are, if all of them are ages."""
        found = tuple(interval(label) for label in self.labels)
        return tuple(each for each in found if each is not None) if all(found) else None


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


def axes_of_grid(paths: Sequence[Path]) -> list[Axis] | None:
    """Axes of labels that all have the same number of words: each place a category.

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
        own = tuple(word for word in words if not is_total(word))
        usual = "age" if all(map(interval, own)) else f"feature_{len(axes) + 1}"
        axes.append(Axis(slug(name) or usual, own, len(own) < len(words)))
        chosen = [
            (*each, None if is_total(path[at]) else path[at])
            for each, path in zip(chosen, paths, strict=True)
        ]
        name = ""
    if not axes:
        return None
    values = [(*[None] * axis.has_total, *axis.labels) for axis in axes]
    return axes if list(itertools.product(*values)) == chosen else None


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
