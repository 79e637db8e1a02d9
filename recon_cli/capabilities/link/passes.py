"""Passes of a linkage: the columns that both records share, in which place, with which tolerance.

Record linkage goes from strict to lax: records paired in one pass take no part in the next. Passes
are named, or made of weights of agreement (Fellegi and Sunter, 1969) with the user's own m and u:
the weight of a pair is a sum over comparisons, and greedy one-to-one linking takes the pairs with
the largest sum first, one pass for each way to agree. m and u are given, not estimated: place, sex
and age alone do not identify the two kinds of pairs.

See *pass*, *m and u* in docs/glossary.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recon_cli.errors import ConfigError
from recon_cli.schema import AttackKeys, Level, Release

#: Tolerance of sums of m and u, which are decimals.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Pass:
    """One pass.

    Attributes:
        place: Level of the geounit that both records lie in.
        same: Features and recodes that they share.
        near: Feature whose values may differ.
        within: Greatest difference of `near`, in its own unit.
        key: Column of encoded records with place and ``same`` in one number.
    """

    name: str
    place: Level
    same: tuple[str, ...]
    near: str | None = None
    within: int = 0
    key: str = ""

    def __post_init__(self) -> None:
        if not self.key:
            object.__setattr__(self, "key", f"pass {self.name}")

    @classmethod
    def of(
        cls, release: Release, name: str, same: Sequence[str], within: Mapping[str, int]
    ) -> Pass:
        """Make a pass from the columns that both records share, including a level of geounits.

        Raises:
            ConfigError: Not one level is named, or two features may differ.
        """
        levels = release.geography.by_name
        named = [each for each in same if each in levels]
        if len(named) != 1:
            found = f"found {' and '.join(named)}" if named else "found none"
            raise ConfigError(
                f"passes.{name}.same: one level of geounits is expected ({', '.join(levels)}); "
                f"{found}"
            )
        if len(within) > 1:
            raise ConfigError(
                f"passes.{name}.within: {' and '.join(within)}: one feature may differ"
            )
        near, by = next(iter(within.items()), (None, 0))
        return cls(name, levels[named[0]], tuple(c for c in same if c not in levels), near, by)

    @property
    def number(self) -> str | None:
        """Return the column of encoded records with the value that may differ."""
        return None if self.near is None else f"near {self.name}"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Return the columns of encoded records that the pass uses."""
        return (self.key,) if self.number is None else (self.key, self.number)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the features and recodes that the pass uses."""
        return self.same if self.near is None else (*self.same, self.near)

    def check(self, release: Release, keys: AttackKeys) -> None:
        """Refuse columns that cannot be linked on.

        Raises:
            ConfigError: The place is coarser than the partitions, a column is unknown or of no
                feature of ``keys.exact``, or the feature that may differ has no scale.
        """
        if self.place not in release.geography.inside_partitions:
            raise ConfigError(
                f"passes.{self.name}.same: {self.place.name!r} is coarser than "
                f"{release.geography.partition!r}, by which files are split"
            )
        known = set(keys.exact)
        for column in self.columns:
            if column not in release.feature_index and column not in release.recode_by_name:
                raise ConfigError(f"passes.{self.name}: no place, feature or recode {column!r}")
            if release.column_groups(column).feature not in known:
                raise ConfigError(
                    f"passes.{self.name}: {column!r} is of no feature of link.exact "
                    f"({', '.join(keys.exact)}): attackers need not have it"
                )
        if self.near is None:
            return
        at = release.feature_index.get(self.near)
        if at is None or not release.features[at].ordered:
            raise ConfigError(
                f"passes.{self.name}.within: {self.near!r} is not a feature with a range of numbers"
            )
        if self.near in {release.column_groups(column).feature for column in self.same}:
            raise ConfigError(
                f"passes.{self.name}.within: {self.near!r} is among what must be the same; "
                "name it once"
            )


def near_pass(release: Release, keys: AttackKeys) -> Pass | None:
    """Return the pass that counts agreement with a number off by one, such as an age by a year.

    Return None unless exactly one exact key is not a binned key, and that key is ordered.
    """
    fine = [name for name in keys.exact if name not in keys.binned]
    if len(fine) != 1 or fine[0] not in release.feature_index:
        return None
    if not release.features[release.feature_index[fine[0]]].ordered:
        return None
    same = tuple(name for name in keys.exact if name in keys.binned)
    return Pass("agreement", release.geography.unit, same, fine[0], 1, key="near")


def default_passes(release: Release, keys: AttackKeys) -> tuple[Pass, Pass]:
    """Return the two passes of the 2010 study: *exact*, then *binned*, in units."""
    unit = release.geography.unit
    return (
        Pass("exact", unit, keys.exact, key="exact"),
        Pass("binned", unit, keys.binned, key="binned"),
    )


def places_of(passes: Sequence[Pass]) -> tuple[Level, ...]:
    """Return the levels of the passes, finest first."""
    return tuple(sorted({each.place for each in passes}, key=lambda place: -place.rank))


def looking_no_farther(passes: Sequence[Pass], place: Level) -> tuple[Pass, ...]:
    """Return the passes whose places lie in those of level ``place``."""
    return tuple(each for each in passes if place.encloses(each.place))


@dataclass(frozen=True)
class Agreement:
    """One way in which two records may agree in a comparison.

    Attributes:
        same: A level of geounits, features, recodes that they share.
        m: Probability that two records of one person agree so, and in no stricter way.
        u: Probability that two records of different people do.
        within: A feature in which they may differ, and by how much.
    """

    same: tuple[str, ...]
    m: float
    u: float
    within: Mapping[str, int] = field(default_factory=dict)

    @property
    def weight(self) -> float:
        """Return its weight in bits."""
        return -math.inf if self.m == 0 else math.log2(self.m / self.u)

    @property
    def name(self) -> str:
        return " ".join((*self.same, *(f"{name}±{by}" for name, by in self.within.items())))


def passes_by_weight(
    release: Release, comparisons: Mapping[str, Sequence[Agreement]], at_least: float
) -> tuple[Pass, ...]:
    """Make passes from the ways to agree with enough weight, by descending weight: Eq. (weight).

    A pass with a smaller weight only meets pairs that no earlier pass could make, so each of its
    pairs agrees in this way and in no stricter one.

    Args:
        comparisons: Name → ways to agree, from strict to lax; disagreement has the rest of m and
            u.
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
    """Return the agreement for two records that agree in none of the ways."""
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
