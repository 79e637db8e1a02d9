"""Published tables of any format: which release they are of, and the mapping that they need."""

from __future__ import annotations

import contextlib
import math
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
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
from recon_cli.capabilities.init.notes import noted_zeros
from recon_cli.capabilities.init.open_question import OpenQuestion, flag
from recon_cli.capabilities.init.proposal.proposal import Proposal, propose
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.zeros import may_be_nobody
from recon_cli.capabilities.init.remedies import remedies
from recon_cli.capabilities.init.survey import Survey, survey
from recon_cli.errors import ConfigError, ReconError, SourceError
from recon_cli.schema import Release
from recon_cli.sources.documents import Document
from recon_cli.sources.formats import CountSheet, FileMapping, Format, recognise_format
from recon_cli.sources.formats.assignment import Assigner
from recon_cli.sources.formats.codes import PRODUCTS
from recon_cli.sources.formats.header import numbers_in
from recon_cli.sources.formats.reading import THOUSANDS, SheetReader
from recon_cli.sources.formats.sheet import (
    SHEET,
    as_said,
    count_sheet,
    numbers_beside,
    require_each_once,
    sheet_as_said,
)
from recon_cli.sources.formats.sheet_texts import count_text
from recon_cli.sources.read.choices import NO_CHOICES, Choices, columns_named
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.markers import looks_like_marker
from recon_cli.sources.read.row_labels import rows_named
from recon_cli.sources.read.table_reading import NAMELESS
from recon_cli.sources.read.words import Sense, is_word
from recon_cli.sources.tables import documents_with_counts
from recon_cli.sources.tabular import (
    documents_of_sheets,
    hidden_sheets,
    unread_sheets,
)
from recon_cli.sources.tabular.sheet import Sheet

#: Columns that a refusal names.
_MOST_NAMED: Final = 20
#: What is said of a sheet whose sums tell what numbers in parentheses are.
_OF_PARENTHESES: Final = (
    "whether numbers in parentheses are these numbers: sums say so (`--parentheses withheld`)",
)
#: Letters of a note that a question shows.
_LONGEST: Final = 60
#: A number that is no count: negative, or of parts.
_NO_COUNT: Final = re.compile(r"[-\u2212]\s?[0-9]+([.,][0-9]+)*%?|[0-9]*[.,][0-9]+%?|[0-9]+%")


@dataclass(frozen=True)
class TableFile:
    """A file with counts.

    Attributes:
        document: The file, the member of a zip, or the sheet of a workbook.
        sheet: With the roles of its columns; the rows that are counts.
        table: How its numbers say that it is read, where it is of no known format.
        said: What is said of a file of a known format.
        number: Which of the tables of its sheet it is, from 1.
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
        """Its own name, without folders."""
        return self.document.name


@dataclass(frozen=True)
class TableFiles:
    """All files with counts.

    Attributes:
        files: One for each file, or sheet of a workbook.
        sheets: The sheets that are read, where a workbook has others.
        notes: What was passed over, a sentence each.
        readings: Sheets that are read by their numbers, with their names.
        questions: What is asked of all of them.
        beside: The texts beside the numbers of those sheets, and of sheets of notes.
    """

    files: tuple[TableFile, ...]
    sheets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    readings: tuple[tuple[str, Proposal], ...] = ()
    questions: tuple[OpenQuestion, ...] = ()
    beside: tuple[str, ...] = ()


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


def open_table_files(
    paths: Sequence[Path], said: FileMapping, choices: Choices = NO_CHOICES
) -> TableFiles:
    """Open every table with counts at ``paths``, each read once.

    Args:
        said: What has to be known to read files of a known format.
        choices: What is said of sheets of none.

    Raises:
        ConfigError: They are of several formats.
        SourceError: One cannot be read, or none has counts.
    """
    files: list[TableFile] = []
    passed: list[str] = []
    notes: list[str] = []
    noted: list[str] = []
    readings: list[tuple[str, Proposal]] = []
    for path in paths:
        documents, beside = documents_with_counts(path)
        noted += _notes_of(path, said)
        for document in documents:
            if not said.sheet and (hidden := hidden_sheets(document)):
                shown = ", ".join(map(repr, hidden))
                passed += hidden
                notes.append(
                    f"{document.label}: {shown} {'are' if len(hidden) > 1 else 'is'} hidden and "
                    f"not read; name the sheets to read: --sheet {shlex.quote(hidden[0])}"
                )
            chosen, left = _chosen_sheets(document, said, choices)
            passed += left
            for each in chosen:
                form = recognise_format(each)
                if form is SHEET:
                    with _naming_others(each, said):
                        own, reading = _sheet_tables(path, each, choices, noted)
                    readings.append((each.sheet or each.name, reading))
                    noted += () if reading.tables else reading.grid.words.tolist()
                    notes += of_hidden(each)
                else:
                    sheets_of = [
                        with_chosen_rows(sheet, said.where)
                        for sheet in form.read(each, beside, said)
                    ]
                    own = [
                        TableFile(path, each, form, sheet, survey(sheet), said=choices)
                        for sheet in sheets_of
                    ]
                if not own:
                    passed.append(each.sheet or each.name)
                files += own
    _require_known([reading for _, reading in readings], choices, passed)
    forms = list(dict.fromkeys(file.form.name for file in files))
    if len(forms) > 1:
        examples = ", ".join(
            f"{next(each.path for each in files if each.form.name == name)} ({name})"
            for name in forms
        )
        raise ConfigError(f"one config reads one kind of file, found {examples}; name one kind")
    if not files:
        raise SourceError(
            f"{paths[0]}: has no counts"
            + (f" in {', '.join(map(repr, passed))}" * bool(passed))
            + _why_none(reading for _, reading in readings)
        )
    sheets = tuple(dict.fromkeys(each.document.sheet for each in files if each.document.sheet))
    if unknown := [name for name in said.sheet if sheets and name not in sheets]:
        raise SourceError(f"{paths[0]}: no sheet {unknown[0]!r} with cells")
    texts = _beside(readings, noted)
    scaled = (each for file in files for each in in_units(file.name, file.sheet))
    return TableFiles(
        tuple(_of_one_period(file) for file in files),
        sheets if passed or said.sheet else (),
        (
            *notes,
            *of_unstated(texts, (reading for _, reading in readings)),
            *(
                note
                for file in files
                for note in (*file.sheet.notes, *of_flagged(file.name, file.sheet))
            ),
        ),
        tuple(readings),
        () if choices.unscaled else (*in_thousands(texts), *scaled),
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


def _require_known(readings: Sequence[Proposal], choices: Choices, passed: Sequence[str]) -> None:
    """Refuse a flag that names what no sheet has.

    Args:
        passed: Sheets that are not read.

    Raises:
        ConfigError: Names the flag, and what there is.
    """
    if not readings:
        return  # files of a known format say themselves what they miss
    tables = [table for reading in readings for table in reading.tables]
    places = {table.sheet_place.name for table in tables if table.sheet_place is not None}
    said = {
        "place": (choices.place,) if choices.place else (),
        "parent": choices.parent,
        "count": choices.count,
        "leave-out": tuple(choices.leave_out),
        "apart": choices.apart,
        "total": choices.total,
        "statistic": tuple(choices.statistics),
    }
    for name, words in said.items():
        for word in words:
            if any(columns_named(table.headers, [word]) for table in tables):
                continue
            if name in {"total", "apart"} and word in places:
                continue
            if name == "leave-out" and places and word in passed:
                continue
            if any(_has_line(table, name, word) for table in tables):
                continue
            columns = dict.fromkeys(table.header(at) for table in tables for at in table.headers)
            known = ", ".join(map(repr, list(columns)[:_MOST_NAMED]))
            more = f" and {len(columns) - _MOST_NAMED} more" if len(columns) > _MOST_NAMED else ""
            raise ConfigError(
                f"{flag(name, word)}: no column is called so; there are {known}{more}"
            )
    _require_sums(tables, choices, places)
    for number in choices.header:
        if not any((reading.grid.rows == number).any() for reading in readings):
            last = max(int(reading.grid.rows.max(initial=0)) for reading in readings)
            raise ConfigError(f"--header {number}: this row is empty; the last with text is {last}")


def _has_line(table: ProposedTable, name: str, word: str) -> bool:
    """Test whether a table has a row or a value of which a flag says something."""
    if name == "leave-out":
        return word in dict(table.left_rows) or word == table.left_as
    if name in {"total", "apart"} and (table.grid.texts == word).any():
        return True
    rows = table.rows if name == "count" else table.place_paths
    return name in {"count", "total", "apart"} and bool(rows_named(rows, [word]))


def _require_sums(tables: Sequence[ProposedTable], choices: Choices, places: Set[str]) -> None:
    headers = {table.header(at) for table in tables for at in table.headers}
    for each in choices.sums:
        is_across = {*each.names} <= headers or {*each.names} <= places
        if not (is_across or any(_has_sum(table, each.names) for table in tables)):
            raise ConfigError(
                f"{flag('sum', str(each))}: no table has all of these, each once, as columns, rows "
                "or values; rows of one name are called with what they are part of: 'Group / Name'"
            )


def _has_sum(table: ProposedTable, names: Sequence[str]) -> bool:
    """Test whether names are of one column each, of one row each, or of values of one dimension."""
    if table.names.is_long:
        texts = [set(table.grid.coded((table.region.body, at))[0]) for at in table.names.keys]
        named = {name for name in names if name != NAMELESS}
        if any({*names} <= own or ("" in own and named <= own) for own in texts):
            return True
    columns = (columns_named(table.headers, [name]) for name in names)
    rows = (rows_named(table.rows, [name]) for name in names)
    return any(all(len(own) == 1 for own in axis) for axis in (columns, rows))


@contextlib.contextmanager
def _naming_others(document: Document, said: FileMapping) -> Iterator[None]:
    """Add to what is wrong with a sheet that others may be read without it."""
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
    """Return why sheets have no counts, where their numbers tell."""
    if any((reading.grid.decimals > 0).sum() > 1 for reading in readings):
        return "; numbers with decimals are none: means, rates, numbers in thousands"
    return ""


def _called(document: Document) -> str:
    return f", sheet {document.sheet}" if document.sheet else ""


def _with_noted_zeros(
    reading: Proposal, sheet: Sheet, choices: Choices, notes: Sequence[str]
) -> Proposal:
    """Return a reading in which texts stand for nobody that a note says to, unless numbers object.

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
    """The tables of a sheet that is read by its numbers, and the sheet with all that is asked."""
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
            _refuse_odd(roles, told, table)
            asked = (*table.questions, *_odd_words(roles, told, (*choices.withheld, *codes)))
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


def _odd_words(roles: CountSheet, told: Survey, said: Collection[str]) -> Iterator[OpenQuestion]:
    """Yield a question for a text among counts that nobody uses for what is withheld.

    Args:
        said: Texts that are said to stand for counts that are not published.
    """
    for each in roles.counts:
        for odd in told.odd.get(each.at, ()):
            is_code = odd.is_number and not odd.text[0].isdigit()  # (9), n5; but 3x1 is a misprint
            if is_code or odd.text in said or odd.times > 2:
                continue
            if not looks_like_marker(odd.text):
                where = roles.sheet.where(odd.row, each.column, each.header)
                yield OpenQuestion(
                    f"{where}: {odd.text!r} is no number: it is taken as a count that is not "
                    "published",
                    {
                        "so it is": flag("withheld", odd.text),
                        "it stands for nobody": flag("nil", odd.text),
                    },
                )
                return


def _refuse_odd(roles: CountSheet, told: Survey, table: ProposedTable) -> None:
    """Refuse a number among counts that is none, or of several rows.

    Raises:
        SourceError: Names the row, the column and a remedy.
    """
    codes = {str(int(code)) for code in table.relations.codes}
    body = set(table.region.body.tolist())
    for (top, left), (bottom, _) in table.grid.spans().items():
        if bottom > top and top in body and left in table.counts:
            raise SourceError(
                f"{roles.sheet.where(int(table.grid.rows[top]), left, table.header(left))}: a cell "
                f"merged down to row {table.grid.rows[bottom]}: say in each row what it has"
            )
    for each in roles.counts:
        for odd in told.odd.get(each.at, ()):
            if odd.is_number and odd.text not in codes and _NO_COUNT.fullmatch(odd.text):
                where = roles.sheet.where(odd.row, each.column, each.header)
                ways = remedies(table, partial(_is_no_count, table.grid, codes))
                raise SourceError(
                    f"{where}: {odd.text!r} is no count; {', or '.join(['mend it', *ways])}"
                )


def _is_no_count(grid: Grid, codes: Set[str], word: str) -> bool:
    """Test whether a text among counts is a number that is none, and no code."""
    text = count_text(grid, word)
    return text not in codes and _NO_COUNT.fullmatch(text) is not None


def _of_one_period(file: TableFile) -> TableFile:
    """Return the rows of the last period, where there are several."""
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


def fit(files: Sequence[TableFile], release: Release, *, lenient: bool) -> Fit:
    """Return the mapping with which a release reads the files.

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
    """Return texts in the files in place of suppressed counts, without the empty one.

    In a sheet that is read by its numbers, every text is one, and codes that are no counts.
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
    return bool(_NO_COUNT.fullmatch(text) or THOUSANDS.fullmatch(text))


def withheld_codes(table: ProposedTable) -> set[str]:
    """Return negative numbers that stand for counts that are withheld."""
    return {str(int(code)) for code in table.relations.codes if math.isfinite(code)}


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
