"""The dimensions of a published table, from its dimension columns or its cells' labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from recon_cli.sources.formats.count_sheet import CountSheet
from recon_cli.sources.formats.vocabulary import Interval, in_latin, interval, is_total, plain
from recon_cli.sources.formats.wide import label_parts

#: Begins the name of a feature that nothing names; a number follows.
_NAMELESS: Final = "feature_"
#: Categories that say by themselves what they are of.
_SEXES: Final[Mapping[str, str]] = {
    "male": "male", "men": "male", "man": "male", "boy": "male",
    "female": "female", "women": "female", "woman": "female", "girl": "female",
}  # fmt: skip
#: Categories that may be of any feature.
_OF_ANYTHING: Final = frozenset(("yes", "no", "true", "false", "other", "none", "unknown"))
#: More labels are not looked at to see whether they put two categories side by side.
_MOST_PHRASES: Final = 40
#: Words of a label, outermost first.
Path = tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """A feature of the people that a table counts, in the table's order.

    Attributes:
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
        known: The axes of the tables before it: the same categories are the same feature, whatever
            their order, their case and the header above them, unless they could be of any.
    """
    axes: list[Axis] = []
    labels: list[Mapping[str, str]] = []
    for axis in grid.axes:
        own = {_canonical(label): label for label in axis.labels}
        same = next((each for each in known if _is_same(axis, each) and each not in axes), None)
        if same is not None:
            axes.append(replace(same, has_total=axis.has_total))
            labels.append({own[_canonical(label)]: label for label in same.labels})
            continue
        labels.append({label: label for label in axis.labels})
        taken = {each.name for each in (*known, *axes)}
        stem = "feature" if axis.is_nameless else axis.name
        fresh = (f"{stem}_{number}" for number in itertools.count(1 if axis.is_nameless else 2))
        name = axis.name if axis.name not in taken else next(n for n in fresh if n not in taken)
        axes.append(replace(axis, name=name))
    cells = tuple(
        tuple(
            None if label is None else own[label] for own, label in zip(labels, cell, strict=True)
        )
        for cell in grid.cells
    )
    return Grid(tuple(axes), cells)


def _is_same(axis: Axis, known: Axis) -> bool:
    """Whether two axes are one feature: the same categories, which are of nothing else."""
    one, two = ({_canonical(label) for label in each.labels} for each in (axis, known))
    if one != two or len(one) < len(axis.labels) or bool(axis.rest) != bool(known.rest):
        return False
    return axis.is_nameless or axis.name == known.name or not one <= _OF_ANYTHING


def _canonical(label: str) -> str:
    word = plain(label)
    return _SEXES.get(word.removesuffix("s"), word)


def axes_of_dimensions(
    names: Sequence[str], categories: Mapping[str, Sequence[tuple[str, str]]]
) -> list[Axis]:
    """An axis for each dimension column that has several categories."""
    axes = []
    for name in names:
        labels = [label for _, label in categories[name]]
        own = tuple(label for label in labels if not is_total(label))
        if own and len(labels) > 1:
            # without what portals add to a dimension's name
            bare = re.sub(r"^c_| \(\d+ categories\)$", "", name, flags=re.IGNORECASE)
            axes.append(with_rest(Axis(slug(bare), own, len(own) < len(labels))))
    return axes


def with_rest(axis: Axis) -> Axis:
    """One category is yes or no: there are others who are not in it."""
    if len(axis.labels) > 1 or axis.rest:
        return axis
    return replace(axis, has_total=True, rest=f"not_{slug(axis.labels[0])}")


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
    words = [label for label in labels if not is_total(label)]
    if len(set(labels)) < len(labels):
        return None
    found: dict[int, Grid] = {}  # by the labels of one category alone: the more, the surer
    for label in words[:_MOST_PHRASES]:
        for cut in [i for i, letter in enumerate(label) if letter == " "]:
            first, second = label[:cut], label[cut + 1 :]
            firsts = [
                each.removesuffix(f" {second}") for each in words if each.endswith(f" {second}")
            ]
            seconds = [
                each.removeprefix(f"{first} ") for each in words if each.startswith(f"{first} ")
            ]
            crossed = {f"{one} {two}": (one, two) for one in firsts for two in seconds}
            alone = {each for each in words if each not in crossed}
            is_whole = crossed.keys() <= set(words) and alone <= {*firsts, *seconds}
            is_once = len({*firsts, *seconds}) == len(firsts) + len(seconds)
            if min(len(firsts), len(seconds)) < 2 or not (is_whole and is_once):
                continue
            cells: list[tuple[str | None, ...]] = [
                crossed.get(each)
                or ((each, None) if each in firsts else (None, each if each in seconds else None))
                for each in labels
            ]
            axes = []
            for i, own in enumerate((firsts, seconds)):
                has_total = any(cell[i] is None and cell[1 - i] is not None for cell in cells)
                axes.append(feature_axis("", [*["total"] * has_total, *own], i + 1))
            found.setdefault(len(alone), Grid(tuple(axes), tuple(cells)))
    return found[max(found)] if found else None


def feature_axis(name: str, words: Sequence[str], number: int) -> Axis:
    """The feature whose categories are ``words``, a total perhaps among them.

    Args:
        number: Of the axis, for a name that nothing says.
    """
    own = tuple(word for word in words if not is_total(word))
    usual = _usual_name(own) or f"{_NAMELESS}{number}"
    return Axis(slug(name) or usual, own, len(own) < len(words))


def _usual_name(labels: Sequence[str]) -> str:
    """What labels are of by themselves; empty where they do not say."""
    known = {plain(label).removesuffix("s") for label in labels}
    if known and all(re.fullmatch(r"(year|grade|class) \d+", each) for each in known):
        return next(iter(known)).partition(" ")[0]
    if known and known <= set(_SEXES):
        return "sex"
    return "age" if labels and all(map(interval, labels)) else ""


@dataclass(frozen=True)
class Node:
    """A cell of a table whose labels are a tree.

    Attributes:
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
    """A name for a schema, in Latin letters without accents.

    >>> slug("Nursing facilities/Skilled"), slug("Garçons"), slug("Κορίτσια")
    ('nursing_facilities_skilled', 'garcons', 'koritsia')
    """
    word = re.sub(r"[^a-z0-9]+", "_", in_latin(text)).strip("_")[:40].strip("_")
    return f"n_{word}" if word[:1].isdigit() else word
