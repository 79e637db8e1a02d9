"""Where the legacy files keep the tables of a release, checked against its tables."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final, Literal

from pydantic import ValidationError

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema import Release, Table
from recon_cli.schema.spec import Name, Spec
from recon_cli.schema.validation import describe
from recon_cli.sources.legacy.header import GEOID_FIELDS, HEADERS, HeaderForm, geoid_digits

#: Name of a layout → the suffix of its files, and FILEID of a state's.
PRODUCTS: Final = {
    "sf1-legacy": ("sf1", "SF1ST"),
    "pl-legacy": ("pl", "PLST"),
    "dhc-legacy": ("dhc", "DHCST"),
}

#: FILEID, STUSAB, CHARITER, CIFSN, LOGRECNO: every segment record starts with them.
KEY_COLUMNS: Final = 5
LOGRECNO_COLUMN: Final = 4


class SegmentSpec(Spec):
    """``{columns: 6, tables: {P1: 5}}``: columns of a record, first column of each table."""

    columns: int
    tables: dict[Name, int]


class LayoutSpec(Spec):
    """A legacy layout of a release schema, such as ``layouts: sf1-legacy``.

    Attributes:
        form: ``fixed``: header of fixed columns, segments separated by commas; ``delimited``: all
            separated by |.
        summary_levels: Level → its code in the header.
        segments: By number.
        placed: ``all`` tables of the release; or ``partial``: it is not known where the files keep
            the others, which are not read.
    """

    form: Literal["fixed", "delimited"] = "fixed"
    summary_levels: dict[Name, str]
    segments: dict[int, SegmentSpec]
    placed: Literal["all", "partial"] = "all"


@dataclass(frozen=True)
class Placement:
    """A table in a segment: its cells are columns ``first`` to ``stop - 1``, zero-based."""

    table: Table
    first: int

    @property
    def stop(self) -> int:
        """One past the table's last column."""
        return self.first + len(self.table.cells)


@dataclass(frozen=True)
class Segment:
    """One comma-separated file.

    Attributes:
        number: As in its file name.
        columns: Of every record, the five key columns included.
        placements: Its tables by first column.
    """

    number: int
    columns: int
    placements: tuple[Placement, ...]

    def __post_init__(self) -> None:
        taken = KEY_COLUMNS
        owner = "the key columns"
        for placement in self.placements:
            name = placement.table.name
            if placement.first < taken:
                raise SchemaError(
                    f"segments.{self.number}.tables.{name}: first column "
                    f"{placement.first} is taken by {owner}, expected {taken} or more"
                )
            taken, owner = placement.stop, f"table {name}"
        if taken > self.columns:
            raise SchemaError(
                f"segments.{self.number}: {owner} ends at column {taken}, "
                f"but the segment has {self.columns} columns"
            )

    def tables_at(self, level: str) -> tuple[Placement, ...]:
        """The placements of the tables that are published for ``level``."""
        return tuple(p for p in self.placements if level in p.table.levels)

    @property
    def levels(self) -> frozenset[str]:
        """Levels that any of the tables is published for: they must have a record here."""
        return frozenset(level for p in self.placements for level in p.table.levels)


@dataclass(frozen=True)
class Layout:
    """The legacy files of a release.

    Attributes:
        name: Such as ``sf1-legacy``.
        header: Form of the geographic header, and of the segments.
        summary_levels: Level name → summary-level code, finest level first.
        segments: By number.
        unplaced: Tables of the release that are in no segment.
    """

    name: str
    header: HeaderForm
    summary_levels: dict[str, str]
    segments: tuple[Segment, ...]
    unplaced: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """How the names of the files end."""
        return PRODUCTS[self.name][0]

    @property
    def file_id(self) -> str:
        """FILEID of a state's files."""
        return PRODUCTS[self.name][1]

    def only(self, tables: Collection[str]) -> Layout:
        """The layout without the other tables, and without segments that have none of these.

        Raises:
            ConfigError: One of these is in no segment.
        """
        self.require(tables)
        segments = [
            replace(each, placements=tuple(p for p in each.placements if p.table.name in tables))
            for each in self.segments
        ]
        return replace(self, segments=tuple(each for each in segments if each.placements))

    def require(self, tables: Collection[str]) -> None:
        """See to it that tables have a place.

        Raises:
            ConfigError: One has none.
        """
        if lost := [name for name in self.unplaced if name in tables]:
            raise ConfigError(
                f"layouts.{self.name} (placed: partial) does not say where {', '.join(lost)} "
                f"{'is' if len(lost) == 1 else 'are'}"
            )


def legacy_layout(release: Release, name: str | None = None) -> Layout:
    """The checked legacy layout of ``release``.

    Args:
        name: Which layout is expected; None for the one that there is.

    Raises:
        ConfigError: The release has no such layout.
        SchemaError: The layout is malformed, lacks a table of the release, or its widths clash.
    """
    wanted = name or next((each for each in PRODUCTS if each in release.layouts), "legacy")
    raw = release.layouts.get(wanted)
    if raw is None:
        known = ", ".join(release.layouts) or "none"
        raise ConfigError(
            f"release {release.name!r} has no {wanted} layout (layouts: {known}), "
            "so such files cannot be read"
        )
    where = f"layouts.{wanted}"
    try:
        spec = LayoutSpec.model_validate(raw)
    except ValidationError as error:
        raise SchemaError(f"{where}: {describe(error, LayoutSpec)}") from error
    try:
        unplaced = _check_tables(spec, release)
        segments = tuple(
            Segment(number, form.columns, _placements(form, release))
            for number, form in sorted(spec.segments.items())
        )
        levels = _summary_levels(spec, release)
    except SchemaError as error:
        raise SchemaError(f"{where}.{error}") from error
    return Layout(wanted, HEADERS[spec.form], levels, segments, unplaced)


def _check_tables(spec: LayoutSpec, release: Release) -> tuple[str, ...]:
    """No table in two segments, and no other table; those that are in none, if that may be."""
    homes: dict[str, int] = {}
    for number, form in spec.segments.items():
        where = f"segments.{number}"
        if not 0 < number < 100_000:
            raise SchemaError(f"{where}: expected a segment number from 1 to 99999")
        for name in form.tables:
            if name not in release.table_by_name:
                near = difflib.get_close_matches(name, release.table_by_name, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise SchemaError(f"{where}.tables: no table {name!r} in {release.name!r}{hint}")
            if name in homes:
                raise SchemaError(f"{where}.tables.{name}: already in segment {homes[name]}")
            homes[name] = number
    missing = tuple(table.name for table in release.tables if table.name not in homes)
    if missing and spec.placed == "all":
        raise SchemaError(
            f"segments: no segment has {', '.join(missing)} (`placed: partial` does without)"
        )
    return missing


def _placements(form: SegmentSpec, release: Release) -> tuple[Placement, ...]:
    placed = [Placement(release.table_by_name[name], at) for name, at in form.tables.items()]
    return tuple(sorted(placed, key=lambda placement: placement.first))


def _summary_levels(spec: LayoutSpec, release: Release) -> dict[str, str]:
    where = "summary_levels"
    published = {level for table in release.tables for level in table.levels}
    if set(spec.summary_levels) != published:
        raise SchemaError(
            f"{where}: expected a code for each level with tables "
            f"({', '.join(sorted(published))}), found {', '.join(sorted(spec.summary_levels))}"
        )
    for name, code in spec.summary_levels.items():
        if code not in GEOID_FIELDS:
            known = ", ".join(GEOID_FIELDS)
            raise SchemaError(f"{where}.{name}: no summary level {code!r} (known: {known})")
        digits = geoid_digits(code)
        if digits != release.geography.by_name[name].digits:
            raise SchemaError(
                f"{where}.{name}: geoids of summary level {code} have {digits} digits, "
                f"those of level {name!r} {release.geography.by_name[name].digits}"
            )
    if len(set(spec.summary_levels.values())) != len(spec.summary_levels):
        raise SchemaError(f"{where}: two levels share a code")
    order = [level.name for level in release.geography.levels if level.name in published]
    return {name: spec.summary_levels[name] for name in order}
