"""Published tables of any format: which release they are of, and the mapping that they need."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from recon_cli.capabilities.init.cautions import (
    in_thousands,
    in_units,
    of_flagged,
    of_hidden,
    of_unstated,
)
from recon_cli.capabilities.init.known_names import require_known
from recon_cli.capabilities.init.notes import noted_zeros
from recon_cli.capabilities.init.odd_counts import NO_COUNT, odd_words, refuse_odd
from recon_cli.capabilities.init.open_question import OpenQuestion
from recon_cli.capabilities.init.proposal.proposal import Proposal, propose
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.zeros import may_be_nobody
from recon_cli.capabilities.init.survey import Survey, survey
from recon_cli.errors import ConfigError, SourceError
from recon_cli.sources.documents import Document
from recon_cli.sources.formats import CountSheet, FileMapping, Format, recognise_format
from recon_cli.sources.formats.codes import PRODUCTS
from recon_cli.sources.formats.header import numbers_in
from recon_cli.sources.formats.normal_form import count_sheet
from recon_cli.sources.formats.row_refusals import THOUSANDS
from recon_cli.sources.formats.sheet import (
    SHEET,
    as_said,
    numbers_beside,
    require_each_once,
    sheet_as_said,
)
from recon_cli.sources.read.choices import NO_CHOICES, Choices
from recon_cli.sources.read.words import Sense, is_word
from recon_cli.sources.tables import documents_with_counts
from recon_cli.sources.tabular import documents_of_sheets, hidden_sheets, unread_sheets
from recon_cli.sources.tabular.sheet import Sheet

#: Note on a sheet whose sums show that numbers in parentheses are counts.
_OF_PARENTHESES: Final = (
    "whether numbers in parentheses are these numbers: sums say so (`--parentheses withheld`)",
)


@dataclass(frozen=True)
class TableFile:
    """A file with counts.

    Attributes:
        document: The file, the member of a zip, or the sheet of a workbook.
        sheet: Its content, with the roles of its columns and the rows that are counts.
        table: The reading that its numbers propose; None for a file of a known format.
        said: What the user says of a file of a known format.
        number: Position of the table in its sheet, from 1.
    """

    path: Path
    document: Document
    form: Format
    sheet: CountSheet
    survey: Survey
    table: ProposedTable | None = None
    said: Choices = NO_CHOICES
    number: int = 1

    @property
    def name(self) -> str:
        """Return the name of the document, without folders."""
        return self.document.name


@dataclass(frozen=True)
class TableFiles:
    """All files with counts.

    Attributes:
        files: One for each file, or sheet of a workbook.
        sheets: The sheets that are read, where a workbook has others.
        notes: What was passed over, a sentence each.
        readings: Sheets that are read by their numbers, with their names.
        questions: Questions about all files together.
        beside: The texts beside the numbers of those sheets, and of sheets of notes.
    """

    files: tuple[TableFile, ...]
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readings: tuple[tuple[str, Proposal], ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    beside: tuple[str, ...] = ()


def open_table_files(
    paths: Sequence[Path], said: FileMapping, choices: Choices = NO_CHOICES
) -> TableFiles:
    """Open every table with counts at ``paths``, each read once.

    Args:
        said: What has to be known to read files of a known format.
        choices: What the user says of tables.

    Raises:
        ConfigError: The files are of several formats.
        SourceError: A file cannot be read, or none has counts.
    """
    opened = _Opened(said, choices)
    for path in paths:
        opened.add(path)
    require_known([reading for _, reading in opened.readings], choices, opened.passed)
    opened.require_counts(paths[0])
    return opened.table_files()


@dataclass
class _Opened:
    """Tables with counts while files are opened.

    Attributes:
        passed: Sheets that are not read.
        notes: What was passed over, a sentence each.
        noted: The texts of sheets of notes.
        readings: Sheets that are read by their numbers, with their names.
    """

    said: FileMapping
    choices: Choices
    files: list[TableFile] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    readings: list[tuple[str, Proposal]] = field(default_factory=list)

    def add(self, path: Path) -> None:
        """Add the tables of a file."""
        documents, beside = documents_with_counts(path)
        self.noted += _notes_of(path, self.said)
        for document in documents:
            if not self.said.sheet and (hidden := hidden_sheets(document)):
                shown = ", ".join(map(repr, hidden))
                self.passed += hidden
                self.notes.append(
                    f"{document.label}: {shown} {'are' if len(hidden) > 1 else 'is'} hidden and "
                    f"not read; name the sheets to read: --sheet {shlex.quote(hidden[0])}"
                )
            chosen, left = _chosen_sheets(document, self.said, self.choices)
            self.passed += left
            for each in chosen:
                form = recognise_format(each)
                if form is SHEET:
                    own = self._proposed(path, each)
                else:
                    own = [
                        TableFile(path, each, form, sheet, survey(sheet), said=self.choices)
                        for read in form.read(each, beside, self.said)
                        for sheet in [with_chosen_rows(read, self.said.where)]
                    ]
                if not own:
                    self.passed.append(each.sheet or each.name)
                self.files += own

    def _proposed(self, path: Path, document: Document) -> list[TableFile]:
        """Return the tables of a sheet that is read by its numbers."""
        with _naming_others(document, self.said):
            own, reading = _sheet_tables(path, document, self.choices, self.noted)
        self.readings.append((document.sheet or document.name, reading))
        self.noted += () if reading.tables else reading.grid.words.tolist()
        self.notes += of_hidden(document)
        return own

    def require_counts(self, first: Path) -> None:
        """Require that there are counts, in files of one format.

        Raises:
            ConfigError: The files are of several formats.
            SourceError: No file has counts, or a sheet that is asked for has none.
        """
        forms = list(dict.fromkeys(file.form.name for file in self.files))
        if len(forms) > 1:
            examples = ", ".join(
                f"{next(each.path for each in self.files if each.form.name == name)} ({name})"
                for name in forms
            )
            raise ConfigError(f"one config reads one kind of file, found {examples}; name one kind")
        if not self.files:
            raise SourceError(
                f"{first}: has no counts"
                + (f" in {', '.join(map(repr, self.passed))}" * bool(self.passed))
                + _why_none(reading for _, reading in self.readings)
            )
        if unknown := [name for name in self.said.sheet if self.sheets and name not in self.sheets]:
            raise SourceError(f"{first}: no sheet {unknown[0]!r} with cells")

    @property
    def sheets(self) -> tuple[str, ...]:
        """Return the sheets of workbooks that have counts."""
        names = (each.document.sheet for each in self.files)
        return tuple(dict.fromkeys(name for name in names if name))

    def table_files(self) -> TableFiles:
        """Return all tables, with the notes and questions about them together."""
        texts = _beside(self.readings, self.noted)
        scaled = (each for file in self.files for each in in_units(file.name, file.sheet))
        notes = (
            note
            for file in self.files
            for note in (*file.sheet.notes, *of_flagged(file.name, file.sheet))
        )
        return TableFiles(
            tuple(_of_one_period(file) for file in self.files),
            self.sheets if self.passed or self.said.sheet else (),
            (*self.notes, *of_unstated(texts, (r for _, r in self.readings)), *notes),
            tuple(self.readings),
            () if self.choices.unscaled else (*in_thousands(texts), *scaled),
            texts,
        )


def _chosen_sheets(
    document: Document, said: FileMapping, choices: Choices
) -> tuple[list[Document], list[str]]:
    """Return the sheets of a file that are read, and the places among them that are left out."""
    sheets = documents_of_sheets(document, said.sheet)
    left = [name for each in sheets if (name := each.sheet) and name in choices.leave_out]
    if not choices.place_per_sheet:
        return list(sheets), []
    return [each for each in sheets if each.sheet not in left], left


def with_chosen_rows(sheet: CountSheet, where: Mapping[str, Sequence[str]]) -> CountSheet:
    """Return a sheet of which only rows with some values are read.

    Args:
        where: Header of a column → its values.

    Raises:
        ConfigError: There is no such column.
    """
    chosen: dict[int, tuple[str, ...]] = {}
    for header, values in where.items():
        at = sheet.column(header)
        if at is None:
            known = ", ".join(map(repr, filter(None, sheet.headers)))
            raise ConfigError(f"--where {header}: no column is called so; there are {known}")
        chosen[at] = tuple(values)
    return replace(sheet, where={**sheet.where, **chosen}) if chosen else sheet


@contextlib.contextmanager
def _naming_others(document: Document, said: FileMapping) -> Iterator[None]:
    """Add to an error in a sheet that `--sheet` can name other sheets to read."""
    try:
        yield
    except SourceError as error:
        if document.sheet is None or said.sheet:
            raise
        raise SourceError(f"{error}; or name the sheets to read: `recon init --sheet`") from error


def _notes_of(path: Path, said: FileMapping) -> Iterator[str]:
    """Yield the texts of a workbook's sheets that are not read and have notes."""
    for document in documents_with_counts(path)[0]:
        for rows in unread_sheets(document, said.sheet).values():
            if sum(map(numbers_in, rows)) <= len(rows):
                yield from (cell for row in rows for cell in row)


def _beside(readings: Sequence[tuple[str, Proposal]], notes: Iterable[str]) -> tuple[str, ...]:
    """Return the texts beside the numbers: titles, headers, notes."""
    texts: dict[str, None] = {}
    for _, reading in readings:
        inside = np.zeros(reading.grid.shape, dtype=bool)
        for table in reading.tables:
            inside[table.region.body] = True
        texts |= dict.fromkeys(reading.grid.texts[~inside].tolist())
    return tuple(filter(None, (*texts, *notes)))


def _why_none(readings: Iterable[Proposal]) -> str:
    """Return the end of a message: why sheets have no counts, if numbers have decimals."""
    if any((reading.grid.decimals > 0).sum() > 1 for reading in readings):
        return "; numbers with decimals are none: means, rates, numbers in thousands"
    return ""


def _with_noted_zeros(
    reading: Proposal, sheet: Sheet, choices: Choices, notes: Sequence[str]
) -> Proposal:
    """Return a reading in which texts stand for zero if notes say so, unless it weighs less.

    Args:
        notes: The texts of sheets of notes.
    """
    able = {
        text
        for table in reading.tables
        for text in table.grid.coded(np.ix_(table.region.body, np.array(table.counts, np.intp)))[0]
        if reading.grid.number(text) is None and (not text or may_be_nobody(text))
    }
    if not able:
        return reading
    noted = noted_zeros(_beside([("", reading)], notes), sorted(able))
    if not noted:
        return reading
    other = propose(sheet, replace(choices, zeros=tuple({*choices.zeros, *noted})))
    return other if other.weight >= reading.weight else reading


def _sheet_tables(
    path: Path, document: Document, choices: Choices, notes: Sequence[str]
) -> tuple[list[TableFile], Proposal]:
    """Return the tables of a sheet that is read by its numbers, and the reading with questions."""
    sheet = sheet_as_said(document, choices)
    found: list[TableFile] = []
    reading = _with_noted_zeros(propose(sheet, choices), sheet, choices, notes)
    reading = as_said(reading, document, choices)
    tables = list(reading.tables)
    for at, table in enumerate(tables):
        if table.counts:
            if not any(each.needs_answer for each in table.questions):
                require_each_once(table)
            roles = count_sheet(sheet, table)
            told = survey(roles)
            codes = {str(int(code)) for code in table.relations.codes}
            refuse_odd(roles, told, table)
            asked = (*table.questions, *odd_words(roles, told, (*choices.withheld, *codes)))
            tables[at] = replace(table, questions=asked)
            found.append(
                TableFile(path, document, SHEET, roles, told, tables[at], number=table.number)
            )
    if found:
        beside = numbers_beside(reading, Path(sheet.label).name)
        is_told = reading.grid.in_parentheses and not choices.parentheses
        first = replace(
            found[0].sheet,
            left_out=(*found[0].sheet.left_out, *beside),
            notes=(*found[0].sheet.notes, *_OF_PARENTHESES[:is_told]),
        )
        found[0] = replace(found[0], sheet=first)
    return found, replace(reading, tables=tuple(tables))


def _of_one_period(file: TableFile) -> TableFile:
    """Restrict a file of a known format to its last period, if it has several."""
    where = dict(file.sheet.where)
    if file.table is not None:
        return file
    for each in file.sheet.dimensions:
        categories = file.survey.categories[each.name]
        if is_word(each.name, Sense.PERIOD) and len(categories) > 1:
            where[each.code] = (max(code for code, _ in categories),)
    if where == file.sheet.where:
        return file
    sheet = replace(file.sheet, where=where)
    return replace(file, sheet=sheet, survey=survey(sheet))


def product_of(files: Iterable[TableFile]) -> str | None:
    """Return the packaged release that the files' names say they are of."""
    found = {
        release
        for file in files
        for product, release in PRODUCTS.items()
        if product in file.sheet.sheet.label
    }
    return found.pop() if len(found) == 1 else None


def markers_of(files: Iterable[TableFile]) -> list[str]:
    """Return the texts, other than blanks, that stand in the files for suppressed counts.

    In a sheet that is read by its numbers, these are all texts, and all codes that are no counts.
    """
    found: set[str] = set()
    for file in files:
        found |= file.survey.markers
        if file.form is SHEET:
            texts = {text for own in file.survey.texts.values() for text in own}
            found |= {text for text in texts if not _is_number(text)}
            found |= set() if file.table is None else withheld_codes(file.table)
    return sorted(found - {""})


def _is_number(text: str) -> bool:
    return bool(NO_COUNT.fullmatch(text) or THOUSANDS.fullmatch(text))


def withheld_codes(table: ProposedTable) -> set[str]:
    """Return negative numbers that stand for counts that are withheld."""
    return {str(int(code)) for code in table.relations.codes if math.isfinite(code)}
