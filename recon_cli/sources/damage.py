"""Errors of damaged files of columns, without quoting their content.

A file about people must not be quoted in a message, which ends up in logs and mails; messages of
polars quote up to a thousand lines.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection
from pathlib import Path

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.frames import UNREADABLE

_QUOTE = '"'
#: Possible separators of a CSV file; the first is the default.
_SEPARATORS = ",;\t|"


def kind_of(path: Path) -> str:
    """Return the suffix that names a file's kind: for a compressed text, that before ``.gz``.

    >>> kind_of(Path("persons.CSV.gz")), kind_of(Path("persons.parquet")), kind_of(Path("a.gz"))
    ('.csv', '.parquet', '.gz')
    """
    suffix, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    return inner if suffix == ".gz" and inner in {".csv", ".txt"} else suffix


def separator_of(path: Path) -> str:
    """Guess the separator of a CSV file's headers; a comma if there is one column."""
    line = _first_line(path)[1]
    return max(_SEPARATORS, key=lambda mark: line.count(mark.encode()))


def remarks_of(path: Path) -> int:
    """Count the lines that begin with ``#`` before the headers of a CSV file."""
    return _first_line(path)[0]


def _first_line(path: Path) -> tuple[int, bytes]:
    """Return the number, from 0, and the text of the first line that is no remark."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        number = 0
        while (line := file.readline(100_000)).startswith(b"#"):
            number += 1
    return number, line


def read_texts(path: Path) -> pl.DataFrame:
    """Read a CSV file, a Parquet file or the Parquet files of a folder, every column as text."""
    try:
        if path.is_dir() or path.suffix.lower() == ".parquet":
            files = path / "**/*.parquet" if path.is_dir() else path
            return pl.read_parquet(files, hive_partitioning=False).cast(pl.String)
        return pl.read_csv(path, infer_schema=False, separator=separator_of(path))
    except UNREADABLE as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> SourceError:
    """Return the error for a file that could not be read; see `why_unreadable`."""
    return SourceError(f"{path}: {why_unreadable(path, error)}")


def why_unreadable(path: Path, error: Exception) -> str:
    """Describe where and how a file is damaged, without any of its values.

    Args:
        path: A CSV, Parquet or xlsx file.
    """
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    if path.suffix.lower() == ".csv":
        return _first_broken_line(path, separator_of(path)) or (
            "expected UTF-8 text in columns; a quote may stand within a field"
        )
    return "damaged or truncated, or of another kind than its name says"


def columns_found(columns: Collection[str], known: Collection[str]) -> str:
    """List the columns of a file, by name only if known.

    The first line of a file without header is a record.
    """
    named = [column for column in columns if column in known]
    others = len(columns) - len(named)
    listed = ", ".join(named)
    if not others:
        return f"columns: {listed}"
    rest = f"{others:,} other column{'s' if others > 1 else ''}"
    return f"columns: {listed} and {rest}" if named else f"{rest}; is its header missing?"


def _first_broken_line(path: Path, separator: str) -> str:
    """Describe the first line that is no CSV record of the header's width; empty if none."""
    start = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            width = len(next(reader, []))
            start = reader.line_num + 1
            for fields in reader:
                if len(fields) > width:
                    return f"line {start}: expected {width} fields, found {len(fields)}"
                start = reader.line_num + 1
    except csv.Error as error:
        return _broken_quote(path, separator, start) or f"line {start}: {error}"
    except UnicodeDecodeError:
        return _first_undecodable_line(path)
    return ""


def _broken_quote(path: Path, separator: str, start: int) -> str:
    """Locate a quote that is not closed, or misplaced."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        line = next((text for number, text in enumerate(file, 1) if number == start), "")
    mark = re.escape(separator)  # between quotes it parts nothing
    fields = re.findall(rf'((?:[^{mark}"]|"[^"]*"?)*)(?:{mark}|$)', line.rstrip("\r\n"))
    for number, field in enumerate(fields, start=1):
        if not field.startswith(_QUOTE):
            continue
        inside = field[1:].replace(_QUOTE * 2, "")
        if _QUOTE not in inside:
            return f"line {start}, column {number}: a quote is opened and not closed"
        if not inside.endswith(_QUOTE) or inside.count(_QUOTE) > 1:
            return f"line {start}, column {number}: a quote stands within a field"
    return ""


def _first_undecodable_line(path: Path) -> str:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"line {number}: expected UTF-8 text, found byte {line[error.start]:#04x}"
    return ""
