"""Layouts: where legacy files keep the tables of a release, and the members of a state."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from recon_cli.errors import ConfigError, SchemaError, SourceError
from recon_cli.schema import Release, Table
from recon_cli.schema.spec import Name, Spec
from recon_cli.schema.validation import describe
from recon_cli.sources.documents import Document
from recon_cli.sources.legacy.header import GEOID_FIELDS, HEADERS, HeaderForm, geoid_digits
from recon_cli.sources.legacy.lines import open_members, open_stream

#: Name of a layout → the suffix of its files, and FILEID of a state's.
PRODUCTS: Final = {
    "sf1-legacy": ("sf1", "SF1ST"),
    "pl-legacy": ("pl", "PLST"),
    "dhc-legacy": ("dhc", "DHCST"),
}

#: State, part, and suffix of a member's name; a prototype may have more after the year.
_MEMBER: Final = re.compile(r"([a-z]{2})(geo|\d{5})\d{4}(?:_\w+)?\.([a-z0-9]+)", re.IGNORECASE)
#: Bytes of a header that tell its form: less than a record.
_SAMPLE: Final = 100

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
        placed: ``all`` if segments have all tables of the release; ``partial`` if the place of
            some is unknown, which are not read.
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
        """Return the index after the table's last column."""
        return self.first + len(self.table.cells)


@dataclass(frozen=True)
class Segment:
    """One comma-separated file.

    Attributes:
        columns: Number of columns of every record, the five key columns included.
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
        """Return the placements of the tables that are published for ``level``."""
        return tuple(p for p in self.placements if level in p.table.levels)

    @property
    def levels(self) -> frozenset[str]:
        """Return the levels of the segment's tables; their geounits must have records in it."""
        return frozenset(level for p in self.placements for level in p.table.levels)


@dataclass(frozen=True)
class Layout:
    """The legacy files of a release.

    Attributes:
        header: Form of the geographic header, and of the segments.
        summary_levels: Level name → summary-level code, finest level first.
        unplaced: Tables of the release that are in no segment.
    """

    name: str
    header: HeaderForm
    summary_levels: dict[str, str]
    segments: tuple[Segment, ...]
    unplaced: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        return PRODUCTS[self.name][0]

    @property
    def file_id(self) -> str:
        """Return the FILEID of a state's files."""
        return PRODUCTS[self.name][1]

    def only(self, tables: Collection[str]) -> Layout:
        """Keep only these tables, and segments with any of them.

        Raises:
            ConfigError: A table is in no segment.
        """
        self.require(tables)
        segments = [
            replace(each, placements=tuple(p for p in each.placements if p.table.name in tables))
            for each in self.segments
        ]
        return replace(self, segments=tuple(each for each in segments if each.placements))

    def require(self, tables: Collection[str]) -> None:
        """Refuse tables without a place."""
        if lost := [name for name in self.unplaced if name in tables]:
            raise ConfigError(
                f"layouts.{self.name} (placed: partial) does not say where {', '.join(lost)} "
                f"{'is' if len(lost) == 1 else 'are'}"
            )


def legacy_layout(release: Release, name: str | None = None) -> Layout:
    """Return the checked legacy layout of ``release``.

    Args:
        name: Name of the expected layout; None for the only one.

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
        unplaced, tables = _check_tables(spec, release), release.table_by_name
        segments = tuple(
            Segment(number, form.columns, tuple(sorted(placed, key=lambda each: each.first)))
            for number, form in sorted(spec.segments.items())
            for placed in [[Placement(tables[name], at) for name, at in form.tables.items()]]
        )
        levels = _summary_levels(spec, release)
    except SchemaError as error:
        raise SchemaError(f"{where}.{error}") from error
    return Layout(wanted, HEADERS[spec.form], levels, segments, unplaced)


def _check_tables(spec: LayoutSpec, release: Release) -> tuple[str, ...]:
    """Refuse tables in two segments, and unknown ones; return those in none, where allowed."""
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


def states_of(path: Path) -> tuple[Path, ...]:
    """Return the zips of a folder without members of its own; else the path."""
    names = [each.name for each in path.iterdir()] if path.is_dir() else []
    zips = sorted(path / name for name in names if name.lower().endswith(".zip"))
    is_of_zips = zips and not any(_MEMBER.fullmatch(name) for name in names)
    return tuple(zips) if is_of_zips else (path,)


def header_suffixes(path: Path) -> set[str]:
    """Return the suffixes of a zip's or folder's geographic headers; empty if it has none."""
    with open_members(path) as members:
        matches = [_named(member) for member in members]
    return {each[3].lower() for each in matches if each is not None and each[2].lower() == "geo"}


@dataclass(frozen=True)
class Inventory:
    """The members that a source reads."""

    geography: Document
    segments: dict[int, Document]


def take_inventory(members: Sequence[Document], path: Path, layout: Layout) -> Inventory:
    """Find the geographic header and the needed segments of the same state.

    Raises:
        SourceError: A member is missing or there twice, or the header is of another form.
    """
    found: dict[tuple[str, str], list[Document]] = {}
    for member in members:
        match = _named(member)
        if match and match[3].lower() == layout.suffix:
            found.setdefault((match[1].lower(), match[2].lower()), []).append(member)
    headers = [each for (_, part), named in found.items() if part == "geo" for each in named]
    if not headers:
        raise SourceError(
            f"{path}: no geography member; expected one such as algeo2010.{layout.suffix}"
        )
    if len(headers) > 1:
        raise SourceError(
            f"{path}: expected one geography member, found {len(headers)}: "
            f"{', '.join(sorted(each.name for each in headers))}"
        )
    state = next(state for state, part in found if part == "geo")
    _check_form(headers[0], layout)
    segments: dict[int, Document] = {}
    for segment in layout.segments:
        named = found.get((state, f"{segment.number:05}"), [])
        if len(named) != 1:
            tables = ", ".join(placement.table.name for placement in segment.placements)
            raise SourceError(
                f"{path}: expected one member {state}{segment.number:05}….{layout.suffix} "
                f"(segment {segment.number}, tables {tables}), "
                f"found {', '.join(sorted(each.name for each in named)) or 'none'}"
            )
        segments[segment.number] = named[0]
    return Inventory(headers[0], segments)


def _named(member: Document) -> re.Match[str] | None:
    return _MEMBER.fullmatch(member.name.rsplit("/", 1)[-1])


def _check_form(geography: Document, layout: Layout) -> None:
    """Refuse a header in the form of another census."""
    with open_stream(geography) as stream:
        start = stream.read(_SAMPLE)
    is_delimited, expected = b"|" in start, layout.header.separator == "|"
    if start and is_delimited != expected:
        forms = ("fixed columns, as to 2010", "columns separated by |, as since 2020")
        raise SourceError(
            f"{stream.label}: expected a header of {forms[expected]}, found {forms[is_delimited]}"
        )
