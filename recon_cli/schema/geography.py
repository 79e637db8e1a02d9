"""The geography of a release: which geounits enclose which.

Only this module and `recon_cli.schema.areas` interpret geoids. Where levels nest, a geounit's
geoid begins with the geoids of those that enclose it; else a file states the membership.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

from recon_cli.errors import SchemaError

if TYPE_CHECKING:
    import polars as pl

Geoids = TypeVar("Geoids", str, "pl.Series", "pl.Expr")
GeoidColumn = TypeVar("GeoidColumn", "pl.Series", "pl.Expr")

#: Columns that stages add to a release's own, and those that name geounits.
RESERVED_COLUMNS = ("certain", "lower", "upper", "exact", "geoid", "level", "population", "pattern")


@dataclass(frozen=True)
class Level:
    """A geographic level, whose geounits' geoids have one length.

    Attributes:
        name: Such as ``tract``.
        digits: Length of the level's geoids, in characters.
    """

    name: str
    digits: int

    @property
    def rank(self) -> int:
        """Return a number that increases with fineness, different for each level."""
        return self.digits

    @property
    def in_order(self) -> bool:
        """Report whether sorting by geoid groups geounits by this level."""
        return True

    @property
    def form(self) -> str:
        """Describe geoids of the level, for messages."""
        return f"has {self.digits} characters"

    def enclosing(self, geoids: Geoids) -> Geoids:
        """Return the geounit of this level that encloses each geounit of this or a finer level."""
        if isinstance(geoids, str):
            return geoids[: self.digits]
        return geoids.str.head(self.digits)

    @overload
    def has(self, geoids: str) -> bool: ...
    @overload
    def has(self, geoids: GeoidColumn) -> GeoidColumn: ...
    def has(self, geoids: str | pl.Series | pl.Expr) -> bool | pl.Series | pl.Expr:
        """Test whether each is a geoid of this level; null for null."""
        if isinstance(geoids, str):
            return len(geoids) == self.digits
        return geoids.str.len_chars() == self.digits

    def encloses(self, other: Level) -> bool:
        """Test whether this level is ``other`` or coarser, so that its geounits contain others'."""
        return self.digits <= other.digits


@dataclass(frozen=True)
class Geography:
    """The nesting levels of a release, finest first.

    Attributes:
        levels: Finest first; geoids get shorter.
        partition: Name of the level that data files are split by.
    """

    levels: tuple[Level, ...]
    partition: str

    def __post_init__(self) -> None:
        digits = [level.digits for level in self.levels]
        if not digits or min(digits) < 1 or digits != sorted(set(digits), reverse=True):
            raise SchemaError(
                "geography: levels go from the finest to the coarsest, so their digits must fall; "
                f"found {digits}"
            )
        self._check_names()

    def _check_names(self) -> None:
        for level in self.levels:
            if level.name in RESERVED_COLUMNS:
                raise SchemaError(f"geography: {level.name!r} is a reserved name")
        if len({level.name for level in self.levels}) != len(self.levels):
            raise SchemaError("geography: two levels share a name")
        if self.partition not in {level.name for level in self.levels}:
            raise SchemaError(f"geography: partition level {self.partition!r} is not among them")

    @property
    def is_nested(self) -> bool:
        """Report whether sorting by geoid groups geounits by region and partition."""
        return True

    @property
    def unit(self) -> Level:
        """Return the finest level, in whose geounits records are placed."""
        return self.levels[0]

    @cached_property
    def order(self) -> dict[str, int]:
        """Map level names to their places, finest first."""
        return {level.name: at for at, level in enumerate(self.levels)}

    @cached_property
    def by_name(self) -> dict[str, Level]:
        return {level.name: level for level in self.levels}

    @cached_property
    def by_rank(self) -> dict[int, Level]:
        return {level.rank: level for level in self.levels}

    def ranks(self, geoids: GeoidColumn) -> GeoidColumn:
        """Return the rank of each geoid's level; null if no level has such geoids."""
        return geoids.str.len_chars().cast(int)

    @cached_property
    def by_digits(self) -> dict[int, Level]:
        """Map geoid lengths to levels, for the readers of published files."""
        return {level.digits: level for level in self.levels}

    @property
    def partition_level(self) -> Level:
        """Return the level that data files are split by."""
        return self.by_name[self.partition]

    @cached_property
    def inside_partitions(self) -> tuple[Level, ...]:
        """List the levels from the partitions down, finest first."""
        return tuple(level for level in self.levels if self.partition_level.encloses(level))

    def region(self, published: Iterable[str]) -> Level:
        """Return the coarsest level with tables, of which no count couples two geounits.

        Args:
            published: Names of the levels with tables.
        """
        names = set(published)
        return [level for level in self.levels if level.name in names][-1]

    def name_of(self, geoid: str) -> str:
        """Name a geounit in texts that do not name its level."""
        return geoid

    def find(self, text: str) -> str:
        """Find the geoid of a place that a user named; return the text if there is none."""
        return text

    def level_of(self, geoid: str) -> Level | None:
        """Return the level of a geoid; None if no level has such geoids."""
        return next((level for level in self.levels if level.has(geoid)), None)

    def level_names(self, geoids: GeoidColumn) -> GeoidColumn:
        """Return the name of each geoid's level; null if no level has such geoids."""
        names = {level.digits: level.name for level in self.levels}
        return geoids.str.len_chars().cast(int).replace_strict(names, default=None)

    def alike(self, geoids: pl.Series) -> str | None:
        """Describe the problem if two geounits, or their enclosing ones, differ in case alone.

        Args:
            geoids: Geoids of any levels.
        """
        for level in reversed(self.levels):
            of_level = level.enclosing(geoids.filter(geoids.str.len_chars() >= level.digits))
            places = of_level.unique().sort()
            twice = places.filter(places.str.to_lowercase().is_duplicated()).to_list()
            if twice:
                one, other, *_ = sorted(twice, key=str.lower)
                return (
                    f"geoids {one} and {other} differ in case alone; write one place in "
                    "one way, and two places so that case does not tell them apart"
                )
        return None

    @overload
    def inside(self, geoids: str, place: str) -> bool: ...
    @overload
    def inside(self, geoids: GeoidColumn, place: str) -> GeoidColumn: ...
    def inside(self, geoids: str | pl.Series | pl.Expr, place: str) -> bool | pl.Series | pl.Expr:
        """Test whether each geounit is, or lies in, the geounit ``place``."""
        if isinstance(geoids, str):
            return geoids.startswith(place)
        return geoids.str.starts_with(place)
