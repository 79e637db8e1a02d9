"""The tree of geounits, walked from the top."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.capabilities.measurements.strategy import NATION
from recon_cli.errors import ConfigError
from recon_cli.schema import Release


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Geounits by level, from the top.

    Attributes:
        levels: Names of levels, the last is the unit.
        geoids: For each level its geounits, sorted.
        parent: For each level but the first: (geounits,) place of the one above it.
    """

    levels: tuple[str, ...]
    geoids: tuple[pl.Series, ...]
    parent: tuple[IntArray, ...]

    def children(self, depth: int) -> list[IntArray]:
        """Return for each geounit of a level its children's indices in the next."""
        parent = self.parent[depth]
        order = np.argsort(parent, kind="stable")
        ends = np.searchsorted(parent[order], np.arange(1, len(self.geoids[depth])))
        return np.split(order, ends)

    def place(self, depth: int, below: int | None = None) -> IntArray:
        """Return the (geounits,) index at a level of each geounit below, default the units."""
        last = len(self.levels) - 1 if below is None else below
        place = np.arange(len(self.geoids[last]))
        for parent in reversed(self.parent[depth:last]):
            place = parent[place]
        return place

    def only(self, levels: Collection[str]) -> Hierarchy:
        """Remove other levels; the unit stays."""
        kept = [
            depth
            for depth, level in enumerate(self.levels)
            if level in levels or depth == len(self.levels) - 1
        ]
        parents = tuple(self.place(above, below) for above, below in itertools.pairwise(kept))
        return Hierarchy(
            tuple(self.levels[depth] for depth in kept),
            tuple(self.geoids[depth] for depth in kept),
            parents,
        )

    def above(self, level: str) -> Hierarchy:
        """Cut the tree at a level, whose geounits become the units."""
        depth = self.levels.index(level)
        return Hierarchy(self.levels[: depth + 1], self.geoids[: depth + 1], self.parent[:depth])

    def inside(self, level: str, geoid: str) -> Hierarchy:
        """Select one geounit of a level, and all below it."""
        depth = self.levels.index(level)
        chosen = np.flatnonzero((self.geoids[depth] == geoid).to_numpy())
        return self._below(depth, chosen)

    def around(self, is_chosen: npt.NDArray[np.bool_]) -> Hierarchy:
        """Select the geounits of all levels that have a chosen unit."""
        units = np.flatnonzero(is_chosen)
        return self._below(0, np.unique(self.place(0)[units]))

    def _below(self, depth: int, chosen: IntArray) -> Hierarchy:
        geoids, parents = [self.geoids[depth].gather(chosen)], list[IntArray]()
        for below in range(depth, len(self.parent)):
            children = np.flatnonzero(np.isin(self.parent[below], chosen))
            parents.append(np.searchsorted(chosen, self.parent[below][children]))
            geoids.append(self.geoids[below + 1].gather(children))
            chosen = children
        return Hierarchy(self.levels[depth:], tuple(geoids), tuple(parents))


def build_hierarchy(
    release: Release,
    levels: Sequence[str],
    units: pl.Series,
    named: pl.DataFrame | None = None,
) -> Hierarchy:
    """Assign units to the geounits of each level.

    Args:
        release: Says which prefix of a unit's geoid names the geounit of a level.
        levels: From above; the last is the release's unit.
        units: Geoids of all units.
        named: The unit's geoid, and a column for each level that is not a prefix of it.

    Raises:
        ConfigError: A level is not known, a geoid is too short or too long, or the levels do not
            nest.
    """
    unit = release.geography.unit.name
    if not levels or levels[-1] != unit:
        raise ConfigError(f"levels: the last must be {unit!r}, the finest, found {list(levels)}")
    units = units.unique().sort()
    malformed = units.filter(~release.geography.unit.has(units))
    if len(malformed):
        raise ConfigError(
            f"{release.geoid_column} {malformed[0]!r}: a geoid of a {unit} "
            f"{release.geography.unit.form}"
        )
    frame = pl.DataFrame({release.geoid_column: units})
    if named is not None:
        frame = frame.join(named, on=release.geoid_column, how="left", maintain_order="left")
    names = [_names(release, level, frame) for level in levels]
    geoids = tuple(each.unique().sort() for each in names)
    places = [
        each.replace_strict(distinct, np.arange(len(distinct)), return_dtype=pl.Int64).to_numpy()
        for each, distinct in zip(names, geoids, strict=True)
    ]
    parents = []
    for depth in range(1, len(levels)):
        parent = np.zeros(len(geoids[depth]), dtype=np.int64)
        parent[places[depth]] = places[depth - 1]
        astray = np.flatnonzero(parent[places[depth]] != places[depth - 1])
        if len(astray):
            raise ConfigError(
                f"levels: {levels[depth]} {names[depth][int(astray[0])]!r} lies in two geounits of "
                f"level {levels[depth - 1]!r}"
            )
        parents.append(parent)
    return Hierarchy(tuple(levels), geoids, tuple(parents))


def _names(release: Release, level: str, frame: pl.DataFrame) -> pl.Series:
    """Return the geounit of each unit."""
    column, known = release.geoid_column, release.geography.by_name
    if level in frame.columns and level != release.geography.unit.name:
        names = frame[level].cast(pl.String)
        if names.null_count():
            lost = frame.filter(names.is_null())[column][0]
            raise ConfigError(f"geography: no {level} is given for {column} {lost!r}")
        return names
    if level == NATION:
        return pl.Series(level, [NATION]).gather(np.zeros(len(frame), dtype=np.int64))
    if level not in known:
        names_known = ", ".join([NATION, *known])
        raise ConfigError(
            f"levels: no level {level!r} (levels: {names_known}, and the columns of geography)"
        )
    return known[level].enclosing(frame[column])
