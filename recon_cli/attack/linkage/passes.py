"""Passes of a linkage: what both records of a pair share, in which place, and what may differ.

Record linkage goes from strict to lax: who is paired in one pass takes no part in the next.

See *pass* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recon_cli.errors import ConfigError
from recon_cli.schema import AttackKeys, Level, Release


@dataclass(frozen=True)
class Pass:
    """One pass.

    Attributes:
        name: What results call it.
        place: Level of the geounit that both records lie in.
        same: Features and recodes that they share.
        near: Feature whose values may differ.
        within: By how much, in its own unit.
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
        """A pass by what both records share, a level of geounits among it.

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
        """Column of encoded records with the value that may differ."""
        return None if self.near is None else f"near {self.name}"

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of encoded records that it looks at."""
        return (self.key,) if self.number is None else (self.key, self.number)

    @property
    def columns(self) -> tuple[str, ...]:
        """The features and recodes that it looks at."""
        return self.same if self.near is None else (*self.same, self.near)

    def check(self, release: Release, keys: AttackKeys) -> None:
        """Refuse what cannot be linked on.

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


def default_passes(release: Release, keys: AttackKeys) -> tuple[Pass, Pass]:
    """The two of the 2010 study: *exact*, then *binned*, in units."""
    unit = release.geography.unit
    return (
        Pass("exact", unit, keys.exact, key="exact"),
        Pass("binned", unit, keys.binned, key="binned"),
    )


def places_of(passes: Sequence[Pass]) -> tuple[Level, ...]:
    """The levels that passes look in, finest first."""
    return tuple(sorted({each.place for each in passes}, key=lambda place: -place.rank))


def looking_no_farther(passes: Sequence[Pass], place: Level) -> tuple[Pass, ...]:
    """The passes whose places lie in those of level ``place``."""
    return tuple(each for each in passes if place.encloses(each.place))
