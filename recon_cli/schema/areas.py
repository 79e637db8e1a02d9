"""Areas that need not nest: a file states in which areas each unit lies.

An *area system* is a level whose geounits are looked up (wards, health districts, grid squares);
the units that all of them consist of are called atoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.plurals import plural
from recon_cli.schema.geography import Geography, GeoidColumn, Geoids, Level

if TYPE_CHECKING:
    import polars as pl

#: For each unit the code or geoid of the area that it lies in, None outside all areas.
Column = list[str | None]
Codes = dict[str, Column]
#: Name of a level with a single geounit, which encloses all units, and of that geounit.
ALL = "all"
#: Name of the level of overlaps: units lie in one overlap if a chain of areas with tables connects
#: them.
OVERLAP = "overlap"


@dataclass(frozen=True, eq=False)
class Places:
    """The geounits of a level, and their members.

    Attributes:
        geoids: Geoids of the level, sorted.
        enclosing: Geoid of any level → the geounit of this level that it lies in; without those
            that lie in several, or in none.
        below: Names of the levels whose geounits lie in one geounit of this level each.
    """

    geoids: tuple[str, ...]
    enclosing: Mapping[str, str]
    below: frozenset[str]

    @cached_property
    def members(self) -> frozenset[str]:
        return frozenset(self.geoids)


@dataclass(frozen=True)
class AreaLevel(Level):
    """A level whose geounits are looked up.

    Attributes:
        order: Rises with fineness, from 1.
        places: None until the membership file was read.
    """

    digits: int = field(default=0, init=False)
    order: int = 0
    places: Places | None = field(default=None, compare=False, repr=False)

    @property
    def known(self) -> Places:
        """Return the level's geounits.

        Raises:
            ConfigError: No membership file was read.
        """
        if self.places is None:
            raise ConfigError(
                f"geography: which {plural(self.name)} there are is in a membership file, which "
                "was not given (ingest.membership in a config, Release.with_membership in Python)"
            )
        return self.places

    @property
    def rank(self) -> int:
        return self.order

    @property
    def in_order(self) -> bool:
        """Return False: sorting by geoid does not group by this level."""
        return False

    @property
    def form(self) -> str:
        return "is none of the membership file"

    def enclosing(self, geoids: Geoids) -> Geoids:
        """Return the geounit of this level that encloses each; null (for a text: empty) if none."""
        found = self.known.enclosing
        if isinstance(geoids, str):
            return found.get(geoids, "")
        return _looked_up(geoids, found)

    def has(self, geoids: str | pl.Series | pl.Expr) -> bool | pl.Series | pl.Expr:  # type: ignore[override]
        if isinstance(geoids, str):
            return geoids in self.known.members
        return geoids.is_in(list(self.known.geoids))

    def encloses(self, other: Level) -> bool:
        return other.name == self.name or other.name in self.known.below


@dataclass(frozen=True)
class AreaSystem:
    """An area system as a schema declares it.

    Attributes:
        name: Such as ``ward``.
        within: A system whose areas consist of whole areas of this one; None if not declared.
    """

    name: str
    within: str | None = None


@dataclass(frozen=True, eq=False)
class Membership:
    """The areas of each unit, read from a file.

    Attributes:
        name: Name of the file in messages.
        codes: A column per level, the units' first, with codes as published; null outside the
            system. Each unit once, sorted.
        digest: SHA-256 of the codes.
        lines: Level → the file that states it, with its word for a line, and for each row of
            ``codes`` the number of its line; empty if the codes come from no file.
    """

    name: str
    codes: pl.DataFrame
    digest: str
    lines: Mapping[str, tuple[str, pl.Series]] = field(default_factory=dict, repr=False)

    def where(self, level: str, unit: str) -> str:
        """Name the line that puts a unit into an area of a level, for messages."""
        if level not in self.lines:
            return self.name
        file, lines = self.lines[level]
        at = self.codes[self.codes.columns[0]].search_sorted(unit)
        return f"{file} {lines[at]}"


@dataclass(frozen=True)
class AreaGeography(Geography):
    """Area systems over units.

    Attributes:
        geoids: Level name → code as published → geoid; empty until the file was read.
        overlap: The level of overlaps of areas with tables; None until the file was read.
        source: Name of the membership file in messages.
        outside: For each unit in no area with tables, the line that lists it, and its code.
    """

    systems: tuple[AreaSystem, ...] = ()
    geoids: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False, repr=False)
    overlap: AreaLevel | None = field(default=None, compare=False, repr=False)
    source: str = field(default="", compare=False)
    outside: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(cls, unit: str, systems: Sequence[AreaSystem], partition: str) -> AreaGeography:
        """Declare area systems, without any geounits.

        Raises:
            SchemaError: A name is reserved or used twice, or systems nest in a circle.
        """
        names = [unit, *(system.name for system in systems)]
        for name in (OVERLAP, ALL):
            if name in names:
                raise SchemaError(f"geography: {name!r} is a reserved name")
        for system in systems:
            if system.within is not None and system.within not in names[1:]:
                raise SchemaError(
                    f"geography.areas: {system.name} is within {system.within!r}, which is no area "
                    f"system (systems: {', '.join(names[1:])})"
                )
        ordered = [unit, *_finest_first(systems)]
        if partition == ALL:
            ordered.append(ALL)
        levels = [AreaLevel(name, order=len(ordered) - i) for i, name in enumerate(ordered)]
        return cls(tuple(levels), partition, tuple(systems))

    def __post_init__(self) -> None:
        self._check_names()

    @property
    def is_nested(self) -> bool:
        """Return False: sorting by geoid does not group by region."""
        return False

    def bound(self, membership: Membership, published: Iterable[str]) -> AreaGeography:
        """Bind the geography to the geounits of a membership file.

        Args:
            membership: A column for each level.
            published: Names of the levels with tables, whose areas join units into overlaps.

        Raises:
            SchemaError: An area lies in two areas of the system that it is declared to be within,
                or an area with tables in two partitions.
        """
        unit = self.unit.name
        codes: Codes = membership.codes.sort(unit).to_dict(as_series=False)
        units: list[str] = membership.codes[unit].sort().to_list()
        if self.partition == ALL:
            codes[ALL] = [ALL] * len(units)
        self._check_within(membership, units, codes)
        used = [level.name for level in self.levels if level.name in set(published)]
        self._check_partition(membership, units, codes, used)
        geoids = _geoids_of(codes)
        named = {
            name: [None if code is None else geoids[name][code] for code in column]
            for name, column in codes.items()
        }
        taken = {geoid for known in geoids.values() for geoid in known.values()}
        mark = "+"
        while any(geoid + mark in taken for geoid in geoids[unit].values()):
            mark += "+"
        own = [geoids[unit][code] for code in units]
        named[OVERLAP] = [least + mark for least in _joined(own, [named[name] for name in used])]
        places = {name: _places(named, name) for name in named}
        return replace(
            self,
            levels=tuple(replace(level, places=places[level.name]) for level in self._area_levels),
            geoids=geoids,
            overlap=AreaLevel(OVERLAP, places=places[OVERLAP]),
            source=membership.name,
            outside=_outside(membership, units, {name: codes[name] for name in used}),
        )

    @property
    def _area_levels(self) -> tuple[AreaLevel, ...]:
        return tuple(level for level in self.levels if isinstance(level, AreaLevel))

    @property
    def is_bound(self) -> bool:
        """Report whether the geounits are known."""
        return self.overlap is not None

    @cached_property
    def inside_partitions(self) -> tuple[Level, ...]:
        """List the levels from the partitions down, finest first; all before the file is read."""
        return super().inside_partitions if self.is_bound else self.levels

    def region(self, published: Iterable[str]) -> Level:
        """Return the coarsest level with tables in which all others nest; else the overlaps."""
        names = set(published)
        used = [level for level in self.levels if level.name in names]
        if self.overlap is None:
            return AreaLevel(OVERLAP)
        nests = all(used[-1].encloses(each) for each in (self.unit, *used))
        return used[-1] if nests else self.overlap

    @cached_property
    def _level_of(self) -> dict[str, str]:
        return {geoid: level.name for level in self._area_levels for geoid in level.known.geoids}

    def level_of(self, geoid: str) -> Level | None:
        name = self._level_of.get(geoid)
        return None if name is None else self.by_name[name]

    def level_names(self, geoids: GeoidColumn) -> GeoidColumn:
        return _looked_up(geoids, self._level_of)

    def ranks(self, geoids: GeoidColumn) -> GeoidColumn:
        ranks = {geoid: self.by_name[name].rank for geoid, name in self._level_of.items()}
        return geoids.replace_strict(ranks, default=None).cast(int)

    def alike(self, geoids: pl.Series) -> str | None:  # noqa: ARG002 - the file says which exist
        """Return None: geounits are those of the membership file, whatever their case."""
        return None

    def inside(  # type: ignore[override]
        self, geoids: str | pl.Series | pl.Expr, place: str
    ) -> bool | pl.Series | pl.Expr:
        """Test whether each geounit is, or lies in, the geounit or overlap ``place``."""
        if not place:  # everywhere, as every geoid begins with nothing where levels nest
            return True if isinstance(geoids, str) else geoids.is_not_null()
        level = self.level_of(place)
        if level is None and self.overlap is not None and self.overlap.has(place):
            level = self.overlap
        if level is None:
            raise ConfigError(f"no geounit {place!r} in the membership file")
        if isinstance(geoids, str):
            return level.enclosing(geoids) == place
        return level.enclosing(geoids).eq(place).fill_null(value=False)  # type: ignore[type-var]

    def name_of(self, geoid: str) -> str:
        """Name a geounit in texts: its level and its code."""
        return self._names.get(geoid, geoid)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {
            geoid: f"{level} {code}"
            for level, known in self.geoids.items()
            for code, geoid in known.items()
        }

    def find(self, text: str) -> str:
        """Find the geoid of a place from its geoid, its code, or ``level:code``.

        Returns:
            The geoid, or the given text if no place has that name.

        Raises:
            ConfigError: Several levels have the code.
        """
        if self.level_of(text) is not None:
            return text
        name, _, code = text.partition(":")
        if code in self.geoids.get(name, {}):
            return self.geoids[name][code]
        found = [known[text] for known in self.geoids.values() if text in known]
        if len(found) > 1:
            raise ConfigError(f"{text!r} is the code of {' and of '.join(found)}; say which")
        return found[0] if found else text

    def by_code(self, codes: pl.Expr, levels: pl.Expr | None) -> pl.Expr:
        """Return the geoid of each place; null if there is none, or several.

        Args:
            codes: As published, or geoids.
            levels: Names of their levels, where they are known.
        """
        if levels is not None:
            both = {
                f"{level}:{code}": geoid
                for level, known in self.geoids.items()
                for code, geoid in known.items()
            }
            return _looked_up(levels + ":" + codes, both)
        every = [pair for known in self.geoids.values() for pair in known.items()]
        holders = Counter(code for code, _ in every)
        single = {code: geoid for code, geoid in every if holders[code] == 1}
        return _looked_up(codes, single | {geoid: geoid for _, geoid in every})

    def listed(self, levels: Iterable[str]) -> dict[str, str]:
        """Map geounits of some levels, and the units, to their levels' names, sorted by geoid."""
        names = {*levels, self.unit.name}
        return {geoid: level for geoid, level in sorted(self._level_of.items()) if level in names}

    def _check_within(self, membership: Membership, units: Sequence[str], codes: Codes) -> None:
        for system in self.systems:
            if system.within is None:
                continue
            split = _split(units, codes[system.name], codes[system.within])
            if split is not None:
                code, (first, one), (second, other) = split
                where = membership.where(system.within, other)
                raise SchemaError(
                    f"{where}: {system.name} {code} has two {plural(system.within)}, "
                    f"{first} ({one}), {second} ({other})"
                )

    def _check_partition(
        self, membership: Membership, units: Sequence[str], codes: Codes, used: Sequence[str]
    ) -> None:
        where, partitions = membership.where, codes[self.partition]
        if None in partitions:
            lost = units[partitions.index(None)]
            raise SchemaError(
                f"{where(self.partition, lost)}: {self.unit.name} {lost} is in no "
                f"{self.partition}, which files are split by; use partition: {ALL}"
            )
        for level in used:
            if level in (self.unit.name, self.partition):
                continue
            split = _split(units, codes[level], partitions)
            if split is not None:
                code, (first, _), (second, other) = split
                raise SchemaError(
                    f"{where(level, other)}: partition {self.partition}: {level} {code} lies in "
                    f"{plural(self.partition)} {first} and {second}; use partition: {ALL}"
                )


def _finest_first(systems: Sequence[AreaSystem]) -> list[str]:
    """Sort names so that each precedes those that contain it, else keep their order."""
    left = list(systems)
    found: list[str] = []
    while left:
        holders = {system.within for system in left}
        ready = next((system for system in left if system.name not in holders), None)
        if ready is None:
            raise SchemaError(
                "geography.areas: "
                + " is within ".join([*(system.name for system in left), left[0].name])
            )
        left.remove(ready)
        found.append(ready.name)
    return found


def _looked_up(texts: GeoidColumn, known: Mapping[str, str]) -> GeoidColumn:
    """Look up each text; null if it is unknown."""
    return texts.replace_strict(list(known), list(known.values()), default=None).cast(str)


def _split(
    units: Sequence[str], inner: Column, outer: Column
) -> tuple[str, tuple[str, str], tuple[str, str]] | None:
    """Find the first inner area in two outer ones, with one unit in each.

    Lying outside every outer area counts as one more outer area.
    """
    found: dict[str, dict[str, str]] = {}
    for unit, one, other in zip(units, inner, outer, strict=True):
        if one is not None:
            found.setdefault(one, {}).setdefault("none" if other is None else other, unit)
    split = min((code for code, places in found.items() if len(places) > 1), default=None)
    if split is None:
        return None
    first, second, *_ = sorted(found[split].items())
    return split, first, second


def _distinct(column: Column) -> list[str]:
    return sorted({text for text in column if text is not None})


def _outside(membership: Membership, units: Sequence[str], areas: Codes) -> tuple[str, ...]:
    """List the units that are in no area of the levels with tables."""
    alone = [unit for unit, *own in zip(units, *areas.values(), strict=True) if not any(own)]
    said, told = membership.codes.columns[0], next(iter(areas), "")
    return tuple(f"{membership.where(told, unit)}: {said} {unit}" for unit in alone)


def _geoids_of(frame: Codes) -> dict[str, dict[str, str]]:
    """Map level and code to geoid: the code, or ``level:code`` for codes of several levels."""
    codes = {name: _distinct(column) for name, column in frame.items()}
    holders: dict[str, list[str]] = {}
    for name, some in codes.items():
        for code in some:
            holders.setdefault(code, []).append(name)
    shared = {name for names in holders.values() if len(names) > 1 for name in names}

    def written(prefixed: set[str]) -> dict[str, dict[str, str]]:
        return {
            name: {code: f"{name}:{code}" if name in prefixed else code for code in some}
            for name, some in codes.items()
        }

    found = written(shared)
    every = [geoid for known in found.values() for geoid in known.values()]
    clear = len(set(every)) == len(every)
    return found if clear else written(set(codes))


def _joined(units: Sequence[str], areas: Iterable[Column]) -> list[str]:
    """Return for each unit the least unit to which areas connect it."""
    root = list(range(len(units)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    for column in areas:
        first: dict[str, int] = {}
        for place, area in enumerate(column):
            if area is None:
                continue
            one, other = find(first.setdefault(area, place)), find(place)
            root[max(one, other)] = min(one, other)
    return [units[find(place)] for place in range(len(units))]


def _places(named: Codes, level: str) -> Places:
    within: dict[str, str] = {}
    below: set[str] = set()
    for name, column in named.items():
        outer: dict[str, str | None] = {}
        for one, other in zip(column, named[level], strict=True):
            if one is not None and outer.setdefault(one, other) != other:
                outer[one] = None  # in several
        single = {one: other for one, other in outer.items() if other is not None}
        within |= single
        if len(single) == len(outer):
            below.add(name)
    return Places(tuple(_distinct(named[level])), within, frozenset(below))
