"""Passes by weights of agreement (Fellegi and Sunter, 1969), with the user's own m and u.

How strongly two records agree is a sum over comparisons. Who links greedily, one to one, takes the
pairs with the largest sum first: one pass for each way to agree, by falling weight. m and u are
given, not estimated: place, sex and age alone do not identify the two kinds of pairs.

See *m and u* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recon_cli.attack.linkage.passes import Pass
from recon_cli.errors import ConfigError
from recon_cli.schema import Release

#: m and u are written in decimals.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Agreement:
    """One way in which two records may agree in a comparison.

    Attributes:
        same: A level of geounits, features, recodes that they share.
        m: How often two records of one person agree so, and in no stricter way.
        u: How often two records of different people do.
        within: A feature in which they may differ, and by how much.
    """

    same: tuple[str, ...]
    m: float
    u: float
    within: Mapping[str, int] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """What it adds, in bits."""
        return -math.inf if self.m == 0 else math.log2(self.m / self.u)

    @property
    def name(self) -> str:
        """In a few words."""
        return " ".join((*self.same, *(f"{name}±{by}" for name, by in self.within.items())))


def passes_by_weight(
    release: Release, comparisons: Mapping[str, Sequence[Agreement]], at_least: float
) -> tuple[Pass, ...]:
    """The ways to agree that weigh enough, by falling weight: Eq. (weight).

    A pass with a smaller weight meets only pairs that no pass before could make, so each of its
    pairs agrees as it says and in no stricter way.

    Args:
        release: The schema.
        comparisons: By name the ways to agree, from strict to lax; not to agree is what is left
            of m and u.
        at_least: The least weight of a link, in bits.

    Raises:
        ConfigError: Ways of one comparison add up to more than 1, or a laxer one weighs as much as
            a stricter one; no way to agree that names a place weighs enough, or one names two.
    """
    ways = [(*given, _disagreement(name, given)) for name, given in comparisons.items()]
    places = release.geography.by_name
    found: list[tuple[float, str, list[Agreement]]] = []
    for chosen in itertools.product(*ways):
        weight = sum(each.weight for each in chosen)
        agreeing = [each for each in chosen if each.name]
        if weight >= at_least and any(name in places for each in chosen for name in each.same):
            found.append((weight, " ".join(each.name for each in agreeing), agreeing))
    if not found:
        raise ConfigError(f"weights.at_least: no way to agree in a place weighs {at_least:g} bits")
    return tuple(
        Pass.of(
            release,
            name,
            [column for each in agreeing for column in each.same],
            {column: by for each in agreeing for column, by in each.within.items()},
        )
        for _, name, agreeing in sorted(found, key=lambda each: (-each[0], each[1]))
    )


def _disagreement(name: str, ways: Sequence[Agreement]) -> Agreement:
    """What is left when two records agree in none of the ways."""
    m, u = (1 - math.fsum(shares) for shares in zip(*((w.m, w.u) for w in ways), strict=True))
    if min(m, u) < -_ROUNDING:
        raise ConfigError(f"weights.compare.{name}: m and u add up to no more than 1 each")
    if u <= _ROUNDING:
        raise ConfigError(
            f"weights.compare.{name}: by u any two records agree; leave out the last way"
        )
    left = Agreement((), max(m, 0.0) if m > _ROUNDING else 0.0, u)
    for strict, lax in itertools.pairwise((*ways, left)):
        if strict.weight <= lax.weight:
            weaker = lax.name or "to disagree"
            raise ConfigError(
                f"weights.compare.{name}: {weaker} weighs {lax.weight:.2f} bits, no less than "
                f"{strict.name} ({strict.weight:.2f}); ways go from strict to lax"
            )
    return left
