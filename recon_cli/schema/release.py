"""Releases: the features, geography and tables of a publication."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.plurals import plural
from recon_cli.schema.areas import AreaGeography, Membership
from recon_cli.schema.features import Feature, Recode
from recon_cli.schema.geography import RESERVED_COLUMNS, Geography, Level
from recon_cli.schema.tables import Cell, StructuralZero, Table


@dataclass(frozen=True, repr=False)
class Release:
    """The full description of a publication.

    Attributes:
        name: Identifier (``sf1_2010``).
        features: In the order of cell masks.
        recodes: Named groupings of features.
        geography: Nesting levels.
        microdata: Columns of reconstructed records: names of features and of partition recodes.
        histogram: The columns that define one histogram cell, the grain at which
            reconstructions are compared.
        layouts: Where each source format keeps the tables; read by that source alone.
        digest: SHA-256 of the schema except ``attack``, which recipes of stages contain if needed.
        attack: Columns that an attacker links on and gains, if the schema names any.
        structural_zeros: Combinations of values that no record has.
        record: Subject of one record, for texts.
        publications: Publications that a register is composed of, in order; empty for a single one.
        statistics: Tables of printed statistics, which are not among `tables`.
    """

    name: str
    title: str
    features: tuple[Feature, ...]
    recodes: tuple[Recode, ...]
    geography: Geography
    tables: tuple[Table, ...]
    microdata: tuple[str, ...]
    histogram: tuple[str, ...]
    layouts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    attack: AttackKeys | None = None
    structural_zeros: tuple[StructuralZero, ...] = ()
    record: str = "person"
    publications: tuple[str, ...] = ()
    statistics: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        for what in ("features", "tables", "microdata", "histogram"):
            if not getattr(self, what):
                raise SchemaError(f"release {self.name!r}: {what}: at least one is needed")
        self._check_names()
        self._check_levels()
        missing = [f.name for f in self.features if f.name not in self.microdata]
        if missing:
            raise SchemaError(f"microdata: feature {missing[0]!r} has no column")
        for column in (*self.microdata, *self.histogram):
            self.column_groups(column)
        self.check_attack(self.attack)

    def __repr__(self) -> str:
        cells = sum(len(table.cells) for table in self.tables)
        levels = " < ".join(level.name for level in self.geography.levels)
        return f"<Release {self.name}: {len(self.tables):,} tables, {cells:,} cells; {levels}>"

    def _check_names(self) -> None:
        names = [feature.name for feature in self.features]
        names += [recode.name for recode in self.recodes]
        if len(set(names)) != len(names):
            raise SchemaError(f"release {self.name!r}: two features or recodes share a name")
        taken = sorted({self.geoid_column, *RESERVED_COLUMNS} & set(names))
        if taken:
            raise SchemaError(f"release {self.name!r}: {taken[0]!r} is a reserved name")
        tables = (*self.tables, *self.statistics)
        if len({table.name for table in tables}) != len(tables):
            raise SchemaError(f"release {self.name!r}: two tables share a name")
        codes = [code for table in tables for code in table.codes]
        if len(set(codes)) != len(codes):
            twice = next(code for code in codes if codes.count(code) > 1)
            raise SchemaError(f"release {self.name!r}: cell code {twice!r} is used twice")

    def _check_levels(self) -> None:
        for table in (*self.tables, *self.statistics):
            for level in table.levels:
                if level not in self.geography.by_name:
                    raise SchemaError(f"table {table.name!r}: unknown level {level!r}")
                if self.geography.by_name[level] not in self.geography.inside_partitions:
                    raise SchemaError(
                        f"table {table.name!r}: level {level!r} is coarser than the partition "
                        f"level {self.geography.partition!r}; choose a coarser partition"
                    )

    def check_attack(self, keys: AttackKeys | None) -> None:
        """Refuse columns that a linking attack cannot use.

        Raises:
            SchemaError: A column is unknown, an exact one is a recode, a binned one is of no exact
                feature, or a gained one is linked on.
        """
        if keys is None:
            return
        exact, binned, gains = (
            {self.column_groups(column).feature for column in columns}
            for columns in (keys.exact, keys.binned, keys.gains)
        )
        for column in keys.exact:
            if column not in self.feature_index:
                raise SchemaError(f"attack.exact: {column!r} is a recode, a feature is expected")
        if binned - exact:
            wrong = ", ".join(sorted(binned - exact))
            raise SchemaError(f"attack.binned: {wrong} is not among the features of attack.exact")
        if gains & exact:
            wrong = ", ".join(sorted(gains & exact))
            raise SchemaError(f"attack.gains: {wrong} is linked on, so it cannot be gained")

    @cached_property
    def feature_index(self) -> dict[str, int]:
        """Map each feature to its index in cell masks."""
        return {feature.name: i for i, feature in enumerate(self.features)}

    @cached_property
    def recode_by_name(self) -> dict[str, Recode]:
        return {recode.name: recode for recode in self.recodes}

    @cached_property
    def table_by_name(self) -> dict[str, Table]:
        return {table.name: table for table in self.tables}

    @cached_property
    def statistic_by_name(self) -> dict[str, Table]:
        return {table.name: table for table in self.statistics}

    @cached_property
    def full(self) -> tuple[int, ...]:
        """Return the masks of a cell without conditions."""
        return tuple(feature.full for feature in self.features)

    @cached_property
    def impossible(self) -> tuple[tuple[int, ...], ...]:
        """List predicates that hold for no record, from `structural_zeros`, each once."""
        return tuple(dict.fromkeys(m for zero in self.structural_zeros for m in zero.impossible))

    @property
    def assumed(self) -> tuple[str, ...]:
        """List the assumptions behind a composition of several publications, one a line."""
        if len(self.publications) < 2:
            return ()
        named = " and ".join((", ".join(self.publications[:-1]), self.publications[-1]))
        return (f"{named} are about the same {plural(self.record)} at the same date",)

    @property
    def has_assumptions(self) -> bool:
        """Report whether any structural zero is an assumption."""
        return any(not zero.is_definition for zero in self.structural_zeros)

    def without_assumptions(self) -> Release:
        """Keep only those structural zeros that follow from the features' meaning."""
        kept = tuple(zero for zero in self.structural_zeros if zero.is_definition)
        return replace(self, structural_zeros=kept)

    def distinguished_by(self, cells: Iterable[Cell]) -> frozenset[int]:
        """Return the indices of the features whose values some of ``cells`` distinguish."""
        listed = tuple(cells)
        return frozenset(
            f
            for f, full in enumerate(self.full)
            if any(cell.masks[f] != full or cell.tally == f for cell in listed)
        )

    def joined_by(self, columns: Iterable[str], cells: Iterable[Cell]) -> tuple[str, ...]:
        """List the features with values that ``columns`` merge and some of ``cells`` distinguish.

        A feature without any of the columns is listed as soon as a cell distinguishes its values.
        """
        groups: list[set[int]] = [{full} for full in self.full]
        for column in columns:
            of = self.column_groups(column)
            f = self.feature_index[of.feature]
            groups[f] = {mask & each for mask in groups[f] for each in of.masks} - {0}
        listed = tuple(cells)
        asked = [{cell.masks[f] for cell in listed} for f in range(len(self.features))]
        for f in {cell.tally for cell in listed if cell.tally is not None}:
            asked[f] |= _by_options(self.features[f])
        return tuple(
            feature.name
            for feature, joined, masks in zip(self.features, groups, asked, strict=True)
            if any(mask & group not in (0, group) for group in joined for mask in masks)
        )

    def defines(self, column: str, other: str) -> tuple[bool, ...]:
        """Test for each value of a microdata column whether it defines the value of another column.

        A person aged 17 is a minor, so "minor" discloses nothing more. All are False for another
        feature.
        """
        one, two = self.column_groups(column), self.column_groups(other)
        same = one.feature == two.feature
        return tuple(same and any(not mask & ~of for of in two.masks) for mask in one.masks)

    @cached_property
    def region(self) -> Level:
        """Return the coarsest level with tables: no published count couples two regions.

        Where areas overlap, the regions are components of overlapping areas.
        """
        return self.geography.region(self.published_levels)

    @property
    def published_levels(self) -> frozenset[str]:
        """Return the names of the levels with tables."""
        tables = (*self.tables, *self.statistics)
        return frozenset(name for table in tables for name in table.levels)

    def with_membership(self, membership: Membership) -> Release:
        """Bind the release to the geounits of a membership file, which becomes part of its digest.

        Raises:
            SchemaError: The levels nest, or the file contradicts the schema.
        """
        if not isinstance(self.geography, AreaGeography):
            raise SchemaError(
                f"release {self.name!r}: its levels nest by their geoids; a membership file is for "
                "geography.areas"
            )
        digest = hashlib.sha256(f"{self.digest}{membership.digest}".encode()).hexdigest()
        bound = self.geography.bound(membership, self.published_levels)
        return replace(self, geography=bound, digest=digest)

    @property
    def geoid_column(self) -> str:
        """Return the microdata column with the geoid of a record's unit (``geoid_block``)."""
        return f"geoid_{self.geography.unit.name}"

    def column_groups(self, column: str) -> Recode:
        """Return the groups of values that a microdata column distinguishes.

        Raises:
            SchemaError: No feature or partition recode has that name.
        """
        if column not in self._groups:
            self._groups[column] = self._find_groups(column)
        return self._groups[column]

    @cached_property
    def _groups(self) -> dict[str, Recode]:
        return {}

    def _find_groups(self, column: str) -> Recode:
        if column in self.feature_index:
            feature = self.features[self.feature_index[column]]
            masks = tuple(1 << i for i in range(len(feature.values)))
            return Recode(column, column, feature.values, masks)
        recode = self.recode_by_name.get(column)
        if recode is None:
            raise SchemaError(f"release {self.name!r} has no feature or recode {column!r}")
        if not recode.is_partition_of(self.features[self.feature_index[recode.feature]]):
            raise SchemaError(
                f"recode {column!r} is not a partition of {recode.feature!r}, "
                "so it cannot be a column of records"
            )
        return recode

    def select_tables(self, selection: str | tuple[str, ...] | None) -> tuple[Table, ...]:
        """Return the tables that a selection names, in published order.

        Args:
            selection: Table names, one table's name, or finest levels joined by ``+``:
                ``block+tract`` means every table whose finest level is the block or the tract.
                None means every table.

        Raises:
            ConfigError: A name is unknown.
        """
        if selection is None:
            return self.tables
        if isinstance(selection, str) and selection not in self.table_by_name:
            levels = [name.strip() for name in selection.split("+")]
            for name in levels:
                if name not in self.geography.by_name:
                    known = ", ".join(self.geography.by_name)
                    raise ConfigError(
                        f"tables: {selection!r}: no level {name!r} in release {self.name!r} "
                        f"(levels: {known}; or give a list of table names)"
                    )
            return tuple(table for table in self.tables if self.finest_level(table).name in levels)
        names = (selection,) if isinstance(selection, str) else selection
        for name in names:
            if name not in self.table_by_name:
                known = ", ".join(self.table_by_name)
                raise ConfigError(
                    f"tables: no table {name!r} in release {self.name!r} (tables: {known})"
                )
        return tuple(table for table in self.tables if table.name in names)

    def finest_level(self, table: Table) -> Level:
        """Return the finest level at which ``table`` is published."""
        return next(level for level in self.geography.levels if level.name in table.levels)


def _by_options(feature: Feature) -> set[int]:
    """Return the values of a multi-select feature by number of options, as a tally counts them."""
    masks: dict[int, int] = {}
    for at, value in enumerate(feature.values):
        chosen = int(value).bit_count()
        masks[chosen] = masks.get(chosen, 0) | 1 << at
    return set(masks.values())


@dataclass(frozen=True)
class AttackKeys:
    """The columns of a linking attack, within one geounit of the finest level.

    Attributes:
        exact: Columns that agree in the first pass (``sex, age``).
        binned: Columns that agree in the second, coarser pass (``sex, agebin``).
        gains: Columns that the attacker learns from the source of a link (``race, hispanic``).
    """

    exact: tuple[str, ...]
    binned: tuple[str, ...]
    gains: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("exact", "binned", "gains"):
            columns = getattr(self, name)
            if not columns:
                raise SchemaError(f"attack.{name}: at least one column is expected")
            if len(set(columns)) != len(columns):
                raise SchemaError(f"attack.{name}: {', '.join(columns)}: a column is named twice")

    @property
    def columns(self) -> tuple[str, ...]:
        """List all columns, each once."""
        return tuple(dict.fromkeys((*self.exact, *self.binned, *self.gains)))

    @property
    def lists(self) -> dict[str, list[str]]:
        """Return the columns as lists, as in schemas and recipes."""
        return {name: list(getattr(self, name)) for name in ("exact", "binned", "gains")}
