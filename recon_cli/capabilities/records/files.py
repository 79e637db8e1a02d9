"""Files of records from elsewhere, with the publisher's headers and codes.

The records are one file, a folder of parts, or a stage's folder. They are read a partition at a
time, with only the needed columns.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import polars as pl

from recon_cli.errors import ConfigError, SchemaError, SourceError
from recon_cli.frames import UNREADABLE
from recon_cli.schema import Level, Release, Value
from recon_cli.sources.damage import columns_found, kind_of, remarks_of, separator_of, unreadable
from recon_cli.sources.documents import document_of
from recon_cli.sources.tabular import read_sheet
from recon_cli.sources.tabular.sheet import ROW
from recon_cli.store import read_partition
from recon_cli.store.files import file_digest, key_of
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.piece import EVERYWHERE, Span

#: Endings of files of records; a text may be compressed, ``.csv.gz``.
FILE_KINDS: Final = frozenset({".csv", ".txt", ".parquet", ".xlsx"})
#: Names that a message lists.
_SHOWN: Final = 12


@dataclass(frozen=True)
class Translation:
    """Names and codes of a file.

    Attributes:
        columns: Header in the file → column of the release.
        values: Column of the release → code in the file → value of the release, or None.
        sheet: Name of a workbook's sheet.
        joined: Column of the release → headers whose texts, joined in order, are its values, with
            the digits of each.
        only: Header → codes of the records that are read; a file may have others.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Value | None]] = field(default_factory=dict)
    sheet: str | None = None
    joined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    only: Mapping[str, Collection[str]] = field(default_factory=dict)

    def check(self, release: Release, others: Collection[str]) -> None:
        """Refuse names that the release does not have.

        Args:
            others: Columns beyond the release's that the file may have.

        Raises:
            ConfigError: A column is not the release's, is given twice, or has no such value; the
                message begins with the key.
        """
        known = known_columns(release)
        for header, column in self.columns.items():
            if column not in (*known, *others):
                close = difflib.get_close_matches(column, [*known, *others], n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise ConfigError(
                    f"columns.{header}: the release has no column {column!r} "
                    f"(columns: {_first([*known, *others])}){hint}"
                )
        targets = list(self.columns.values())
        if twice := [column for column in targets if targets.count(column) > 1]:
            raise ConfigError(f"columns: two columns of the file are {twice[0]!r}")
        for column, codes in self.values.items():
            if column != release.geoid_column:
                _check_values(release, column, codes)

    def apply(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Translate a frame to the release's columns and values.

        A code that `values` does not name is kept.

        Raises:
            ConfigError: The frame lacks a column, or has one already; the message begins with the
                key.
        """
        headers = frame.collect_schema()
        for header, column in self.columns.items():
            if header not in headers:
                found = columns_found(headers, self.columns)
                raise ConfigError(f"columns: no column {header!r} ({found})")
            if column in headers and column not in self.columns:
                raise ConfigError(f"columns.{header}: the file has a column {column!r}, too")
        for column, parts in {**self.joined, "what is a record": self.only}.items():
            if absent := [header for header in parts if header not in headers]:
                found = columns_found(headers, parts)
                raise ConfigError(f"layout: no column {absent[0]!r}, a part of {column} ({found})")
        for header, codes in self.only.items():
            frame = frame.filter(pl.col(header).cast(pl.String).str.strip_chars().is_in([*codes]))
        whole = frame.with_columns(
            pl.concat_str(
                pl.col(header).cast(pl.String).str.strip_chars().str.zfill(digits)
                for header, digits in parts.items()
            ).alias(column)
            for column, parts in self.joined.items()
        )
        renamed = whole.rename(dict(self.columns))
        for column in self.values:
            if column not in renamed.collect_schema():
                found = columns_found(renamed.collect_schema(), self.columns.values())
                raise ConfigError(f"values: no column {column!r} ({found})")
        return renamed.with_columns(
            _recoded(column, codes, renamed.collect_schema()[column])
            for column, codes in self.values.items()
        )


#: Translation of files that have the release's columns and values.
AS_IT_IS = Translation()


@dataclass(frozen=True)
class Slice:
    """The records of a file in one partition.

    Attributes:
        digest: Digest that changes when the records do.
    """

    rows: int
    digest: str


@dataclass(frozen=True)
class RecordFile:
    """Records by partition.

    Methods raise `SourceError` for a file that cannot be read, `StageError` for a damaged stage.

    Attributes:
        layout: ``stage`` (a published stage folder), ``folder`` (``county=01073/*.parquet``) or
            ``file`` (one Parquet, CSV or xlsx file).
        place: The column with the unit's geoid.
    """

    name: str
    path: Path
    layout: Literal["stage", "folder", "file"]
    place: str
    level: Level
    translation: Translation = AS_IT_IS

    def slices(self) -> dict[str, Slice]:
        """Return the partitions that the file has records in.

        Raises:
            SourceError: The file cannot be read, or has no geoids.
        """
        if self.layout == "stage":
            rows = read_manifest(self.path, command="the stage that makes it").partitions
            return {row.partition: Slice(row.rows, row.digest) for row in rows}
        if self.layout == "folder":
            return {name: self._slice(files) for name, files in self._parts().items()}
        if kind_of(self.path) in {".csv", ".txt"}:
            # where few columns are asked for, lines of another width pass
            self._collect(_scan(self.path, None).select(pl.all().null_count()))
        prefix = self.level.enclosing(pl.col(self.place).cast(pl.String))
        counts = self._collect(self._scan(self.path).group_by(prefix.alias("name")).len())
        digest = file_digest(self.path)
        if counts["name"].null_count():
            raise SourceError(f"{self.path}: column {self.place!r} is null in some records")
        if counts["name"].str.to_lowercase().is_duplicated().any():
            raise SourceError(f"{self.path}: {self.level.name}s' geoids differ in case alone")
        return {name: Slice(rows, digest) for name, rows in sorted(counts.iter_rows())}

    def read(self, partition: str, columns: Sequence[str], span: Span = EVERYWHERE) -> pl.DataFrame:
        """Read a partition's records in ``span``, with the existing ones among ``columns``."""
        if self.layout == "stage":
            return read_partition(self.path, partition, span, columns)
        if self.layout == "folder":
            parts = self._parts().get(partition, [])
            if not parts:
                raise SourceError(f"{self.name}: {self.path} has no {self.level.name}={partition}")
            scans = [self._scan(part).filter(span.holds(self.place)) for part in parts]
            return pl.concat([self._collect(_narrowed(scan, columns)) for scan in scans])
        inside = self.level.enclosing(pl.col(self.place).cast(pl.String)) == partition
        scan = self._scan(self.path).filter(inside & span.holds(self.place))
        return self._collect(_narrowed(scan, columns))

    def columns(self) -> list[str]:
        if self.layout == "stage":
            manifest = read_manifest(self.path, command="the stage that makes it")
            return read_partition(self.path, manifest.partitions[0].partition).columns
        paths = [self.path]
        if self.layout == "folder":
            paths = [path for files in self._parts().values() for path in files]
        try:
            return self._scan(paths[0]).collect_schema().names()
        except UNREADABLE as error:
            raise unreadable(paths[0], error) from None
        except ConfigError as error:
            raise ConfigError(f"{paths[0]}: {error}") from error

    def first_record(self, column: str, values: Collection[str]) -> int | None:
        """Return the number, from 1, of the first record of a single file with one of ``values``.

        None if the file has no such column, or there are several files.
        """
        if self.layout != "file" or column not in self.columns():
            return None
        rows = self._scan(self.path).select(pl.col(column).cast(pl.String))
        wanted = pl.Series(list(values), dtype=pl.String).implode()
        found = rows.with_row_index("record", offset=1).filter(pl.col(column).is_in(wanted))
        first = self._collect(found.select(pl.col("record").min())).item()
        return None if first is None else int(first)

    def _parts(self) -> dict[str, list[Path]]:
        folders = sorted(self.path.glob(f"{self.level.name}=*"))
        return {
            folder.name.partition("=")[2]: sorted(folder.glob("*.parquet")) for folder in folders
        }

    def _slice(self, files: Sequence[Path]) -> Slice:
        rows = sum(self._collect(self._scan(path).select(pl.len())).item() for path in files)
        return Slice(rows, key_of({path.name: file_digest(path) for path in files}))

    def _scan(self, path: Path) -> pl.LazyFrame:
        return scan_records(path, self.translation)

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except UNREADABLE as error:
            raise SourceError(f"{self.name}: {unreadable(self.path, error)}") from None


def open_records(
    name: str, path: Path, release: Release, translation: Translation = AS_IT_IS
) -> RecordFile:
    """Recognise the kind of ``path``.

    Args:
        path: A Parquet, CSV or xlsx file (CSV as ``.csv.gz``, too), a folder of partitions, a
            stage folder, or a work folder, which stands for its ``microdata/``.
        release: Names the geoid column and the partitions.
        translation: Names and codes of the file; the folder of a stage has the release's own.

    Raises:
        ConfigError: There is no such file, or it is of another kind.
        SourceError: The file lacks the geoid column.
    """
    level, place = release.geography.partition_level, release.geoid_column

    def found(path: Path, layout: Literal["stage", "folder", "file"]) -> RecordFile:
        return RecordFile(name, path, layout, place, level, translation)

    if (path / MANIFEST).is_file():
        file = found(path, "stage")
    elif (path / "microdata" / MANIFEST).is_file():
        file = found(path / "microdata", "stage")
    elif path.is_dir() and any(path.glob(f"{level.name}=*/*.parquet")):
        file = found(path, "folder")
    elif path.is_file() and kind_of(path) in FILE_KINDS:
        file = found(path, "file")
    elif path.exists():
        raise ConfigError(
            f"{name}: {path}: a .parquet, .csv, .txt or .xlsx file, or a folder of "
            f"{level.name}=…/*.parquet is expected (a text may end in .gz)"
        )
    else:
        raise ConfigError(f"{name}: no such file or folder: {path}")
    if file.layout == "stage" and translation != AS_IT_IS:
        raise ConfigError(f"{name}: {path}: the folder of a stage has the release's columns")
    columns = file.columns()
    if place not in columns:
        have = columns_found(columns, known_columns(release))
        raise SourceError(f"{name}: {path}: no column {place!r} ({have})")
    return file


def scan_records(path: Path, translation: Translation = AS_IT_IS) -> pl.LazyFrame:
    """Scan the records of one file, translated; all columns of a text file are text.

    Raises:
        ConfigError: The file lacks a column; the message begins with the key.
    """
    return translation.apply(_scan(path, translation.sheet))


def known_columns(release: Release) -> tuple[str, ...]:
    """Return the columns that records of a release may have."""
    options = [option for feature in release.features for option in feature.options]
    features = [feature.name for feature in release.features]
    return (release.geoid_column, *features, *release.recode_by_name, *options)


def _scan(path: Path, sheet: str | None) -> pl.LazyFrame:
    match kind_of(path):
        case ".csv" | ".txt":
            separator, remarks = separator_of(path), remarks_of(path)
            return pl.scan_csv(path, infer_schema=False, separator=separator, skip_lines=remarks)
        case ".xlsx":
            return _workbook(path, sheet, path.stat().st_mtime_ns).lazy()
    return pl.scan_parquet(path, hive_partitioning=False)


@lru_cache(maxsize=2)
def _workbook(path: Path, name: str | None, _changed: int) -> pl.DataFrame:
    """Read a sheet with one header row; cached while the file does not change."""
    sheet = read_sheet(document_of(path), name)
    rows = pl.concat(list(sheet.batches())).sort(ROW)
    rows = rows.with_columns(pl.exclude(ROW).str.strip_chars())  # an indent is no value
    headers, body = rows.drop(ROW).row(0), rows.drop(ROW).slice(1)
    filled = {str(at): text for at, text in enumerate(headers) if text is not None}
    if len(set(filled.values())) < len(filled):
        raise SourceError(f"{sheet.label}: two columns have the same header")
    return body.select(list(filled)).rename(filled)


def _narrowed(frame: pl.LazyFrame, columns: Sequence[str]) -> pl.LazyFrame:
    names = frame.collect_schema().names()
    return frame.select(name for name in names if name in columns)


def _recoded(column: str, codes: Mapping[str, Value | None], dtype: pl.DataType) -> pl.Expr:
    text = pl.col(column).cast(pl.String)
    if dtype.is_float():
        text = text.str.strip_suffix(".0")
    text = text.str.strip_chars()
    new = [None if value is None else str(value) for value in codes.values()]
    return text.replace_strict(
        pl.Series(list(codes), dtype=pl.String),
        pl.Series(new, dtype=pl.String),
        default=text,
        return_dtype=pl.String,
    )


def _check_values(release: Release, column: str, codes: Mapping[str, Value | None]) -> None:
    try:
        labels = release.column_groups(column).labels
    except SchemaError as error:
        raise ConfigError(f"values: {error}") from error
    known = {str(label).lower() for label in labels}
    for code, value in codes.items():
        if value is not None and str(value).lower() not in known:
            raise ConfigError(
                f"values.{column}.{code}: {value!r} is not a value of {column} "
                f"(values: {_first(map(str, labels))})"
            )


def _first(names: Iterable[str]) -> str:
    listed = list(names)
    rest = f", … {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + rest
