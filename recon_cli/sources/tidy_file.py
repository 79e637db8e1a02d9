"""One tidy CSV or Parquet file: its columns, its rows as published cells, its first wrong row."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import polars as pl

from recon_cli.errors import SourceError
from recon_cli.frames import UNREADABLE
from recon_cli.schema import AreaGeography, Release
from recon_cli.schema.areas import ALL
from recon_cli.sources.cells import CellIndex
from recon_cli.sources.damage import separator_of, unreadable

MAX_COUNT: Final = 2**31 - 1
#: The characters of a geoid; and words that a line of totals below all places may have instead.
GEOID: Final = "^[A-Za-z0-9]+$"
ALL_PLACES: Final = ("total", "totals", "all", "sum")
#: A fraction of zeros behind a whole number, but not of three, which may be thousands.
ZERO_FRACTION: Final = r"\.(?:0{1,2}|0{4,})$"

_FORMS: Final = ({"geoid", "cell", "count"}, {"geoid", "table", "cell", "count"})
#: Column with the level of each geoid, where codes alone do not determine it; a code as written.
LEVEL: Final = "level"
_WRITTEN: Final = "_code"
#: The ends of an interval that overrides the law of the table.
_ENDS: Final = {"low": "least", "high": "most"}
_EXPECTED: Final = "geoid, count and cell (a code), or geoid, count, table and cell (a number)"
#: Most columns of a file that a message names, and most characters of a name.
_NAMED: Final = 12
_SHOWN: Final = 60
#: Exceptions of polars for damaged bytes; its others would be defects of a query.
_DAMAGE: Final = (pl.exceptions.ComputeError, pl.exceptions.PanicException, OSError)
#: The beginning of UTF-16 text; a separator of thousands in a number.
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_GROUPS: Final = re.compile(r"(?<=[0-9])[,.'\u2019\s](?=[0-9]{3}\b)")
_TEXT: Final = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class TidyFile:
    """A file with recognised columns; rows are read lazily.

    Attributes:
        noun: Name of a row in messages: ``line`` of a CSV, where the header is 1, or ``row``.
        rows: Columns ``row, geoid, table, cell, count`` as they were written (``table`` and
            ``level`` only where the file has them), ``number`` (of the cell, where there is a
            table) and ``value``; ``number`` and ``value`` are null where the text is no such
            number. If the file has statements, also ``least`` and ``most`` (from ``low`` and
            ``high``), and ``marker``, the text of a count that is no number. After `placed` also
            ``rank``, the rank of the geoid's level.
        by_table: Whether cells are numbers in a table, else codes.
        has_statements: Whether counts may be markers, empty or negative, or have intervals.
    """

    path: Path
    noun: str
    rows: pl.LazyFrame
    by_table: bool
    has_statements: bool = False

    def where(self, row: int) -> str:
        """Name a row for messages."""
        return f"{self.path}: {self.noun} {row}"

    def placed(self, release: Release) -> Self:
        """Add the rank of each row's level; convert codes of areas to geoids.

        Raises:
            SourceError: There is a column ``level``, though geoids determine their level.
        """
        geography = release.geography
        rows, level = self.rows, None
        if LEVEL in rows.collect_schema().names():
            if geography.is_nested:
                raise SourceError(
                    f"{self.path}: expected no column 'level': in release {release.name!r} the "
                    "length of a geoid tells its level"
                )
            level = pl.col(LEVEL).str.strip_chars()
        if isinstance(geography, AreaGeography):
            code = pl.col("geoid").str.strip_chars()
            geoid = geography.by_code(code, level)
            rows = rows.with_columns(geoid.alias("geoid"), code.alias(_WRITTEN))
        return replace(self, rows=rows.with_columns(geography.ranks(pl.col("geoid")).alias("rank")))

    def cells(self, published: pl.DataFrame) -> pl.LazyFrame:
        """Return the rows with the ordinal of their cell, null where it is not published.

        Args:
            published: Result of `published_cells`.
        """
        keys = ["table", "number", "rank"] if self.by_table else ["cell", "rank"]
        places = published.select(*keys, "ordinal").lazy()
        return self.rows.join(places, on=keys, how="left")

    def check(self, release: Release, published: pl.DataFrame) -> None:
        """Check every row.

        Raises:
            SourceError: The first row that is not a published count, or there are no rows.
        """
        wrong = pl.col("ordinal").is_null() | pl.col("geoid").is_null() | self._wrong_value()
        if release.geography.is_nested:
            wrong |= ~pl.col("geoid").str.contains(GEOID)
        rows = self.cells(published)
        first = self.collect(rows.filter(wrong).sort("row").limit(1))
        if len(first):
            row = first.row(0, named=True)
            raise SourceError(f"{self.where(row['row'])}: {_explain(row, self.by_table, release)}")
        if not self.collect(rows.select(pl.len())).item():
            raise SourceError(f"{self.path}: expected published counts, found a file without rows")

    def _wrong_value(self) -> pl.Expr:
        """Return whether a row's count cannot be read; the meaning of markers is not checked."""
        if not self.has_statements:
            return ~pl.col("value").is_between(0, MAX_COUNT).fill_null(value=False)
        within = [
            ~pl.col(name).is_between(-MAX_COUNT, MAX_COUNT).fill_null(value=True)
            for name in ("value", *_ENDS.values())
        ]
        crossed = (pl.col("least") > pl.col("most")).fill_null(value=False)
        return pl.any_horizontal(*within, crossed, "has_bad_end")

    def collect(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Run a query over this file alone.

        Raises:
            SourceError: The file cannot be read to its end.
        """
        try:
            return rows.collect(engine="streaming")
        except _DAMAGE as error:
            raise unreadable(self.path, error) from None


def published_cells(release: Release) -> pl.DataFrame:
    """Return ``table, number, cell (code), rank, ordinal``: one row per cell and level."""
    index = CellIndex.of(release)
    rows = [
        (table.name, cell.number, code, release.geography.by_name[level].rank, ordinal)
        for table in release.tables
        for cell, code in zip(table.cells, table.codes, strict=True)
        for ordinal in [index.offsets[table.name] + cell.number - 1]
        for level in table.levels
    ]
    schema = {
        "table": pl.String,
        "number": pl.Int64,
        "cell": pl.String,
        "rank": pl.Int64,
        "ordinal": pl.Int32,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def open_file(path: Path, *, has_statements: bool = False) -> TidyFile:
    """Recognise a file by its suffix and columns.

    Args:
        has_statements: Whether counts may be other than exact. A file with a column ``low`` or
            ``high`` has statements in any case.

    Raises:
        SourceError: There is no such file, it is damaged, or it has other columns.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    match path.suffix.lower():
        case ".csv":
            return _open_csv(path, has_statements)
        case ".parquet":
            rows = pl.scan_parquet(path, row_index_name="row", row_index_offset=1)
            return _typed(path, rows, has_statements)
    raise SourceError(f"{path}: expected a file named .csv or .parquet")


def is_tidy(path: Path) -> bool:
    """Test whether the first line of a CSV file names the columns of tidy counts."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns = next(csv.reader([file.readline(1000)]), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return False
    return {"geoid", "count"} <= set(columns) or "cell" in columns


def _open_csv(path: Path, has_statements: bool) -> TidyFile:
    # Without inferred types geoids and codes stay text, leading zeros included.
    rows = pl.scan_csv(
        path,
        infer_schema=False,
        row_index_name="row",
        row_index_offset=2,
        separator=_separator(path),
    )
    # capital headers are the same headers
    known = _FORMS[1] | {LEVEL, *_ENDS}
    names = {
        name: low for name in _schema(path, rows) for low in [name.strip().lower()] if low in known
    }
    if twice := [name for name, low in names.items() if list(names.values()).count(low) > 1]:
        raise SourceError(f"{path}: columns {' and '.join(map(repr, twice))} are one; leave one")
    rows = rows.rename(names)
    if "count" not in names.values():
        rows = _with_count(path, rows)
    schema = _schema(path, rows)
    by_table = _has_table(path, schema)
    has_statements |= not schema.keys().isdisjoint(_ENDS)
    number = _whole("cell", 9) if by_table else pl.lit(None, pl.Int64)
    rows = rows.with_columns(number.alias("number"))
    if has_statements:
        rows = _with_statements(rows, schema)
    else:
        rows = rows.with_columns(_whole("count", 10).alias("value"))
    return TidyFile(path, "line", rows, by_table, has_statements)


def _separator(path: Path) -> str:
    """Guess the separator: the one of four that is most frequent in the first line."""
    with path.open("rb") as file:
        if file.read(2) in _UTF_16:
            raise SourceError(f"{path}: this is UTF-16 text; save it as UTF-8 (iconv -f utf-16)")
    return separator_of(path)


def _with_statements(rows: pl.LazyFrame, schema: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Add ``value, marker, least, most``, and ``has_bad_end``: whether a bound is no integer."""
    text = pl.col("count").cast(pl.String).str.strip_chars()
    value = _number(text)
    given = {
        new: pl.col(name).cast(pl.String).str.strip_chars().fill_null("")
        if name in schema
        else pl.lit("")
        for name, new in _ENDS.items()
    }
    return rows.with_columns(
        value.alias("value"),
        pl.when(value.is_null()).then(text.fill_null("")).alias("marker"),
        *(_number(end).alias(name) for name, end in given.items()),
        pl.any_horizontal((end != "") & _number(end).is_null() for end in given.values()).alias(
            "has_bad_end"
        ),
    )


def _number(text: pl.Expr) -> pl.Expr:
    """Parse text as an integer, else null; a zero fraction is allowed."""
    digits = text.str.replace(ZERO_FRACTION, "").str.extract(r"^([-+]?[0-9]{1,10})$", 1)
    return digits.str.strip_prefix("+").cast(pl.Int64, strict=False)


def _whole(column: str, most: int) -> pl.Expr:
    """Parse text of up to ``most`` digits, with an optional zero fraction, else null."""
    text = pl.col(column).str.strip_chars().str.replace(ZERO_FRACTION, "")
    return pl.when(text.str.contains(f"^[0-9]{{1,{most}}}$")).then(
        text.cast(pl.Int64, strict=False)
    )


def open_frame(counts: pl.DataFrame, name: str, *, has_statements: bool = False) -> TidyFile:
    """Open a frame like a Parquet file; ``name`` stands for the file in messages."""
    return _typed(Path(name), counts.lazy().with_row_index("row", offset=1), has_statements)


def _typed(path: Path, rows: pl.LazyFrame, has_statements: bool) -> TidyFile:
    """Open rows whose columns are typed."""
    rows = _with_count(path, rows)
    schema = _schema(path, rows)
    by_table = _has_table(path, schema)
    has_statements |= not schema.keys().isdisjoint(_ENDS)
    for column, fits, wanted in (
        ("geoid", schema["geoid"] in _TEXT, "text, so that leading zeros count"),
        (LEVEL, schema.get(LEVEL, pl.String) in _TEXT, "text: names of levels"),
        ("table", not by_table or schema["table"] in _TEXT, "text"),
        ("cell", not by_table or schema["cell"].is_integer(), "whole numbers beside a table"),
        ("cell", by_table or schema["cell"] in _TEXT, "text: cell codes"),
        ("count", has_statements or schema["count"].is_numeric(), "whole numbers"),
    ):
        if not fits:
            raise SourceError(
                f"{path}: column {column!r}: expected {wanted}, found type {schema[column]}"
            )
    rows = rows.with_columns(
        pl.col("geoid").cast(pl.String),
        *([pl.col(LEVEL).cast(pl.String)] if LEVEL in schema else []),
        *([pl.col("table").cast(pl.String)] if by_table else [pl.col("cell").cast(pl.String)]),
    ).with_columns(
        (pl.col("cell") if by_table else pl.lit(None)).cast(pl.Int64, strict=False).alias("number"),
    )
    if has_statements:
        rows = _with_statements(rows, schema)
    else:
        count = pl.col("count")
        whole = pl.when(count == count.floor()).then(count.cast(pl.Int64, strict=False))
        rows = rows.with_columns(whole.alias("value"))
    return TidyFile(path, "row", rows, by_table, has_statements)


def _with_count(path: Path, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rename a column ``value``, if there is no ``count``."""
    names = _schema(path, rows)
    return rows if "count" in names or "value" not in names else rows.rename({"value": "count"})


def _schema(path: Path, rows: pl.LazyFrame) -> dict[str, pl.DataType]:
    """Return the file's columns without the row number."""
    try:
        schema = dict(rows.collect_schema())
    except pl.exceptions.NoDataError as error:
        raise SourceError(f"{path}: expected columns {_EXPECTED}, found an empty file") from error
    except UNREADABLE as error:
        raise unreadable(path, error) from None
    schema.pop("row")
    return schema


def _has_table(path: Path, columns: Iterable[str]) -> bool:
    """Test whether there is a column of tables; refuse columns that fit neither form."""
    found = list(columns)
    if set(found) - {LEVEL, *_ENDS} not in _FORMS:
        missing = sorted(_FORMS[0] - set(found))
        extra = sorted(set(found) - _FORMS[1] - {LEVEL, *_ENDS})
        what = [f"without {', '.join(missing)}"] if missing else []
        what += [f"with {_some(map(repr, extra))} besides"] if extra else []
        raise SourceError(
            f"{path}: expected columns {_EXPECTED}; found {_some(found)}: {'; '.join(what)}; "
            "rename them, or let `recon init` map the file's own columns"
        )
    return "table" in found


def _some(names: Iterable[str]) -> str:
    listed = [name[:_SHOWN] for name in names]
    return ", ".join(listed[:_NAMED]) + ", …" * (len(listed) > _NAMED)


def _explain(row: Mapping[str, Any], by_table: bool, release: Release) -> str:
    """Describe what is wrong with a row: its geoid, its cell, its level or its count."""
    geoid = row["geoid"]
    if isinstance(release.geography, AreaGeography):
        problem = _no_area(row, release.geography)
        return problem or _explain_cell(row, by_table, release)
    if geoid is None or not (geoid.isascii() and geoid.isalnum()):
        return f"expected a geoid of letters and digits, found {geoid!r}"
    levels = {
        level.digits: level.name
        for level in release.geography.levels
        if any(level.name in table.levels for table in release.tables)
    }
    if len(geoid) not in levels:
        valid = ", ".join(f"{name} {digits}" for digits, name in levels.items())
        hint = " (was a leading zero lost?)" if len(geoid) + 1 in levels else ""
        return f"geoid {geoid!r}: expected one of the lengths {valid}; found {len(geoid)}{hint}"
    return _explain_cell(row, by_table, release)


def _no_area(row: Mapping[str, Any], geography: AreaGeography) -> str:
    """Describe what is wrong with a row's code or level; empty if nothing is."""
    code, level = row[_WRITTEN], row.get(LEVEL)
    known = [name for name in geography.geoids if name != ALL]
    if LEVEL in row and level not in known:
        return f"expected one of the levels {', '.join(known)}; found {level or 'none'}"
    if row["geoid"] is not None:
        return ""
    if LEVEL in row:
        return f"{level} {code or '(empty)'} is not in {geography.source}"
    holders = [name for name in known if code in geography.geoids[name]]
    if holders:
        return f"{code} is a {' and a '.join(holders)}; add a column level"
    return f"{code or '(empty)'} is no place of {geography.source}"


def _explain_cell(row: Mapping[str, Any], by_table: bool, release: Release) -> str:
    """Describe what is wrong with a row whose place is known."""
    geoid = row["geoid"]
    table, problem = _find_table(row, by_table, release)
    if problem:
        return f"geoid {geoid}: {problem}"
    what = f"geoid {geoid}, table {table}, cell {row['cell']}"
    published = release.table_by_name[table].levels
    level = release.geography.by_rank[row["rank"]].name
    if level not in published:
        return (
            f"{what}: table {table} is not published at level {level} "
            f"(levels: {', '.join(published)})"
        )
    if "marker" in row and not (row["marker"] is None and abs(row["value"]) > MAX_COUNT):
        ends = " and ".join(f"{name} {row[name]!r}" for name in _ENDS if name in row)
        return f"{what}: expected whole numbers with low up to high, found {ends}"
    found = "nothing" if row["count"] in (None, "") else repr(row["count"])
    hint = "" if row["value"] is not None else _remedy(str(row["count"] or ""))
    return f"{what}: expected a whole number from 0 to {MAX_COUNT} as count, found {found}{hint}"


def _remedy(count: str) -> str:
    """Suggest a remedy for a text that is no count."""
    joined = _GROUPS.sub("", count.strip())
    if (thousands := re.fullmatch(r"([0-9]{1,3})\.000", count.strip())) is not None:
        return f"; write it as {thousands[1]} or as {joined}, whichever it is"
    if joined != count.strip() and joined.isdecimal():
        return f"; if it is {joined}, write it without what parts the thousands"
    return " (what protects counts is declared by ingest.protection)"


def _find_table(row: Mapping[str, Any], by_table: bool, release: Release) -> tuple[str, str]:
    """Return the row's table, and what is wrong with its table or cell; empty if nothing is."""
    cell = row["cell"]
    if not by_table:
        homes = {code: table.name for table in release.tables for code in table.codes}
        if cell in homes:
            return homes[cell], ""
        return "", f"no cell code {cell!r} in release {release.name!r}{_near(cell, homes)}"
    name = row["table"]
    table = release.table_by_name.get(name or "")
    if table is None:
        near = _near(name, release.table_by_name)
        return "", f"no table {name!r} in release {release.name!r}{near}"
    if row["number"] is None or not 1 <= row["number"] <= len(table.cells):
        return name, f"table {name}: expected a cell from 1 to {len(table.cells)}, found {cell!r}"
    return name, ""


def _near(name: str | None, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name or "", list(known), n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
