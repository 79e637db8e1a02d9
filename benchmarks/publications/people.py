"""Random people in a world of dimensions, and what is said of them: the truth of a drawn file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Who is counted: for each dimension that is named the leaves that qualify; others are free.
Condition = Mapping[str, frozenset[int]]
#: The same as something to look up.
Key = tuple[tuple[str, frozenset[int]], ...]


@dataclass(frozen=True, slots=True)
class Category:
    """A label of a dimension; with ``whole`` its parts make it up, without they are 'of which'."""

    label: str
    code: str = ""
    parts: tuple[Category, ...] = ()
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """A category in its place: its depth, the labels above it, and its leaves."""

    category: Category
    above: tuple[Category, ...]
    leaves: frozenset[int]

    @property
    def depth(self) -> int:
        """Return how many categories it lies in."""
        return len(self.above)


@dataclass(frozen=True)
class Dimension:
    """A feature of people, or the places they are in: a forest of categories.

    Attributes:
        total: The words for everybody; none if the publication never prints them.
        whole: Everybody is in one of the categories; else only some are.
        spread: The greater, the more alike the categories are in size.
    """

    name: str
    categories: tuple[Category, ...]
    total: str | None = "Total"
    whole: bool = True
    spread: float = 2.0
    total_code: str = ""

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Return the categories in the order of print, each above its parts."""
        found: list[Node | None] = []
        leaves = 0

        def walk(category: Category, above: tuple[Category, ...]) -> None:
            nonlocal leaves
            place, first = len(found), leaves
            found.append(None)
            for part in category.parts:
                walk(part, (*above, category))
            if not category.parts or not category.whole:
                leaves += 1
            found[place] = Node(category, above, frozenset(range(first, leaves)))

        for category in self.categories:
            walk(category, ())
        return tuple(node for node in found if node is not None)

    @cached_property
    def size(self) -> int:
        """Return the number of leaves, those that no label names included."""
        return max(max(node.leaves) for node in self.nodes) + 1 + (not self.whole)

    @property
    def everybody(self) -> frozenset[int]:
        """Return all leaves."""
        return frozenset(range(self.size))


def forest(text: str) -> tuple[Category, ...]:
    """Return the categories that a line of text draws.

    ``A|B[C|D]|E{F}`` has C and D as the parts of B, and F as some of E; ``07=Theft`` has a code.

    Examples:
        >>> [node.leaves for node in Dimension("x", forest("A|B[C|D]")).nodes]
        [frozenset({0}), frozenset({1, 2}), frozenset({1}), frozenset({2})]
    """
    at = 0

    def read() -> tuple[Category, ...]:
        nonlocal at
        found: list[Category] = []
        while True:
            start = at
            while at < len(text) and text[at] not in "|[]{}":
                at += 1
            code, _, label = text[start:at].rpartition("=")
            parts: tuple[Category, ...] = ()
            opened = text[at] if at < len(text) else ""
            if opened in ("[", "{"):
                at += 1
                parts = read()
                at += 1
            found.append(Category(label, code, parts, opened != "{"))
            if at < len(text) and text[at] == "|":
                at += 1
                continue
            return tuple(found)

    return read()


def key_of(condition: Condition, dimensions: Mapping[str, Dimension]) -> Key:
    """Return the condition without the dimensions of which it asks nothing."""
    return tuple(
        (name, leaves)
        for name, leaves in sorted(condition.items())
        if leaves != dimensions[name].everybody
    )


def both(a: Condition, b: Condition) -> Condition:
    """Return the condition that both are met."""
    met = dict(a)
    for name, leaves in b.items():
        met[name] = met[name] & leaves if name in met else leaves
    return met


@dataclass(frozen=True)
class World:
    """Dimensions, and how many people there are in each combination of their leaves."""

    dimensions: Mapping[str, Dimension]
    people: NDArray[np.int64]
    known: dict[Key, int] = field(default_factory=dict)

    def count(self, condition: Condition) -> int:
        """Return how many people meet the condition."""
        key = key_of(condition, self.dimensions)
        if key not in self.known:
            met = dict(key)
            chosen = self.people
            for axis, name in enumerate(self.dimensions):
                if name in met:
                    chosen = np.take(chosen, sorted(met[name]), axis)
            self.known[key] = int(chosen.sum())
        return self.known[key]


def populate(
    rng: np.random.Generator, dimensions: Sequence[Dimension], people: float, uneven: float = 1.0
) -> World:
    """Return a world of about this many people, in which categories are related as if by chance."""
    share = np.ones(())
    for dimension in dimensions:
        weights = rng.gamma(dimension.spread, 1.0, dimension.size) + 0.02
        share = np.multiply.outer(share, weights / weights.sum())
    share = share * rng.gamma(1.0 / (uneven + 1e-9), uneven + 1e-9, share.shape)
    drawn = rng.poisson(people * share / share.sum())
    return World({dimension.name: dimension for dimension in dimensions}, drawn.astype(np.int64))
