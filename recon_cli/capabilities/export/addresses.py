"""Locations of published counts: file, sheet, row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.errors import ConfigError
from recon_cli.frames import STATISTICS
from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.documents import Document, document_of
from recon_cli.sources.formats import FORMATS, FileMapping
from recon_cli.sources.formats.reading import SheetReader
from recon_cli.sources.tables import open_sheets
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tidy import tidy_files
from recon_cli.sources.tidy_file import TidyFile, open_file, published_cells
from recon_cli.sources.tidy_statistics import is_statistic

#: Formats whose files have no rows and columns.
_NO_ROWS: Final = ("census-api", "json-stat")
#: A percentage, and a count that it is of or among.
_SHARE: Final = pl.Schema(
    {
        "sheet": pl.String,
        "row": pl.Int32,
        "column": pl.Int32,
        "geoid": pl.String,
        "table": pl.String,
        "cell": pl.Int16,
    }
)
_PRINTED: Final = pl.Schema(
    [("sheet", pl.String), ("row", pl.Int32), ("column", pl.Int32), *STATISTICS.items()]
)
#: Columns of a tidy file that identify a count.
_LABELS: Final = ("geoid", "level", "table", "cell")


@dataclass(frozen=True)
class CountedFile:
    """A published file, and where its counts are.

    Attributes:
        document: The whole workbook, if it is one.
        counts: A row per count, published or not: ``sheet``, empty where the file has only one;
            ``row`` and ``column``, from 1; ``text``, as it is written, and ``value``, null if that
            is no number; ``geoid, table, cell``; ``place`` and ``header``, in the file's words;
            ``place_column``, from 1.
        labels: Sheet and column, from 1, of the labels of counts.
        shares: A row for each count that a percentage is of, or among: ``sheet, row, column``, as
            of counts, of the percentage; ``geoid, table, cell`` of the count.
        statistics: A row for each printed statistic of a table of its own: ``sheet, row, column``
            and columns of `recon_cli.frames.STATISTICS`.
        unused: Headers of columns with other numbers.
        statuses: Header of a column with the status of each row's count → its place, from 1.
    """

    document: Document
    name: str
    counts: pl.DataFrame
    labels: frozenset[tuple[str, int]]
    shares: pl.DataFrame
    statistics: pl.DataFrame = field(default_factory=_PRINTED.to_frame)
    unused: frozenset[str] = frozenset()
    statuses: Mapping[str, int] = field(default_factory=dict)


def locate_counts(
    release: Release,
    source: str,
    paths: Sequence[Path],
    mapping: FileMapping,
    *,
    markers: frozenset[str] | None,
) -> tuple[CountedFile, ...]:
    """Locate the counts of published files, as `open_tables` reads them.

    Args:
        source: The format: ``tidy``, or one of `FORMATS` whose files have rows and columns.
        paths: Files, or folders of files, together one publication.
        markers: The texts that laws of the counts list; None without laws.

    Raises:
        ConfigError: The files have no rows and columns.
    """
    if source == "tidy":
        return tuple(
            _tidy_file(release, file, has_statements=markers is not None)
            for path in paths
            for file in tidy_files(path)
        )
    if source not in FORMATS or source in _NO_ROWS:
        raise ConfigError(
            f"ingest.source: {source} files are not marked; workbooks and tables of text are, as "
            "`recon init` maps them"
        )
    found: dict[str, _Found] = {}
    for document, roles, said in open_sheets(source, paths, mapping):
        reader = SheetReader(roles, release, said, markers)
        found.setdefault(document.label, _Found(document)).add(document.sheet or "", reader)
    return tuple(here.file() for here in found.values())


@dataclass
class _Found:
    """Counts, labels and statistics of a file, collected sheet by sheet."""

    document: Document
    counts: list[pl.DataFrame] = field(default_factory=list)
    labels: set[tuple[str, int]] = field(default_factory=set)
    shares: list[pl.DataFrame] = field(default_factory=list)
    statistics: list[pl.DataFrame] = field(default_factory=list)
    unused: set[str] = field(default_factory=set)
    statuses: dict[str, int] = field(default_factory=dict)

    def add(self, sheet: str, reader: SheetReader) -> None:
        """Add the counts, percentages and statistics of a sheet; empty: the only one."""
        roles, release = reader.roles, reader.release
        own = {*roles.place} if roles.place_column is None else {roles.place_column}
        place = roles.place[0] if roles.place_column is None else roles.place_column
        every = reader.with_repeated(pl.concat(reader.addresses()))
        self.counts.append(
            _named(release, every).with_columns(
                sheet=pl.lit(sheet), place_column=pl.lit(place + 1, pl.Int32)
            )
        )
        for rows in map(reader.with_repeated, reader.statistics()):
            printed = rows.select(
                pl.lit(sheet).alias("sheet"),
                ROW,
                pl.col("column") + 1,
                "geoid",
                "table",
                pl.col("number").alias("cell"),
                pl.col("count").alias("text"),
            )
            self.statistics.append(printed.cast(_PRINTED))
        for rows in map(reader.with_repeated, reader.shares()):
            for of in ("part", "base"):
                share = rows.select(ROW, "column", "geoid", ordinal=of, sheet=pl.lit(sheet))
                self.shares.append(_named(release, share).select(_SHARE.names()))
        self.unused |= {each.column for each in roles.left_out}
        self.statuses |= {roles.headers[at]: at + 1 for at in roles.flags}
        for each in roles.dimensions:
            named = (each.code, each.label) if each.origin is None else (each.origin,)
            own |= {at for at in named if at is not None}
        self.labels |= {(sheet, at + 1) for at in own if at > -1}

    def file(self) -> CountedFile:
        """Return the file with all that was added."""
        return CountedFile(
            self.document,
            self.document.name.removesuffix(f", sheet {self.document.sheet}"),
            pl.concat(self.counts),
            frozenset(self.labels),
            _all(self.shares),
            pl.concat([_PRINTED.to_frame(), *self.statistics]),
            frozenset(self.unused),
            self.statuses,
        )


def _tidy_file(release: Release, path: Path, *, has_statements: bool) -> CountedFile:
    if path.suffix.lower() != ".csv":
        raise ConfigError(f"{path}: is no table of text, and cannot be marked; save it as CSV")
    is_stated = has_statements or bool(release.statistics)
    whole = open_file(path, has_statements=is_stated).placed(release)
    published = published_cells(release)
    file = replace(whole, rows=whole.rows.filter(~is_statistic(release, whole)))
    if not release.statistics or file.collect(file.rows.limit(1)).height:
        file.check(release, published)
    headers = [name for name in file.rows.collect_schema().names() if name != ROW]
    words = {
        number: describe_cell(release, cell)
        for number, cell in enumerate(cell for table in release.tables for cell in table.cells)
    }
    counts = file.collect(
        file.cells(published).select(
            ROW,
            pl.lit(headers.index("count"), pl.Int32).alias("column"),
            pl.col("count").str.strip_chars().fill_null("").alias("text"),
            pl.col("value").cast(pl.Int32),
            "geoid",
            pl.col("geoid").alias("place"),
            "ordinal",
            pl.col("ordinal").replace_strict(words, return_dtype=pl.String).alias("header"),
            pl.lit("").alias("sheet"),
            pl.lit(headers.index("geoid") + 1, pl.Int32).alias("place_column"),
        )
    ).sort(ROW)
    labels = {("", number) for number, name in enumerate(headers, start=1) if name in _LABELS}
    named = _named(release, counts)
    printed = placed_statistics(release, whole).with_columns(
        sheet=pl.lit(""), column=pl.lit(headers.index("count") + 1)
    )
    printed = printed.select(_PRINTED.names()).cast(_PRINTED)
    return CountedFile(document_of(path), path.name, named, frozenset(labels), _all([]), printed)


def _all(shares: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([_SHARE.to_frame(), *(each.cast(_SHARE) for each in shares)])


def _named(release: Release, counts: pl.DataFrame) -> pl.DataFrame:
    """Put table and cell in place of the ordinal, and count columns from 1."""
    return counts.drop("ordinal").with_columns(
        pl.col(ROW).cast(pl.Int32),
        pl.col("column") + 1,
        **CellIndex.of(release).named(counts["ordinal"].to_numpy()),
    )


def placed_statistics(release: Release, file: TidyFile) -> pl.DataFrame:
    """Return the rows of statistics of a placed file: ``row`` and columns of `STATISTICS`."""
    own = file.collect(file.rows.filter(is_statistic(release, file)).sort("row"))
    text = pl.col("count").cast(pl.String).str.strip_chars().fill_null("").alias("text")
    if file.by_table:
        named = own.select("row", "geoid", "table", pl.col("number").alias("cell"), text)
    else:
        schema = {"code": pl.String, "table": pl.String, "number": pl.Int64}
        codes = [
            (code, table.name, number)
            for table in release.statistics
            for number, code in enumerate(table.codes, start=1)
        ]
        cells = pl.DataFrame(codes, schema=schema, orient="row")
        joined = own.join(cells, left_on="cell", right_on="code", maintain_order="left")
        named = joined.select("row", "geoid", "table", pl.col("number").alias("cell"), text)
    return named.select("row", *(pl.col(name).cast(kind) for name, kind in STATISTICS.items()))
