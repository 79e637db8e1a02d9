"""Copies of the published files of a run: marked, or with suppressed counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.capabilities.audit.statuses import NARROWED, RECOVERED, SAFE, UNDECIDED
from recon_cli.capabilities.export.addresses import CountedFile, locate_counts
from recon_cli.capabilities.export.findings import (
    ABSENCE,
    CERTAIN,
    CLAIM,
    DISCLOSURE,
    NOBODY,
    proven_findings,
)
from recon_cli.capabilities.export.rewriting import (
    CellMark,
    DelimitedText,
    WrittenWorkbook,
    require_writable,
)
from recon_cli.capabilities.export.safe import (
    Marking,
    told_statistics,
    with_suppressed,
    withheld_counts,
    withheld_shares,
    withheld_statistics,
)
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.ingest.partitions import file_mapping
from recon_cli.capabilities.ingest.stage import input_files
from recon_cli.coverage import PROTECTION
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import stage_named
from recon_cli.plurals import counted
from recon_cli.sources.documents import Document
from recon_cli.sources.formats.header import is_number
from recon_cli.sources.tabular.workbook import open_workbook
from recon_cli.spreadsheet import column_letters, csv_bytes
from recon_cli.statement import load_protection
from recon_cli.statement.protection import protection_text
from recon_cli.statement.statistics import Printed
from recon_cli.statement.suppression import is_marker
from recon_cli.store import open_folder
from recon_cli.store.files import write_named
from recon_cli.store.published import open_published, read_names

#: The first line of what gives away what it marks.
NOT_FOR_PUBLICATION: Final = "Not for publication: shows what the published counts give away"
STARS: Final = Marking()
#: Order of the findings in lists, and the colour of their cells.
_COLOURS: Final = {
    RECOVERED: "FFB3B3",
    NOBODY: "FFDDDD",
    NARROWED: "FFE08A",
    UNDECIDED: "CFE2F3",
    CLAIM: "D9C8F0",
    ABSENCE: "ECE4F8",
    DISCLOSURE: "F8D0B0",
    CERTAIN: "F8D0B0",
    SAFE: "E0E0E0",
}
_LIST: Final = "Findings"
_HEADERS: Final = (
    "Sheet", "Cell", "Place", "Count", "Published", "Finding", "In words", "What it rests on",
)  # fmt: skip
_CELL: Final = ("geoid", "table", "cell")
#: More comments of a cell are only counted.
_MOST_COMMENTS: Final = 5
_AT: Final = ("sheet", "row", "column")
_MARKED: Final = "marked"
#: Columns of the status of a count, in SDMX, and its codes of what is withheld: confidential, and
#: suppressed.
_WITHHELD: Final = {"CONF_STATUS": "C", "OBS_FLAG": "c", "OBS_STATUS": "Q"}
#: Parts of a workbook that hold numbers of its cells, or show them.
_KEEPING: Final = {
    "charts": "charts",
    "pivotCache": "pivot tables",
    "media": "pictures",
    "embeddings": "embedded files",
    "externalLinks": "links to other workbooks",
}


@dataclass(frozen=True)
class Exported:
    """The files that were written.

    Attributes:
        files: In the order of the published ones; last a list of findings, if there is one.
        numbers: Kind of mark → number of cells.
        law: The file with the law of suppressed copies.
    """

    files: tuple[Path, ...]
    numbers: dict[str, int]
    notes: tuple[str, ...] = ()
    law: Path | None = None


def export_marked(run: Run, folder: Path) -> Exported:
    """Write copies of the published files, with findings about their counts and places.

    A workbook gets colours, comments and a sheet of findings; in a text file the finding follows
    the count, ``* [3]`` or ``* [1 to 4]``, and the findings are in a file beside it.

    Raises:
        ConfigError: The files cannot be written again.
        StageError: Nothing is proven yet, a folder is damaged, or one cannot be written.
    """
    _require_ingested(run)
    files = _located(run)
    counts = pl.concat(file.counts.select(*_CELL) for file in files)
    findings = proven_findings(run, counts)
    if findings.is_empty():
        raise StageError(
            f"{run.work}: there is nothing to mark: run `recon audit`, or `recon reconstruct`, "
            "`recon solvar` and `recon claims`, before"
        )
    names = read_names(open_published(run.work, run.release)[1])
    written, listed = [], []
    for file, target in _targets(files, folder, _MARKED):
        rows = _placed(file, findings, names)
        if file.document.is_workbook:
            book = _loaded_workbook(file)
            _mark_workbook(book, rows, _only_sheet(file.document))
            data = book.written()
        else:
            text = _loaded_text(file)
            data = text.written(_marked_fields(rows), NOT_FOR_PUBLICATION)
            listed.append(_listed(rows.with_columns(sheet=pl.lit(file.name))))
        write_named(target, data)
        written.append(target)
    if listed:
        target = folder / "findings.csv"
        body = csv_bytes(pl.concat(listed))
        write_named(target, f"{NOT_FOR_PUBLICATION}\n".encode() + body)
        written.append(target)
    return Exported(tuple(written), _numbers(findings))


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
    files = _located(run)
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
    printed = rows.filter(~is_count).select(*_CELL, text=pl.col("count").cast(pl.String))
    written: list[Path] = []
    notes: list[str] = []
    withheld = shares = statistics = 0
    for file, target in _targets(files, folder, ""):
        stars = withheld_counts(file, shown)
        withheld += stars.height
        told = withheld_shares(file, shown)
        shares += told.height
        harmful = withheld_statistics(file, printed)
        statistics += harmful.height
        notes += told_statistics(run.release, file, harmful)
        stars = pl.concat([stars.select(_AT), told, harmful.select(_AT)])
        if file.document.is_workbook:
            book = _loaded_workbook(file)
            _refuse_parts(book)
            footnote = marking.note(suppressed.manifest.notes["below"])
            others = _other_numbers(book, file)
            beside = _beside(file, stars, others, _fields_of(book, file))
            stars = pl.concat([stars, beside])
            notes += _told_kept(book, file, kept)
            left_out = _star_workbook(book, file, stars, marking.text, footnote, kept=kept)
            data = book.written()
            notes += [
                f"{file.name}: sheet {name} has no counts: it is left out" for name in left_out
            ]
        else:
            text = _loaded_text(file)
            read = {row[1:] for row in _told_cells(file).iter_rows()}
            others = [
                ("", row, column)
                for row, column in sorted(text.fields.keys() - read)
                if ("", column) not in file.labels and is_number(text.field(row, column))
            ]
            beside = _beside(file, stars, others, _fields_of(text, file))
            stars = pl.concat([stars, beside])
            places = stars.select("row", "column").iter_rows()
            marks = dict.fromkeys(places, marking.text)
            data = text.written({**marks, **_statuses(file, stars, text)})
        write_named(target, data)
        written.append(target)
        notes += _told_others(file, others, beside)
    numbers = {"withheld": withheld, "percentages": shares, "statistics": statistics}
    numbers = {what: number for what, number in numbers.items() if number or what == "withheld"}
    return Exported(
        tuple(written),
        numbers,
        tuple(notes),
        _law_of(run, suppressed.path / PROTECTION, marking.text),
    )


def _law_of(run: Run, made: Path, mark: str) -> Path:
    """Return the file with the law of suppressed copies; one that has their mark if it must.

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


# --- the published files --------------------------------------------------------------------------


def _located(run: Run) -> tuple[CountedFile, ...]:
    config = run.config.section(Ingest)
    laws = config.laws_file
    return locate_counts(
        run.release,
        config.source,
        config.paths,
        file_mapping(config),
        markers=None if laws is None else load_protection(laws, run.release).markers,
    )


def _require_ingested(run: Run) -> None:
    """Refuse files that have changed since their counts were read."""
    tables, _ = open_published(run.work, run.release)
    known = {file["sha256"] for file in tables.manifest.inputs["files"]}
    for file in input_files(run.config.section(Ingest).paths):
        if file.sha256 not in known:
            raise StageError(f"{file.name}: is not as it was ingested; run `recon ingest` again")


def _targets(
    files: Sequence[CountedFile], folder: Path, mark: str
) -> Iterator[tuple[CountedFile, Path]]:
    """Yield each file and its target: the same name, ``….marked.xlsx`` if marked.

    Raises:
        ConfigError: Two would be one, or one would take the place of a published file.
    """
    taken: dict[Path, str] = {}
    for file in files:
        suffix = ".xlsx" if file.document.is_workbook else Path(file.name).suffix
        target = folder / f"{Path(file.name).stem}{f'.{mark}' if mark else ''}{suffix}"
        if target in taken:
            raise ConfigError(f"{file.document.label} and {taken[target]} would both be {target}")
        if target.resolve() == Path(file.document.label).resolve():
            raise ConfigError(f"{target}: is a published file; name another folder to write to")
        taken[target] = file.document.label
    for file, target in zip(files, taken, strict=True):
        yield file, target


def _only_sheet(document: Document) -> str:
    """Return the sheet that is read if none is named."""
    return next(iter(open_workbook(document).sheets))


def _loaded_workbook(file: CountedFile) -> WrittenWorkbook:
    book, only = WrittenWorkbook(file.document), _only_sheet(file.document)

    def own(sheet: str, row: int, column: int) -> str:
        value = book.field(sheet or only, row, column)
        return str("" if value is None else value).strip().removesuffix(".0")

    _require_alike(file, own)
    return book


def _loaded_text(file: CountedFile) -> DelimitedText:
    text = DelimitedText(file.document)
    _require_alike(file, lambda _, row, column: text.field(row, column).strip())
    return text


def _require_alike(file: CountedFile, own: Callable[[str, int, int], str]) -> None:
    """Refuse a file whose cells are not where they were read.

    Args:
        own: Returns the content of a sheet's row and column.
    """
    for sheet, row, column, text in file.counts.select("sheet", "row", "column", "text").rows():
        if not _reads_as(found := own(sheet, row, column), text):
            raise SourceError(
                f"{file.document.label}: row {row}, column {column}: {text!r} was read, and "
                f"{found!r} is written there: a file of this kind cannot be written again"
            )


def _reads_as(written: str, text: str) -> bool:
    r"""Test whether what is written in a cell is a text as it was read.

    Blanks and marks between digits are left out of what is read, and a dash is read as zero.

    >>> _reads_as("1\xa0499", "1499"), _reads_as("–", "0"), _reads_as("12", "0")
    (True, True, False)
    """
    if written == text or (text == "0" and not any(map(str.isdigit, written))):
        return True
    return text.isdigit() and re.sub(r"[\s.,'\u2019]", "", written) == text


# --- marks ----------------------------------------------------------------------------------------


def _placed(file: CountedFile, findings: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Locate findings in a file, in its order."""
    counts = file.counts.with_columns(
        place=pl.col("geoid").replace_strict(names, default=pl.col("place"))
    )
    of_counts = counts.join(findings, on=_CELL, how="inner")
    first = counts.unique(["sheet", "geoid"], keep="first", maintain_order=True)
    first = first.with_columns(
        column="place_column", header=pl.lit(""), text=pl.lit(""), table=None, cell=None
    )
    of_places = first.join(findings.filter(pl.col("cell").is_null()).drop("table", "cell"), "geoid")
    # A place stands in every sheet; what is found of it is told once.
    of_places = of_places.unique(["geoid", "kind", "said"], keep="first", maintain_order=True)
    kinds = {kind: number for number, kind in enumerate(_COLOURS)}
    sheets = {
        sheet: number for number, sheet in enumerate(counts["sheet"].unique(maintain_order=True))
    }
    return pl.concat([of_counts, of_places.select(of_counts.columns).cast(of_counts.schema)]).sort(
        pl.col("kind").replace_strict(kinds, return_dtype=pl.Int32),
        pl.col("sheet").replace_strict(sheets, return_dtype=pl.Int32),
        "row",
        "column",
        maintain_order=True,
    )


def _mark_workbook(book: WrittenWorkbook, rows: pl.DataFrame, only: str) -> None:
    """Colour and comment every cell, by the first of its findings, and list them all."""
    rows = rows.with_columns(
        sheet=pl.when(pl.col("sheet") == "").then(pl.lit(only)).otherwise("sheet")
    )
    listed = _listed(rows)
    book.put_first(_LIST, [(NOT_FOR_PUBLICATION,), _HEADERS, *listed.iter_rows()])
    cells = rows.group_by("sheet", "row", "column", maintain_order=True).agg(
        pl.col("kind").first(), pl.col("said").drop_nulls(), pl.col("why").first()
    )
    for sheet, row, column, kind, said, why in cells.iter_rows():
        shown = [*said[:_MOST_COMMENTS]]
        if len(said) > len(shown):
            shown.append(f"and {len(said) - len(shown)} more: see the sheet {_LIST}")
        comment = "\n".join((*shown, why)) if shown else ""
        book.mark(sheet, row, column, CellMark(_COLOURS[kind], comment))


def _marked_fields(rows: pl.DataFrame) -> dict[tuple[int, int], str]:
    """Return the text for each count whose number or interval is known."""
    told = rows.filter(pl.col("short").is_not_null())
    fields = told.select("row", "column", (pl.col("text") + " [" + pl.col("short") + "]"))
    return {(row, column): text.strip() for row, column, text in fields.iter_rows()}


def _listed(rows: pl.DataFrame) -> pl.DataFrame:
    """List the findings for readers, without counts that are proven safe."""
    said = rows.filter(pl.col("said").is_not_null())
    at = [
        f"{column_letters(column)}{row}" for row, column in said.select("row", "column").iter_rows()
    ]
    listed = said.select(
        "sheet",
        pl.Series("at", at, dtype=pl.String),
        "place",
        "header",
        "text",
        "kind",
        "said",
        "why",
    )
    return listed.rename(dict(zip(listed.columns, _HEADERS, strict=True)))


def _numbers(findings: pl.DataFrame) -> dict[str, int]:
    found = dict(findings["kind"].value_counts().iter_rows())
    return {kind: found[kind] for kind in _COLOURS if kind in found}


# --- suppressed counts ----------------------------------------------------------------------------


def _told_cells(file: CountedFile) -> pl.DataFrame:
    """Return where counts stand, percentages of them, and statistics."""
    return pl.concat(each.select(_AT) for each in (file.counts, file.shares, file.statistics))


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
    only = _only_sheet(file.document)
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
    """Return the cells with numbers of sheets with counts that are none and name none."""
    only = _only_sheet(file.document)
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
    """Return what tells the content of a sheet's row and column."""
    if isinstance(source, DelimitedText):
        return lambda _, row, column: source.field(row, column)
    only = _only_sheet(file.document)
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
        return stars.select(_AT).clear()
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
    return pl.DataFrame(found, schema=stars.select(_AT).schema, orient="row")


def _statuses(
    file: CountedFile, stars: pl.DataFrame, text: DelimitedText
) -> dict[tuple[int, int], str]:
    """Return the standard's codes beside withheld counts, by row and column.

    Where a row has several counts its status is of all of them, and stays.
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
