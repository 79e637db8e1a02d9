"""Copies of published files without the counts that are withheld."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.capabilities.export.addresses import CountedFile
from recon_cli.capabilities.export.published_files import (
    AT,
    CELL,
    Exported,
    loaded_text,
    loaded_workbook,
    located,
    only_sheet,
    targets,
)
from recon_cli.capabilities.export.rewriting import DelimitedText, WrittenWorkbook, require_writable
from recon_cli.capabilities.export.safe import (
    Marking,
    told_statistics,
    with_suppressed,
    withheld_counts,
    withheld_shares,
    withheld_statistics,
)
from recon_cli.coverage import PROTECTION
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import stage_named
from recon_cli.plurals import counted
from recon_cli.sources.formats.header import is_number
from recon_cli.spreadsheet import column_letters
from recon_cli.statement import load_protection
from recon_cli.statement.protection import protection_text
from recon_cli.statement.statistics import Printed
from recon_cli.statement.suppression import is_marker
from recon_cli.store import open_folder
from recon_cli.store.files import write_named

STARS: Final = Marking()
#: SDMX columns of the status of a count, and the code of each for a withheld count.
_WITHHELD: Final = {"CONF_STATUS": "C", "OBS_FLAG": "c", "OBS_STATUS": "Q"}
#: Parts of a workbook that may hold or show the numbers of its cells.
_KEEPING: Final = {
    "charts": "charts",
    "pivotCache": "pivot tables",
    "media": "pictures",
    "embeddings": "embedded files",
    "externalLinks": "links to other workbooks",
}


def export_suppressed(
    run: Run,
    folder: Path,
    marking: Marking = STARS,
    below: int | None = None,
    kept: Sequence[str] = (),
) -> Exported:
    """Write copies of the published files, without the counts that `suppress` withholds.

    Comments and sheets that were not read are left out; other numbers stay.

    Args:
        run: A run on files with true counts, suppressed here unless `recon protect suppress` did.
        folder: Where the copies are written.
        marking: What stands in place of a count, and the footnote of a workbook's sheets.
        below: Counts under it are sensitive; default as the config, or an earlier run, has it.
        kept: Sheets without counts that stay as they are.

    Raises:
        ConfigError: The files cannot be written again, or have no sheet that is to be kept.
        StageError: There are no suppressed counts, they are of other counts, or for study.
    """
    files = located(run)
    for file in files:  # before hours of work
        if file.document.is_workbook:
            require_writable(file.document)
    run = with_suppressed(run, below)
    suppressed = open_folder(run.work, stage_named("suppress"), "suppressed")
    if suppressed.manifest.publishable is False:
        raise StageError(f"{suppressed.path}: its counts are for study and not for publication")
    rows = pl.concat(suppressed.parts())
    is_count = ~pl.col("table").is_in(list(run.release.statistic_by_name))
    shown = rows.filter(is_count).with_columns(pl.col("count").cast(pl.Int32))
    printed = rows.filter(~is_count).select(*CELL, text=pl.col("count").cast(pl.String))
    written: list[Path] = []
    notes: list[str] = []
    numbers = {"withheld": 0, "percentages": 0, "statistics": 0}
    footnote = marking.note(suppressed.manifest.notes["below"])
    for file, target in targets(files, folder, ""):
        counts, shares = withheld_counts(file, shown), withheld_shares(file, shown)
        statistics = withheld_statistics(file, printed)
        for what, found in zip(numbers, (counts, shares, statistics), strict=True):
            numbers[what] += found.height
        notes += told_statistics(run.release, file, statistics)
        stars = pl.concat([counts.select(AT), shares, statistics.select(AT)])
        data, more = (
            _starred_workbook(file, stars, marking.text, footnote, kept)
            if file.document.is_workbook
            else _starred_text(file, stars, marking.text)
        )
        write_named(target, data)
        written.append(target)
        notes += more
    return Exported(
        tuple(written),
        {what: number for what, number in numbers.items() if number or what == "withheld"},
        tuple(notes),
        _law_of(run, suppressed.path / PROTECTION, marking.text),
    )


def _starred_workbook(
    file: CountedFile, stars: pl.DataFrame, mark: str, footnote: str, kept: Sequence[str]
) -> tuple[bytes, list[str]]:
    """Return a workbook without withheld numbers, and notes about it.

    Args:
        stars: Locations of withheld numbers.
    """
    book = loaded_workbook(file)
    _refuse_parts(book)
    others = _other_numbers(book, file)
    beside = _beside(file, stars, others, _fields_of(book, file))
    notes = [*_told_kept(book, file, kept)]
    left_out = _star_workbook(book, file, pl.concat([stars, beside]), mark, footnote, kept=kept)
    notes += [f"{file.name}: sheet {name} has no counts: it is left out" for name in left_out]
    return book.written(), [*notes, *_told_others(file, others, beside)]


def _starred_text(file: CountedFile, stars: pl.DataFrame, mark: str) -> tuple[bytes, list[str]]:
    """Return a text file without withheld numbers, and notes about it.

    Args:
        stars: Locations of withheld numbers.
    """
    text = loaded_text(file)
    read = {row[1:] for row in _told_cells(file).iter_rows()}
    others = [
        ("", row, column)
        for row, column in sorted(text.fields.keys() - read)
        if ("", column) not in file.labels and is_number(text.field(row, column))
    ]
    beside = _beside(file, stars, others, _fields_of(text, file))
    stars = pl.concat([stars, beside])
    marks = dict.fromkeys(stars.select("row", "column").iter_rows(), mark)
    data = text.written({**marks, **_statuses(file, stars, text)})
    return data, [*_told_others(file, others, beside)]


def _law_of(run: Run, made: Path, mark: str) -> Path:
    """Return the file with the law of suppressed copies, with their mark if it is not a usual one.

    Args:
        made: The law of the suppressed counts.
    """
    if is_marker(mark):
        return made
    known = load_protection(made, run.release)
    statements = [
        each if isinstance(each.law, Printed) else replace(each, markers=(mark,))
        for each in known.statements
    ]
    path = run.work.with_name(f"{run.work.name}_published.{PROTECTION}")
    text = protection_text(run.release, statements, is_study=known.is_study)
    write_named(path, text.encode())
    return path


def _told_cells(file: CountedFile) -> pl.DataFrame:
    """Return the locations of counts, of their percentages, and of statistics."""
    return pl.concat(each.select(AT) for each in (file.counts, file.shares, file.statistics))


def _told_kept(book: WrittenWorkbook, file: CountedFile, kept: Sequence[str]) -> Iterator[str]:
    """Say how many numbers are in sheets that stay as they are.

    Raises:
        ConfigError: There is no such sheet.
    """
    for sheet in kept:
        if sheet not in book.sheets:
            known = ", ".join(map(repr, book.sheets))
            raise ConfigError(f"--keep-sheet {sheet}: {file.name} has {known}")
        if numbers := len(list(book.numbers(sheet))):
            shown = counted(numbers, "number")
            yield f"{file.name}: sheet {sheet} stays, with {shown} that nobody read"


def _star_workbook(
    book: WrittenWorkbook,
    file: CountedFile,
    stars: pl.DataFrame,
    mark: str,
    footnote: str,
    *,
    kept: Sequence[str],
) -> list[str]:
    """Replace counts by a mark that a footnote explains; remove other sheets, and all comments.

    Returns:
        The sheets that are left out.
    """
    only = only_sheet(file.document)
    for sheet, row, column in stars.select("sheet", "row", "column").iter_rows():
        book.replace(sheet or only, row, column, mark)
    for sheet in stars["sheet"].unique(maintain_order=True) if footnote else ():
        book.append(sheet or only, footnote)
    read = {sheet or only for sheet in _told_cells(file)["sheet"].unique()}
    left_out = [sheet for sheet in book.sheets if sheet not in read and sheet not in kept]
    for sheet in left_out:
        book.remove(sheet)
    book.remove_comments()
    return left_out


def _other_numbers(book: WrittenWorkbook, file: CountedFile) -> list[tuple[str, int, int]]:
    """Return the cells of sheets with counts that hold other numbers, and are no labels."""
    only = only_sheet(file.document)
    read = {(sheet or only, row, column) for sheet, row, column in _told_cells(file).iter_rows()}
    return [
        (sheet, row, column)
        for sheet in book.sheets
        if any(own == sheet for own, _, _ in read)
        for row, column in book.numbers(sheet)
        if (sheet, row, column) not in read and not file.labels & {(sheet, column), ("", column)}
    ]


def _fields_of(
    source: WrittenWorkbook | DelimitedText, file: CountedFile
) -> Callable[[str, int, int], object]:
    """Return a function from sheet, row and column to the content there."""
    if isinstance(source, DelimitedText):
        return lambda _, row, column: source.field(row, column)
    only = only_sheet(file.document)
    return lambda sheet, row, column: source.field(sheet or only, row, column)


def _beside(
    file: CountedFile,
    stars: pl.DataFrame,
    others: Sequence[tuple[str, int, int]],
    field: Callable[[str, int, int], object],
) -> pl.DataFrame:
    """Return the numbers that stand in the row of a withheld count, where each row has one count.

    A percentage, or a rate, of a file with a row per count is of this count.

    Args:
        others: Sheet, row and column of numbers that are no counts.
        field: Returns the content of a sheet's row and column.
    """
    sizes = file.counts.group_by("sheet", "row").len()
    if not file.unused or sizes["len"].max() != 1:
        return stars.select(AT).clear()
    rows = set(stars.select("sheet", "row").iter_rows())
    first = int(sizes["row"].min() or 1)  # type: ignore[arg-type]
    unused = {
        (sheet, column)
        for sheet, _, column in others
        if any(str(field(sheet, row, column)).strip() in file.unused for row in range(1, first))
    }
    only = {sheet for sheet, _ in sizes.select("sheet", "row").iter_rows()} == {""}
    found = [
        ("" if only else sheet, row, column)
        for sheet, row, column in others
        if (sheet, column) in unused and ("" if only else sheet, row) in rows
    ]
    return pl.DataFrame(found, schema=stars.select(AT).schema, orient="row")


def _statuses(
    file: CountedFile, stars: pl.DataFrame, text: DelimitedText
) -> dict[tuple[int, int], str]:
    """Return the standard's codes beside withheld counts, by row and column.

    If a row has several counts, its status applies to all of them, and is kept.
    """
    if file.counts.group_by("row").len()["len"].max() != 1:
        return {}
    rows = stars["row"].unique().to_list()
    return {
        (row, column): _WITHHELD[header]
        for header, column in file.statuses.items()
        for row in rows
        if header in _WITHHELD and (row, column) in text.fields
    }


def _told_others(
    file: CountedFile, others: Sequence[tuple[str, int, int]], beside: pl.DataFrame
) -> Iterator[str]:
    """Say which numbers that are no counts are withheld beside them, and that others stay."""
    if beside.height:
        yield (
            f"{file.name}: {beside.height:,} numbers in the rows of withheld counts are withheld, "
            f"too ({', '.join(sorted(file.unused))})"
        )
    gone = set(beside.iter_rows())  # a file's only sheet has no name there
    first = dict(file.counts.group_by("sheet").agg(pl.col("row").min()).iter_rows())
    top = min(first.values(), default=1)  # above the counts a year heads its column
    left = [
        cell
        for cell in others
        if not {cell, ("", *cell[1:])} & gone and cell[1] >= first.get(cell[0], top)
    ]
    if left:
        sheet, row, column = min(left)
        where = f"{sheet}!" * bool(sheet) + f"{column_letters(column)}{row}"
        named = f" ({', '.join(sorted(file.unused))})" if file.unused else ""
        yield (
            f"{file.name}: {counted(len(left), 'number')} beside the counts "
            f"{'stays' if len(left) == 1 else 'stay'}{named}, as in {where}: "
            "a mean, a rate or a difference among them may give away what is withheld"
        )


def _refuse_parts(book: WrittenWorkbook) -> None:
    """Refuse a workbook with hidden copies of its numbers, which would get no star."""
    for part, what in _KEEPING.items():
        if any(name.startswith(f"xl/{part}/") for name in book.parts):
            raise SourceError(
                f"{book.label}: has {what}, which may show the counts that are withheld; take them "
                "out before"
            )
