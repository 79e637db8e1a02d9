"""Areas that need not nest: a file says which areas each unit lies in.

An *area system* is a level whose geounits are looked up (wards, health districts, grid squares),
and the units that all of them are made of are called atoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.plurals import plural
from recon_cli.schema.geography import (
    Geography,
    GeoidColumn,
    Geoids,
    Level,
)

if TYPE_CHECKING:
    import polars as pl

#: The one geounit, and the level, that all units lie in.
ALL = "all"
#: The level of what overlapping areas join: units that no chain of areas with tables connects lie
#: in different ones.
OVERLAP = "overlap"


@dataclass(frozen=True, eq=False)
class Places:
    """The geounits of a level, and what lies in them.

    Attributes:
        geoids: Theirs, sorted.
        enclosing: Geoid of any level → the geounit of this level that it lies in; others lie in
            several, or in none.
        below: Names of the levels all of whose geounits lie in one of this level each.
    """

    geoids: tuple[str, ...]
    enclosing: Mapping[str, str]
    below: frozenset[str]

    @cached_property
    def members(self) -> frozenset[str]:
        """The geoids."""
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
        """The level's geounits.

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
        """Rises with fineness: other than that of any other level."""
        return self.order

    @property
    def in_order(self) -> bool:
        """Geoids in order do not lie together by this level."""
        return False

    @property
    def form(self) -> str:
        """What geoids of the level are, for messages."""
        return "is none of the membership file"

    def enclosing(self, geoids: Geoids) -> Geoids:
        """The geounit of this level that encloses each; null (of a text: empty) if none does."""
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        found = self.known.enclosing
        if isinstance(geoids, str):
            return found.get(geoids, "")
        keys, values = list(found), list(found.values())
        return geoids.replace_strict(keys, values, default=None, return_dtype=pl.String)

    def has(self, geoids: str | pl.Series | pl.Expr) -> bool | pl.Series | pl.Expr:  # type: ignore[override]
        """Whether each is a geoid of this level; null where there is none."""
        if isinstance(geoids, str):
            return geoids in self.known.members
        return geoids.is_in(list(self.known.geoids))

    def encloses(self, other: Level) -> bool:
        """Whether every geounit of ``other`` lies in one of this level; its own do."""
        return other.name == self.name or other.name in self.known.below


@dataclass(frozen=True)
class AreaSystem:
    """An area system as a schema declares it.

    Attributes:
        name: Such as ``ward``.
        within: The system each of whose areas holds whole ones of this, where that is said.
    """

    name: str
    within: str | None = None


@dataclass(frozen=True, eq=False)
class Membership:
    """Which areas each unit lies in, as a file has it.

    Attributes:
        name: What messages call the file.
        codes: A column a level, the units' first, with codes as published; null outside the
            system. Each unit once, sorted.
        digest: SHA-256 of the codes.
        lines: Level → the file that tells of it and its word for a line, and of each row of
            ``codes`` the number there; nothing where the codes are of no file.
    """

    name: str
    codes: pl.DataFrame
    digest: str
    lines: Mapping[str, tuple[str, pl.Series]] = field(default_factory=dict, repr=False)

    def where(self, level: str, unit: str) -> str:
        """What messages call the line that puts a unit into an area of a level."""
        if level not in self.lines:
            return self.name
        file, lines = self.lines[level]
        at = self.codes[self.codes.columns[0]].search_sorted(unit)
        return f"{file} {lines[at]}"


@dataclass(frozen=True)
class AreaGeography(Geography):
    """Area systems over units.

    Attributes:
        systems: As declared.
        geoids: Level name → code as published → geoid; empty until the file was read.
        overlap: What overlapping areas with tables join; None until then.
        source: What messages call the membership file.
    """

    systems: tuple[AreaSystem, ...] = ()
    geoids: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False, repr=False)
    overlap: AreaLevel | None = field(default=None, compare=False, repr=False)
    source: str = field(default="", compare=False)

    @classmethod
    def of(cls, unit: str, systems: Sequence[AreaSystem], partition: str) -> AreaGeography:
        """As declared, without any geounits.

        Raises:
            SchemaError: Names that are reserved, used twice, or nest in a circle.
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
        """Geoids in order do not lie together by region."""
        return False

    def bound(self, membership: Membership, published: Iterable[str]) -> AreaGeography:
        """The same with its geounits.

        Args:
            membership: A column for each level.
            published: Names of the levels with tables: what joins units into overlaps.

        Raises:
            SchemaError: An area lies in two of a system that it is said to be within, or an area
                with tables in two partitions.
        """
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        unit = self.unit.name
        frame = membership.codes
        if self.partition == ALL:
            frame = frame.with_columns(pl.lit(ALL).alias(ALL))
        self._check_within(membership)
        used = [level.name for level in self.levels if level.name in set(published)]
        self._check_partition(membership, frame, used)
        geoids = _geoids_of(frame)
        named = frame.with_columns(
            pl.col(name)
            .replace_strict(list(known), list(known.values()), default=None, return_dtype=pl.String)
            .alias(name)
            for name, known in geoids.items()
        ).sort(unit)
        taken = {geoid for known in geoids.values() for geoid in known.values()}
        mark = "+"
        while any(geoid + mark in taken for geoid in geoids[unit].values()):
            mark += "+"
        joined = pl.Series([least + mark for least in _joined(named, used)], dtype=pl.String)
        whole = named.with_columns(joined.alias(OVERLAP))
        places = {name: _places(whole, name) for name in whole.columns}
        return replace(
            self,
            levels=tuple(replace(level, places=places[level.name]) for level in self._area_levels),
            geoids=geoids,
            overlap=AreaLevel(OVERLAP, places=places[OVERLAP]),
            source=membership.name,
        )

    @property
    def _area_levels(self) -> tuple[AreaLevel, ...]:
        return tuple(level for level in self.levels if isinstance(level, AreaLevel))

    @property
    def is_bound(self) -> bool:
        """Whether the geounits are known."""
        return self.overlap is not None

    @cached_property
    def inside_partitions(self) -> tuple[Level, ...]:
        """The levels from the partitions down, finest first; all until the file was read."""
        return super().inside_partitions if self.is_bound else self.levels

    def region(self, published: Iterable[str]) -> Level:
        """The coarsest level with tables where all others nest in it; else the overlaps."""
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
        """The level of a geoid; None if no level has it."""
        name = self._level_of.get(geoid)
        return None if name is None else self.by_name[name]

    def level_names(self, geoids: GeoidColumn) -> GeoidColumn:
        """The name of each geoid's level; null if no level has it."""
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        keys, values = list(self._level_of), list(self._level_of.values())
        return geoids.replace_strict(keys, values, default=None, return_dtype=pl.String)

    def ranks(self, geoids: GeoidColumn) -> GeoidColumn:
        """The rank of each geoid's level, null where no level has it."""
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        keys = list(self._level_of)
        values = [self.by_name[name].rank for name in self._level_of.values()]
        return geoids.replace_strict(keys, values, default=None, return_dtype=pl.Int64)

    def alike(self, geoids: pl.Series) -> str | None:  # noqa: ARG002 - the file says which exist
        """Nothing: geounits are those of the membership file, whatever their case."""
        return None

    def inside(  # type: ignore[override]
        self, geoids: str | pl.Series | pl.Expr, place: str
    ) -> bool | pl.Series | pl.Expr:
        """Whether each geounit lies in the geounit or overlap ``place``, or is it."""
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
        """What texts call a geounit: its level and its code."""
        return self._names.get(geoid, geoid)

    @cached_property
    def _names(self) -> dict[str, str]:
        return {
            geoid: f"{level} {code}"
            for level, known in self.geoids.items()
            for code, geoid in known.items()
        }

    def find(self, text: str) -> str:
        """The geoid of a place that is given by its geoid, its code, or ``level:code``.

        Returns:
            What was given where no place is called so.

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
        """The geoid of each place, null where there is no such place, or several.

        Args:
            codes: As published, or geoids.
            levels: Names of their levels, where they are known.
        """
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        def of(known: Mapping[str, str]) -> pl.Expr:
            keys, values = list(known), list(known.values())
            return codes.replace_strict(keys, values, default=None, return_dtype=pl.String)

        if levels is not None:
            return pl.coalesce(
                pl.when(levels == name).then(of(known)) for name, known in self.geoids.items()
            )
        every = [pair for known in self.geoids.values() for pair in known.items()]
        holders = Counter(code for code, _ in every)
        single = {code: geoid for code, geoid in every if holders[code] == 1}
        return of(single | {geoid: geoid for _, geoid in every})

    def listed(self, levels: Iterable[str]) -> pl.DataFrame:
        """All geounits of some levels and the units: columns ``geoid, level``, sorted."""
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        names = {*levels, self.unit.name}
        frames = [
            pl.DataFrame({"geoid": level.known.geoids}, schema={"geoid": pl.String}).with_columns(
                level=pl.lit(level.name)
            )
            for level in self._area_levels
            if level.name in names
        ]
        return pl.concat(frames).sort("geoid")

    def _check_within(self, membership: Membership) -> None:
        import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

        unit = self.unit.name
        for system in self.systems:
            if system.within is None:
                continue
            rows = membership.codes.select(unit, system.name, system.within).filter(
                pl.col(system.name).is_not_null()
            )
            split = _split(rows, system.name, system.within)
            if split is not None:
                code, (first, one), (second, other) = split
                where = membership.where(system.within, other)
                raise SchemaError(
                    f"{where}: {system.name} {code} has two {plural(system.within)}, "
                    f"{first} ({one}), {second} ({other})"
                )

    def _check_partition(
        self, membership: Membership, frame: pl.DataFrame, used: Sequence[str]
    ) -> None:
        where = membership.where
        if frame[self.partition].null_count():
            lost = frame.filter(frame[self.partition].is_null())[self.unit.name][0]
            raise SchemaError(
                f"{where(self.partition, lost)}: {self.unit.name} {lost} is in no "
                f"{self.partition}, which files are split by; use partition: {ALL}"
            )
        for level in used:
            if level in (self.unit.name, self.partition):
                continue
            rows = frame.select(self.unit.name, level, self.partition).drop_nulls(level)
            split = _split(rows, level, self.partition)
            if split is not None:
                code, (first, _), (second, other) = split
                raise SchemaError(
                    f"{where(level, other)}: partition {self.partition}: {level} {code} lies in "
                    f"{plural(self.partition)} {first} and {second}; use partition: {ALL}"
                )


def _finest_first(systems: Sequence[AreaSystem]) -> list[str]:
    """Names so that each comes before what it is within, else as written."""
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


def _split(
    rows: pl.DataFrame, inner: str, outer: str
) -> tuple[str, tuple[str, str], tuple[str, str]] | None:
    """An inner area in two outer ones: its code, and of both the code and a unit, in order.

    Args:
        rows: The unit's column first.
        inner: A column without nulls.
        outer: A column; being outside is one more place to be in.
    """
    import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

    unit = rows.columns[0]
    places = rows.with_columns(pl.col(outer).fill_null("none")).sort(inner, outer, unit)
    first = places.unique([inner, outer], keep="first", maintain_order=True)
    twice = first.filter(pl.col(inner).is_duplicated())
    if twice.is_empty():
        return None
    one, other = twice.rows(named=True)[:2]
    return one[inner], (one[outer], one[unit]), (other[outer], other[unit])


def _geoids_of(frame: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Level → code → geoid: the code, or ``level:code`` for levels that share one with others."""
    codes = {name: frame[name].drop_nulls().unique().sort().to_list() for name in frame.columns}
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


def _joined(named: pl.DataFrame, used: Sequence[str]) -> list[str]:
    """For each unit the least geoid of those that areas of some levels connect it with.

    Args:
        named: The units' column first, sorted; geoids.
        used: Columns.
    """
    units = named[named.columns[0]].to_list()
    root = list(range(len(units)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    for name in used:
        first: dict[str, int] = {}
        for place, area in enumerate(named[name].to_list()):
            if area is None:
                continue
            one, other = find(first.setdefault(area, place)), find(place)
            root[max(one, other)] = min(one, other)
    return [units[find(place)] for place in range(len(units))]


def _places(named: pl.DataFrame, level: str) -> Places:
    """The geounits of one level.

    Args:
        named: A column a level, the units' first: geoids.
        level: A column.
    """
    import polars as pl  # noqa: PLC0415 - schemas are read by commands that need no frames

    within: dict[str, str] = {}
    below: set[str] = set()
    for name in named.columns:
        of_both = named.select(inner=name, outer=level).drop_nulls("inner").unique()
        single = of_both.filter(~pl.col("inner").is_duplicated(), pl.col("outer").is_not_null())
        within.update(single.sort("inner").iter_rows())
        if single.height == of_both["inner"].n_unique():
            below.add(name)
    geoids = named[level].drop_nulls().unique().sort().to_list()
    return Places(tuple(geoids), within, frozenset(below))
