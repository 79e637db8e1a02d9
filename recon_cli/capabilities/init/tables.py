"""Published tables of any format: which release they are of, and the mapping that they need."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from recon_cli.capabilities.init.survey import Survey, survey
from recon_cli.errors import ConfigError, ReconError, SourceError
from recon_cli.schema import Release
from recon_cli.sources.documents import Document
from recon_cli.sources.formats import (
    CountSheet,
    FileMapping,
    Format,
    recognise_format,
)
from recon_cli.sources.formats.assignment import Assigner
from recon_cli.sources.formats.codes import PRODUCTS
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.formats.long import names_counts
from recon_cli.sources.formats.reading import SheetReader
from recon_cli.sources.tables import documents_with_counts
from recon_cli.sources.tabular import documents_of_sheets, hidden_sheets, read_sheet

#: Dimensions of which a publication has one value: the last, if there are several.
PERIOD: Final = re.compile(r"time|time_period|date|year|period|census_year", re.IGNORECASE)


@dataclass(frozen=True)
class TableFile:
    """A file with counts.

    Attributes:
        document: The file, the member of a zip, or the sheet of a workbook.
        sheet: With the roles of its columns; the rows that are counts.
    """

    path: Path
    document: Document
    form: Format
    sheet: CountSheet
    survey: Survey

    @property
    def name(self) -> str:
        """Its own name, without folders."""
        return self.document.name


@dataclass(frozen=True)
class TableFiles:
    """All files with counts.

    Attributes:
        files: One for each file, or sheet of a workbook.
        sheets: The sheets that are read, where a workbook has others.
        notes: What was passed over, a sentence each.
        questions: What could not be told of their layout, and how it was taken.
    """

    files: tuple[TableFile, ...]
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fit:
    """What a release makes of some files.

    Attributes:
        files: Those that it can read.
        mapping: Keys of ``ingest.mapping`` that they need.
        doubts: What could not be told, a sentence each.
    """

    files: tuple[TableFile, ...]
    mapping: Mapping[str, object] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


def open_table_files(paths: Sequence[Path], said: FileMapping) -> TableFiles:
    """Every file with counts at ``paths``, and every such sheet of a workbook, read once.

    Args:
        said: What has to be known to read them at all.

    Raises:
        ConfigError: They are of several formats.
        SourceError: One cannot be read.
    """
    files: list[TableFile] = []
    passed: list[str] = []
    notes: list[str] = []
    for path in paths:
        documents, beside = documents_with_counts(path)
        for document in documents:
            if not said.sheet and (hidden := hidden_sheets(document)):
                shown = ", ".join(map(repr, hidden))
                passed += hidden
                notes.append(
                    f"{document.label}: {shown} {'are' if len(hidden) > 1 else 'is'} hidden and "
                    f"not read; name the sheets to read: --sheet {shlex.quote(hidden[0])}"
                )
            for each in documents_of_sheets(document, said.sheet):
                if each.sheet is not None and not said.sheet and not _has_counts(each):
                    passed.append(each.sheet)
                    notes.append(
                        f"{each.label}, sheet {each.sheet}: has no counts, and is not read"
                    )
                    continue
                form = recognise_format(each)
                sheet = form.read(each, beside, said)
                files.append(TableFile(path, each, form, sheet, survey(sheet)))
    forms = list(dict.fromkeys(file.form.name for file in files))
    if len(forms) > 1:
        examples = ", ".join(
            f"{next(each.path for each in files if each.form.name == name)} ({name})"
            for name in forms
        )
        raise ConfigError(f"one config reads one kind of file, found {examples}; name one kind")
    if not files:
        raise SourceError(f"{paths[0]}: expected files with counts, found none")
    sheets = tuple(dict.fromkeys(each.document.sheet for each in files if each.document.sheet))
    if unknown := [name for name in said.sheet if sheets and name not in sheets]:
        raise SourceError(f"{paths[0]}: no sheet {unknown[0]!r} with cells")
    return TableFiles(
        tuple(_of_one_period(file) for file in files),
        sheets if passed or said.sheet else (),
        (*notes, *(note for file in files for note in file.sheet.notes)),
        tuple(question for file in files for question in file.sheet.questions),
    )


def _has_counts(document: Document) -> bool:
    """Whether a sheet has numbers beside its first column, more than a date or two."""
    head = read_sheet(document).head
    first = min(at for row in head for at, cell in enumerate(row) if cell)
    numbers = sum(is_number(cell) for row in head for cell in row[first + 1 :])
    return numbers > 2


def _of_one_period(file: TableFile) -> TableFile:
    """The rows of the last period, where there are several."""
    where = dict(file.sheet.where)
    for each in file.sheet.dimensions:
        categories = file.survey.categories[each.name]
        if PERIOD.fullmatch(each.name) and len(categories) > 1:
            where[each.code] = (max(code for code, _ in categories),)
    if where == file.sheet.where:
        return file
    sheet = replace(file.sheet, where=where)
    return replace(file, sheet=sheet, survey=survey(sheet))


def product_of(files: Iterable[TableFile]) -> str | None:
    """The packaged release that the files' names say they are of."""
    found = {
        release
        for file in files
        for product, release in PRODUCTS.items()
        if product in file.sheet.sheet.label
    }
    return found.pop() if len(found) == 1 else None


def fit(files: Sequence[TableFile], release: Release, *, lenient: bool) -> Fit:
    """The mapping with which a release reads the files.

    Args:
        lenient: Whether columns that it does not know are left out, with a doubt.

    Raises:
        ReconError: It reads none of them.
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


def markers_of(files: Iterable[TableFile]) -> list[str]:
    """Texts in the files in place of suppressed counts, without the empty one."""
    return sorted(set().union(*(file.survey.markers for file in files)) - {""})


def _unknown_columns(file: TableFile, release: Release) -> list[str]:
    """Headers of columns of counts that are no cell of the release."""
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
    """Ask whether the release has cells for all that the file counts."""
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
    """Periods, levels, texts in place of counts, and thousands."""
    mapping: dict[str, object] = {}
    doubts: list[str] = []
    where = {
        file.sheet.headers[at]: values[0]
        for file in files
        for at, values in file.sheet.where.items()
        if PERIOD.fullmatch(file.sheet.headers[at])
    }
    if where:
        mapping["where"] = where
        doubts.append(f"which period is meant: the last, {', '.join(where.values())}, is taken")
    guessed = {
        column.header
        for file in files
        if file.form.name == "long"
        for column in file.sheet.counts
        if not names_counts(column.header)
    }
    doubts += [f"whether {header!r} is the count: it is taken so" for header in sorted(guessed)]
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
    texts = sorted({text for file in files for text in file.survey.unpublished if text})
    if texts:
        mapping["unpublished"] = texts
        doubts.append(
            f"what {', '.join(map(repr, texts))} mean: they are taken as counts that are not "
            "published"
        )
    marks = {file.survey.thousands for file in files} - {None}
    if len(marks) == 1:
        mapping["thousands"] = marks.pop()
    return mapping, doubts
