"""Copies of published files with findings marked: colours, comments, and a list."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.capabilities.audit.statuses import NARROWED, RECOVERED, SAFE, UNDECIDED
from recon_cli.capabilities.export.addresses import CountedFile
from recon_cli.capabilities.export.findings import (
    ABSENCE,
    CERTAIN,
    CLAIM,
    DISCLOSURE,
    NOBODY,
    proven_findings,
)
from recon_cli.capabilities.export.published_files import (
    CELL,
    Exported,
    loaded_text,
    loaded_workbook,
    located,
    only_sheet,
    require_ingested,
    targets,
)
from recon_cli.capabilities.export.rewriting import CellMark, WrittenWorkbook
from recon_cli.errors import StageError
from recon_cli.pipeline.run import Run
from recon_cli.spreadsheet import column_letters, csv_bytes
from recon_cli.store.files import write_named
from recon_cli.store.published import open_published, read_names

#: First line of marked files.
NOT_FOR_PUBLICATION: Final = "Not for publication: shows what the published counts give away"
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
#: More comments of a cell are only counted.
_MOST_COMMENTS: Final = 5
_MARKED: Final = "marked"


def export_marked(run: Run, folder: Path) -> Exported:
    """Write copies of the published files, with findings about their counts and places.

    A workbook gets colours, comments and a sheet of findings; in a text file the finding follows
    the count, ``* [3]`` or ``* [1 to 4]``, and the findings are in a file beside it.

    Raises:
        ConfigError: The files cannot be written again.
        StageError: Nothing is proven yet, a folder is damaged, or one cannot be written.
    """
    require_ingested(run)
    files = located(run)
    counts = pl.concat(file.counts.select(*CELL) for file in files)
    findings = proven_findings(run, counts)
    if findings.is_empty():
        raise StageError(
            f"{run.work}: there is nothing to mark: run `recon audit`, or `recon reconstruct`, "
            "`recon solvar` and `recon claims`, before"
        )
    names = read_names(open_published(run.work, run.release)[1])
    written, listed = [], []
    for file, target in targets(files, folder, _MARKED):
        rows = _placed(file, findings, names)
        if file.document.is_workbook:
            book = loaded_workbook(file)
            _mark_workbook(book, rows, only_sheet(file.document))
            data = book.written()
        else:
            text = loaded_text(file)
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


def _placed(file: CountedFile, findings: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Locate findings in a file, in its order."""
    counts = file.counts.with_columns(
        place=pl.col("geoid").replace_strict(names, default=pl.col("place"))
    )
    of_counts = counts.join(findings, on=CELL, how="inner")
    first = counts.unique(["sheet", "geoid"], keep="first", maintain_order=True)
    first = first.with_columns(
        column="place_column", header=pl.lit(""), text=pl.lit(""), table=None, cell=None
    )
    of_places = first.join(findings.filter(pl.col("cell").is_null()).drop("table", "cell"), "geoid")
    # A place is in every sheet; a finding about it is marked once.
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
