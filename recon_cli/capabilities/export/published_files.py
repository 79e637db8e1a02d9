"""The published files of a run: found again as they were read, and written elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from recon_cli.capabilities.export.addresses import CountedFile, locate_counts
from recon_cli.capabilities.export.rewriting import DelimitedText, WrittenWorkbook
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.capabilities.ingest.partitions import file_mapping
from recon_cli.capabilities.ingest.stage import input_files
from recon_cli.errors import ConfigError, SourceError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.sources.documents import Document
from recon_cli.sources.tabular.workbook import open_workbook
from recon_cli.statement import load_protection
from recon_cli.store.published import open_published

#: Columns that identify a count, and columns of a location in a file.
CELL: Final = ("geoid", "table", "cell")
AT: Final = ("sheet", "row", "column")


@dataclass(frozen=True)
class Exported:
    """The files that were written.

    Attributes:
        files: Copies in the order of the published files, then any list of findings.
        numbers: Kind of mark → number of cells.
        law: The file with the law of suppressed copies.
    """

    files: tuple[Path, ...]
    numbers: dict[str, int]
    notes: tuple[str, ...] = ()
    law: Path | None = None


def located(run: Run) -> tuple[CountedFile, ...]:
    """Return the published files, with the place of every count."""
    config = run.config.section(Ingest)
    laws = config.laws_file
    return locate_counts(
        run.release,
        config.source,
        config.paths,
        file_mapping(config),
        markers=None if laws is None else load_protection(laws, run.release).markers,
    )


def require_ingested(run: Run) -> None:
    """Refuse files that have changed since their counts were read."""
    tables, _ = open_published(run.work, run.release)
    known = {file["sha256"] for file in tables.manifest.inputs["files"]}
    for file in input_files(run.config.section(Ingest).paths):
        if file.sha256 not in known:
            raise StageError(f"{file.name}: is not as it was ingested; run `recon ingest` again")


def targets(
    files: Sequence[CountedFile], folder: Path, mark: str
) -> Iterator[tuple[CountedFile, Path]]:
    """Yield each file and its target: the same name, ``….marked.xlsx`` if marked.

    Raises:
        ConfigError: Two targets are the same, or a target is a published file.
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


def only_sheet(document: Document) -> str:
    """Return the sheet that is read if none is named."""
    return next(iter(open_workbook(document).sheets))


def loaded_workbook(file: CountedFile) -> WrittenWorkbook:
    """Open a workbook to write it again.

    Raises:
        SourceError: A count is not where it was read.
    """
    book, only = WrittenWorkbook(file.document), only_sheet(file.document)

    def own(sheet: str, row: int, column: int) -> str:
        value = book.field(sheet or only, row, column)
        return str("" if value is None else value).strip().removesuffix(".0")

    _require_alike(file, own)
    return book


def loaded_text(file: CountedFile) -> DelimitedText:
    """Open a text file to write it again.

    Raises:
        SourceError: A count is not where it was read.
    """
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
