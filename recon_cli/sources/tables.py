"""Published files of any format, wide or long, one or many, opened as one source.

Every table is read once: its rows are checked, and kept as columns of numbers in a folder that
is removed with the source. Then they are handed on in groups of partitions, so that memory depends
on the group, not on the files.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from recon_cli.coverage import LeftOut
from recon_cli.errors import ConfigError, SourceError
from recon_cli.frames import partition_runs
from recon_cli.publication import Source
from recon_cli.read_ahead import read_ahead
from recon_cli.schema import Release
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.dense import MOST_COLUMN_SETS, DenseSource, KeptSheet
from recon_cli.sources.documents import Document, document_of, open_documents
from recon_cli.sources.formats import FORMATS, NO_MAPPING, CountSheet, FileMapping, is_companion
from recon_cli.sources.formats.header import numbers_in
from recon_cli.sources.formats.mapping import table_name
from recon_cli.sources.formats.reading import SheetReader
from recon_cli.sources.legacy import open_legacy
from recon_cli.sources.listing import IncompleteSource, complete_geounits
from recon_cli.sources.shares import NO_SHARES, SHARES, Shares
from recon_cli.sources.tabular import Sheet, documents_of_sheets, unread_sheets
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.sources.tidy import AbsentCells, TidySource, open_tidy, tables_without_zeros
from recon_cli.sources.tidy_file import TidyFile
from recon_cli.sources.unpacked import UnpackedFolder
from recon_cli.statement import EXACT, Protection

TablesSource = DenseSource | TidySource
#: Statistics of a sheet, as in tidy files.
_STATISTICS: Final = pl.Schema(
    {
        "row": pl.UInt32,
        "geoid": pl.String,
        "table": pl.String,
        "number": pl.Int64,
        "cell": pl.String,
        "count": pl.String,
    }
)


@dataclass(frozen=True)
class OpenedSource:
    """A source, with the laws by which its counts were published.

    Attributes:
        protection: None if all counts are exact.
        left_out: The numbers of the files that are not among its counts.
        told: The percentages that narrow withheld counts: columns ``geoid, table, cell, header,
            text, among``.
    """

    source: Source
    protection: Protection | None = None
    left_out: tuple[LeftOut, ...] = ()
    told: pl.DataFrame | None = None


def open_source(
    release: Release,
    source: str,
    paths: Sequence[Path],
    *,
    tables: Collection[str] | None = None,
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells | None = None,
    geounits: pl.DataFrame | None = None,
    protection: Protection | None = None,
) -> OpenedSource:
    """Open published files.

    Args:
        source: The format: ``tidy``, ``sf1-legacy``, ``pl-legacy``, ``dhc-legacy``, or one of
            `FORMATS`.
        paths: Files, or folders of files, together one publication.
        tables: For legacy files: the tables to read; default all.
        mapping: For `FORMATS`: the meaning of columns and labels where files do not state it.
        absent: What a cell without a count means; default ``zero`` in tidy files, ``unpublished``
            in all others.
        geounits: The list of all geounits, if there is one: columns ``geoid, level``.
        protection: Law of each count; None where all are exact.

    Raises:
        ConfigError: No paths, no such format, or the mapping does not fit the release.
    """
    if source.endswith("-legacy"):
        return OpenedSource(open_legacy(release, paths, layout=source, tables=tables))
    counts = open_counts(
        release, source, paths, mapping=mapping, absent=absent, protection=protection
    )
    return completed(release, counts, geounits)


def completed(
    release: Release, counts: IncompleteSource, geounits: pl.DataFrame | None = None
) -> OpenedSource:
    """Add to a source the geounits that have no row in it; see `complete_geounits`."""
    laws = counts.protection if counts.has_statements else None
    told = counts.shares.told(CellIndex.of(release)) if isinstance(counts, TidySource) else None
    return OpenedSource(complete_geounits(release, counts, geounits), laws, counts.left_out, told)


def open_counts(
    release: Release,
    source: str,
    paths: Sequence[Path],
    *,
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells | None = None,
    protection: Protection | None = None,
) -> TablesSource:
    """Open files, with the geounits that have a row in them; arguments are as for `open_source`.

    Raises:
        ConfigError: No paths, no such format, or the mapping does not fit the release.
    """
    if source == "tidy":
        return open_tidy(release, paths, absent=absent or "zero", protection=protection)
    if source in FORMATS:
        return open_tables(
            release,
            source,
            paths,
            mapping=mapping,
            absent=absent or "unpublished",
            protection=protection,
        )
    known = ", ".join(("tidy", "sf1-legacy", "pl-legacy", "dhc-legacy", *FORMATS))
    raise ConfigError(f"source: no format {source!r} (formats: {known})")


@dataclass(frozen=True, kw_only=True)
class KeptFile(TidyFile):
    """Checked rows in the form of a tidy file."""

    sheet: Sheet

    def where(self, row: int) -> str:
        return self.sheet.where(row)

    def cells(self, published: pl.DataFrame) -> pl.LazyFrame:  # noqa: ARG002 - checked already
        """Return the rows, which have the ordinals of their cells."""
        return self.rows

    def check(self, release: Release, published: pl.DataFrame) -> None:
        """Check nothing: all was checked before."""


def open_tables(
    release: Release,
    source: str,
    paths: Sequence[Path | str],
    *,
    mapping: FileMapping = NO_MAPPING,
    absent: AbsentCells = "unpublished",
    protection: Protection | None = None,
) -> TablesSource:
    """Open and check published tables.

    Args:
        source: The format, one of `FORMATS`.
        paths: Files, zips, or folders of them, together one publication.
        absent: What a cell without a count means: ``unpublished``, or ``zero`` as in a tidy file;
            for all tables, or by table.
        protection: Laws of suppressed, rounded or perturbed counts; None for exact ones.

    Raises:
        ConfigError: No paths, or the mapping does not fit the release.
        SourceError: A file is missing or malformed; the message has row, column and a remedy.
    """
    unpublished = tables_without_zeros(release, absent)
    if release.statistics and protection is None:
        protection = EXACT
    sheets = open_sheets(source, paths, mapping)
    unread = tuple(sheets_left_out(paths, mapping))
    opened: TablesSource
    unpacked = UnpackedFolder()
    folder = unpacked.path
    try:
        readers = [
            SheetReader(sheet, release, said, None if protection is None else protection.markers)
            for _, sheet, said in sheets
        ]
        shares = _shares(release, protection or EXACT, readers)
        unread = (*shares.left_out, *unread)
        if protection is None and all(reader.is_wide for reader in readers):
            opened = _wide_source(release, readers, folder, unpublished, unread)
        else:
            files = tuple(_keep_long(reader, folder / str(i)) for i, reader in enumerate(readers))
            opened = TidySource(
                release,
                files,
                unpublished,
                protection or EXACT,
                left_out=(*_left_out(readers), *unread),
                shares=shares,
                printed=_keep_statistics(readers) if release.statistics else None,
            )
    except BaseException:
        unpacked.remove()
        raise
    weakref.finalize(opened, unpacked.remove)
    return opened


def open_sheets(
    source: str, paths: Sequence[Path | str], mapping: FileMapping
) -> list[tuple[Document, CountSheet, FileMapping]]:
    """Open the sheets at ``paths``, with the roles of their columns and the mapping of each.

    Raises:
        ConfigError: No paths, no such format, or the mapping names a file that is not there.
        SourceError: A file is missing or of another format.
    """
    if not paths:
        raise ConfigError(f"{source}: expected the path of at least one file")
    if source not in FORMATS:
        raise ConfigError(f"source: no format {source!r} (formats: {', '.join(FORMATS)})")
    form = FORMATS[source]
    sheets: list[tuple[Document, CountSheet, FileMapping]] = []
    names: set[str] = set()
    for path in map(Path, paths):
        data, beside = documents_with_counts(path)
        if not data:
            raise SourceError(f"{path}: expected files with counts, found none")
        for document in (
            sheet for each in data for sheet in documents_of_sheets(each, mapping.sheet)
        ):
            if not form.recognises(document):
                raise SourceError(
                    f"{document.label}: is no file of {form.title}; `recon init {path}` tells "
                    "what it is"
                )
            names.add(document.name)
            name = document.sheet or document.name
            said = mapping.of_file(document.name).of_file(name)
            # Rows of a sheet are chosen as it is read.
            rest = replace(said, where={}) if form.name == "sheet" else said
            sheets += [
                (
                    document,
                    roles.with_geoids(mapping.geoids).with_labels(said.labels, own),
                    rest.of_file(own),
                )
                for number, roles in enumerate(form.read(document, beside, said), start=1)
                for own in [table_name(name, roles.table_number or number)]
            ]
    if unknown := sorted(set(mapping.columns_of) - names):
        raise ConfigError(
            f"mapping.columns_of: no file {unknown[0]!r}; found {', '.join(sorted(names))}"
        )
    return sheets


def documents_with_counts(path: Path) -> tuple[list[Document], tuple[Document, ...]]:
    """Find the documents with counts at a path, and documents in or beside it that explain them."""
    documents = open_documents(path)
    around = sorted(path.parent.iterdir()) if path.is_file() else ()
    files = map(document_of, (each for each in around if each.is_file() and each != path))
    data = [each for each in documents if len(documents) == 1 or not is_companion(each)]
    return data, (*documents, *filter(is_companion, files))


def _wide_source(
    release: Release,
    readers: Sequence[SheetReader],
    folder: Path,
    unpublished: frozenset[str],
    unread: tuple[LeftOut, ...],
) -> TablesSource:
    left_out = (*_left_out(readers), *unread)
    kept = [_keep_wide(reader, folder / str(i), release) for i, reader in enumerate(readers)]
    has_gaps = any(sheet.has_gaps for sheet in kept) or len(unpublished) < len(release.tables)
    if not has_gaps and len({sheet.ordinals for sheet in kept}) <= MOST_COLUMN_SETS:
        return DenseSource(release, kept, left_out)
    files = [_kept_file(sheet.sheet, _unpivoted(sheet)) for sheet in kept]
    return TidySource(release, tuple(files), unpublished, EXACT, left_out=left_out)


def _left_out(readers: Sequence[SheetReader]) -> tuple[LeftOut, ...]:
    """Return the numbers that the readers do not read."""
    return tuple(each for reader in readers for each in reader.left_out())


def sheets_left_out(paths: Sequence[Path | str], mapping: FileMapping) -> Iterator[LeftOut]:
    """Yield the numbers of sheets of workbooks that are not read."""
    for path in map(Path, paths):
        for document in documents_with_counts(path)[0]:
            for name, rows in unread_sheets(document, mapping.sheet).items():
                if cells := sum(map(numbers_in, rows)):
                    label = f"{document.name}, sheet {name}"
                    yield LeftOut(label, "", cells, mapping.leave_out.get(name, ""))


def _keep_wide(reader: SheetReader, folder: Path, release: Release) -> KeptSheet:
    folder.mkdir()
    partitions: dict[str, int] = {}
    gaps = False
    for number, rows in enumerate(read_ahead(reader.wide())):
        gaps = gaps or any(rows[name].null_count() for name in rows.columns)
        for partition, size in partition_runs(rows["geoid"], release.geography.partition_level):
            partitions[partition] = partitions.get(partition, 0) + size
        rows.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
    ordinals = tuple(sorted(reader.ordinals.values()))
    return KeptSheet(reader.roles.sheet, folder, ordinals, partitions, gaps)


def _unpivoted(sheet: KeptSheet) -> pl.LazyFrame:
    names = [str(ordinal) for ordinal in sheet.ordinals]
    return (
        sheet.scan()
        .unpivot(index=[ROW, "geoid"], on=names, variable_name="ordinal", value_name="value")
        .filter(pl.col("value").is_not_null())
        .with_columns(pl.col("ordinal").cast(pl.Int32))
    )


def _shares(release: Release, protection: Protection, readers: Sequence[SheetReader]) -> Shares:
    """Find what the percentages of sheets prove."""
    frames = [
        rows.with_columns(file=pl.lit(i, pl.Int32))
        for i, reader in enumerate(readers)
        for rows in reader.shares()
    ]
    if not any(frame.height for frame in frames):
        return NO_SHARES
    sheets = [reader.roles.sheet for reader in readers]
    return Shares.of(
        release,
        protection,
        pl.concat(
            [SHARES.to_frame(), *(frame.select(SHARES.names()).cast(SHARES) for frame in frames)]
        ),
        {i: sheet.label for i, sheet in enumerate(sheets)},
        lambda file, row: sheets[file].where(row),
    )


def _keep_long(reader: SheetReader, folder: Path) -> KeptFile:
    folder.mkdir()
    for number, rows in enumerate(read_ahead(reader.long())):
        rows.write_parquet(folder / f"{number:05d}.parquet", compression="lz4")
    kept = pl.scan_parquet(folder / "*.parquet")
    if reader.has_statements:
        no_end = pl.lit(None, pl.Int64)
        kept = kept.with_columns(pl.col("value").cast(pl.Int64), least=no_end, most=no_end)
    return _kept_file(reader.roles.sheet, kept, has_statements=reader.has_statements)


def _keep_statistics(readers: Sequence[SheetReader]) -> list[KeptFile]:
    """Return the statistics of sheets in the form of tidy files."""
    return [
        _kept_file(reader.roles.sheet, pl.concat([_STATISTICS.to_frame(), *found]).lazy())
        for reader in readers
        if (
            found := [
                rows.select(_STATISTICS.names()).cast(_STATISTICS) for rows in reader.statistics()
            ]
        )
    ]


def _kept_file(sheet: Sheet, rows: pl.LazyFrame, *, has_statements: bool = False) -> KeptFile:
    return KeptFile(Path(sheet.label), "row", rows, True, has_statements, sheet=sheet)
