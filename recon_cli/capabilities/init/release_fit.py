"""Mapping with which a release reads files of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from recon_cli.capabilities.init.tables import TableFile
from recon_cli.errors import ConfigError, ReconError, SourceError
from recon_cli.schema import Release
from recon_cli.sources.formats import FileMapping
from recon_cli.sources.formats.assignment import Assigner
from recon_cli.sources.formats.reading import SheetReader
from recon_cli.sources.formats.sheet import SHEET
from recon_cli.sources.read.words import Sense, is_word


@dataclass(frozen=True)
class Fit:
    """The files that a release can read.

    Attributes:
        mapping: Keys of ``ingest.mapping`` that these files need.
        doubts: What stays unknown, a sentence each.
    """

    files: tuple[TableFile, ...]
    mapping: Mapping[str, object] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def fit(files: Sequence[TableFile], release: Release, *, lenient: bool) -> Fit:
    """Return the mapping with which a release reads the files.

    Args:
        lenient: Whether to leave out columns that the release does not know, with a doubt.

    Raises:
        ReconError: The release can read none of the files.
    """
    able: list[TableFile] = []
    doubts: list[str] = []
    columns: dict[str, str | None] = {}
    refusals: list[ReconError] = []
    for file in files:
        try:
            unknown = _unknown_columns(file, release) if lenient else []
            if len(unknown) == len(file.sheet.counts):
                unknown = []
            mapping = FileMapping(columns=dict.fromkeys(unknown))
            require_cells(file, release, mapping)
        except (ConfigError, SourceError) as error:
            refusals.append(error)
            continue
        able.append(file)
        columns.update(dict.fromkeys(unknown))
        if unknown:
            doubts.append(
                f"what {len(unknown)} columns count, {', '.join(map(repr, unknown[:4]))} among "
                "them: they are left out"
            )
    if not able:
        raise refusals[0]
    doubts += [f"{error}; the file is left out" for error in refusals]
    keys, more = rest_of_mapping(able, release)
    if columns:
        keys["columns"] = columns
    return Fit(tuple(able), keys, (*doubts, *more))


def _unknown_columns(file: TableFile, release: Release) -> list[str]:
    """Return headers of columns of counts that are no cell of the release."""
    if file.sheet.dimensions:
        return []
    unknown = []
    for column in file.sheet.counts:
        try:
            Assigner(release, FileMapping()).columns(replace(file.sheet, counts=(column,)))
        except SourceError:
            unknown.append(column.header)
    return unknown


def require_cells(file: TableFile, release: Release, mapping: FileMapping) -> None:
    """Require that the release has cells for all that the file counts."""
    names = {name for table in release.tables for name in table.levels}
    lengths = {release.geography.by_name[name].digits for name in names}
    if lengths.isdisjoint(file.survey.lengths()):
        raise SourceError(
            f"{file.sheet.sheet.label}: its geoids have "
            f"{', '.join(map(str, file.survey.lengths()))} characters, those of the levels with "
            f"tables in release {release.name!r} {', '.join(map(str, sorted(lengths)))}"
        )
    reader = SheetReader(file.sheet, release, mapping)
    if reader.is_wide:
        _ = reader.ordinals
    else:
        reader.combinations()


def rest_of_mapping(
    files: Sequence[TableFile], release: Release
) -> tuple[dict[str, object], list[str]]:
    """Draft periods, levels, texts in place of counts, and thousands."""
    mapping: dict[str, object] = {}
    doubts: list[str] = []
    where = {
        file.sheet.headers[at]: values[0]
        for file in files
        for at, values in file.sheet.where.items()
        if is_word(file.sheet.headers[at], Sense.PERIOD)
    }
    if where:
        mapping["where"] = where
        doubts.append(f"which period is meant: the last, {', '.join(where.values())}, is taken")
    names = {name for table in release.tables for name in table.levels}
    known = {release.geography.by_name[name].digits: name for name in names}
    found = {length for file in files for length in file.survey.lengths()}
    if odd := sorted(found - set(known)):
        example = next(
            geoid for file in files for geoid in file.survey.geoids if len(geoid) == odd[0]
        )
        mapping["levels"] = [
            level.name
            for level in release.geography.levels
            if level.name in names and level.digits in found
        ]
        doubts.append(
            f"places with geoids of {', '.join(map(str, odd))} characters ({example!r}) are of no "
            "level with tables: they are left out"
        )
    others = [file for file in files if file.form is not SHEET]
    texts = sorted({text for file in others for text in file.survey.unpublished if text})
    if any("" in file.survey.markers and file.form is SHEET for file in files):
        texts = ["", *texts]
    if texts:
        mapping["unpublished"] = texts
        shown = ", ".join(repr(text) if text else "blanks" for text in texts)
        doubts.append(
            f"what {shown} mean{_columns_with(files, texts)}: they are taken as counts that are "
            "not published"
        )
    marks = {file.survey.thousands for file in files} - {None}
    if len(marks) == 1:
        mapping["thousands"] = marks.pop()
    return mapping, doubts


def _columns_with(files: Sequence[TableFile], texts: Sequence[str]) -> str:
    """Return words for the columns in which texts stand, where these are some of the columns."""
    every = [(file, each) for file in files for each in file.sheet.counts]
    some = [
        each.header
        for file, each in every
        if not {*texts}.isdisjoint(file.survey.texts.get(each.at, ()))
    ]
    if not some or len(some) == len(every):
        return ""
    return f" in {', '.join(map(repr, some[:4]))}" + ", …" * (len(some) > 4)
