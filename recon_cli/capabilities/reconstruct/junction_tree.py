"""Cliques of features, and the junction tree along which their tables are combined.

Two features are adjacent if some cell crosses both. The graph is made chordal, so that its maximal
cliques form a tree with the running intersection property: the intersection of two cliques is in
every clique between them.

See *clique* and *separator* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Separator:
    """The intersection of a clique with the tree before it.

    Attributes:
        before: Place of a clique that comes earlier.
        features: Features of both, sorted; may be empty.
    """

    before: int
    clique: int
    features: tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a chordal graph of features, and their separators.

    Attributes:
        cliques: The features of each, sorted.
        separators: One for each clique but the first, in an order in which the tree grows.

    Raises:
        ValueError: When made: no tree of these cliques, or no running intersection.
    """

    cliques: tuple[tuple[int, ...], ...]
    separators: tuple[Separator, ...]

    def __post_init__(self) -> None:
        if len(self.separators) != len(self.cliques) - 1:
            raise ValueError(f"{len(self.cliques)} cliques, {len(self.separators)} separators")
        there, seen = {0}, set(self.cliques[0])
        for each in self.separators:
            shared = set(self.cliques[each.clique]) & seen
            if each.before not in there or each.clique in there:
                raise ValueError(f"clique {each.clique} does not grow the tree")
            if shared != set(each.features) or not shared <= set(self.cliques[each.before]):
                raise ValueError(f"clique {each.clique} has no running intersection")
            there.add(each.clique)
            seen |= set(self.cliques[each.clique])

    @classmethod
    def of(cls, sizes: Sequence[int], crossed: Iterable[Collection[int]]) -> JunctionTree:
        """Build the tree for the sets of features that cells cross.

        Args:
            sizes: Number of atoms of each feature; a feature with several is in some clique.
            crossed: The sets; each lies in one clique.
        """
        live = {feature for feature, size in enumerate(sizes) if size > 1}
        sets = {frozenset(each) & live for each in crossed}
        edges = {pair for each in sets for pair in itertools.combinations(sorted(each), 2)}
        cliques = _maximal_cliques(sorted(live), edges, sizes) or ((),)
        return cls(cliques, _grown(cliques))

    def holding(self, features: Collection[int], sizes: Sequence[int]) -> int | None:
        """Return the index of the smallest clique that contains ``features``, or None."""
        held = [at for at, clique in enumerate(self.cliques) if set(features) <= set(clique)]
        return min(held, key=lambda at: self.cells(at, sizes), default=None)

    def cells(self, clique: int, sizes: Sequence[int]) -> int:
        """Return the number of cells of a clique's table."""
        return math.prod(sizes[feature] for feature in self.cliques[clique])


def _maximal_cliques(
    features: Sequence[int], edges: Iterable[tuple[int, int]], sizes: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Triangulate the graph: eliminate features without fill-in first, then by clique size."""
    near: dict[int, set[int]] = {feature: set() for feature in features}
    for one, other in edges:
        near[one].add(other)
        near[other].add(one)
    left = set(features)
    cliques: list[frozenset[int]] = []
    while left:

        def order(feature: int) -> tuple[bool, int, int]:
            around = near[feature] & left
            fills = any(b not in near[a] for a, b in itertools.combinations(around, 2))
            return fills, math.prod(sizes[f] for f in (*around, feature)), feature

        chosen = min(left, key=order)
        around = near[chosen] & left
        for one, other in itertools.combinations(around, 2):
            near[one].add(other)
            near[other].add(one)
        clique = frozenset(around | {chosen})
        if not any(clique <= larger for larger in cliques):
            cliques.append(clique)
        left.remove(chosen)
    return tuple(tuple(sorted(clique)) for clique in cliques)


def _grown(cliques: Sequence[tuple[int, ...]]) -> tuple[Separator, ...]:
    """Build a spanning tree with the largest separators, from the first clique on."""
    separators: list[Separator] = []
    there, left = [0], list(range(1, len(cliques)))
    while left:
        pairs = ((one, other) for one in there for other in left)
        one, other = max(pairs, key=lambda pair: len({*cliques[pair[0]]} & {*cliques[pair[1]]}))
        shared = sorted({*cliques[one]} & {*cliques[other]})
        separators.append(Separator(one, other, tuple(shared)))
        there.append(other)
        left.remove(other)
    return tuple(separators)
